//! What the first page of the manual shows, and what happens beside it.

use tenure_tensor::{
    Bool, DType, DeviceVendor, DlDevice, DynTensor, Error, LogicalMemorySpace, PixelFormat, Tensor,
    TensorDyn, TensorMemory,
};

const MEM: Option<TensorMemory> = Some(TensorMemory::Mem);

#[test]
#[cfg_attr(miri, ignore = "asks for memory files")]
fn a_tensor_in_whatever_memory_there_is() {
    let t = Tensor::<f32>::new(&[1, 3, 224, 224], None, None).unwrap();
    assert_eq!((t.shape(), t.rank(), t.dtype()), (&[1, 3, 224, 224][..], 4, DType::F32));
    assert_eq!(t.strides(), &[3 * 224 * 224, 224 * 224, 224, 1]);
    assert_eq!((t.len(), t.size_bytes()), (3 * 224 * 224, 4 * 3 * 224 * 224));
    assert_eq!((t.name(), t.is_empty(), t.is_contiguous()), (None, false, true));
    assert_eq!(t.space(), LogicalMemorySpace::MainMemory);
    assert!(t.is_writable().unwrap());
    assert!(t.map_read().unwrap().as_slice().iter().all(|element| *element == 0.0));
    // The better memories that did not serve say why.
    let order = [TensorMemory::Dma, TensorMemory::Shm, TensorMemory::Mem];
    let refused: Vec<_> = t.refusals().iter().map(|refusal| refusal.memory).collect();
    assert_eq!(refused, order[..refused.len()]);
    assert_eq!(t.memory(), order[refused.len()]);
    assert!(t.refusals().iter().all(|refusal| !refusal.error.to_string().is_empty()));
    let named = Tensor::<f32>::new(&[1], MEM, None).unwrap();
    assert!(named.refusals().is_empty());
}

#[test]
fn a_tensor_in_the_memory_named() {
    let t = Tensor::<u8>::new(&[480, 640], MEM, Some("frame")).unwrap();
    assert_eq!((t.memory(), t.name()), (TensorMemory::Mem, Some("frame")));
    let report = tenure_memory::statistics::report();
    let id = t.buffer_identity().id();
    let live = report.iter().find(|live| live.id == id).unwrap();
    assert_eq!((live.name.as_deref(), live.bytes), (Some("frame"), 480 * 640));
    let words = format!("{t:?}");
    assert!(words.contains("[480, 640]") && words.contains("frame"), "{words}");
}

#[test]
fn memory_that_is_not_here_says_why() {
    for memory in [TensorMemory::Pbo, TensorMemory::File, TensorMemory::Device] {
        let error = Tensor::<u8>::new(&[1], Some(memory), None).unwrap_err();
        assert!(matches!(error, Error::Memory(tenure_memory::Error::Unavailable { .. })));
        assert!(error.to_string().starts_with(&format!("memory {memory} is not available: ")));
    }
}

#[test]
fn maps_write_and_read() {
    let t = Tensor::<f32>::new(&[2, 3], MEM, None).unwrap();
    let mut m = t.map().unwrap();
    m.as_mut_slice().copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(m.as_slice()[4], 5.0);
    assert_eq!((m.shape(), m.strides()), (&[2, 3][..], &[3, 1][..]));
    *m.at_mut(&[1, 2]).unwrap() = 60.0;
    assert_eq!(m.at(&[1, 2]), Some(&60.0));
    assert_eq!((m.at(&[2, 0]), m.at(&[0])), (None, None));
    assert_eq!(m.at_mut(&[0, 3]), None);
    drop(m);
    let (first, second) = (t.map_read().unwrap(), t.map_read().unwrap());
    assert_eq!(first.as_slice(), second.as_slice());
    assert_eq!(first.at(&[1, 2]), Some(&60.0));
}

#[test]
fn maps_exclude_each_other() {
    let t = Tensor::<f32>::new(&[4], MEM, Some("contended")).unwrap();
    let reader = t.map_read().unwrap();
    let error = t.map().unwrap_err();
    match &error {
        Error::Memory(busy) => assert!(busy.is_busy()),
        other => panic!("{other:?}"),
    }
    let words = error.to_string();
    assert!(words.contains("\"contended\"") && words.contains("drop that guard"), "{words}");
    drop(reader);
    let _writer = t.map().unwrap();
    assert!(t.map().is_err() && t.map_read().is_err() && t.map_strided_read().is_err());
    assert!(t.fill(1.0).is_err());
    assert!(t.to(MEM).is_err());
}

#[test]
fn guards_outlive_tensors() {
    let t = Tensor::<u16>::new(&[100], MEM, None).unwrap();
    let weak = t.buffer_identity().weak();
    let mut m = t.map().unwrap();
    drop(t);
    m.as_mut_slice().fill(7);
    assert!(weak.upgrade().is_some());
    assert_eq!(m.as_slice()[99], 7);
    drop(m);
    assert!(weak.upgrade().is_none());
}

#[test]
fn guards_go_on_with_the_description_they_began_with() {
    let mut t = Tensor::<u8>::image(4, 4, PixelFormat::Rgba, MEM, None).unwrap();
    let map = t.map_read().unwrap();
    t.configure_image(2, 2, PixelFormat::Rgb, None).unwrap();
    assert_eq!((map.shape(), map.as_slice().len()), (&[4, 4, 4][..], 64));
    assert_eq!(t.shape(), &[2, 2, 3]);
    assert!(t.map().is_err());
}

#[test]
fn identities_tell_buffers_apart() {
    let (a, b) = (Tensor::<u8>::new(&[4], MEM, None), Tensor::<u8>::new(&[4], MEM, None));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_ne!(a.buffer_identity().id(), b.buffer_identity().id());
    let view = a.slice(0, 1..3).unwrap();
    assert_eq!(view.buffer_identity(), a.buffer_identity());
    let weak = a.buffer_identity().weak();
    drop(a);
    assert!(weak.upgrade().is_some(), "the view keeps it");
    drop(view);
    assert!(weak.upgrade().is_none());
}

#[test]
fn memories_are_words() {
    assert_eq!(TensorMemory::try_from("dma").unwrap(), TensorMemory::Dma);
    assert_eq!(String::from(TensorMemory::Shm), "shm");
    for memory in TensorMemory::all() {
        let word = String::from(memory);
        assert_eq!(TensorMemory::try_from(word.as_str()).unwrap(), memory);
        assert_eq!(word.to_uppercase().parse::<TensorMemory>().unwrap(), memory);
        assert_eq!(TensorMemory::from_code(memory.code()), Some(memory));
    }
    for wrong in ["", "heap", "dma ", "dmabuf"] {
        let words = TensorMemory::try_from(wrong).unwrap_err().to_string();
        assert!(
            words.contains(&format!("{wrong:?}")) && words.contains("mem, dma, shm"),
            "{words}"
        );
    }
}

#[test]
fn spaces_are_dlpack_devices() {
    let gpu = LogicalMemorySpace::GpuMemory { device_id: 0 };
    for (space, vendor, code) in [
        (LogicalMemorySpace::MainMemory, DeviceVendor::Cuda, 1),
        (gpu, DeviceVendor::Cuda, 2),
        (LogicalMemorySpace::PinnedMemory, DeviceVendor::Cuda, 3),
        (gpu, DeviceVendor::Rocm, 10),
        (LogicalMemorySpace::PinnedMemory, DeviceVendor::Rocm, 11),
        (LogicalMemorySpace::ManagedMemory, DeviceVendor::Cuda, 13),
    ] {
        let device = space.dlpack(vendor);
        assert_eq!(device, DlDevice { device_type: code, device_id: 0 });
        let (back, whose) = LogicalMemorySpace::from_dlpack(device).unwrap();
        assert_eq!(back, space);
        assert!(whose.is_none_or(|whose| whose == vendor));
    }
    let seventh = LogicalMemorySpace::GpuMemory { device_id: 7 };
    assert_eq!(seventh.dlpack(DeviceVendor::Rocm).device_id, 7);
    assert!(!seventh.cpu_reachable() && LogicalMemorySpace::MainMemory.cpu_reachable());
    // Metal, a DSP, and types that nobody has named yet: kept as they are.
    for (device_type, vendor) in [
        (8, DeviceVendor::Metal),
        (16, DeviceVendor::Hexagon),
        (99, DeviceVendor::Other(99)),
        (i32::MAX, DeviceVendor::Other(i32::MAX)),
    ] {
        let device = DlDevice { device_type, device_id: 7 };
        assert_eq!(LogicalMemorySpace::from_dlpack(device), Some((seventh, Some(vendor))));
        assert_eq!(seventh.dlpack(vendor), device);
    }
}

#[cfg(linux_like)]
#[test]
fn only_dma_memory_is_a_dmabuf() {
    let t = Tensor::<u8>::new(&[4], MEM, None).unwrap();
    for error in [t.dmabuf().map(drop).unwrap_err(), t.dmabuf_clone().map(drop).unwrap_err()] {
        let words = error.to_string();
        assert!(words.contains("mem memory is not a DMA-BUF"), "{words}");
        assert!(words.contains("allocate with memory dma"), "{words}");
    }
    let words = t.clone_fd().unwrap_err().to_string();
    assert!(words.contains("mem memory has no file descriptor"), "{words}");
}

#[test]
fn no_dimensions_is_one_element() {
    let t = Tensor::<f64>::new(&[], MEM, None).unwrap();
    assert_eq!((t.rank(), t.len(), t.size_bytes()), (0, 1, 8));
    t.map().unwrap().as_mut_slice()[0] = 2.5;
    assert_eq!(t.map_read().unwrap().at(&[]), Some(&2.5));
    assert_eq!(t.unsqueeze(0).unwrap().shape(), &[1]);
    assert!(t.index(0, 0).is_err() && t.slice(0, 0..1).is_err());
}

#[test]
fn zero_sizes_are_tensors_without_elements() {
    for shape in [&[0][..], &[0, 3], &[3, 0], &[2, 0, 5]] {
        let t = Tensor::<f32>::new(shape, MEM, None).unwrap();
        assert_eq!((t.len(), t.size_bytes(), t.is_empty()), (0, 0, true));
        assert!(t.map().unwrap().as_mut_slice().is_empty());
        assert!(t.map_read().unwrap().as_slice().is_empty());
        assert!(t.map_strided_read().unwrap().get(&vec![0; shape.len()]).is_none());
        t.fill(1.0).unwrap();
        let copy = t.to(MEM).unwrap();
        assert_eq!(copy.shape(), shape);
        assert!(!t.aliases(&t));
        t.copy_to_flat(&mut []).unwrap();
    }
    assert_eq!(Tensor::<u8>::from_slice(&[], &[0]).unwrap().len(), 0);
}

#[test]
fn sizes_that_overflow_are_refused() {
    let huge = usize::MAX;
    // Powers of two whose product is one too many, on machines of any width.
    let half = 1 << (usize::BITS / 2);
    let (quarter, eighth) = (1 << (usize::BITS - 2), 1 << (usize::BITS - 3));
    for shape in [&[huge][..], &[huge, 2], &[half, half], &[quarter, 0, 4], &[eighth]] {
        let error = Tensor::<f64>::new(shape, MEM, None).unwrap_err();
        let too_large = matches!(error, Error::Layout(tenure_layout::Error::TooLarge { .. }));
        assert!(too_large, "{shape:?}: {error:?}");
        assert!(error.to_string().contains(&format!("{shape:?}")), "{error}");
    }
    let error = Tensor::<u8>::new(&[1; 65], MEM, None).unwrap_err();
    assert!(error.to_string().contains("65 dimensions"), "{error}");
    assert_eq!(Tensor::<u8>::new(&[1; 64], MEM, None).unwrap().rank(), 64);
    assert!(Tensor::<u8>::image(usize::MAX, 2, PixelFormat::Rgb, MEM, None).is_err());
    assert!(Tensor::<u8>::image(0, 2, PixelFormat::Rgb, MEM, None).is_err());
}

#[test]
#[cfg(target_pointer_width = "64")]
#[cfg_attr(miri, ignore = "Miri ends the program where the machine has no room")]
fn sizes_that_nobody_has_are_refused_by_all() {
    let most = 1 << 60;
    let error = Tensor::<u8>::new(&[most], None, None).unwrap_err();
    match &error {
        Error::Memory(tenure_memory::Error::NoneServed(none)) => {
            assert_eq!((none.bytes, none.refusals.len()), (most, 3));
        }
        other => panic!("{other:?}"),
    }
    assert!(error.to_string().contains(&format!("{most} bytes")), "{error}");
}

#[test]
fn element_types_are_checked() {
    let t = TensorDyn::new(&[2, 2], DType::F32, MEM, None).unwrap();
    assert_eq!(t.map_read().unwrap().as_slice().len(), 16, "bytes");
    let typed = t.typed::<f32>().unwrap();
    typed.map().unwrap().as_mut_slice()[3] = 1.0;
    assert_eq!(t.map_read().unwrap().as_slice()[12..], 1.0f32.to_ne_bytes());
    assert_eq!(typed.to_dyn().buffer_identity(), t.buffer_identity());
    match t.typed::<i32>() {
        Err(Error::WrongElement { have: DType::F32, asked: DType::I32, .. }) => {}
        other => panic!("{other:?}"),
    }
    let error = Tensor::<u8>::from_slice(&[1, 2, 3], &[2, 2]).unwrap_err();
    assert!(error.to_string().contains("3 elements, the tensor 4"), "{error}");
}

#[test]
fn truth_values_survive_any_byte() {
    let t = Tensor::<Bool>::new(&[3], MEM, None).unwrap();
    t.to_dyn().map().unwrap().as_mut_slice().copy_from_slice(&[0, 1, 200]);
    assert_eq!(t.map_read().unwrap().as_slice(), [false, true, true]);
    t.map().unwrap().as_mut_slice()[0] = Bool::from(true);
    t.fill(Bool::from(false)).unwrap();
    assert_eq!(t.map_read().unwrap().as_slice(), [false; 3]);
}

#[test]
fn four_bit_elements_are_bytes() {
    for dtype in [DType::U4, DType::I4, DType::F4E2M1] {
        let t = TensorDyn::new(&[3, 3], dtype, MEM, None).unwrap();
        assert_eq!((t.len(), t.size_bytes()), (9, 5));
        assert_eq!(t.map().unwrap().as_mut_slice().len(), 5);
        assert!(t.slice(1, 1..3).is_err(), "starts inside a byte");
        let even = TensorDyn::new(&[4, 6], dtype, MEM, None).unwrap();
        assert_eq!(even.slice(0, 1..3).unwrap().layout().span(), 0..6);
    }
}
