//! npy files: whatever is read is written again as the same array, and everything else is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::TensorMemory;
use tenure::files::npy;

fuzz_target!(|bytes: &[u8]| {
    let heap = Some(TensorMemory::Mem);
    let Ok(array) = npy::read(bytes, heap) else { return };
    let mut file = vec![];
    npy::write(&mut file, &array).unwrap();
    let back = npy::read(&file, heap).unwrap();
    assert_eq!((back.shape(), back.dtype()), (array.shape(), array.dtype()));
});
