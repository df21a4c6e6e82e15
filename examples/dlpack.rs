//! A tensor lent to another library, and memory of another library as a tensor: both without a
//! copy.
#![expect(unsafe_code, reason = "the other library works on pointers")]

use std::error::Error;

use tenure::dlpack::ffi::DLManagedTensorVersioned;
use tenure::dlpack::{ExportRequest, Exported, Versioned};
use tenure::{Tensor, TensorMemory};

/// The other library: adds one to every number, gives the tensor back by calling its deleter.
///
/// # Safety
/// `tensor` must be an owned DLPack structure over contiguous `f32` of the CPU.
unsafe extern "C" fn add_one(tensor: *mut DLManagedTensorVersioned) {
    // SAFETY: by the caller's promise.
    unsafe {
        let described = &(*tensor).dl_tensor;
        let count: i64 =
            (0..described.ndim as usize).map(|axis| *described.shape.add(axis)).product();
        for at in 0..count as usize {
            *described.data.cast::<f32>().add(at) += 1.0;
        }
        if let Some(deleter) = (*tensor).deleter {
            deleter(tensor);
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let tensor = Tensor::<f32>::new(&[2, 3], Some(TensorMemory::Mem), Some("shared"))?;

    // While it is lent, nobody gets a reference to it.
    let lent = tensor.to_dlpack()?;
    println!("lent: {}", tensor.map().err().map_or_else(String::new, |error| error.to_string()));

    // SAFETY: contiguous f32 in main memory, lent for writing; the structure is given away.
    unsafe { add_one(lent.into_raw().as_ptr()) };
    println!("back: {:?}", tensor.map_read()?.as_slice());

    // A consumer says what it can read, as in Python's `__dlpack__`.
    let request = ExportRequest::new().max_version(Some((1, 1))).read_only(true);
    let Exported::Versioned(reader) = tensor.to_dlpack_for(&request)? else {
        return Err("version 1.1 has the versioned structure".into());
    };
    println!(
        "read-only: {}, and still readable here: {}",
        reader.is_read_only(),
        tensor.map_read().is_ok()
    );

    // What comes from elsewhere is a pointer, and becomes a tensor after everything in it was
    // checked. Its deleter runs when the last view is gone.
    let pointer = reader.into_raw();
    // SAFETY: a structure that we own; nothing else uses its memory.
    let managed = unsafe { Versioned::from_raw(pointer.as_ptr())? };
    let row = Tensor::<f32>::from_dlpack(managed)?.index(0, 1)?;
    println!("second row: {:?}", row.map_read()?.as_slice());
    assert_eq!(row.map_read()?.as_slice(), [1.0; 3]);
    assert!(row.map().is_err(), "it was lent for reading only");
    Ok(())
}
