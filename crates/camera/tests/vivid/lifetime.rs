//! Who keeps a frame's buffer from the driver, and for how long.

use std::sync::Arc;
use std::time::Duration;

use tenure_camera::{Camera, Error, Frame, FrameMemory, Wanted};
use tenure_memory::kind::dma::Dma;
use tenure_tensor::{DType, DynTensor, PixelFormat, TensorDyn};

use crate::{alone, child, fork, mappings, open_descriptors, path, single, take};

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn everything_may_be_dropped_in_any_order() {
    let _alone = alone();
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
        let view = frame.clone();
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
    let _alone = alone();
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).fps(60.0).buffers(4);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    let guard = {
        let frame = take(&mut stream);
        (frame.slot(), frame.plane(1).unwrap().map_rows_read().unwrap())
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
    let _alone = alone();
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0).buffers(8);
    camera.negotiate(&wanted).unwrap();
    let mut stream = camera.stream().unwrap();
    assert_eq!(stream.buffers(), 8);
    let mut held: Vec<Frame> = (0..8).map(|_| take(&mut stream)).collect();
    let error = stream.next(Duration::from_millis(100)).unwrap_err();
    assert!(matches!(error, Error::Starved { held: 8 }) && error.is_busy(), "{error}");
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
fn nothing_is_left_behind_when_cameras_are_closed() {
    let _alone = alone();
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
fn other_threads_may_drop_frames_while_the_stream_runs_and_goes() {
    let _alone = alone();
    let mut camera = single();
    let wanted = Wanted::pixels(PixelFormat::Nv12).size(320, 180).fps(60.0).buffers(8);
    camera.negotiate(&wanted).unwrap();
    for _ in 0..5 {
        let mut stream = camera.stream().unwrap();
        let threads: Vec<_> = (0..3)
            .map(|number| {
                let (sender, receiver) = std::sync::mpsc::sync_channel::<Frame>(2);
                let work = move || {
                    for frame in receiver {
                        let luma = frame.plane(0).unwrap();
                        drop(frame);
                        let guard = luma.map_rows_read().unwrap();
                        std::thread::sleep(Duration::from_millis(number * 7));
                        assert_eq!((guard.len(), guard.row_len()), (180, 320));
                    }
                };
                (sender, std::thread::spawn(work))
            })
            .collect();
        for number in 0..40 {
            let _ = threads[number % 3].0.try_send(take(&mut stream));
        }
        // Frames are on their way.
        drop(stream);
        for (sender, thread) in threads {
            drop(sender);
            thread.join().unwrap();
        }
    }
    assert_eq!(mappings(), 0);
}

#[test]
#[ignore = "needs a camera: tests/vm/test"]
fn what_a_forked_process_drops_the_camera_keeps() {
    let _alone = alone();
    child::alone("lifetime::what_a_forked_process_drops_the_camera_keeps", || {
        for memory in [FrameMemory::Exported, FrameMemory::Mapped] {
            let mut camera = single();
            let wanted = Wanted::pixels(PixelFormat::Grey).size(320, 180).fps(60.0).memory(memory);
            camera.negotiate(&wanted).unwrap();
            let mut stream = camera.stream().unwrap();
            let held = take(&mut stream);
            let before = (open_descriptors(), mappings());
            let mut everything = Some((camera, stream, held));
            for _ in 0..2 {
                let ended = fork::fork(|| {
                    let (camera, stream, held) = everything.take().unwrap();
                    // Neither stops the camera nor gives the buffer back to it.
                    drop(held);
                    drop(stream);
                    drop(camera);
                    0
                });
                assert!(ended.success(), "{ended}");
            }
            assert_eq!((open_descriptors(), mappings()), before);
            let (_camera, mut stream, held) = everything.unwrap();
            let value = held.map_read().unwrap().as_slice()[100];
            for _ in 0..10 {
                take(&mut stream);
            }
            assert_eq!(held.map_read().unwrap().as_slice()[100], value);
        }
    });
}
