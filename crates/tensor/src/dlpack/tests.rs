//! What must hold under Miri: pointers, deleters, and what is refused.
#![expect(unsafe_code, reason = "takes over structures of a foreign producer")]

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use tenure_layout::DType;
use tenure_memory::{DlDevice, TensorMemory};

use super::ffi::{DLManagedTensor, DLManagedTensorVersioned, DLTensor};
use super::{
    ExportRequest, Exported, Fault, Managed, ManagedStruct, VERSION, Versioned, allocate,
    managed_tensor_allocator,
};
use crate::{DynTensor, Error, LogicalMemorySpace, Result, Tensor, TensorDyn};

#[path = "../../tests/common/producer.rs"]
mod producer;
use producer::{Deleted, Description, Structure, produce};

/// Imports what a foreign producer says.
fn import<S: ManagedStruct + Structure>(said: &Description) -> (Result<TensorDyn>, Deleted) {
    let (pointer, deleted) = produce::<S>(said);
    // SAFETY: the producer gave it to us; lists and memory are as long as the test says, or the
    // test is that they are not looked at.
    let managed = unsafe { Managed::from_raw(pointer) };
    (managed.and_then(TensorDyn::from_dlpack), deleted)
}

/// Something that is refused with these words in either structure, after which its deleter ran.
fn refused(said: &Description, expected: &str) {
    let versioned = import::<DLManagedTensorVersioned>(said);
    let only_there = said.version.0 != 1 || said.flags != 0;
    let legacy = (!only_there).then(|| import::<DLManagedTensor>(said));
    for (result, deleted) in [Some(versioned), legacy].into_iter().flatten() {
        assert_eq!(deleted.times(), 1, "{said:?}");
        let message = result.unwrap_err().to_string();
        assert!(message.contains(expected), "{message:?} does not say {expected:?}");
    }
}

fn round_trips<S: ManagedStruct + Structure>() {
    let (tensor, deleted) = import::<S>(&Description::new());
    let tensor = tensor.unwrap().typed::<f32>().unwrap();
    assert_eq!((tensor.shape(), tensor.memory()), (&[4, 4][..], TensorMemory::Mem));
    assert_eq!(tensor.map_read().unwrap().as_slice()[7], 7.0);
    let column = tensor.index(1, 2).unwrap();
    drop(tensor);
    *column.map_strided().unwrap().get_mut(&[1]).unwrap() = 1.5;
    assert_eq!(deleted.times(), 0, "a view keeps the memory");
    // And out again: what goes out keeps what came in.
    let lent = column.to_dlpack().unwrap().into_raw();
    drop(column);
    assert_eq!(deleted.times(), 0);
    // SAFETY: ours, as it was given out.
    let back = unsafe { Managed::from_raw(lent.as_ptr()) }.unwrap();
    // SAFETY: `ndim` is 1, and the lists are as long.
    let (shape, stride) = unsafe { (*back.tensor().shape, *back.tensor().strides) };
    assert_eq!((shape, stride), (4, 4));
    // SAFETY: element 1 of the column, which was written above.
    assert_eq!(unsafe { *back.tensor().data.cast::<f32>().add(4) }, 1.5);
    drop(back);
    assert_eq!(deleted.times(), 1);
}

#[test]
fn foreign_tensors_come_in_and_go_out() {
    round_trips::<DLManagedTensorVersioned>();
    round_trips::<DLManagedTensor>();
}

#[test]
fn exports_describe_the_tensor() {
    let tensor = Tensor::<i16>::new(&[2, 3, 4], Some(TensorMemory::Mem), None).unwrap();
    let view = tensor.slice(1, 1..3).unwrap().permute(&[2, 0, 1]).unwrap();
    let lent = view.to_dlpack().unwrap();
    let said = lent.tensor();
    // SAFETY: lists of three numbers.
    let (shape, strides) =
        unsafe { (&*said.shape.cast::<[i64; 3]>(), &*said.strides.cast::<[i64; 3]>()) };
    assert_eq!((shape, strides), (&[4, 2, 2], &[1, 12, 4]));
    assert_eq!((said.ndim, said.byte_offset), (3, 0));
    assert_eq!((said.dtype.code, said.dtype.bits, said.dtype.lanes), (0, 16, 1));
    assert_eq!(lent.device(), DlDevice { device_type: 1, device_id: 0 });
    assert_eq!((lent.flags(), lent.is_copied()), (0, false));
    let start = tensor.buffer().clone();
    // SAFETY: only the number is looked at.
    let start = unsafe { start.as_ptr() }.unwrap().addr().get();
    assert_eq!(said.data.addr(), start + 4 * size_of::<i16>());
    assert_eq!(lent.fields().version.major, VERSION.0);
    assert!(lent.fields().deleter.is_some());
}

#[test]
fn nothing_and_one_element_are_tensors_too() {
    let empty = Tensor::<f32>::new(&[3, 0], Some(TensorMemory::Mem), None).unwrap();
    let lent = empty.to_dlpack().unwrap();
    assert!(lent.tensor().data.is_null() && !lent.tensor().strides.is_null());
    assert_eq!(TensorDyn::from_dlpack(lent).unwrap().shape(), [3, 0]);

    let one = Tensor::from_slice(&[7u8], &[]).unwrap();
    let lent = one.to_dlpack_legacy().unwrap();
    assert_eq!(lent.tensor().ndim, 0);
    assert_eq!(TensorDyn::from_dlpack(lent).unwrap().map_read().unwrap().as_slice(), [7]);

    let said = Description { shape: None, strides: None, ..Description::new() };
    let (scalar, deleted) = import::<DLManagedTensor>(&said);
    assert_eq!(scalar.unwrap().typed::<f32>().unwrap().map_read().unwrap().as_slice(), [0.0]);
    assert_eq!(deleted.times(), 1);
    let nothing = Description {
        shape: Some(vec![0, isize::MAX as i64 / 4]),
        strides: Some(vec![isize::MIN as i64, isize::MAX as i64]),
        null_data: true,
        ..Description::new()
    };
    let (nothing, deleted) = import::<DLManagedTensorVersioned>(&nothing);
    assert!(nothing.unwrap().map_read().unwrap().is_empty());
    assert_eq!(deleted.times(), 1);
}

#[test]
fn strides_may_be_missing_zero_or_negative() {
    let rows = Description { strides: None, ..Description::new() };
    let (tensor, _) = import::<DLManagedTensorVersioned>(&rows);
    assert_eq!(tensor.unwrap().strides(), [4, 1]);

    // From the last element, backwards.
    let backwards =
        Description { strides: Some(vec![-4, -1]), byte_offset: 60, ..Description::new() };
    let (tensor, _) = import::<DLManagedTensorVersioned>(&backwards);
    let tensor = tensor.unwrap().typed::<f32>().unwrap();
    let map = tensor.map_strided_read().unwrap();
    assert_eq!([map.get(&[0, 0]), map.get(&[3, 3])], [Some(&15.0), Some(&0.0)]);
    assert_eq!(tensor.capacity_bytes(), 64);

    let repeated = Description { strides: Some(vec![0, 1]), ..Description::new() };
    let (tensor, _) = import::<DLManagedTensorVersioned>(&repeated);
    let tensor = tensor.unwrap();
    assert_eq!(tensor.capacity_bytes(), 16);
    assert!(matches!(tensor.map_strided(), Err(Error::Overlapping { .. })));
    assert!(tensor.to_dlpack().unwrap().is_read_only());
}

#[test]
fn what_makes_no_sense_is_refused_and_given_back() {
    let new = Description::new;
    // What a dimension or a stride can be at most, and what two dimensions cannot both be.
    let (most, wide) = (isize::MAX as i64, 1i64 << (usize::BITS / 2 + 8));
    let cases = [
        (Description { version: (2, 0), ..new() }, "version 2.0; this build reads 1.x"),
        (Description { version: (0, 8), ..new() }, "version 0.8"),
        (Description { ndim: Some(-1), ..new() }, "-1 dimensions"),
        (Description { ndim: Some(65), ..new() }, "65 dimensions: there can be 0 to 64"),
        (Description { ndim: Some(i32::MAX), ..new() }, "2147483647 dimensions"),
        (Description { shape: None, ndim: Some(2), ..new() }, "the shape is null"),
        (Description { shape: Some(vec![4, -4]), ..new() }, "dimension 1 of the shape is -4"),
        (Description { shape: Some(vec![most, 4]), ..new() }, "leaves the address range"),
        (Description { shape: Some(vec![wide, wide]), ..new() }, "more elements or bytes"),
        (Description { strides: Some(vec![most, 1]), ..new() }, "leaves the address range"),
        (Description { strides: Some(vec![-most, 1]), ..new() }, "leaves the address range"),
        (Description { null_data: true, ..new() }, "64 bytes of elements, but the data pointer"),
        (Description { byte_offset: u64::MAX, ..new() }, "leave the address space"),
        (Description { byte_offset: 2, ..new() }, "not a multiple of 4, the alignment of f32"),
        (Description { dtype: (2, 32, 4), ..new() }, "code 2 with 32 bits and 4 lanes"),
        (Description { dtype: (2, 32, 0), ..new() }, "0 lanes"),
        (Description { dtype: (2, 33, 1), ..new() }, "33 bits"),
        (Description { dtype: (5, 32, 1), ..new() }, "code 5 with 32 bits"),
        (Description { dtype: (200, 8, 1), ..new() }, "code 200"),
        (Description { device: (2, -1), ..new() }, "device -1 of type 2 cannot exist"),
        (Description { dtype: (17, 4, 1), flags: 4, ..new() }, "f4e2m1 elements padded"),
    ];
    for (said, expected) in cases {
        refused(&said, expected);
    }
    // SAFETY: null is what is tested.
    let none = unsafe { Managed::from_raw(ptr::null_mut::<DLManagedTensor>()) };
    assert!(matches!(none, Err(Error::Dlpack(Fault::Null))));
    // SAFETY: refused by its address, before it is looked at.
    let odd = unsafe { Managed::from_raw(ptr::without_provenance_mut::<DLManagedTensor>(9)) };
    assert!(matches!(odd, Err(Error::Dlpack(Fault::Misplaced { address: 9, .. }))));
}

#[test]
fn a_typed_tensor_wants_its_type() {
    let (pointer, deleted) = produce::<DLManagedTensorVersioned>(&Description::new());
    // SAFETY: the producer gave it to us.
    let managed = unsafe { Managed::from_raw(pointer) }.unwrap();
    assert!(matches!(Tensor::<u8>::from_dlpack(managed), Err(Error::WrongElement { .. })));
    assert_eq!(deleted.times(), 1);
    let lent = Tensor::from_slice(&[1u8], &[1]).unwrap().to_dlpack().unwrap();
    assert!(matches!(Tensor::<f32>::from_dlpack(lent), Err(Error::WrongElement { .. })));
}

#[test]
fn newer_minor_versions_and_unknown_flags_are_fine() {
    let newer = Description { version: (1, 99), flags: 1 << 63 | 2, ..Description::new() };
    let (tensor, deleted) = import::<DLManagedTensorVersioned>(&newer);
    assert!(tensor.unwrap().is_writable().unwrap());
    assert_eq!(deleted.times(), 1);
    // Whole bytes are never padded, whatever the flag says.
    let padded = Description { flags: 4, ..Description::new() };
    assert!(import::<DLManagedTensorVersioned>(&padded).0.is_ok());
}

#[test]
fn read_only_stays_read_only() {
    let said = Description { flags: 1, ..Description::new() };
    let (tensor, _) = import::<DLManagedTensorVersioned>(&said);
    let tensor = tensor.unwrap();
    assert!(tensor.map().is_err() && tensor.map_read().is_ok());
    assert!(tensor.to_dlpack().unwrap().is_read_only());
    let fault = tensor.to_dlpack_legacy().unwrap_err();
    assert!(matches!(fault, Error::Dlpack(Fault::ReadOnlyUnversioned)), "{fault}");
    // A copy may be written, and can go into the old structure.
    let copy = ExportRequest::new().copy(Some(true));
    let Exported::Legacy(copy) = tensor.to_dlpack_for(&copy).unwrap() else { panic!() };
    assert!(TensorDyn::from_dlpack(copy).unwrap().map().is_ok());
}

#[test]
fn exports_exclude_references_and_nothing_else() {
    let tensor = Tensor::from_slice(&[1u8, 2, 3, 4], &[4]).unwrap();
    let source = Tensor::from_slice(&[5u8, 6, 7, 8], &[4]).unwrap();
    let lent = tensor.to_dlpack().unwrap();
    let again = tensor.to_dlpack_legacy().unwrap();
    for refused in [tensor.map().map(drop), tensor.map_read().map(drop)] {
        let busy = refused.unwrap_err();
        assert!(matches!(&busy, Error::Memory(busy) if busy.is_busy()));
        assert!(busy.to_string().contains("what was lent has to be given back"), "{busy}");
    }
    // Kernels use raw pointers, as foreign code does.
    tensor.copy_from(&source).unwrap();
    tensor.fill(9).unwrap();
    assert_eq!(tensor.to(Some(TensorMemory::Mem)).unwrap().map_read().unwrap().as_slice(), [9; 4]);
    drop(lent);
    assert!(tensor.map_read().is_err());
    drop(again);
    assert!(tensor.map().is_ok());

    let read_only = ExportRequest::new().max_version(Some(VERSION)).read_only(true);
    let reader = tensor.to_dlpack_for(&read_only).unwrap();
    assert!(tensor.map_read().is_ok() && tensor.map().is_err());
    assert!(tensor.to_dlpack().is_ok(), "another may still write");
    drop(reader);
    // A reference excludes what would write beside it.
    let reading = tensor.map_read().unwrap();
    assert!(tensor.to_dlpack().is_err() && tensor.to_dlpack_for(&read_only).is_ok());
    drop(reading);
    let writing = tensor.map().unwrap();
    assert!(tensor.to_dlpack_for(&read_only).is_err());
    drop(writing);
    assert_eq!(tensor.buffer().raw().unwrap().held(), 0);
}

#[test]
fn deleters_run_on_several_threads_at_once() {
    let tensor = Tensor::from_slice(&[1u8, 2, 3, 4], &[4]).unwrap();
    let weak = tensor.buffer_identity().weak();
    let (imported, deleted) = import::<DLManagedTensorVersioned>(&Description::new());
    let imported = imported.unwrap();
    let lent = [(); 3].map(|()| (tensor.to_dlpack().unwrap(), imported.to_dlpack().unwrap()));
    drop((tensor, imported));
    std::thread::scope(|scope| {
        for (ours, theirs) in lent {
            scope.spawn(move || {
                // SAFETY: four bytes, and sixteen numbers, that nobody writes.
                let seen = unsafe {
                    (*ours.tensor().data.cast::<u8>(), *theirs.tensor().data.cast::<f32>())
                };
                assert_eq!(seen, (1, 0.0));
            });
        }
    });
    assert!(weak.upgrade().is_none());
    assert_eq!(deleted.times(), 1);
}

#[test]
fn only_the_bytes_of_a_view_are_lent() {
    let tensor = Tensor::<u8>::new(&[4, 8], Some(TensorMemory::Mem), None).unwrap();
    let _top = tensor.slice(0, 0..2).unwrap().to_dlpack().unwrap();
    assert!(tensor.slice(0, 2..4).unwrap().map().is_ok());
    assert!(tensor.slice(0, 1..3).unwrap().map().is_err());
}

#[test]
fn own_exports_come_back_to_one_ledger() {
    let tensor = Tensor::from_slice(&[1.0f32, 2.0], &[2]).unwrap();
    let (one, two) = (tensor.to_dlpack().unwrap(), tensor.to_dlpack_legacy().unwrap());
    let one = Tensor::<f32>::from_dlpack(one).unwrap();
    let two = Tensor::<f32>::from_dlpack(two).unwrap();
    assert_eq!(one.buffer_identity(), tensor.buffer_identity());
    let mut writing = one.map().unwrap();
    writing.as_mut_slice()[0] = 3.0;
    assert!(two.map().is_err() && tensor.map_read().is_err());
    drop(writing);
    assert_eq!(two.map_read().unwrap().as_slice(), [3.0, 2.0]);

    // Lent for reading only, it comes back for reading only.
    let read_only = ExportRequest::new().max_version(Some((1, 0))).read_only(true);
    let half = tensor.slice(0, 1..2).unwrap();
    let Exported::Versioned(lent) = half.to_dlpack_for(&read_only).unwrap() else { panic!() };
    let reader = Tensor::<f32>::from_dlpack(lent).unwrap();
    assert!(matches!(reader.map(), Err(Error::Memory(tenure_memory::Error::ReadOnly { .. }))));
    let reading = reader.map_read().unwrap();
    assert_eq!(reading.as_slice(), [2.0]);
    assert!(half.map().is_err(), "one ledger");
    assert!(half.fill(0.0).is_err(), "a copy would write below a reference");
    drop((tensor, one, two, half));
    assert_eq!(reading.as_slice(), [2.0]);
}

#[test]
fn memory_of_other_devices_passes_through() {
    // An address of CUDA is counted up from; a handle of Vulkan keeps its offset beside it.
    for (device_type, folded) in [(2, true), (10, true), (7, false), (4, false), (77, false)] {
        let said = Description { device: (device_type, 3), byte_offset: 16, ..Description::new() };
        let said = Description { shape: Some(vec![2, 4]), ..said };
        let (tensor, deleted) = import::<DLManagedTensorVersioned>(&said);
        let tensor = tensor.unwrap();
        assert_eq!(tensor.space(), LogicalMemorySpace::GpuMemory { device_id: 3 });
        assert_eq!(tensor.memory(), TensorMemory::Device);
        assert!(tensor.map_read().is_err(), "the CPU does not reach it");
        let device = DlDevice { device_type: device_type.cast_signed(), device_id: 3 };
        assert_eq!(tensor.dlpack_device().unwrap(), device);

        let base = tensor.buffer().raw().unwrap().device_address().unwrap().addr().get();
        let lent = tensor.index(0, 1).unwrap().to_dlpack().unwrap();
        assert_eq!(lent.device(), device);
        let at = (lent.tensor().data.addr() - base, lent.tensor().byte_offset);
        assert_eq!(at, if folded { (16, 0) } else { (0, 32) }, "type {device_type}");
        drop(tensor);
        assert_eq!(deleted.times(), 0);
        drop(lent);
        assert_eq!(deleted.times(), 1);
    }
}

#[test]
fn pinned_memory_is_offered_to_the_cpu() {
    let cpu = DlDevice { device_type: 1, device_id: 0 };
    for (device_type, space) in [
        (3, LogicalMemorySpace::PinnedMemory),
        (11, LogicalMemorySpace::PinnedMemory),
        (13, LogicalMemorySpace::ManagedMemory),
    ] {
        let said = Description { device: (device_type, 0), ..Description::new() };
        let tensor = import::<DLManagedTensorVersioned>(&said).0.unwrap();
        assert_eq!(tensor.space(), space);
        assert!(tensor.map_read().is_ok());
        let lent = tensor.to_dlpack().unwrap();
        assert_eq!(lent.device().device_type, device_type.cast_signed());
        let request = ExportRequest::new().max_version(Some((1, 1)));
        let shared = tensor.to_dlpack_for(&request.device(Some(cpu)).copy(Some(false)));
        let Exported::Versioned(shared) = shared.unwrap() else { panic!() };
        assert_eq!((shared.device(), shared.is_copied()), (cpu, false));
        assert_eq!(shared.tensor().data, lent.tensor().data);
    }
}

#[test]
fn devices_and_copies_are_as_asked() {
    let tensor = Tensor::from_slice(&[1u8, 2], &[2]).unwrap();
    let request = ExportRequest::new().max_version(Some((2, 0)));
    let gpu = DlDevice { device_type: 2, device_id: 0 };
    let fault = tensor.to_dlpack_for(&request.device(Some(gpu))).unwrap_err();
    assert!(matches!(fault, Error::Dlpack(Fault::Unreachable { .. })), "{fault}");
    let Exported::Versioned(copy) = tensor.to_dlpack_for(&request.copy(Some(true))).unwrap() else {
        panic!("a version of 1.0 or later was asked for")
    };
    assert_eq!((copy.flags(), copy.fields().version.major), (2, 1));
    assert!(tensor.map().is_ok(), "only the copy is lent");
    // A consumer of 0.x reads the old structure.
    let old = ExportRequest::new().max_version(Some((0, 8)));
    assert!(matches!(tensor.to_dlpack_for(&old).unwrap(), Exported::Legacy(_)));

    let device = Description { device: (2, 0), ..Description::new() };
    let device = import::<DLManagedTensorVersioned>(&device).0.unwrap();
    let cpu = DlDevice { device_type: 1, device_id: 0 };
    let fault = device.to_dlpack_for(&request.device(Some(cpu)).copy(Some(false))).unwrap_err();
    assert!(matches!(fault, Error::Dlpack(Fault::CopyForbidden { .. })), "{fault}");
}

#[test]
fn a_missing_deleter_is_tolerated() {
    // A mapped structure that lives as long as the program needs none.
    let said = Description { without_deleter: true, ..Description::new() };
    let (pointer, deleted) = produce::<DLManagedTensorVersioned>(&said);
    // SAFETY: the producer gave it to us.
    let managed = unsafe { Managed::from_raw(pointer) }.unwrap();
    drop(TensorDyn::from_dlpack(managed).unwrap());
    assert_eq!(deleted.times(), 0);
    // SAFETY: made with a deleter's layout, and nobody has it any more.
    unsafe { producer::discard(pointer) };
}

#[test]
fn every_element_type_goes_both_ways() {
    for dtype in DType::all() {
        let tensor = TensorDyn::new(&[2, 4], dtype, Some(TensorMemory::Mem), None).unwrap();
        let lent = tensor.to_dlpack().unwrap();
        let said = lent.tensor().dtype;
        assert_eq!((said.code, said.bits), dtype.dlpack());
        drop(lent);
        let said = Description {
            dtype: (dtype.dlpack().0, dtype.dlpack().1, 1),
            shape: Some(vec![2, 4]),
            strides: None,
            ..Description::new()
        };
        let (theirs, _) = import::<DLManagedTensorVersioned>(&said);
        let theirs = theirs.unwrap();
        assert_eq!((theirs.dtype(), theirs.size_bytes()), (dtype, tensor.size_bytes()));
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_description_alone_costs_nothing() {
    let tensor = Tensor::from_slice(&[1u16, 2, 3, 4, 5, 6], &[2, 3]).unwrap();
    let turned = tensor.permute(&[1, 0]).unwrap();
    // SAFETY: nothing else uses the tensor while the description is looked at.
    unsafe {
        let said = turned.to_dl_tensor().unwrap();
        assert_eq!((*said.shape.add(1), *said.strides.add(1), said.ndim), (2, 3, 2));
        assert_eq!(*said.data.cast::<u16>().add(3), 4);
    }
    assert_eq!(tensor.buffer().raw().unwrap().held(), 0);
}

unsafe extern "C" fn keep_message(context: *mut c_void, kind: *const c_char, text: *const c_char) {
    // SAFETY: the context is a `String`, and both texts end with a zero.
    unsafe {
        let (kind, text) = (CStr::from_ptr(kind), CStr::from_ptr(text));
        *context.cast::<String>() = format!("{kind:?} {}", text.to_string_lossy());
    }
}

#[test]
fn tensors_are_allocated_for_others() {
    let model = Tensor::<f32>::new(&[2, 3], Some(TensorMemory::Mem), None).unwrap();
    let lent = model.to_dlpack().unwrap();
    // SAFETY: a description of ours.
    let made = unsafe { allocate(lent.tensor()) }.unwrap();
    let made = Tensor::<f32>::from_dlpack(made).unwrap();
    assert_eq!((made.shape(), made.map_read().unwrap().as_slice()), (&[2, 3][..], &[0.0; 6][..]));

    let (mut out, mut message) = (ptr::null_mut(), String::new());
    let (context, to) = ((&raw mut message).cast(), &raw mut out);
    let mut prototype: DLTensor = *lent.tensor();
    // SAFETY: pointers to what lives until the calls return.
    unsafe {
        let make = |prototype| managed_tensor_allocator(prototype, to, context, Some(keep_message));
        assert_eq!(make(&raw mut prototype), 0);
        drop(Managed::from_raw(*to).unwrap());
        prototype.device.device_type.0 = 2;
        assert_eq!(make(&raw mut prototype), -1);
        assert!(message.contains("BufferError") && message.contains("type 2"), "{message}");
        prototype.device.device_type.0 = 1;
        prototype.dtype.lanes = 2;
        assert_eq!(make(&raw mut prototype), -1);
        assert_eq!(make(ptr::null_mut()), -1);
    }
    assert!(message.contains("null"), "{message}");
}
