//! What only the inside can see: imports, copies, a lost context.

use std::sync::atomic::Ordering;

use tenure_layout::{DType, PixelFormat};
use tenure_tensor::{TensorDyn, TensorMemory};

use super::{OpenGl, Running};
use crate::engine::Engine;
use crate::job::Job;
use crate::{Convert, Fit};

fn engine() -> OpenGl {
    let engine = OpenGl::new();
    assert!(engine.worker.is_ok(), "no driver: {:?}", engine.worker.as_ref().err());
    engine
}

fn running(engine: &OpenGl) -> &Running {
    engine.running().unwrap()
}

fn counts(engine: &OpenGl) -> (usize, usize) {
    let state = &running(engine).worker.state;
    (state.imports.load(Ordering::Relaxed), state.copies.load(Ordering::Relaxed))
}

fn image(memory: TensorMemory, format: PixelFormat, side: usize) -> TensorDyn {
    TensorDyn::image(side, side, format, DType::U8, None, Some(memory), None).unwrap()
}

fn job(source: &TensorDyn, target: &TensorDyn) -> Job {
    Job::new(source, target, &Convert::new().with_fit(Fit::letterbox(3))).unwrap()
}

/// Whether shared memory must be importable: said by the script that brings a driver that can.
fn must_import() -> bool {
    std::env::var_os("TENURE_TEST_IMPORTS").is_some()
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
    let heap = image(TensorMemory::Mem, PixelFormat::Rgba, 8);
    engine.run(&job(&heap, &rgba)).unwrap();
    assert_eq!(counts(&engine).0, usize::from(can));
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
fn a_lost_context_is_told_and_not_used() {
    let engine = engine();
    let (frame, target) = (
        image(TensorMemory::Mem, PixelFormat::Grey, 8),
        image(TensorMemory::Mem, PixelFormat::Rgb, 8),
    );
    engine.run(&job(&frame, &target)).unwrap();
    running(&engine).worker.state.lost.store(true, Ordering::Relaxed);
    for said in [engine.check(&job(&frame, &target)), engine.run(&job(&frame, &target))] {
        assert!(said.unwrap_err().to_string().contains("context was lost"));
    }
    assert!(engine.allocator(TensorMemory::Pbo).is_none());
}
