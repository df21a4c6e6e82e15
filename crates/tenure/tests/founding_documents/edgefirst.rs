//! The README of edgefirst-tensor, section by section.

use tenure::memory::environment;
use tenure::{DType, DynTensor, PixelFormat, Tensor, TensorDyn, TensorMemory};

/// "Memory Types": DMA, SHM, Mem, PBO, and what serves here.
#[test]
fn memory_types() {
    let rows = [
        (TensorMemory::Mem, "mem", 0),
        (TensorMemory::Dma, "dma", 1),
        (TensorMemory::Shm, "shm", 2),
        (TensorMemory::Pbo, "pbo", 3),
    ];
    for (memory, word, code) in rows {
        assert_eq!((memory.name(), memory.code()), (word, code));
        assert_eq!(TensorMemory::try_from(word).unwrap(), memory);
        assert_eq!(String::from(memory), word);
        assert_eq!(TensorMemory::from_code(code), Some(memory));
    }
    // "TensorMemory is Copy."
    let copy = TensorMemory::Dma;
    let (one, two) = (copy, copy);
    assert_eq!(one, two);
}

/// "PBO: created by ImageProcessor, never allocated by this crate."
#[test]
fn pixel_buffers_are_not_allocated() {
    let error = Tensor::<u8>::new(&[4], Some(TensorMemory::Pbo), None).unwrap_err().to_string();
    assert!(error.contains("pbo") && error.contains("image processor"), "{error}");
}

/// "Automatic memory selection": DMA, then SHM, then Mem.
#[test]
fn automatic_selection() {
    if environment::ALL.iter().any(|variable| variable.is_on()) {
        assert_eq!(tenure::memory::automatic(), [TensorMemory::Mem]);
    } else {
        let order = [TensorMemory::Dma, TensorMemory::Shm, TensorMemory::Mem];
        assert_eq!(tenure::memory::automatic(), order);
    }
    let tensor = Tensor::<f32>::new(&[1, 3, 8, 8], None, None).unwrap();
    assert!(tenure::memory::automatic().contains(&tensor.memory()));
}

/// "EDGEFIRST_TENSOR_FORCE_MEM: set to 1 or true to force heap allocation."
#[test]
fn environment_variables() {
    let names: Vec<_> = environment::ALL.iter().map(|variable| variable.name).collect();
    assert_eq!(names, ["TENURE_FORCE_MEM", "EDGEFIRST_TENSOR_FORCE_MEM"]);
}

/// "Quick Start": new, memory(), map, as_mut_slice, clone_fd, from_fd.
#[test]
fn quick_start() {
    let tensor = Tensor::<f32>::new(&[1, 3, 224, 224], None, None).unwrap();
    println!("Memory type: {:?}", tensor.memory());
    let mut map = tensor.map().unwrap();
    map.as_mut_slice().fill(0.5);
    assert_eq!(map.as_slice().len(), 3 * 224 * 224);
    drop(map);
    assert!(tensor.map_read().unwrap().as_slice().iter().all(|value| *value == 0.5));
    let named = Tensor::<u8>::new(&[4], Some(TensorMemory::Mem), Some("input")).unwrap();
    assert_eq!((named.name(), named.memory()), (Some("input"), TensorMemory::Mem));
}

/// "Zero-copy sharing: share tensors between processes via file descriptors."
#[cfg(target_os = "linux")]
#[test]
fn sharing_by_descriptor() {
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    tensor.map().unwrap().as_mut_slice()[3] = 7;
    let same = Tensor::<u8>::from_fd(tensor.clone_fd().unwrap(), &[64], None).unwrap();
    assert_eq!(same.map_read().unwrap().as_slice()[3], 7);
    // The heap has no descriptor.
    let heap = Tensor::<u8>::new(&[64], Some(TensorMemory::Mem), None).unwrap();
    assert!(heap.clone_fd().unwrap_err().to_string().contains("no file descriptor"));
}

/// "Platform Support": the API exists on every Unix, and answers where a memory is not served.
#[cfg(unix)]
#[test]
fn every_unix_has_the_calls() {
    use std::os::fd::{AsFd, OwnedFd};
    use tenure::PlaneDescriptor;
    let _: fn(&Tensor<u8>) -> tenure::tensor::Result<OwnedFd> = Tensor::clone_fd;
    let _: fn(&Tensor<u8>) -> tenure::tensor::Result<OwnedFd> = Tensor::dmabuf_clone;
    let (input, output) = std::os::unix::net::UnixStream::pair().unwrap();
    // No memory at all is refused, wherever the call is.
    assert!(Tensor::<u8>::from_fd(&input, &[4], None).is_err());
    drop(output);
    // "The fd is duplicated eagerly in new(). The caller retains ownership of the original fd."
    let plane = PlaneDescriptor::new(&input).unwrap();
    assert_eq!((plane.stride(), plane.offset()), (None, None));
    let plane = plane.with_stride(2048).with_offset(0);
    assert_eq!((plane.stride(), plane.offset()), (Some(2048), Some(0)));
    let other: OwnedFd = plane.into_fd();
    assert_eq!(input.peer_addr().is_ok(), input.as_fd().try_clone_to_owned().is_ok());
    drop(other);
}

/// Rows of the table for Linux, and of memories that are not served elsewhere.
#[test]
fn platform_rows() {
    let heap = tenure::memory::kind::allocator(TensorMemory::Mem);
    assert!(heap.is_ok(), "Mem: yes, everywhere");
    let shm = tenure::memory::kind::allocator(TensorMemory::Shm);
    if cfg!(any(target_os = "linux", target_os = "android", target_os = "windows")) && !cfg!(miri) {
        assert!(shm.is_ok(), "SHM: yes");
    } else {
        assert!(shm.err().unwrap().to_string().contains("not available"));
    }
    for kind in tenure::memory::kind::ALL {
        if let Err(error) = kind.allocator() {
            let words = error.to_string();
            assert!(words.starts_with(&format!("memory {} is not available: ", kind.memory)));
        }
    }
    assert!(TensorDyn::open("there is no such file").is_err());
}

/// "DMA-BUF fd Accessors": fail if the tensor is not DMA-backed.
#[cfg(unix)]
#[test]
fn dmabuf_is_for_dma_only() {
    let heap = TensorDyn::new(&[4], DType::U8, Some(TensorMemory::Mem), None).unwrap();
    assert!(heap.dmabuf().unwrap_err().to_string().contains("mem"));
    assert!(heap.dmabuf_clone().is_err());
}

/// "Pixel Format Metadata": set_format validates the shape, with_format is the consuming variant.
#[test]
fn pixel_format_metadata() {
    let mut tensor = TensorDyn::new(&[480, 640, 3], DType::U8, None, None).unwrap();
    tensor.set_format(PixelFormat::Rgb).unwrap();
    assert_eq!(tensor.format(), Some(PixelFormat::Rgb));
    assert_eq!((tensor.width(), tensor.height()), (Some(640), Some(480)));
    assert!(tensor.set_format(PixelFormat::Rgba).is_err());
    assert_eq!(tensor.format(), Some(PixelFormat::Rgb), "unchanged");
    let grey = TensorDyn::new(&[4, 4, 1], DType::U8, None, None).unwrap();
    assert_eq!(grey.with_format(PixelFormat::Grey).unwrap().format(), Some(PixelFormat::Grey));
    // The shapes that its formats have.
    let shapes: [(PixelFormat, &[usize]); 9] = [
        (PixelFormat::Rgb, &[4, 6, 3]),
        (PixelFormat::Rgba, &[4, 6, 4]),
        (PixelFormat::Bgra, &[4, 6, 4]),
        (PixelFormat::Yuyv, &[4, 6, 2]),
        (PixelFormat::Nv12, &[6, 6]),
        (PixelFormat::Nv16, &[8, 6]),
        (PixelFormat::Nv24, &[12, 6]),
        (PixelFormat::PlanarRgb, &[3, 4, 6]),
        (PixelFormat::PlanarRgba, &[4, 4, 6]),
    ];
    for (format, shape) in shapes {
        let tensor = TensorDyn::new(shape, DType::U8, None, None).unwrap();
        let image = tensor.with_format(format).unwrap();
        assert_eq!((image.width(), image.height()), (Some(6), Some(4)), "{format}");
    }
}

/// "Row Stride": stored stride, None if tightly packed; the effective one is computed.
#[test]
fn row_stride() {
    let mut image = TensorDyn::new(&[10 * 2048], DType::U8, None, None).unwrap();
    // "Format must be set first."
    assert!(image.set_row_stride(2048).is_err());
    assert_eq!((image.row_stride(), image.effective_row_stride()), (None, None));
    image.configure_image(640, 10, PixelFormat::Rgb, None).unwrap();
    assert_eq!((image.row_stride(), image.effective_row_stride()), (None, Some(1920)));
    image.set_row_stride(2048).unwrap();
    assert_eq!((image.row_stride(), image.effective_row_stride()), (Some(2048), Some(2048)));
    assert!(image.set_row_stride(1919).is_err() && image.set_row_stride(0).is_err());
    // Setting the format again keeps it; exactly the smallest is none.
    image.set_format(PixelFormat::Rgb).unwrap();
    assert_eq!(image.row_stride(), Some(2048));
    let image = image.with_row_stride(1920).unwrap();
    assert_eq!((image.row_stride(), image.effective_row_stride()), (None, Some(1920)));
    // Another format drops it.
    let mut image = TensorDyn::new(&[10 * 4096], DType::U8, None, None).unwrap();
    image.configure_image(640, 10, PixelFormat::Rgba, Some(4096)).unwrap();
    image.set_format(PixelFormat::Bgra).unwrap();
    assert_eq!((image.row_stride(), image.effective_row_stride()), (None, Some(2560)));
}

/// "Plane Offset": offset in bytes, None if zero; no format is needed. Views report their own.
#[test]
fn plane_offset() {
    let mut tensor = TensorDyn::new(&[8192], DType::U8, None, None).unwrap();
    assert_eq!(tensor.plane_offset(), None);
    tensor.configure_image(16, 16, PixelFormat::Rgba, None).unwrap();
    tensor.set_plane_offset(4096).unwrap();
    assert_eq!(tensor.plane_offset(), Some(4096));
    tensor.set_plane_offset(0).unwrap();
    assert_eq!(tensor.plane_offset(), None);
    assert_eq!(tensor.with_plane_offset(256).unwrap().plane_offset(), Some(256));
    let batch = TensorDyn::new(&[2, 4, 4, 3], DType::U8, None, None).unwrap();
    let batch = batch.with_format(PixelFormat::Rgb).unwrap();
    assert_eq!(batch.batch(0).unwrap().plane_offset(), None);
    assert_eq!(batch.batch(1).unwrap().plane_offset(), Some(48));
}

/// "BufferIdentity": an increasing id, fresh on every allocation, and a weak handle that goes dead
/// with the tensor and all its clones.
#[test]
fn buffer_identity() {
    let first = Tensor::<u8>::new(&[16], Some(TensorMemory::Mem), None).unwrap();
    let second = Tensor::<u8>::new(&[16], Some(TensorMemory::Mem), None).unwrap();
    let (one, two) = (first.buffer_identity().id(), second.buffer_identity().id());
    assert!(one < two);
    let view = first.slice(0, 4..8).unwrap();
    assert_eq!(view.buffer_identity().id(), one);
    let weak = first.buffer_identity().weak();
    drop(first);
    assert!(weak.upgrade().is_some(), "a view keeps it");
    drop(view);
    assert!(weak.upgrade().is_none());
}

/// Its element types, and more.
#[test]
fn element_types() {
    let known = [
        "u8",
        "i8",
        "u16",
        "i16",
        "u32",
        "i32",
        "u64",
        "i64",
        "f16",
        "f32",
        "f64",
        "complex64",
        "complex128",
    ];
    for word in known {
        let dtype: DType = word.parse().unwrap();
        assert_eq!(dtype.name(), word);
        assert_eq!(TensorDyn::new(&[2, 4], dtype, None, None).unwrap().dtype(), dtype);
    }
}

/// "configure_image": the allocation is used again for another geometry.
#[test]
fn configure_image() {
    let mut pool = Tensor::<u8>::new(&[64 * 64 * 4], None, None).unwrap();
    let id = pool.buffer_identity().id();
    pool.configure_image(64, 64, PixelFormat::Rgba, None).unwrap();
    pool.configure_image(32, 16, PixelFormat::Rgb, None).unwrap();
    assert_eq!((pool.shape(), pool.buffer_identity().id()), (&[16, 32, 3][..], id));
    assert!(pool.configure_image(65, 64, PixelFormat::Rgba, None).is_err(), "no such room");
}

/// "CPU Access Is Declared": the four declarations, of which both directions are the default. What a
/// declaration does not do here is in `differences`.
#[test]
fn access_of_the_cpu() {
    use tenure::memory::{CpuAccess, Request};
    assert_eq!(CpuAccess::default(), CpuAccess::ReadWrite);
    assert_eq!(Request::new(4).unwrap().cpu(), CpuAccess::ReadWrite);
    let all = [CpuAccess::None, CpuAccess::Read, CpuAccess::Write, CpuAccess::ReadWrite];
    for (index, access) in all.iter().enumerate() {
        assert!(!all[..index].contains(access));
    }
    // "map_read() / map_write() are cheaper when you only need one direction": reading is its own guard,
    // and several are held at once.
    let tensor = Tensor::<u8>::new(&[4], Some(TensorMemory::Mem), None).unwrap();
    let (_one, _two) = (tensor.map_read().unwrap(), tensor.map_read().unwrap());
}

/// "Feature Flags: ndarray (default)". Here nothing is on by default, and `full` is nearly everything.
#[test]
fn feature_flags() {
    let manifest = include_str!("../../Cargo.toml");
    let features = manifest.split("[features]").nth(1).and_then(|rest| rest.split("\n[").next());
    let lines = || features.unwrap().lines().filter(|line| line.contains(" = ["));
    let default = lines().find(|line| line.starts_with("default = ")).unwrap();
    assert_eq!(default, "default = []");
    let named: Vec<_> = lines().filter_map(|line| line.split(" = ").next()).collect();
    for feature in
        ["dlpack", "ndarray", "plan", "models", "camera", "v4l2", "image", "codecs", "gl", "gpu"]
    {
        assert!(named.contains(&feature), "{feature}");
    }
    // Features are additive: no feature takes another one away, and every one has a word of what it is.
    let text: Vec<_> = features.unwrap().lines().map(str::trim).collect();
    for (before, line) in text.iter().zip(&text[1..]) {
        if line.contains(" = [") && !line.starts_with("default") {
            assert!(before.starts_with('#'), "{line}");
        }
    }
}

/// "ndarray integration", which is on by default there; here nothing is, and it is the feature
/// `ndarray`.
#[test]
fn ndarray_views() {
    let tensor = Tensor::<f32>::new(&[2, 3], Some(TensorMemory::Mem), None).unwrap();
    let mut map = tensor.map().unwrap();
    map.array_mut().unwrap()[[1, 2]] = 4.0;
    drop(map);
    assert_eq!(tensor.map_read().unwrap().array().unwrap()[[1, 2]], 4.0);
}
