//! Capture from the kernel's test cameras (vivid): one with planes in one buffer and pages from
//! anywhere, one with planes in several buffers and contiguous pages only.
//!
//! Ignored by default because most machines have none; `tests/vm/test` runs them in a virtual
//! machine. They share the cameras: `--test-threads=1`.
#![cfg(target_os = "linux")]

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_camera::{
    Camera, ControlKind, Error, FourCc, Frame, FrameMemory, FrameSizes, Stream, Wanted, cameras,
};
use tenure_memory::kind::dma::{Dma, Source};
use tenure_memory::{Allocator, Buffer, Request, TensorMemory};
use tenure_tensor::{DType, PixelFormat, TensorDyn};

const SECOND: Duration = Duration::from_secs(5);

/// The path of a test camera: of the one with planes in several buffers, or of the other.
fn path(several: bool) -> PathBuf {
    let ours = cameras().into_iter().filter(|found| found.capture.is_ok()).map(|found| found.path);
    let has = |path: &PathBuf| {
        let formats = Camera::open(path).unwrap().formats().unwrap();
        formats.iter().any(|format| format.fourcc == FourCc::new(b"NM12"))
    };
    let all: Vec<PathBuf> = ours.collect();
    all.iter().find(|path| has(path) == several).cloned().unwrap_or_else(|| panic!("{all:?}"))
}

/// A test camera whose picture does not change.
fn open(several: bool) -> Camera {
    let camera = Camera::open(path(several)).unwrap();
    camera.set_control("OSD Text Mode", 2).unwrap();
    camera
}

fn single() -> Camera {
    open(false)
}

fn take(stream: &mut Stream) -> Frame {
    stream.next(SECOND).unwrap()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("dmabuf") || line.contains("/dev/video")).count()
}

/// The eight bars, from left to right: white, yellow, cyan, green, magenta, red, blue, black.
const BARS: [[f64; 3]; 8] = [
    [1.0, 1.0, 1.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, 0.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, 0.0],
];

/// Luma and chroma of a bar: 75 % of full signal, BT.601, limited range.
fn yuv(bar: usize) -> [f64; 3] {
    let [r, g, b] = BARS[bar].map(|part| part * 191.0 / 255.0);
    let y = 0.299 * r + 0.587 * g + 0.114 * b;
    [16.0 + 219.0 * y, 128.0 + 224.0 * (b - y) / 1.772, 128.0 + 224.0 * (r - y) / 1.402]
}

fn near(found: u8, expected: f64, what: &str) {
    assert!((f64::from(found) - expected).abs() <= 2.0, "{what}: {found}, not {expected:.1}");
}

/// The middle of a bar, in pixels, even.
fn middle(bar: usize, width: usize) -> usize {
    (width * (2 * bar + 1) / 16) & !1
}

/// Checks the bars in every row of a picture in YCbCr, from its planes.
fn check_planes(frame: &Frame) {
    let (luma, chroma) = (frame.plane(0).unwrap(), frame.plane(1).unwrap());
    let (luma, chroma) = (luma.typed::<u8>().unwrap(), chroma.typed::<u8>().unwrap());
    let (luma, chroma) = (luma.map_read().unwrap(), chroma.map_read().unwrap());
    let (width, height) = (frame.width().unwrap(), frame.height().unwrap());
    for bar in 0..8 {
        let (x, [y, u, v]) = (middle(bar, width), yuv(bar));
        for row in 0..height {
            near(*luma.get(&[row, x]).unwrap(), y, "luma");
            near(*chroma.get(&[row / 2, x / 2, 0]).unwrap(), u, "blue");
            near(*chroma.get(&[row / 2, x / 2, 1]).unwrap(), v, "red");
        }
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn cameras_are_listed_with_what_they_are() {
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
    let mut camera = single();
    let before = camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let error = camera.negotiate(&Wanted::fourcc(FourCc::MJPG)).unwrap_err();
    assert!(matches!(&error, Error::NoFormat { has, .. } if has.len() > 5), "{error}");
    let words = error.to_string();
    assert!(words.contains("has no format MJPG; it has") && words.contains("NV12"), "{words}");
    assert!(camera.negotiate(&Wanted::pixels(PixelFormat::PlanarRgb)).is_err());
    let odd = Wanted::pixels(PixelFormat::Nv12).size(641, 359);
    let error = camera.negotiate(&odd).unwrap_err().to_string();
    assert!(error.contains("641x359; the nearest are 640x360 (it lists 320x180"), "{error}");
    assert_eq!(camera.mode().unwrap(), before, "a refusal changes nothing");
    let near = camera.negotiate(&odd.nearest_size()).unwrap();
    assert_eq!((near.width, near.height), (640, 360));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn nv12_has_the_bars_in_one_buffer() {
    let mut camera = single();
    let mode = camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
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
    camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let frame = take(&mut camera.stream().unwrap());
    assert!(!frame.is_multi_buffer());
    check_planes(&frame);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn yuyv_grey_and_rgb_have_the_bars() {
    let mut camera = single();
    for format in [PixelFormat::Yuyv, PixelFormat::Grey, PixelFormat::Rgb, PixelFormat::Bgr] {
        camera.negotiate(&Wanted::pixels(format).size(640, 360)).unwrap();
        let frame = take(&mut camera.stream().unwrap());
        let pixels = frame.typed::<u8>().unwrap();
        let pixels = pixels.map_read().unwrap();
        for bar in 0..8 {
            let (x, [y, u, v]) = (middle(bar, 640), yuv(bar));
            let [r, g, b] = BARS[bar].map(|part| part * 191.0);
            for row in 0..360 {
                let at =
                    |column: usize, channel: usize| *pixels.get(&[row, column, channel]).unwrap();
                match format {
                    PixelFormat::Yuyv => {
                        near(at(x, 0), y, "luma");
                        near(at(x, 1), u, "blue");
                        near(at(x + 1, 1), v, "red");
                    }
                    PixelFormat::Grey => near(at(x, 0), y, "grey"),
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
fn a_slot_is_the_same_memory_at_every_frame() {
    for memory in [FrameMemory::Exported, FrameMemory::Mapped] {
        let mut camera = single();
        let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).fps(60.0).memory(memory);
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        let mut known: HashMap<usize, (u64, usize)> = HashMap::new();
        let (mut first, mut last) = (None, None);
        let mut before = (0, 0);
        for number in 0..100 {
            if number == 10 {
                before = (open_descriptors(), mappings());
            }
            let frame = take(&mut stream);
            let id = frame.buffer_identity().id();
            let address = frame.map_read().unwrap().as_slice().as_ptr().addr();
            let slot = known.entry(frame.slot()).or_insert((id, address));
            assert_eq!(*slot, (id, address));
            assert!(last.is_none_or(|last| frame.timestamp() > last), "time goes on");
            last = Some(frame.timestamp());
            first = first.or(frame.timestamp());
        }
        assert_eq!(known.len(), stream.buffers());
        assert_eq!((open_descriptors(), mappings()), before);
        assert!(last.flatten().unwrap() - first.unwrap() > Duration::from_millis(500));
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn frames_of_a_driver_that_cannot_export_are_mapped() {
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(640, 360).memory(FrameMemory::Mapped);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    let frame = take(&mut stream);
    assert_eq!(frame.memory(), TensorMemory::Mem);
    assert!(frame.clone_fd().is_err());
    check_planes(&frame);
    drop((camera, stream));
    check_planes(&frame);
    drop(frame);
    assert_eq!(mappings(), 0);
}

fn sources() -> [Source; 3] {
    [Source::Heap("system".to_owned()), Source::Udmabuf, Source::Card("card0".to_owned())]
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn frames_are_captured_into_memory_of_every_source() {
    for source in sources() {
        let mut camera = single();
        let memory = FrameMemory::Allocated(Arc::new(Dma::from_source(source.clone())));
        let wanted = Wanted::pixels(PixelFormat::Nv12).size(640, 360).memory(memory);
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        let mut ids = std::collections::HashSet::new();
        for _ in 0..10 {
            let frame = take(&mut stream);
            assert_eq!(frame.memory(), TensorMemory::Dma, "{source:?}");
            ids.insert(frame.buffer_identity().id());
            check_planes(&frame);
        }
        assert_eq!(ids.len(), stream.buffers(), "{source:?}");
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn tensors_of_the_program_are_captured_into() {
    let mut camera = single();
    let mode = camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let image = || {
        let stride = Some(mode.planes[0].row_stride);
        let memory = Some(TensorMemory::Dma);
        TensorDyn::image(640, 360, PixelFormat::Nv12, DType::U8, stride, memory, None).unwrap()
    };
    let ours: Vec<TensorDyn> = (0..4).map(|_| image()).collect();
    let held = ours[0].map_read().unwrap();
    let error = camera.stream_into(&ours).unwrap_err();
    assert!(matches!(&error, Error::Memory(why) if why.is_busy()), "{error}");
    drop(held);
    let mut stream = camera.stream_into(&ours).unwrap();
    let frame = take(&mut stream);
    let same = ours.iter().find(|tensor| tensor.aliases(&frame)).unwrap();
    assert_eq!(same.buffer_identity(), frame.buffer_identity());
    check_planes(&frame);
    // The others are with the driver.
    let busy = ours.iter().filter(|tensor| tensor.map_read().is_err()).count();
    assert!(busy >= 2, "{busy}");
    // Held when the frame goes: the driver waits for it.
    let held = same.map_read().unwrap();
    let slot = frame.slot();
    drop(frame);
    for _ in 0..8 {
        assert_ne!(take(&mut stream).slot(), slot);
    }
    drop(held);
    assert!((0..8).any(|_| take(&mut stream).slot() == slot));
    drop(stream);
    assert!(ours.iter().all(|tensor| tensor.map().is_ok()), "all are back");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn tensors_that_do_not_fit_are_refused() {
    let mut camera = single();
    let mode = camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    let bytes = mode.planes[0].bytes;
    let new = |bytes: usize, memory| TensorDyn::new(&[bytes], DType::U8, Some(memory), None);
    let error = camera.stream_into(&[new(bytes, TensorMemory::Shm).unwrap()]).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("not in DMA memory") || words.contains("buffers were given"), "{words}");
    let fill = |tensor: &dyn Fn() -> TensorDyn| (0..8).map(|_| tensor()).collect::<Vec<_>>();
    let small = fill(&|| new(bytes / 2, TensorMemory::Dma).unwrap());
    let error = camera.stream_into(&small).unwrap_err();
    assert!(matches!(error, Error::BufferTooSmall { index: 0, plane: 0, .. }), "{error}");
    let heap = fill(&|| new(bytes, TensorMemory::Mem).unwrap());
    let error = camera.stream_into(&heap).unwrap_err().to_string();
    assert!(error.contains("tensor 0: it is not in DMA memory"), "{error}");
    let pair = || {
        let buffer =
            |bytes| Buffer::from_raw(Dma::new().allocate(&Request::new(bytes).unwrap()).unwrap());
        let places = [(0, None), (0, None)];
        let buffers = [buffer(640 * 360), buffer(640 * 180)];
        let format = PixelFormat::Nv12;
        TensorDyn::from_plane_buffers(&buffers, &places, 640, 360, format, DType::U8).unwrap()
    };
    let error = camera.stream_into(&fill(&pair)).unwrap_err().to_string();
    assert!(error.contains("not as many buffers"), "{error}");
    // Nothing is left behind that would keep the camera busy.
    camera.negotiate(&Wanted::pixels(PixelFormat::Yuyv).size(320, 180)).unwrap();
    drop(take(&mut camera.stream().unwrap()));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_camera_that_needs_contiguous_memory_says_so() {
    let mut camera = open(true);
    let source = Source::Heap("system".to_owned());
    let memory = FrameMemory::Allocated(Arc::new(Dma::from_source(source)));
    // Larger than what happens to be contiguous.
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(1920, 1080).nearest_size().memory(memory);
    camera.negotiate(&wanted).unwrap();
    let error = camera.stream().unwrap_err();
    assert!(matches!(error, Error::BufferRefused { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("may need contiguous memory"), "{words}");
    // Its own buffers serve.
    camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
    check_planes(&take(&mut camera.stream().unwrap()));
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn everything_may_be_dropped_in_any_order() {
    // Camera, stream, frame, view and guard, in all 120 orders.
    let mut orders: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..5 {
        orders = orders
            .into_iter()
            .flat_map(|order| {
                let left = (0..5).filter(|part| !order.contains(part)).collect::<Vec<_>>();
                left.into_iter().map(move |part| [order.clone(), vec![part]].concat())
            })
            .collect();
    }
    assert_eq!(orders.len(), 120);
    let path = path(false);
    let before = (open_descriptors(), mappings());
    for (number, order) in orders.into_iter().enumerate() {
        let mut camera = Camera::open(&path).unwrap();
        let memory = if number % 2 == 0 { FrameMemory::Exported } else { FrameMemory::Mapped };
        let wanted = Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0).memory(memory);
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        let frame = take(&mut stream);
        let view = frame.share();
        let guard = view.map_read().unwrap();
        let value = guard.as_slice()[100];
        let (mut camera, mut stream) = (Some(camera), Some(stream));
        let (mut frame, mut view, mut guard) = (Some(frame), Some(view), Some(guard));
        for part in order {
            match part {
                0 => drop(camera.take()),
                1 => drop(stream.take()),
                // On another thread.
                2 => {
                    let frame = frame.take();
                    std::thread::spawn(move || drop(frame)).join().unwrap();
                }
                3 => drop(view.take()),
                _ => drop(guard.take()),
            }
            if let Some(guard) = &guard {
                assert_eq!(guard.as_slice()[100], value);
            }
            if let Some(view) = &view {
                assert_eq!(view.map_read().unwrap().as_slice()[100], value);
            }
        }
        assert_eq!((open_descriptors(), mappings()), before);
    }
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_guard_or_view_keeps_the_buffer_from_the_driver() {
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).fps(60.0).buffers(4);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    let guard = {
        let frame = take(&mut stream);
        (frame.slot(), frame.plane(1).unwrap().map_read().unwrap())
    };
    for _ in 0..12 {
        assert_ne!(take(&mut stream).slot(), guard.0);
    }
    let slot = guard.0;
    drop(guard);
    assert!((0..12).any(|_| take(&mut stream).slot() == slot));
    // What comes back by its descriptor is the same memory and keeps it too.
    let frame = take(&mut stream);
    let (slot, id) = (frame.slot(), frame.buffer_identity().id());
    let fd = frame.dmabuf_clone().unwrap();
    let same = TensorDyn::from_fd(&fd, &[320 * 180], DType::U8, None).unwrap();
    assert_eq!(same.buffer_identity().id(), id);
    drop(frame);
    for _ in 0..12 {
        assert_ne!(take(&mut stream).slot(), slot);
    }
    drop(same);
    assert!((0..12).any(|_| take(&mut stream).slot() == slot));
    // A tensor that stays, and the stream that goes.
    let tensor = take(&mut stream).into_tensor();
    drop((stream, camera));
    assert_eq!(tensor.map_read().unwrap().as_slice().len(), 320 * 270);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn holding_every_frame_starves_the_camera_until_one_is_dropped() {
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0).buffers(8);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    assert_eq!(stream.buffers(), 8);
    let mut held: Vec<Frame> = (0..8).map(|_| take(&mut stream)).collect();
    let error = stream.next(Duration::from_millis(100)).unwrap_err();
    assert!(matches!(error, Error::Starved { held: 8 }) && error.is_timeout(), "{error}");
    // Another thread lets go while this one waits.
    let last = held.pop();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        drop(last);
    });
    drop(take(&mut stream));
    thread.join().unwrap();
    held.clear();
    for _ in 0..16 {
        drop(take(&mut stream));
    }
    assert!(stream.dropped() > 0, "the camera went on meanwhile");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_frame_that_does_not_come_is_a_timeout() {
    let mut camera = single();
    camera.negotiate(&Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(1.0)).unwrap();
    let mut stream = camera.stream().unwrap();
    // The first may come at once.
    let _ = stream.next(SECOND);
    let began = Instant::now();
    let error = stream.next(Duration::from_millis(50)).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
    let error = stream.next(Duration::ZERO).unwrap_err();
    assert!(error.is_timeout(), "{error}");
    stream.pause().unwrap();
    assert!(matches!(stream.next(SECOND), Err(Error::Paused)));
    drop(stream);
    camera.negotiate(&Wanted::any().fps(60.0)).unwrap();
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
    let mut camera = single();
    camera.negotiate(&Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0)).unwrap();
    camera.set_control("Percentage of Dropped Buffers", 50).unwrap();
    let mut stream = camera.stream().unwrap();
    let first = take(&mut stream).sequence();
    let (mut lost, mut last) = (0, first);
    for _ in 0..30 {
        let frame = take(&mut stream);
        lost += u64::from(frame.dropped());
        last = frame.sequence();
    }
    camera.set_control("Percentage of Dropped Buffers", 0).unwrap();
    assert_eq!(stream.dropped(), lost);
    assert_eq!(u64::from(last - first), lost + 30);
    assert!(lost > 0);
    camera.set_control("Inject V4L2_BUF_FLAG_ERROR", 1).unwrap();
    assert!((0..10).any(|_| take(&mut stream).is_damaged()));
    assert!(!take(&mut stream).is_damaged());
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn a_camera_that_streams_for_somebody_is_busy() {
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
fn nothing_is_left_behind_when_cameras_are_closed() {
    let path = path(false);
    let before = (open_descriptors(), mappings());
    for number in 0..50 {
        let mut camera = Camera::open(&path).unwrap();
        let memory = match number % 3 {
            0 => FrameMemory::Automatic,
            1 => FrameMemory::Mapped,
            _ => FrameMemory::Allocated(Arc::new(Dma::new())),
        };
        let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).fps(60.0).memory(memory);
        camera.negotiate(&wanted).unwrap();
        let mut stream = camera.stream().unwrap();
        if number % 5 == 0 {
            drop(take(&mut stream));
        }
    }
    assert_eq!((open_descriptors(), mappings()), before);
    let left = tenure_memory::statistics::report();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn zz_a_camera_that_is_unplugged_is_an_error() {
    let mut camera = single();
    camera.negotiate(&Wanted::pixels(PixelFormat::Nv12).size(640, 360)).unwrap();
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
