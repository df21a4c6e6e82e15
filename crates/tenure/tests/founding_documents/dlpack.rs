//! The rules of DLPack 1.3 that a producer and a consumer keep.
#![expect(unsafe_code, reason = "a producer and a consumer that are not ours")]

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure::dlpack::{ExportRequest, Exported, Managed, VERSION, Versioned, ffi};
use tenure::{DType, Tensor, TensorDyn, TensorMemory};

fn heap(shape: &[usize]) -> Tensor<f32> {
    Tensor::<f32>::new(shape, Some(TensorMemory::Mem), None).unwrap()
}

/// "Versioned struct for consumers whose max_version has major >= 1; legacy for None or 0.x. Our
/// own version even if the consumer says (2, 0)."
#[test]
fn which_structure() {
    assert_eq!(VERSION, (1, 3));
    let t = heap(&[2, 3]);
    for (max, versioned) in
        [(None, false), (Some((0, 8)), false), (Some((1, 0)), true), (Some((2, 0)), true)]
    {
        let request = ExportRequest::new().max_version(max);
        let exported = t.to_dlpack_for(&request).unwrap();
        assert_eq!(matches!(exported, Exported::Versioned(_)), versioned, "{max:?}");
    }
}

/// "flags: 1 read-only, 2 copied"; "copy True always copies (and sets the flag), False never".
#[test]
fn copies_are_told() {
    let t = heap(&[2, 3]);
    let export = |copy| {
        let request = ExportRequest::new().max_version(Some(VERSION)).copy(copy);
        let Exported::Versioned(lent) = t.to_dlpack_for(&request).unwrap() else { panic!() };
        (lent.tensor().data as usize, lent.is_read_only())
    };
    let own = t.to_dlpack().unwrap().tensor().data as usize;
    assert_eq!(export(None), (own, false));
    assert_eq!(export(Some(false)), (own, false));
    assert_ne!(export(Some(true)).0, own);
}

/// "strides in elements, never null for ndim > 0"; "data 256-byte aligned where we can".
#[test]
fn strides_and_alignment() {
    let t = heap(&[2, 3]);
    let lent = t.to_dlpack().unwrap();
    let tensor = lent.tensor();
    assert_eq!((tensor.ndim, tensor.strides.is_null()), (2, false));
    assert_eq!(tensor.data as usize % 256, 0);
    assert_eq!((tensor.device.device_id, tensor.byte_offset), (0, 0));
    // "Size zero: data null."
    assert!(heap(&[0]).to_dlpack().unwrap().tensor().data.is_null());
}

/// Codes and bits: bool is 6 and 8, complex is 5, bf16 is 4, floats are 2, and lanes are 1.
#[test]
fn type_codes() {
    let rows = [
        (DType::I32, 0, 32),
        (DType::U8, 1, 8),
        (DType::F16, 2, 16),
        (DType::F32, 2, 32),
        (DType::Bf16, 4, 16),
        // "complex: total bits".
        (DType::Complex64, 5, 64),
        (DType::Complex128, 5, 128),
        (DType::Bool, 6, 8),
    ];
    for (dtype, code, bits) in rows {
        assert_eq!(dtype.dlpack(), (code, bits), "{dtype}");
        assert_eq!(DType::from_dlpack(code, bits, 1).unwrap(), dtype);
        assert!(DType::from_dlpack(code, bits, 2).is_err(), "lanes");
    }
    assert!(DType::from_dlpack(99, 8, 1).is_err() && DType::from_dlpack(0, 7, 1).is_err());
    let four_bits = [DType::U4, DType::I4, DType::F4E2M1];
    assert!(four_bits.iter().all(|dtype| dtype.dlpack().1 == 4));
}

/// "A round trip is the same bytes", and a device that does not exist is refused.
#[test]
fn round_trip() {
    let t = heap(&[4]);
    let back = TensorDyn::from_dlpack(t.to_dlpack().unwrap()).unwrap();
    assert!(back.aliases(&t));
    let gpu = tenure::memory::DlDevice { device_type: 2, device_id: 0 };
    let cpu = t.dlpack_device().unwrap();
    assert_eq!((cpu.device_type, cpu.device_id), (1, 0));
    let request = ExportRequest::new().device(Some(gpu)).copy(Some(false));
    assert!(t.to_dlpack_for(&request).is_err());
}

/// "Read-only tensors cannot go into the legacy struct."
#[test]
fn read_only_needs_the_versioned_structure() {
    let t = heap(&[2, 3]);
    let wide = t.index(0, 0).unwrap().broadcast_to(&[2, 3]).unwrap();
    for request in [ExportRequest::new(), ExportRequest::new().max_version(Some((0, 8)))] {
        assert!(t.to_dlpack_for(&request).is_ok());
        let refused = t.to_dlpack_for(&request.read_only(true)).unwrap_err().to_string();
        assert!(refused.contains("read-only") && refused.contains("unversioned"), "{refused}");
        assert!(wide.to_dlpack_for(&request).is_err(), "elements that share bytes");
    }
    let new = ExportRequest::new().max_version(Some((1, 0))).read_only(true);
    let Exported::Versioned(lent) = t.to_dlpack_for(&new).unwrap() else { panic!() };
    assert!(lent.is_read_only() && lent.flags() & 1 == 1);
}

/// "Null strides mean row-major (legacy or < 1.2). Apply byte_offset."
#[test]
fn null_strides_are_row_major() {
    let t = heap(&[2, 3]);
    t.map().unwrap().copy_from_slice(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    let old = t.to_dlpack_legacy().unwrap().into_raw();
    let mut theirs = Theirs::of(t.to_dlpack().unwrap());
    // SAFETY: ours, of which nobody else has the pointer.
    drop(unsafe { Managed::from_raw(old.as_ptr()) }.unwrap());
    theirs.dl_tensor.strides = ptr::null_mut();
    theirs.version.minor = 1;
    (theirs.dl_tensor.byte_offset, theirs.dl_tensor.ndim) = (4, 1);
    // SAFETY: five floats are left behind the first; the list of one dimension is the first two's.
    let back = unsafe { theirs.import() };
    assert_eq!((back.shape(), back.strides()), (&[2][..], &[1][..]));
    assert_eq!(back.typed::<f32>().unwrap().map_read().unwrap()[..], [1.0, 2.0]);
}

/// "Deleter: any thread, exactly once, never null. When it has run, what was lent is given back."
#[test]
fn the_deleter_gives_back() {
    let t = heap(&[4]);
    let lent = t.to_dlpack().unwrap();
    assert!(t.map().is_err(), "foreign code may be writing");
    let pointer = lent.into_raw();
    // SAFETY: the structure is ours, and nobody else has the pointer.
    let deleter = unsafe { pointer.as_ref() }.deleter;
    assert!(deleter.is_some());
    // SAFETY: as above.
    let lent = unsafe { Managed::from_raw(pointer.as_ptr()) }.unwrap();
    std::thread::spawn(move || drop(lent)).join().unwrap();
    assert!(t.map().is_ok());
    // "Deleter once, any thread": of a structure that comes in.
    let before = DELETED.load(Ordering::Relaxed);
    let theirs = Theirs::of(t.to_dlpack().unwrap());
    // SAFETY: as it was exported.
    let back = unsafe { theirs.import() };
    let other = back.clone();
    drop(back);
    assert_eq!(DELETED.load(Ordering::Relaxed), before, "a handle is left");
    std::thread::spawn(move || drop(other)).join().unwrap();
    assert_eq!(DELETED.load(Ordering::Relaxed), before + 1);
}

/// "CUDA: None legacy default, 1 legacy, 2 per-thread, > 2 pointer, 0 forbidden, -1 no sync; ROCm:
/// 0 default, > 2 pointer, 1 and 2 forbidden. CPU: stream must be None."
#[test]
fn stream_values() {
    let rows: [(i32, &[i64], &[i64]); 4] = [
        (1, &[], &[-1, 0, 1, 2, 4096]),
        (2, &[-1, 1, 2, 4096], &[0, -2]),
        (10, &[-1, 0, 4096], &[1, 2, -2]),
        (7, &[-1], &[0, 1, 4096]),
    ];
    for (device_type, right, wrong) in rows {
        let allowed =
            |stream| ExportRequest::new().stream(stream).check_stream(device_type).is_ok();
        assert!(allowed(None));
        assert!(right.iter().all(|stream| allowed(Some(*stream))), "{device_type}");
        assert!(!wrong.iter().any(|stream| allowed(Some(*stream))), "{device_type}");
    }
    let asked = ExportRequest::new().max_version(Some(VERSION)).stream(Some(0));
    let refused = heap(&[4]).to_dlpack_for(&asked).unwrap_err().to_string();
    assert!(refused.contains("stream is 0") && refused.contains("None"), "{refused}");
}

static DELETED: AtomicUsize = AtomicUsize::new(0);

/// A structure of ours under another deleter: for importers, that of another library.
struct Theirs;

impl Theirs {
    fn of(lent: Versioned) -> Box<ffi::DLManagedTensorVersioned> {
        let own = lent.into_raw();
        // SAFETY: the structure is ours and stays until the deleter below gives it back.
        let ffi::DLManagedTensorVersioned { version, flags, dl_tensor, .. } = unsafe { own.read() };
        let manager_ctx = own.as_ptr().cast();
        let deleter = Some(delete as unsafe extern "C" fn(*mut ffi::DLManagedTensorVersioned));
        Box::new(ffi::DLManagedTensorVersioned { version, manager_ctx, deleter, flags, dl_tensor })
    }
}

trait Import {
    /// # Safety
    /// What the structure says must be inside what it was made of.
    unsafe fn import(self) -> TensorDyn;
}

impl Import for Box<ffi::DLManagedTensorVersioned> {
    unsafe fn import(self) -> TensorDyn {
        // SAFETY: nobody else has it; what it says is right, by the caller's promise.
        let managed = unsafe { Managed::from_raw(Box::into_raw(self)) }.unwrap();
        TensorDyn::from_dlpack(managed).unwrap()
    }
}

/// # Safety
/// `this` must be what `Theirs::of` made; called once.
unsafe extern "C" fn delete(this: *mut ffi::DLManagedTensorVersioned) {
    DELETED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: made by `Box`, and nobody uses it any more.
    let theirs = unsafe { Box::from_raw(this) };
    let own: *mut ffi::DLManagedTensorVersioned = theirs.manager_ctx.cast();
    // SAFETY: the structure that it was made of, which nobody else has.
    drop(unsafe { Managed::from_raw(own) }.unwrap());
}
