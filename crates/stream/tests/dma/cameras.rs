//! Frames of the kernel's test cameras, published in the driver's own buffers.
#![expect(unsafe_code, reason = "tries to map a frame for writing")]

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap};
use tenure_camera::{Camera, FourCc, Wanted, cameras};
use tenure_stream::{Guarded, Meta};
use tenure_tensor::{PixelFormat, TensorDyn, TensorMemory};

use crate::actor::Actor;
use crate::stage::{SOON, Stage, role, subscriber_in, until};
use crate::{child, published, sign};

/// Buffers of the camera, and those that the consumer holds.
const BUFFERS: usize = 5;
const HELD: usize = 2;

/// A test camera that has this format, with a picture that does not change.
fn camera(code: FourCc) -> Camera {
    let all = cameras().into_iter().filter(|found| found.capture.is_ok()).map(|found| found.path);
    let all: Vec<PathBuf> = all.collect();
    let open = |path: &PathBuf| Camera::open(path).unwrap();
    let has = |camera: &Camera| camera.formats().unwrap().iter().any(|it| it.fourcc == code);
    let found = all.iter().map(open).find(has).unwrap_or_else(|| panic!("{all:?}"));
    found.set_control("OSD Text Mode", 2).unwrap();
    found
}

/// The bytes of a picture, plane by plane.
fn picture(frame: &TensorDyn) -> Vec<u8> {
    let plane = |index| {
        let plane = frame.plane(index).unwrap().typed::<u8>().unwrap();
        let rows = plane.map_rows_read().unwrap();
        rows.rows().flatten().copied().collect::<Vec<u8>>()
    };
    [plane(0), plane(1)].concat()
}

/// The kernel's answer to whoever wants to write to a frame.
fn map_for_writing(fd: &OwnedFd) -> Errno {
    let again = format!("/proc/self/fd/{}", fd.as_raw_fd());
    assert!(File::options().read(true).write(true).open(again).is_err(), "it cannot be reopened");
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the kernel chooses the address, so nothing that exists is replaced.
    unsafe { mmap(std::ptr::null_mut(), 4096, protection, MapFlags::SHARED, fd, 0) }.unwrap_err()
}

/// What the other process does; `false` in the test itself.
fn plays() -> bool {
    let Some(part) = child::part() else { return false };
    let (_, directory) = role(&part);
    let builder = subscriber_in(&directory, "s").credits(HELD as u32).wait(SOON);
    let mut subscriber = builder.open().unwrap();
    let expected = std::fs::read(directory.join("picture")).unwrap();
    let mut held = vec![];
    for number in 0..8 + HELD {
        let frame = subscriber.next(SOON).unwrap().unwrap();
        assert_eq!((frame.memory(), frame.guarded()), (TensorMemory::Dma, Guarded::ReadOnly));
        assert_eq!(frame.format(), Some(PixelFormat::Nv12));
        assert!(picture(&frame) == expected, "frame {number}");
        for plane in 0..if frame.is_multi_buffer() { 2 } else { 1 } {
            let fd = frame.plane_buffer(plane).unwrap().clone_descriptor().unwrap();
            assert_eq!(map_for_writing(&fd), Errno::ACCESS);
        }
        if number >= 8 {
            held.push(frame);
        }
    }
    sign(&directory, "holding");
    loop {
        assert!(held.iter().all(|frame| picture(frame) == expected));
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// One buffer for both planes, and one for each.
#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn frames_cross_without_a_copy_and_come_back() {
    if plays() {
        return;
    }
    const TEST: &str = "cameras::frames_cross_without_a_copy_and_come_back";
    for code in [FourCc::new(b"NV12"), FourCc::new(b"NM12")] {
        let mut camera = camera(code);
        let wanted = Wanted::fourcc(code).size(320, 180).fps(60.0).buffers(BUFFERS).read_only();
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        let stage = Stage::new();
        let frame = stream.next(SOON).unwrap().unwrap();
        assert!(!frame.is_writable().unwrap());
        let bytes = picture(&frame);
        // White and black, of 75 per cent.
        assert!(bytes[5].abs_diff(180) <= 2 && bytes[314].abs_diff(16) <= 2, "{bytes:?}");
        std::fs::write(stage.path().join("picture"), bytes).unwrap();
        drop(frame);
        let mut publisher = stage.publisher("s").open().unwrap();
        let consumer = Actor::start(TEST, "consumer", stage.path());
        let (mut sent, mut after) = (0, 0);
        while after < 20 {
            let frame = stream.next(SOON).unwrap().unwrap();
            let time = frame.timestamp().unwrap();
            let meta = Meta::new().timestamp(time);
            sent += publisher.publish_tensor(&frame.into_tensor(), meta).unwrap().consumers;
            after += usize::from(stage.path().join("holding").exists());
        }
        assert_eq!(sent, 8 + HELD, "{code}: whoever holds all it may gets no more");
        assert_eq!(published(&publisher), HELD);
        let report = stage.stat("s");
        assert!(report.slots.iter().all(|slot| slot.borrowed && slot.generation == 1));
        assert!(report.slots.len() <= BUFFERS, "{report:?}");
        consumer.kill();
        until("the buffers come back", || published(&publisher) == 0);
        let all: HashSet<usize> =
            (0..4 * BUFFERS).map(|_| stream.next(SOON).unwrap().unwrap().slot()).collect();
        assert_eq!(all.len(), stream.buffers(), "{code}");
    }
}
