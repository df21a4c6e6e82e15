//! DLPack structures with anything in them: whatever is imported lies where it says and can be
//! touched, everything else is refused, and the deleter runs once, whatever happens.
#![no_main]
#![expect(unsafe_code, reason = "makes structures as foreign code does")]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::dlpack::ffi::{
    DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned, DLPackVersion,
    DLTensor,
};
use tenure::dlpack::{Managed, ManagedStruct};
use tenure::{TensorDyn, TensorMemory};

/// More dimensions than any tensor may have: as many numbers can be read as are looked at.
const NUMBERS: usize = 64;

#[derive(Debug, Arbitrary)]
struct Input {
    legacy: bool,
    version: Version,
    flags: u64,
    ndim: Option<i32>,
    /// Small numbers mostly, which make tensors that can be looked at.
    shape: Numbers,
    strides: Option<Numbers>,
    dtype: Dtype,
    device_type: Option<u32>,
    device_id: i8,
    data: Data,
    byte_offset: Offset,
    without_deleter: bool,
}

#[derive(Debug, Arbitrary)]
enum Version {
    Ours,
    Wild(u32, u32),
}

#[derive(Debug, Arbitrary)]
enum Numbers {
    Small(Vec<i8>),
    Wild(Vec<i64>),
    Null,
}

#[derive(Debug, Arbitrary)]
enum Dtype {
    Known(u8),
    Wild(u8, u8, u16),
}

#[derive(Debug, Arbitrary)]
enum Data {
    Real(u16),
    Wild(usize),
}

#[derive(Debug, Arbitrary)]
enum Offset {
    Small(u8),
    Wild(u64),
}

thread_local! {
    static DELETED: Cell<usize> = const { Cell::new(0) };
}

unsafe extern "C" fn count<S>(_: *mut S) {
    DELETED.with(|deleted| deleted.set(deleted.get() + 1));
}

/// The numbers, as many as can be read, and how many were meant.
fn numbers(given: &Numbers) -> (Option<Vec<i64>>, usize) {
    let mut list: Vec<i64> = match given {
        Numbers::Null => return (None, 0),
        Numbers::Small(list) => list.iter().map(|&n| n.into()).collect(),
        Numbers::Wild(list) => list.clone(),
    };
    let meant = list.len();
    list.resize(NUMBERS.max(meant), 1);
    (Some(list), meant)
}

fn pointer(list: &mut Option<Vec<i64>>) -> *mut i64 {
    list.as_mut().map_or(ptr::null_mut(), |list| list.as_mut_ptr())
}

fuzz_target!(|input: Input| {
    let mut memory = vec![0u64; 1024];
    let (mut shape, rank) = numbers(&input.shape);
    let mut strides = input.strides.as_ref().and_then(|strides| numbers(strides).0);
    let start: *mut c_void = memory.as_mut_ptr().cast();
    let data = match input.data {
        Data::Real(at) => start.wrapping_byte_add(usize::from(at) % 8192),
        Data::Wild(address) => ptr::without_provenance_mut(address),
    };
    let (code, bits, lanes) = match input.dtype {
        Dtype::Wild(code, bits, lanes) => (code, bits, lanes),
        Dtype::Known(n) => {
            let all: Vec<_> = tenure::DType::all().collect();
            let (code, bits) = all[usize::from(n) % all.len()].dlpack();
            (code, bits, 1)
        }
    };
    let tensor = DLTensor {
        data,
        device: DLDevice {
            device_type: DLDeviceType(input.device_type.unwrap_or(1)),
            device_id: input.device_id.into(),
        },
        ndim: input.ndim.unwrap_or(rank as i32),
        dtype: DLDataType { code, bits, lanes },
        shape: pointer(&mut shape),
        strides: pointer(&mut strides),
        byte_offset: match input.byte_offset {
            Offset::Small(bytes) => bytes.into(),
            Offset::Wild(bytes) => bytes,
        },
    };
    let inside = start.addr()..start.addr() + memory.len() * 8;
    let expected = usize::from(!input.without_deleter);
    if input.legacy {
        let deleter = (!input.without_deleter).then_some(count::<DLManagedTensor> as _);
        let mut managed =
            DLManagedTensor { dl_tensor: tensor, manager_ctx: ptr::null_mut(), deleter };
        import(&raw mut managed, &inside, expected);
    } else {
        let (major, minor) = match input.version {
            Version::Ours => (1, 3),
            Version::Wild(major, minor) => (major, minor),
        };
        let deleter = (!input.without_deleter).then_some(count::<DLManagedTensorVersioned> as _);
        let mut managed = DLManagedTensorVersioned {
            version: DLPackVersion { major, minor },
            manager_ctx: ptr::null_mut(),
            deleter,
            flags: input.flags,
            dl_tensor: tensor,
        };
        import(&raw mut managed, &inside, expected);
    }
});

/// Imports a structure, looks at what came of it, and lets go of it.
fn import<S: ManagedStruct>(managed: *mut S, inside: &std::ops::Range<usize>, expected: usize) {
    DELETED.with(|deleted| deleted.set(0));
    let deleted = || DELETED.with(Cell::get);
    // SAFETY: the lists have as many numbers as are ever looked at, and the memory is touched only
    // where it is ours.
    let tensor = unsafe { Managed::from_raw(managed) }.and_then(TensorDyn::from_dlpack);
    match tensor {
        Ok(tensor) => {
            assert_eq!(deleted(), 0);
            look(&tensor, inside);
            let view = tensor.clone();
            drop(tensor);
            assert_eq!(deleted(), 0);
            drop(view);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert_eq!(deleted(), expected);
}

fn look(tensor: &TensorDyn, inside: &std::ops::Range<usize>) {
    let span = tensor.layout().span();
    assert!(span.end <= tensor.capacity_bytes());
    assert!(tensor.rank() <= 64 && isize::try_from(tensor.capacity_bytes()).is_ok());

    // Out again, it says what it said.
    let lent = tensor.to_dlpack().expect("nobody holds it");
    assert_eq!(lent.tensor().ndim as usize, tensor.rank());
    assert_eq!(lent.tensor().data.is_null(), span.is_empty());
    assert_eq!(lent.device(), tensor.dlpack_device().expect("it exists"));
    let back = TensorDyn::from_dlpack(lent).expect("our own");
    assert_eq!((back.shape(), back.dtype()), (tensor.shape(), tensor.dtype()));
    drop(back);

    if !tensor.space().cpu_reachable() {
        assert!(tensor.map_strided_read().is_err());
        return;
    }
    // SAFETY: only the number is looked at.
    let at = unsafe { tensor.buffer().as_ptr() }.expect("the CPU reaches it").addr().get();
    let bytes = at..at.checked_add(span.end).expect("it was checked");
    if !span.is_empty() && (bytes.start < inside.start || bytes.end > inside.end) {
        return;
    }
    let read = tensor.map_strided_read().expect("nobody writes it");
    std::hint::black_box(read.as_ptr());
    drop(read);
    if let Ok(rows) = tensor.map_rows_read()
        && tensor.size_bytes() <= 1 << 16
    {
        std::hint::black_box(rows.rows().flatten().fold(0u8, |all, byte| all ^ byte));
    }
    if let Ok(mut map) = tensor.map_rows() {
        map.rows_mut().for_each(|row| row.fill(7));
    }
    let _ = tensor.map_strided().map(|mut map| map.as_mut_ptr());
    if tensor.size_bytes() <= 1 << 16 {
        let _ = tensor.to(Some(TensorMemory::Mem));
    }
}
