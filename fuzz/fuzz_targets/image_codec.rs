//! JPEG and PNG files: whatever is decoded has the size that its head says, into a new tensor and
//! into one with padded rows alike, and everything else is refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::image::codec;
use tenure::{DType, DynTensor, TensorDyn, TensorMemory};

/// Larger pictures are slow, and find nothing that smaller ones do not.
const MOST: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let heap = Some(TensorMemory::Mem);
    let Ok(head) = codec::inspect(bytes) else {
        assert!(codec::decode(bytes, heap).is_err());
        return;
    };
    assert!(head.width * head.height <= codec::MOST_PIXELS);
    if head.width * head.height > MOST {
        return;
    }
    let Ok(decoded) = codec::decode(bytes, heap) else { return };
    assert_eq!((decoded.width(), decoded.height()), (Some(head.width), Some(head.height)));
    let stride = head.width * head.format.channels() + 5;
    let padded = TensorDyn::image_builder(head.width, head.height, head.format, DType::U8)
        .row_stride(stride)
        .memory(heap)
        .build();
    let mut padded = padded.unwrap();
    codec::decode_into(bytes, &mut padded).unwrap();
    let tight = padded.to(heap).unwrap();
    assert_eq!(tight.map_read().unwrap().as_slice(), decoded.map_read().unwrap().as_slice());
    // What was decoded can be written.
    codec::encode_png(&decoded, std::io::sink()).unwrap();
});
