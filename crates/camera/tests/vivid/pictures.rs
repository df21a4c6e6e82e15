//! What cameras offer, and the pictures they give.

use tenure_camera::{Camera, ControlKind, Error, FourCc, FrameSizes, Wanted, cameras};
use tenure_memory::TensorMemory;
use tenure_tensor::{ColourRange, DType, PixelFormat};

use crate::{BARS, alone, check_planes, middle, near, open, path, single, take, yuv};

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn cameras_are_listed_with_what_they_are() {
    let _alone = alone();
    let all = cameras();
    let vivid: Vec<_> = all
        .iter()
        .filter(|found| found.identity.as_ref().is_some_and(|who| who.driver == "vivid"))
        .collect();
    assert!(vivid.len() >= 2, "{all:?}");
    for found in vivid {
        let who = found.identity.as_ref().unwrap();
        assert_eq!((who.name.as_str(), found.capture.is_ok()), ("vivid", true));
        assert!(who.bus.starts_with("platform:vivid"), "{who:?}");
    }
    for path in [path(false), path(true)] {
        let camera = Camera::open(&path).unwrap();
        let formats = camera.formats().unwrap();
        let nv12 = formats.iter().find(|format| format.fourcc == FourCc::new(b"NV12")).unwrap();
        assert!(!nv12.compressed && !nv12.description.is_empty());
        let sizes = camera.sizes(nv12.fourcc).unwrap();
        assert!(!sizes.is_empty());
        let FrameSizes::One { width, height } = sizes[0] else { panic!("{sizes:?}") };
        let intervals = camera.intervals(nv12.fourcc, width, height).unwrap();
        assert!(intervals.iter().any(|interval| interval.fps() >= 25.0), "{intervals:?}");
        assert!(camera.sizes(FourCc::new(b"????")).unwrap().is_empty());
        let controls = camera.controls().unwrap();
        let brightness = controls.iter().find(|control| control.name == "Brightness").unwrap();
        assert_eq!(brightness.kind, ControlKind::Integer);
        camera.set_control("brightness", brightness.default).unwrap();
        assert_eq!(camera.control("Brightness").unwrap(), brightness.default);
        assert!(matches!(camera.control("no such knob"), Err(Error::NoControl { .. })));
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn each_format_is_negotiated_and_captured() {
    let _alone = alone();
    for several in [false, true] {
        let mut camera = open(several);
        let formats = [
            PixelFormat::Nv12,
            PixelFormat::Yuyv,
            PixelFormat::Grey,
            PixelFormat::Rgb,
            PixelFormat::Bgr,
            PixelFormat::I420,
            PixelFormat::Nv16,
            PixelFormat::Uyvy,
        ];
        for format in formats {
            let wanted = Wanted::pixels(format).size(640, 360).fps(30.0);
            let mode = camera.negotiate(&wanted).unwrap();
            assert_eq!((mode.pixels, mode.width, mode.height), (Some(format), 640, 360));
            assert!((mode.fps.unwrap() - 30.0).abs() < 0.1, "{mode}");
            assert!(mode.colour.is_some() && !mode.interlaced, "{mode:?}");
            assert_eq!(mode, camera.mode().unwrap());
            let mut stream = camera.stream().unwrap();
            let frame = take(&mut stream);
            assert_eq!(frame.format(), Some(format));
            assert_eq!(frame.effective_row_stride(), Some(mode.planes[0].row_stride));
            assert_eq!((frame.colour(), frame.dtype()), (mode.colour, DType::U8));
            assert_eq!(frame.memory(), TensorMemory::Dma);
            assert!(!frame.is_damaged(), "{mode}");
        }
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn what_a_camera_does_not_have_is_refused_with_what_it_has() {
    let _alone = alone();
    let mut camera = single();
    let before = camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let error = camera.negotiate(Wanted::fourcc(FourCc::MJPG)).unwrap_err();
    assert!(
        matches!(&error, Error::NoFormat(it) if matches!(**it, tenure_camera::detail::NoFormat { ref has, .. } if has.len() > 5)),
        "{error}"
    );
    let words = error.to_string();
    assert!(words.contains("has no format MJPG; it has") && words.contains("NV12"), "{words}");
    assert!(camera.negotiate(Wanted::pixels(PixelFormat::PlanarRgb)).is_err());
    let odd = Wanted::pixels(PixelFormat::Nv12).size(641, 359);
    let error = camera.negotiate(&odd).unwrap_err().to_string();
    assert!(error.contains("641x359; the nearest are 640x360 (it lists 320x180"), "{error}");
    assert_eq!(camera.mode().unwrap(), before, "a refusal changes nothing");
    let near = camera.negotiate(odd.nearest_size()).unwrap();
    assert_eq!((near.width, near.height), (640, 360));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn nv12_has_the_bars_in_one_buffer() {
    let _alone = alone();
    let mut camera = single();
    let mode = camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    assert_eq!(mode.colour.unwrap().to_string(), "bt601 limited");
    let mut stream = camera.stream().unwrap();
    for _ in 0..3 {
        let frame = take(&mut stream);
        assert!(!frame.is_multi_buffer());
        check_planes(&frame);
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn nm12_has_the_bars_in_two_buffers() {
    let _alone = alone();
    let mut camera = open(true);
    let wanted = Wanted::fourcc(FourCc::new(b"NM12")).size(640, 360);
    let mode = camera.negotiate(&wanted).unwrap();
    assert_eq!((mode.pixels, mode.planes.len()), (Some(PixelFormat::Nv12), 2));
    let mut stream = camera.stream().unwrap();
    for _ in 0..3 {
        let frame = take(&mut stream);
        assert!(frame.is_multi_buffer());
        let ids = [0, 1].map(|plane| frame.plane_buffer(plane).unwrap().identity().id());
        assert_ne!(ids[0], ids[1]);
        check_planes(&frame);
    }
    drop(stream);
    // The same camera, planes in one buffer.
    camera.negotiate(Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let frame = take(&mut camera.stream().unwrap());
    assert!(!frame.is_multi_buffer());
    check_planes(&frame);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn yuyv_grey_and_rgb_have_the_bars() {
    let _alone = alone();
    let mut camera = single();
    for format in [PixelFormat::Yuyv, PixelFormat::Grey, PixelFormat::Rgb, PixelFormat::Bgr] {
        camera.negotiate(Wanted::pixels(format).size(640, 360)).unwrap();
        let frame = take(&mut camera.stream().unwrap());
        let full = frame.colour().unwrap().range == ColourRange::Full;
        assert_eq!(full, format != PixelFormat::Yuyv);
        let pixels = frame.typed::<u8>().unwrap();
        let pixels = pixels.map_strided_read().unwrap();
        for (bar, parts) in BARS.into_iter().enumerate() {
            let (x, [y, u, v]) = (middle(bar, 640), yuv(bar));
            let [r, g, b] = parts.map(|part| part * 191.0);
            for row in 0..360 {
                let at = |column: usize, channel: usize| pixels[[row, column, channel]];
                match format {
                    PixelFormat::Yuyv => {
                        near(at(x, 0), y, "luma");
                        near(at(x, 1), u, "blue");
                        near(at(x + 1, 1), v, "red");
                    }
                    // In the full range, as its colour says; by BT.709 in this driver.
                    PixelFormat::Grey => {
                        near(at(x, 0), 0.2126 * r + 0.7152 * g + 0.0722 * b, "grey");
                    }
                    PixelFormat::Rgb => {
                        let found = [at(x, 0), at(x, 1), at(x, 2)];
                        found.into_iter().zip([r, g, b]).for_each(|(f, e)| near(f, e, "rgb"));
                    }
                    _ => {
                        let found = [at(x, 0), at(x, 1), at(x, 2)];
                        found.into_iter().zip([b, g, r]).for_each(|(f, e)| near(f, e, "bgr"));
                    }
                }
            }
        }
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn planes_in_buffers_of_their_own_may_start_anywhere() {
    let _alone = alone();
    let mut camera = open(true);
    // Of this format the test camera puts bytes before the first row of a plane.
    let wanted = Wanted::fourcc(FourCc::new(b"NM16")).size(640, 360);
    let mode = camera.negotiate(&wanted).unwrap();
    assert_eq!((mode.pixels, mode.planes.len()), (Some(PixelFormat::Nv16), 2));
    let frame = take(&mut camera.stream().unwrap());
    let offsets: Vec<usize> =
        frame.image_layout().unwrap().planes().iter().map(|plane| plane.offset).collect();
    assert!(offsets.iter().any(|offset| *offset > 0), "{offsets:?}");
    check_planes(&frame);
    let wanted = Wanted::fourcc(FourCc::new(b"YM12")).size(640, 360);
    let mode = camera.negotiate(&wanted).unwrap();
    assert_eq!((mode.pixels, mode.planes.len()), (Some(PixelFormat::I420), 3));
    let frame = take(&mut camera.stream().unwrap());
    for (plane, part) in [0, 1, 2].into_iter().enumerate() {
        let samples = frame.plane(plane).unwrap().typed::<u8>().unwrap();
        let samples = samples.map_strided_read().unwrap();
        let [rows, width] = *samples.shape() else { panic!("{:?}", samples.shape()) };
        for bar in 0..8 {
            near(samples[[rows / 2, middle(bar, width)]], yuv(bar)[part], "plane");
        }
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn what_is_no_format_of_ours_comes_as_bytes() {
    let _alone = alone();
    let mut camera = single();
    let mode = camera.negotiate(Wanted::fourcc(FourCc::new(b"RGBP")).size(640, 360)).unwrap();
    assert_eq!((mode.pixels, mode.fourcc.to_string().as_str()), (None, "RGBP"));
    let mut stream = camera.stream().unwrap();
    let frame = take(&mut stream);
    assert_eq!((frame.format(), frame.shape()), (None, &[640 * 360 * 2][..]));
    // White, three quarters of it, in 5 + 6 + 5 bits.
    let bytes = frame.map_read().unwrap();
    assert_eq!(bytes.as_slice()[..4], [0xf7, 0xbd, 0xf7, 0xbd]);
}
