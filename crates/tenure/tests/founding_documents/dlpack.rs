//! The rules of DLPack 1.3 that a producer and a consumer keep.

use tenure::dlpack::{ExportRequest, Exported, VERSION};
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

/// Codes and bits: bool is 6 and 8, bf16 is 4, floats are 2, and lanes are 1.
#[test]
fn type_codes() {
    let rows = [
        (DType::I32, 0, 32),
        (DType::U8, 1, 8),
        (DType::F16, 2, 16),
        (DType::F32, 2, 32),
        (DType::Bf16, 4, 16),
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
