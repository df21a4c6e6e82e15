//! Frames from a peer in the network that lies: what is believed goes back to what it was, takes no
//! more memory than it says, and becomes a tensor or is refused.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use tenure::{DType, DynTensor, PixelFormat, TensorDyn};
use tenure_bridge::packet::{Encoding, Head, LARGEST, Packet};
use tenure_bridge::unpack;

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    beside: Beside<'a>,
    body: &'a [u8],
}

#[derive(Debug, Arbitrary)]
enum Beside<'a> {
    Bytes(&'a [u8]),
    /// A head that says how the body is packed, of a picture or of a tensor.
    Frame {
        format: Option<u8>,
        dtype: u8,
        width: u8,
        height: u8,
        encoding: u8,
        blob: &'a [u8],
    },
}

impl Beside<'_> {
    fn bytes(&self) -> Option<Vec<u8>> {
        let (format, dtype, width, height, encoding, blob) = match *self {
            Beside::Bytes(bytes) => return Some(bytes.to_vec()),
            Beside::Frame { format, dtype, width, height, encoding, blob } => {
                (format, dtype, usize::from(width), usize::from(height), encoding, blob)
            }
        };
        let dtype = DType::from_code(dtype)?;
        let tensor = match format {
            Some(format) => {
                let format = PixelFormat::from_code(format)?;
                TensorDyn::image(width, height, format, dtype, None, None)
            }
            None => TensorDyn::new(&[width, height], dtype, None, None),
        };
        let encodings = [Encoding::Plain, Encoding::Lz4, Encoding::Jpeg];
        let encoding = encodings[usize::from(encoding) % encodings.len()];
        let blob = blob.to_vec();
        let head = Head { encoding, blob, ..Head::of(&tensor.ok()?).ok()? };
        Some(Packet::Frame(Box::new(head)).encode())
    }
}

/// A tensor as the slots are that such frames are brought into.
fn slot(head: &Head) -> Option<TensorDyn> {
    let description = &head.description;
    match &description.image {
        Some(image) => {
            let (format, width, height) = (image.format, image.width, image.height);
            TensorDyn::image(width, height, format, description.dtype, None, None).ok()
        }
        None => TensorDyn::new(&description.shape, description.dtype, None, None).ok(),
    }
}

fuzz_target!(|input: Input<'_>| {
    let Some(beside) = input.beside.bytes() else { return };
    let Ok(packet) = Packet::decode(&beside, input.body.len()) else { return };
    assert_eq!(Packet::decode(&packet.encode(), input.body.len()).as_ref(), Ok(&packet));
    let Packet::Frame(head) = packet else { return };
    assert!(head.bytes <= LARGEST);
    assert!(head.spec().expect("what was believed is possible").bytes() >= head.bytes);
    // Whole pictures take long; small ones show the same.
    if head.bytes > 1 << 18 {
        return;
    }
    let Some(slot) = slot(&head) else { return };
    assert_eq!(slot.flat_bytes(), head.bytes);
    let filled = unpack(&head, input.body, &slot);
    if head.encoding == Encoding::Plain {
        filled.expect("a body of the right length");
        let mut flat = vec![0; head.bytes];
        slot.copy_to_flat(&mut flat).expect("nobody writes");
        assert_eq!(flat, input.body);
    }
});
