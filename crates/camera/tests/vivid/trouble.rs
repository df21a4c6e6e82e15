//! Timeouts, lost frames, busy and unplugged cameras, and what is none.

use std::path::Path;
use std::time::{Duration, Instant};

use tenure_camera::{Camera, Error, Wanted};
use tenure_tensor::PixelFormat;

use crate::{SECOND, alone, check_planes, mappings, open_descriptors, single, take};

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_frame_that_does_not_come_is_none() {
    let _alone = alone();
    let mut camera = single();
    camera.negotiate(Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(1.0)).unwrap();
    let mut stream = camera.stream().unwrap();
    // The first may come at once.
    drop(stream.next(SECOND).unwrap());
    let began = Instant::now();
    let waited = Duration::from_millis(50);
    assert!(stream.next(waited).unwrap().is_none());
    assert!(
        (waited..Duration::from_millis(800)).contains(&began.elapsed()),
        "{:?}",
        began.elapsed()
    );
    assert!(stream.next(Duration::ZERO).unwrap().is_none());
    stream.pause().unwrap();
    assert!(matches!(stream.next(SECOND), Err(Error::Paused)));
    drop(stream);
    camera.negotiate(Wanted::any().fps(60.0)).unwrap();
    let mut stream = camera.stream().unwrap();
    let frame = take(&mut stream);
    stream.pause().unwrap();
    stream.pause().unwrap();
    stream.resume().unwrap();
    for _ in 0..8 {
        assert_ne!(take(&mut stream).slot(), frame.slot());
    }
    drop(frame);
    drop(take(&mut stream));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn lost_and_damaged_frames_are_counted() {
    let _alone = alone();
    let mut camera = single();
    camera.negotiate(Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0)).unwrap();
    camera.set_control("Percentage of Dropped Buffers", 50).unwrap();
    let mut stream = camera.stream().unwrap();
    let first = take(&mut stream).sequence();
    let (mut lost, mut last) = (0, first);
    for _ in 0..30 {
        let frame = take(&mut stream);
        lost += frame.dropped();
        last = frame.sequence();
    }
    camera.set_control("Percentage of Dropped Buffers", 0).unwrap();
    assert_eq!(stream.dropped(), lost);
    assert_eq!(last - first, lost + 30);
    assert!(lost > 0);
    camera.set_control("Inject V4L2_BUF_FLAG_ERROR", 1).unwrap();
    assert!((0..10).any(|_| take(&mut stream).is_damaged()));
    assert!(!take(&mut stream).is_damaged());
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_camera_that_streams_for_somebody_is_busy() {
    let _alone = alone();
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Grey).size(320, 180);
    camera.negotiate(&wanted).unwrap();
    let stream = camera.stream().unwrap();
    let mut second = Camera::open(camera.path()).unwrap();
    let yuyv = Wanted::pixels(PixelFormat::Yuyv).size(640, 360);
    for error in [second.negotiate(&yuyv).unwrap_err(), camera.negotiate(&yuyv).unwrap_err()] {
        assert!(matches!(error, Error::Busy { .. }), "{error}");
        assert!(error.to_string().contains("open in this process"), "{error}");
    }
    let error = second.stream().unwrap_err();
    assert!(matches!(error, Error::Busy { .. }), "{error}");
    assert!(camera.stream().is_err());
    drop(stream);
    second.negotiate(&yuyv).unwrap();
    drop(take(&mut second.stream().unwrap()));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn what_is_no_camera_says_what_it_is() {
    let _alone = alone();
    let words = |path: &Path| Camera::open(path).unwrap_err().to_string();
    assert!(words(Path::new("/dev/video99")).contains("cannot open /dev/video99: No such file"));
    assert_eq!(
        words(Path::new("/dev/null")),
        "/dev/null is no camera: it is a device that does not speak V4L2"
    );
    assert!(words(Path::new("/proc/self/maps")).contains("it is a file"));
    assert!(words(Path::new("/dev")).contains("it is a folder"));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_stream_that_fails_can_be_made_anew() {
    let _alone = alone();
    let mut camera = single();
    camera.negotiate(Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0)).unwrap();
    camera.set_control("Inject VIDIOC_STREAMON Error", 1).unwrap();
    let error = camera.stream().unwrap_err().to_string();
    assert!(error.contains("starting the stream failed"), "{error}");
    camera.set_control("Inject VIDIOC_REQBUFS Error", 1).unwrap();
    let error = camera.stream().unwrap_err().to_string();
    assert!(error.contains("requesting buffers failed"), "{error}");
    let mut stream = camera.stream().unwrap();
    drop(take(&mut stream));
    // The driver refuses a buffer that comes back: the next frame says so, then it goes on.
    let frame = take(&mut stream);
    camera.set_control("Inject VIDIOC_QBUF Error", 1).unwrap();
    drop(frame);
    (0..12).for_each(|_| drop(take(&mut stream)));
    camera.set_control("Inject Fatal Streaming Error", 1).unwrap();
    let error = (0..20).find_map(|_| stream.next(SECOND).err()).unwrap();
    assert!(error.to_string().contains("taking a frame failed"), "{error}");
    drop(stream);
    drop(take(&mut camera.stream().unwrap()));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn zz_a_camera_that_is_unplugged_is_an_error() {
    let _alone = alone();
    let mut camera = single();
    camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let mut stream = camera.stream().unwrap();
    let frame = take(&mut stream);
    camera.set_control("Disconnect", 1).unwrap();
    let began = Instant::now();
    let error = loop {
        match stream.next(SECOND) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.is_unplugged(), "{error}");
    assert!(error.to_string().contains("was unplugged"), "{error}");
    assert!(began.elapsed() < SECOND);
    assert!(camera.formats().unwrap_err().is_unplugged());
    check_planes(&frame);
    let path = camera.path().to_owned();
    let mapped = (open_descriptors(), mappings());
    drop((stream, camera));
    check_planes(&frame);
    drop(frame);
    assert!((open_descriptors(), mappings()) < mapped);
    assert_eq!(mappings(), 0);
    // The test driver plugs it in again when the last one has let go.
    let again = Camera::open(&path);
    assert!(again.is_ok(), "{again:?}");
}
