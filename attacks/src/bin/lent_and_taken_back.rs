//! Two exports of one tensor, both imported: two tensors over the same bytes, each of which could
//! think that it is alone. And an export for reading that is written after it came back.
#![forbid(unsafe_code)]

use tenure::dlpack::{ExportRequest, Exported};
use tenure::{Tensor, TensorDyn, TensorMemory};
use tenure_attacks::{memory, refused};

fn main() {
    let tensor = Tensor::<u8>::new(&[64], Some(TensorMemory::Mem), None).expect("a few bytes");
    let one = tensor.to_dlpack().expect("free");
    let two = tensor.to_dlpack_legacy().expect("exports do not exclude each other");
    refused!(tensor.map(), memory!(Busy { .. }));
    refused!(tensor.map_read(), memory!(Busy { .. }));

    let one = Tensor::<u8>::from_dlpack(one).expect("our own");
    let two = Tensor::<u8>::from_dlpack(two).expect("our own");
    let mut held = one.map().expect("free");
    refused!(two.map(), memory!(Busy { .. }));
    refused!(tensor.map_read(), memory!(Busy { .. }));
    refused!(two.to_dlpack(), memory!(Busy { .. }));
    held.as_mut_slice().fill(7);
    drop(held);

    let reading = ExportRequest::new().max_version(Some((1, 0))).read_only(true);
    let Ok(Exported::Versioned(lent)) = tensor.to_dlpack_for(&reading) else {
        panic!("version 1.0 has a structure that can say so")
    };
    refused!(tensor.map(), memory!(Busy { .. }));
    let reader = TensorDyn::from_dlpack(lent).expect("our own");
    refused!(reader.map(), memory!(ReadOnly { .. }));
    refused!(reader.copy_from(&two), memory!(ReadOnly { .. }));
    let seen = reader.map_read().expect("free");
    // Neither a reference nor a kernel writes below the slice.
    refused!(tensor.map(), memory!(Busy { .. }));
    refused!(two.fill(1), memory!(Busy { .. }));
    assert_eq!(seen.as_slice(), [7; 64]);
}
