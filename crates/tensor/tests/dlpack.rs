//! DLPack with everything at once: random layouts both ways, threads, every memory, and dlpark on
//! the other side.
#![expect(unsafe_code, reason = "structures go to foreign code and come from there by pointer")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use dlpack_ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use proptest::prelude::*;
use tenure_tensor::dlpack::{ExportRequest, Exported, Legacy, Managed, ManagedStruct, Versioned};
use tenure_tensor::{
    Buffer, DType, DynTensor, Layout, PixelFormat, Pool, Tensor, TensorDyn, TensorMemory,
    TensorRead,
};

#[path = "common/producer.rs"]
mod producer;
use producer::{Deleted, Description, Structure, produce};

/// Every index of a shape, in order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &len in shape {
        all = all.iter().flat_map(|head| (0..len).map(|at| [&head[..], &[at]].concat())).collect();
    }
    all
}

/// The elements as a consumer sees them that knows the specification and nothing else.
///
/// # Safety
/// The description must be right.
unsafe fn as_seen(tensor: &DLTensor) -> Vec<Vec<u8>> {
    let rank = tensor.ndim as usize;
    let list = |numbers: *const i64| -> Vec<i64> {
        // SAFETY: as long as the tensor has dimensions.
        (0..rank).map(|axis| unsafe { *numbers.add(axis) }).collect()
    };
    let (shape, strides) = (list(tensor.shape), list(tensor.strides));
    let size = usize::from(tensor.dtype.bits / 8);
    let shape: Vec<usize> = shape.iter().map(|&len| len as usize).collect();
    let element = |index: Vec<usize>| {
        let steps: i64 = index.iter().zip(&strides).map(|(&at, &step)| at as i64 * step).sum();
        let at = tensor.byte_offset as i64 + steps * size as i64;
        // SAFETY: an element of the tensor.
        unsafe {
            let first = tensor.data.cast::<u8>().offset(at as isize);
            std::slice::from_raw_parts(first, size).to_vec()
        }
    };
    indices(&shape).into_iter().map(element).collect()
}

/// The elements by our own means.
fn as_ours(tensor: &TensorDyn) -> Vec<Vec<u8>> {
    let copy = tensor.to(Some(TensorMemory::Mem)).unwrap();
    let size = tensor.dtype().size().unwrap();
    copy.map_read().unwrap().as_slice().chunks(size).map(<[u8]>::to_vec).collect()
}

fn byte_types() -> Vec<DType> {
    DType::all().filter(|dtype| !dtype.is_sub_byte()).collect()
}

/// A layout in a buffer of so many bytes, with anything that fits.
fn layouts(bytes: usize) -> impl Strategy<Value = Layout> {
    let shape = prop::collection::vec(0usize..5, 0..5);
    let steps = prop::collection::vec(-9isize..10, 5);
    (prop::sample::select(byte_types()), shape, steps, 0usize..40).prop_filter_map(
        "does not fit",
        move |(dtype, shape, steps, start)| {
            let offset = start * dtype.align();
            let layout = Layout::strided(dtype, &shape, &steps[..shape.len()], offset).ok()?;
            layout.check_fits(bytes).ok()?;
            Some(layout)
        },
    )
}

const BYTES: usize = 2048;

fn numbered() -> Buffer {
    let tensor = Tensor::<u8>::new(&[BYTES], Some(TensorMemory::Mem), None).unwrap();
    for (n, byte) in tensor.map().unwrap().as_mut_slice().iter_mut().enumerate() {
        *byte = (n * 7 % 251) as u8;
    }
    tensor.buffer().clone()
}

/// Wraps what we lend in a structure of another producer, so that it comes back as foreign memory.
fn disguise<S: ManagedStruct + Structure>(lent: Versioned) -> (Managed<S>, Deleted) {
    let said = lent.tensor();
    let list = |numbers: *const i64| {
        // SAFETY: as long as the tensor has dimensions.
        (0..said.ndim as usize).map(|axis| unsafe { *numbers.add(axis) }).collect()
    };
    let description = Description {
        shape: Some(list(said.shape)),
        strides: Some(list(said.strides)),
        dtype: (said.dtype.code, said.dtype.bits, said.dtype.lanes),
        flags: lent.flags(),
        keep: Some(Arc::new(lent)),
        ..Description::new()
    };
    let (pointer, deleted) = produce(&description);
    // SAFETY: the structure is owned by nobody else, and keeps what it describes.
    (unsafe { Managed::from_raw(pointer) }.unwrap(), deleted)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn every_layout_goes_out_and_comes_back(layout in layouts(BYTES), read_only: bool) {
        let tensor = TensorDyn::from_buffer(numbered(), layout).unwrap();
        let expected = as_ours(&tensor);
        let request = ExportRequest::new().max_version(Some((1, 3))).read_only(read_only);
        let Exported::Versioned(lent) = tensor.to_dlpack_for(&request).unwrap() else {
            panic!("version 1.3 was asked for");
        };
        // SAFETY: it is right, which is what is tested.
        prop_assert_eq!(&unsafe { as_seen(lent.tensor()) }, &expected);

        let (foreign, deleted) = disguise::<DLManagedTensorVersioned>(lent);
        let back = TensorDyn::from_dlpack(foreign).unwrap();
        prop_assert_eq!(as_ours(&back), expected);
        prop_assert_eq!(back.shape(), tensor.shape());
        prop_assert_eq!((back.dtype(), back.strides()), (tensor.dtype(), tensor.strides()));
        // The foreign memory is what the elements take, and not a byte more.
        prop_assert_eq!(back.capacity_bytes(), tensor.layout().span().len());
        let writable = !read_only && !tensor.layout().may_self_overlap();
        prop_assert_eq!(back.is_writable().unwrap(), writable);
        drop(tensor);
        prop_assert_eq!(deleted.times(), 0);
        drop(back);
        prop_assert_eq!(deleted.times(), 1);
    }

    #[test]
    fn own_structures_give_the_tensor_they_were_made_of(layout in layouts(BYTES)) {
        let tensor = TensorDyn::from_buffer(numbered(), layout).unwrap();
        let lent = tensor.to_dlpack().unwrap();
        let back = TensorDyn::from_dlpack(lent).unwrap();
        prop_assert_eq!(back.layout().shape(), tensor.shape());
        prop_assert_eq!(as_ours(&back), as_ours(&tensor));
        prop_assert_eq!(back.buffer().place(), tensor.buffer().place());
        prop_assert_eq!(tensor.buffer().raw().unwrap().held(), 0);
    }

    #[test]
    fn half_bytes_go_out_and_come_back(rows in 0usize..5, pairs in 0usize..5, code in 0usize..3) {
        let dtype = [DType::U4, DType::I4, DType::F4E2M1][code];
        let tensor = TensorDyn::new(&[rows, pairs * 2], dtype, Some(TensorMemory::Mem), None);
        let tensor = tensor.unwrap();
        for (n, byte) in tensor.map().unwrap().as_mut_slice().iter_mut().enumerate() {
            *byte = n as u8;
        }
        let lent = tensor.to_dlpack().unwrap();
        prop_assert_eq!((lent.tensor().dtype.bits, lent.flags()), (4, 0));
        let (foreign, _) = disguise::<DLManagedTensor>(lent);
        let back = TensorDyn::from_dlpack(foreign).unwrap();
        let bytes = |map: TensorRead<_>| map.as_slice().to_vec();
        let seen = bytes(back.map_read().unwrap());
        drop(back);
        prop_assert_eq!(seen, bytes(tensor.map_read().unwrap()));
    }
}

#[test]
fn exports_are_dropped_on_any_thread_after_everything_else() {
    const THREADS: usize = 8;
    let tensor = Tensor::<u32>::new(&[64, 64], Some(TensorMemory::Mem), None).unwrap();
    tensor.fill(7).unwrap();
    let weak = tensor.buffer_identity().weak();
    let lent: Vec<Versioned> = (0..500).map(|_| tensor.to_dlpack().unwrap()).collect();
    let old: Vec<Legacy> = (0..500).map(|_| tensor.to_dlpack_legacy().unwrap()).collect();
    assert!(tensor.map_read().is_err());
    assert_eq!(tensor.buffer().raw().unwrap().held(), 1000);
    drop(tensor);

    let last = AtomicUsize::new(0);
    let (mut lent, mut old) = (lent.into_iter(), old.into_iter());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            let lent: Vec<_> = lent.by_ref().take(500_usize.div_ceil(THREADS)).collect();
            let old: Vec<_> = old.by_ref().take(500_usize.div_ceil(THREADS)).collect();
            let last = &last;
            scope.spawn(move || {
                for one in lent {
                    // SAFETY: a tensor of numbers, which nobody writes.
                    let seen = unsafe { *one.tensor().data.cast::<u32>().add(4095) };
                    last.fetch_add(seen as usize, Ordering::Relaxed);
                }
                drop(old);
            });
        }
    });
    assert_eq!(last.into_inner(), 500 * 7);
    assert!(weak.upgrade().is_none(), "the last deleter freed the memory");
}

#[test]
fn threads_lend_and_map_without_meeting() {
    const TIMES: u32 = 300;
    let tensor = Tensor::<u8>::new(&[256], Some(TensorMemory::Mem), None).unwrap();
    thread::scope(|scope| {
        for n in 0..4u8 {
            let tensor = tensor.clone();
            scope.spawn(move || {
                let mut round = 0;
                while round < TIMES {
                    if n % 2 == 0 {
                        let Ok(mut map) = tensor.map() else {
                            thread::yield_now();
                            continue;
                        };
                        map.as_mut_slice().fill(round as u8);
                        assert!(map.as_slice().iter().all(|&byte| byte == round as u8));
                    } else {
                        let Ok(lent) = tensor.to_dlpack() else {
                            thread::yield_now();
                            continue;
                        };
                        let back = Tensor::<u8>::from_dlpack(lent).unwrap();
                        assert_eq!(back.len(), 256);
                    }
                    round += 1;
                }
            });
        }
    });
    assert_eq!(tensor.buffer().raw().unwrap().held(), 0);
    assert!(tensor.map().is_ok());
}

#[test]
fn pools_get_memory_back_after_the_last_deleter() {
    let pool = Pool::new(tenure_memory::kind::allocator(TensorMemory::Mem).unwrap());
    let first = Tensor::<u8>::builder(&[4096]).allocator(&pool).build().unwrap();
    let lent = first.to_dlpack().unwrap();
    let address = lent.tensor().data.addr();
    drop(first);
    let second = Tensor::<u8>::builder(&[4096]).allocator(&pool).build().unwrap();
    assert_ne!(second.to_dlpack().unwrap().tensor().data.addr(), address);
    drop(lent);
    let third = Tensor::<u8>::builder(&[4096]).allocator(&pool).build().unwrap();
    assert_eq!(third.to_dlpack().unwrap().tensor().data.addr(), address);
}

#[test]
fn lazy_tensors_are_made_when_they_are_lent() {
    let pool = Arc::new(Pool::new(tenure_memory::kind::allocator(TensorMemory::Mem).unwrap()));
    let lazy = Tensor::<f32>::builder(&[8]).allocator(&pool).lazy().build().unwrap();
    assert_eq!(lazy.dlpack_device().unwrap().device_type, 1);
    assert!(!lazy.buffer().is_placed());
    let lent = lazy.to_dlpack().unwrap();
    assert!(lazy.buffer().is_placed());
    // Aligned as DLPack would like it.
    assert!(lent.tensor().data.addr().is_multiple_of(256));
}

#[test]
fn images_are_arrays_to_others() {
    let frame = Tensor::<u8>::image_builder(6, 4, PixelFormat::Rgb).row_stride(32).build().unwrap();
    let lent = frame.to_dlpack().unwrap();
    // SAFETY: three dimensions.
    let strides = unsafe { *lent.tensor().strides.cast::<[i64; 3]>() };
    assert_eq!(strides, [32, 3, 1]);
    // Back with us it is an image again.
    let back = Tensor::<u8>::from_dlpack(lent).unwrap();
    assert_eq!((back.format(), back.row_stride()), (Some(PixelFormat::Rgb), Some(32)));
}

#[cfg(target_os = "linux")]
#[test]
fn shared_memory_and_files_are_lent_as_they_are() {
    let shared = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None).unwrap();
    let lent = shared.to_dlpack().unwrap();
    assert!(!lent.is_read_only());
    // SAFETY: 64 bytes that are lent for writing.
    unsafe { lent.tensor().data.cast::<u8>().write_bytes(5, 64) };
    drop(lent);
    assert_eq!(shared.map_read().unwrap().as_slice(), [5; 64]);

    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, &[3; 4096]).unwrap();
    let raw = tenure_memory::open_file(file.path()).unwrap();
    let layout = Layout::contiguous(DType::U8, &[4096]).unwrap();
    let mapped = TensorDyn::from_buffer(raw, layout).unwrap();
    let lent = mapped.to_dlpack().unwrap();
    assert!(lent.is_read_only());
    // SAFETY: 4096 bytes to read.
    assert_eq!(unsafe { *lent.tensor().data.cast::<u8>().add(4095) }, 3);
    assert!(mapped.map_read().is_ok(), "several may read");
    assert!(mapped.to_dlpack_legacy().is_err());
}

#[test]
fn dlpark_reads_what_we_lend() {
    let tensor = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]).unwrap();
    let pointer = tensor.to_dlpack().unwrap().into_raw();
    // SAFETY: the structures are the same, and this one is given away.
    let theirs = unsafe { dlpark::versioned::Dlpack::from_raw(pointer.as_ptr().cast()) }.unwrap();
    let seen = theirs.validate_export().unwrap();
    assert_eq!((seen.shape(), seen.strides()), (&[2, 3][..], Some(&[3, 1][..])));
    // SAFETY: memory of the CPU, which nobody writes.
    assert_eq!(unsafe { seen.cpu_slice::<f32>() }.unwrap()[5], 6.0);
    assert!(tensor.map().is_err());
    drop(theirs);
    assert!(tensor.map().is_ok());

    let pointer = tensor.to_dlpack_legacy().unwrap().into_raw();
    // SAFETY: as above.
    let theirs = unsafe { dlpark::legacy::Dlpack::from_raw(pointer.as_ptr().cast()) }.unwrap();
    assert_eq!(theirs.validate_export().unwrap().num_bytes(), 24);
}

#[test]
fn we_read_what_dlpark_lends() {
    let values: Arc<Vec<i64>> = Arc::new((0..12).collect());
    let mut lent = dlpark::metadata::Dynamic::new(&[3i64, 4][..], &[4i64, 1][..])
        .initialize(Arc::clone(&values))
        .unwrap();
    lent.set_data(values.as_ptr().cast_mut().cast())
        .set_device(dlpark::ffi::DLDevice {
            device_type: dlpark::ffi::DLDeviceType(1),
            device_id: 0,
        })
        .set_dtype(<i64 as dlpark::DlpackElement>::DTYPE);
    // SAFETY: the numbers stay in place while the structure keeps them.
    let lent = unsafe { lent.finish() };
    // SAFETY: the structures are the same, and this one is given away; only we look at the
    // numbers, and nobody writes them.
    let ours = unsafe { Managed::from_raw(lent.into_raw().cast::<DLManagedTensorVersioned>()) };
    let tensor = Tensor::<i64>::from_dlpack(ours.unwrap()).unwrap();
    assert_eq!(Arc::strong_count(&values), 2);
    assert_eq!(tensor.map_read().unwrap().as_slice(), values.as_slice());
    drop(tensor);
    assert_eq!(Arc::strong_count(&values), 1);
}
