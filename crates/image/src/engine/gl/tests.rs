//! What only the inside can see: imports, copies, a lost context, platforms.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tenure_layout::{DType, PixelFormat};
use tenure_memory::{Access, Allocator, Buffer, CpuAccess, RawBuffer, Request};
use tenure_tensor::{DynTensor, TensorDyn, TensorMemory};

use super::worker::Order;
use super::{OpenGl, Running};
use crate::engine::Engine;
use crate::job::Job;
use crate::{Convert, Fit};

fn engine() -> OpenGl {
    let engine = OpenGl::new();
    assert!(engine.running().is_ok(), "no driver: {:?}", engine.running().err());
    engine
}

fn running(engine: &OpenGl) -> Arc<Running> {
    engine.running().unwrap()
}

fn counts(engine: &OpenGl) -> (usize, usize) {
    let running = running(engine);
    (running.worker.state.imports(), running.worker.state.copies())
}

fn image(memory: TensorMemory, format: PixelFormat, side: usize) -> TensorDyn {
    TensorDyn::image(side, side, format, DType::U8, Some(memory), None).unwrap()
}

fn job(source: &TensorDyn, target: &TensorDyn) -> Job {
    Job::new(source, target, &Convert::new().fit(Fit::letterbox(3))).unwrap()
}

/// Whether shared memory must be importable: said by the script that brings a driver that can.
fn must_import() -> bool {
    std::env::var_os("TENURE_TEST_IMPORTS").is_some()
}

#[test]
fn memories_are_what_the_driver_imports_and_a_pixel_buffer() {
    let engine = engine();
    let running = running(&engine);
    let abilities = &running.worker.abilities;
    let mut expected = vec![];
    expected.extend(abilities.imports.then_some(TensorMemory::Dma));
    expected.extend(abilities.imports_shared.then_some(TensorMemory::Shm));
    expected.push(TensorMemory::Pbo);
    assert_eq!(engine.memories(), expected);
    assert!(expected.contains(&TensorMemory::Shm) || !must_import());
}

#[test]
fn imports_are_not_copied_and_die_with_their_buffer() {
    let engine = engine();
    let can = running(&engine).worker.abilities.imports_shared;
    assert!(can || !must_import(), "this driver was to import shared memory");
    let frame = image(TensorMemory::Shm, PixelFormat::Nv12, 64);
    let (rgba, rgb) = (
        image(TensorMemory::Shm, PixelFormat::Rgba, 32),
        image(TensorMemory::Shm, PixelFormat::Rgb, 64),
    );
    for _ in 0..3 {
        engine.run(&job(&frame, &rgba)).unwrap();
        engine.run(&job(&frame, &rgb)).unwrap();
    }
    // Two planes in, two images out; without import every plane is copied every time.
    assert_eq!(counts(&engine), if can { (4, 0) } else { (0, 18) });
    drop(rgb);
    engine.run(&job(&frame, &rgba)).unwrap();
    assert_eq!(counts(&engine).0, if can { 3 } else { 0 });
    drop(frame);
    // Without another conversion too, a moment later.
    for _ in 0..1000 {
        if counts(&engine).0 == usize::from(can) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} imports are kept", counts(&engine).0);
}

#[test]
fn tiles_of_one_buffer_are_drawn_side_by_side() {
    let engine = engine();
    let can = running(&engine).worker.abilities.imports_shared;
    let frame = image(TensorMemory::Shm, PixelFormat::Nv12, 64);
    frame.map().unwrap().as_mut_slice().iter_mut().zip(0..).for_each(|(byte, at)| *byte = at as u8);
    // Of eight rows each, and of ten: drawing would reach into the next tile.
    for (rows, imported) in [(8, true), (10, false)] {
        let batch = TensorDyn::new(&[3, rows, 16, 4], DType::U8, Some(TensorMemory::Shm), None);
        let batch = batch.unwrap().with_format(PixelFormat::Rgba).unwrap();
        let before = counts(&engine);
        let tiles: Vec<_> = (0..3).map(|index| batch.batch(index).unwrap()).collect();
        let fences: Vec<_> =
            tiles.iter().map(|tile| engine.start(&job(&frame, tile)).unwrap()).collect();
        for fence in fences {
            assert!(fence.wait(Some(Duration::from_secs(60))).unwrap());
        }
        let heap = Some(TensorMemory::Mem);
        let alone = TensorDyn::image(16, rows, PixelFormat::Rgba, DType::U8, heap, None).unwrap();
        engine.run(&job(&frame, &alone)).unwrap();
        for tile in &tiles {
            assert_eq!(tile.map_read().unwrap().as_slice(), alone.map_read().unwrap().as_slice());
        }
        if can {
            // That of `alone` is always copied; of the frame, nothing.
            let copied = counts(&engine).1 - before.1;
            // Below the last tile is nobody: it is drawn where its memory has room for blocks.
            let expected = if imported { 1..=1 } else { 3..=4 };
            assert!(expected.contains(&copied), "{copied} copies");
            let said = engine.explain(&job(&frame, &tiles[1]));
            let words = if imported { "(imported) with" } else { "(copied: drawing touches" };
            assert!(said.contains(words), "{said}");
        }
    }
}

#[test]
fn rows_below_an_image_on_the_heap_are_nobodys_business() {
    let engine = engine();
    let frame = image(TensorMemory::Mem, PixelFormat::Grey, 16);
    let batch = TensorDyn::new(&[2, 10, 16, 3], DType::U8, Some(TensorMemory::Mem), None);
    let batch = batch.unwrap().with_format(PixelFormat::Rgb).unwrap();
    let (one, other) = (batch.batch(0).unwrap(), batch.batch(1).unwrap());
    let work = running(&engine).work(&job(&frame, &one)).unwrap();
    drop(other.map().unwrap());
    drop(work);
}

#[test]
fn a_worker_that_is_gone_is_replaced() {
    let engine = engine();
    let (frame, target) = (
        image(TensorMemory::Mem, PixelFormat::Grey, 8),
        image(TensorMemory::Mem, PixelFormat::Rgb, 8),
    );
    let first = running(&engine);
    first.worker.orders.send(Order::Panic).unwrap();
    // Whoever asks meanwhile is told, and nobody waits for ever.
    while !first.worker.state.lost() {
        let _ = engine.run(&job(&frame, &target));
    }
    engine.run(&job(&frame, &target)).unwrap();
    assert!(!Arc::ptr_eq(&first, &running(&engine)));
}

#[test]
fn what_is_copied_says_why() {
    let engine = engine();
    if !running(&engine).worker.abilities.imports_shared {
        return;
    }
    let whole = TensorDyn::new(&[65536], DType::U8, Some(TensorMemory::Shm), None).unwrap();
    whole.map().unwrap().as_mut_slice().fill(1);
    let place = |start: usize, stride: usize| {
        let (buffers, places) = ([whole.buffer().clone()], [(start, Some(stride))]);
        let (format, dtype) = (PixelFormat::Grey, DType::U8);
        TensorDyn::from_plane_buffers(&buffers, &places, 64, 64, format, dtype).unwrap()
    };
    let (frame, target) = (place(32768, 64), place(0, 64));
    let said = |source: &TensorDyn, target: &TensorDyn| engine.explain(&job(source, target));
    let both = said(&frame, &target);
    assert!(both.contains("64x64 (imported) to") && !both.contains("copied"), "{both}");
    for (source, target, words) in [
        (
            place(32768, 67),
            place(0, 64),
            "(copied: its rows are 67 bytes apart, which is no multiple of 4) to",
        ),
        (place(32770, 64), place(0, 64), "(copied: its first row is at byte 32770"),
        (
            place(32768, 64),
            place(0, 68),
            "(copied: its rows are 68 bytes apart, which is no multiple of 16) with",
        ),
    ] {
        let before = counts(&engine).1;
        engine.run(&job(&source, &target)).unwrap();
        assert_eq!(counts(&engine).1, before + 1, "{words}");
        let all = said(&source, &target);
        assert!(all.contains(words), "{all}");
    }
}

#[test]
fn memory_that_drivers_would_leave_is_copied() {
    // 30 rows of 64 bytes at the end of the memory: drawing would reach 32.
    let engine = engine();
    let frame = image(TensorMemory::Mem, PixelFormat::Grey, 16);
    let whole = TensorDyn::new(&[4096], DType::U8, Some(TensorMemory::Shm), None).unwrap();
    let place = |rows: usize| {
        let places = [(4096 - rows * 64, Some(64))];
        let buffers = [whole.buffer().clone()];
        let (format, dtype) = (PixelFormat::Rgba, DType::U8);
        TensorDyn::from_plane_buffers(&buffers, &places, 16, rows, format, dtype).unwrap()
    };
    engine.run(&job(&frame, &place(30))).unwrap();
    assert_eq!(counts(&engine).0, 0);
    engine.run(&job(&frame, &place(32))).unwrap();
    let can = running(&engine).worker.abilities.imports_shared;
    assert_eq!(counts(&engine).0, usize::from(can));
}

#[test]
fn slack_that_somebody_holds_is_not_drawn_into() {
    let engine = engine();
    let frame = image(TensorMemory::Mem, PixelFormat::Grey, 16);
    let whole = TensorDyn::new(&[8192], DType::U8, Some(TensorMemory::Shm), None).unwrap();
    let buffers = [whole.buffer().clone()];
    let (format, dtype) = (PixelFormat::Rgba, DType::U8);
    let upper = TensorDyn::from_plane_buffers(&buffers, &[(0, Some(64))], 16, 30, format, dtype);
    let upper = upper.unwrap();
    let below = whole.buffer().write_range(30 * 64..8192).unwrap();
    engine.run(&job(&frame, &upper)).unwrap();
    assert_eq!(counts(&engine).0, 0);
    drop(below);
    engine.run(&job(&frame, &upper)).unwrap();
    let can = running(&engine).worker.abilities.imports_shared;
    assert_eq!(counts(&engine).0, usize::from(can));
}

#[test]
fn a_lost_context_is_told_and_another_one_made() {
    let engine = engine();
    let (frame, target) = (
        image(TensorMemory::Mem, PixelFormat::Grey, 8),
        image(TensorMemory::Mem, PixelFormat::Rgb, 8),
    );
    let pixels =
        TensorDyn::image_builder(8, 8, PixelFormat::Rgb, DType::U8).allocator(&engine).build();
    let pixels = pixels.unwrap();
    engine.run(&job(&frame, &target)).unwrap();
    running(&engine).worker.orders.send(Order::LoseContext).unwrap();
    let error = engine.run(&job(&frame, &target)).unwrap_err().to_string();
    assert!(error.contains("context was lost"), "{error}");
    // The next one has a new context, and the pixel buffers of the old one say that it is gone.
    engine.run(&job(&frame, &target)).unwrap();
    let error = pixels.map_read().map(drop).unwrap_err().to_string();
    assert!(error.contains("gone"), "{error}");
    let new = TensorDyn::image_builder(8, 8, PixelFormat::Rgb, DType::U8)
        .allocator(&engine)
        .build()
        .unwrap();
    engine.run(&job(&frame, &new)).unwrap();
    // On its way it is told by the fence: no byte, and nobody holds the picture.
    running(&engine).worker.orders.send(Order::LoseContext).unwrap();
    let fence = engine.start(&job(&frame, &target)).unwrap();
    assert!(fence.wait(Some(Duration::from_secs(60))).is_err());
    drop(target.map().unwrap());
    engine.run(&job(&frame, &target)).unwrap();
}

#[test]
fn what_the_driver_rejects_is_copied_and_said() {
    let engine = engine();
    let (frame, rgba) = (
        image(TensorMemory::Shm, PixelFormat::Nv12, 64),
        image(TensorMemory::Shm, PixelFormat::Rgba, 64),
    );
    let can = running(&engine).worker.abilities.imports_shared;
    running(&engine).worker.state.reject.store(true, Ordering::Relaxed);
    engine.run(&job(&frame, &rgba)).unwrap();
    assert_eq!(counts(&engine), (0, 3));
    let said = engine.explain(&job(&frame, &rgba));
    let reason = if can { "not imported: told to reject it" } else { "(copied" };
    assert!(said.contains(reason), "{said}");
}

/// Memory as the GPU has it: not for the CPU.
struct ForDevices;

impl Allocator for ForDevices {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Dma
    }

    fn allocate(&self, request: &Request<'_>) -> tenure_memory::Result<RawBuffer> {
        let dma = tenure_memory::kind::allocator(TensorMemory::Dma).unwrap();
        dma.allocate(&request.with_cpu(CpuAccess::None))
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn memory_that_the_cpu_cannot_map_is_only_for_the_gpu() {
    let make = |width, height, format| {
        TensorDyn::image_builder(width, height, format, DType::U8)
            .allocator(&ForDevices)
            .build()
            .unwrap()
    };
    let frame = image(TensorMemory::Dma, PixelFormat::Rgba, 64);
    frame.map().unwrap().as_mut_slice().iter_mut().zip(0..).for_each(|(byte, at)| *byte = at as u8);
    let (hidden, seen) =
        (make(64, 64, PixelFormat::Rgba), image(TensorMemory::Dma, PixelFormat::Rgba, 64));
    // A processor that is not told how finds out who can.
    let processor = crate::ImageProcessor::new().unwrap();
    let said = processor.explain(&frame, &hidden, &Convert::new()).unwrap();
    assert!(
        said[0].verdict.as_ref().is_err_and(|why| why.contains("cannot be mapped")),
        "{said:?}"
    );
    assert!(said[1].verdict.is_ok(), "{said:?}");
    processor.convert(&frame, &hidden.clone(), &Convert::new()).unwrap();
    processor.convert(&hidden, &seen.clone(), &Convert::new()).unwrap();
    assert_eq!(frame.map_read().unwrap().as_slice(), seen.map_read().unwrap().as_slice());
    // What the driver rejects is no secret: there is no other way to such memory.
    let engine = engine();
    running(&engine).worker.state.reject.store(true, Ordering::Relaxed);
    let error = engine.run(&job(&hidden, &seen)).unwrap_err().to_string();
    assert!(error.contains("the CPU cannot map this dma memory"), "{error}");
    // Nor are rows that no driver takes.
    let narrow = make(3, 3, PixelFormat::Grey);
    let places = [(1, Some(5))];
    let buffers = [narrow.buffer().clone()];
    let (format, dtype) = (PixelFormat::Grey, DType::U8);
    let odd = TensorDyn::from_plane_buffers(&buffers, &places, 1, 1, format, dtype).unwrap();
    let error = super::tests::engine().run(&job(&odd, &seen)).unwrap_err().to_string();
    assert!(error.contains("5 bytes apart, which is no multiple of 4"), "{error}");
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn devices_are_told_by_a_fence_of_the_kernel() {
    let engine = engine();
    let frame = image(TensorMemory::Dma, PixelFormat::Nv12, 64);
    let rgba = image(TensorMemory::Dma, PixelFormat::Rgba, 64);
    for _ in 0..3 {
        let fence = engine.start(&job(&frame, &rgba)).unwrap();
        assert!(fence.wait(Some(Duration::from_secs(60))).unwrap());
    }
    assert_eq!(running(&engine).worker.state.fences(), 3);
    assert!(
        Buffer::from_shared(Arc::clone(rgba.buffer().raw().unwrap()))
            .wait_ready(Access::KernelWrite, Some(Duration::from_secs(60)))
            .unwrap()
    );
}

/// A conversion on one platform, or why there is none.
fn on(platform: &'static str) -> Result<(), String> {
    let engine = OpenGl::only_on(Some(platform));
    engine.running().map_err(|error| error.to_string())?;
    let (grey, rgba) = (
        image(TensorMemory::Mem, PixelFormat::Grey, 16),
        image(TensorMemory::Mem, PixelFormat::Rgba, 16),
    );
    grey.map().unwrap().as_mut_slice().fill(77);
    engine.run(&job(&grey, &rgba)).unwrap();
    assert_eq!(rgba.map_read().unwrap().as_slice()[..4], [77, 77, 77, 255]);
    let said = engine.explain(&job(&grey, &rgba));
    assert!(said.contains(&format!("({platform})")), "{said}");
    Ok(())
}

#[test]
fn platforms_serve_or_say_why_not() {
    on("surfaceless").unwrap();
    on("device").unwrap();
    if let Err(reason) = on("gbm") {
        assert!(reason.contains("gbm: there is no /dev/dri/renderD*"), "{reason}");
    }
    let none = on("no such").unwrap_err();
    assert!(none.contains("there is no OpenGL ES 3 here"), "{none}");
}

#[test]
#[ignore = "needs a render node: tests/vm/test"]
fn a_card_without_a_screen_serves_through_gbm() {
    on("gbm").unwrap();
}
