//! Whether tensors share bytes, however they came about.

use std::sync::Arc;

use tenure_memory::kind::mem::Mem;
use tenure_tensor::{PixelFormat, Region, Tensor, TensorMemory};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

/// Every format; where a program runs a thousand times slower, one of each arrangement.
fn formats() -> impl Iterator<Item = PixelFormat> {
    let few = [PixelFormat::Rgb, PixelFormat::I420, PixelFormat::P010, PixelFormat::PlanarRgb];
    PixelFormat::all().filter(move |format| !cfg!(miri) || few.contains(format))
}

#[test]
fn halves_of_an_image_do_not_alias() {
    let frame = Tensor::<u8>::image(16, 8, PixelFormat::Rgb, MEM, None).unwrap();
    let left = frame.view(Region::new(0, 0, 8, 8)).unwrap();
    let right = frame.view(Region::new(8, 0, 8, 8)).unwrap();
    let middle = frame.view(Region::new(7, 3, 2, 2)).unwrap();
    assert!(!left.aliases(&right) && !right.aliases(&left));
    assert!(middle.aliases(&left) && middle.aliases(&right) && frame.aliases(&left));
    right.copy_from(&left).unwrap();
    // The ledger agrees: both halves may be written at once, by rows or by element.
    let (mut one, mut other) = (left.map_rows().unwrap(), right.map_rows().unwrap());
    one.rows_mut().for_each(|row| row.fill(1));
    other.rows_mut().for_each(|row| row.fill(2));
    assert!(middle.map_rows_read().is_err() && middle.map_strided_read().is_err());
    drop((one, other));
    let (one, mut other) = (left.map_strided().unwrap(), right.map_strided().unwrap());
    assert_eq!((one[[7, 7, 2]], other[[7, 0, 0]]), (1, 2));
    other[[7, 0, 0]] = 3;
    drop((one, other));
    for row in frame.map_rows_read().unwrap().rows() {
        assert!(row[..24].iter().all(|value| *value == 1) && row[25..].iter().all(|v| *v == 2));
    }
}

#[test]
fn planes_do_not_alias_each_other() {
    for format in formats().filter(|format| *format != PixelFormat::P010) {
        let frame = Tensor::<u8>::image(8, 8, format, MEM, None).unwrap();
        let planes: Vec<_> = (0..frame.plane_count()).map(|n| frame.plane(n).unwrap()).collect();
        for (n, plane) in planes.iter().enumerate() {
            assert!(plane.aliases(&frame) && frame.aliases(plane), "{format}");
            assert!(planes.iter().skip(n + 1).all(|other| !other.aliases(plane)), "{format}");
        }
    }
}

#[test]
fn tensors_in_one_arena_alias_where_they_overlap() {
    let arena = Tensor::<u8>::new(&[4096], MEM, None).unwrap();
    let lazy = |elements| {
        Tensor::<f32>::builder(&[elements]).allocator(&Arc::new(Mem)).lazy().build().unwrap()
    };
    let (a, b, c) = (lazy(100), lazy(100), lazy(100));
    assert!(!a.aliases(&b), "without a place they share nothing");
    a.buffer().place_in(arena.buffer(), 0).unwrap();
    b.buffer().place_in(arena.buffer(), 256).unwrap();
    c.buffer().place_in(arena.buffer(), 1024).unwrap();
    assert!(a.aliases(&b) && a.aliases(&arena) && !a.aliases(&c));
    assert!(!a.slice(0, 0..64).unwrap().aliases(&b));
    assert!(a.slice(0, 63..65).unwrap().aliases(&b));
    assert_ne!(a.buffer_identity(), b.buffer_identity());
    let _writer = a.map().unwrap();
    assert!(b.map_read().is_err() && c.map().is_ok());
}

#[test]
fn handles_and_types_do_not_matter() {
    let t = Tensor::<u32>::new(&[16], MEM, None).unwrap();
    let bytes = tenure_tensor::Layout::contiguous(tenure_tensor::DType::U8, &[64]).unwrap();
    let bytes = Tensor::<u8>::from_buffer(t.buffer().clone(), bytes).unwrap();
    assert!(t.clone().aliases(&t) && t.to_dyn().aliases(&bytes));
    assert!(bytes.slice(0, 63..64).unwrap().aliases(&t.slice(0, 15..16).unwrap()));
    assert!(!bytes.slice(0, 59..60).unwrap().aliases(&t.slice(0, 15..16).unwrap()));
}

#[cfg(linux_like)]
#[test]
#[cfg_attr(miri, ignore = "needs memory files")]
fn memory_that_came_back_is_known() {
    let t = Tensor::<u8>::new(&[1000], Some(TensorMemory::Shm), None).unwrap();
    let back = Tensor::<u8>::from_fd(t.clone_fd().unwrap(), &[1000], None).unwrap();
    assert!(back.aliases(&t));
    assert!(!back.slice(0, 0..500).unwrap().aliases(&t.slice(0, 500..1000).unwrap()));
    // Reopened by a name that the library never saw.
    let fd = t.clone_fd().unwrap();
    let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&fd));
    let again = tenure_tensor::TensorDyn::open(path).unwrap();
    assert!(again.aliases(&t) && again.map_read().is_ok());
    let _writer = t.map().unwrap();
    assert!(again.map_read().is_err());
}
