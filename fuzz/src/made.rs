//! Files that are made and not found: mostly as they should be, with hostile numbers in the places
//! where readers trust them. Byte-level mutation rarely gets past a length or a checksum; these
//! start behind them.

pub mod gguf;
pub mod npz;
pub mod onnx;
pub mod safetensors;
pub mod tflite;

use libfuzzer_sys::arbitrary::{self, Arbitrary};

/// A number that is right, or anything.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Number {
    Right,
    /// Off by a little.
    Near(i8),
    /// At the edge of some width.
    Edge(u8),
    Wild(u64),
}

impl Number {
    /// The number to write where `right` belongs. Rarely anything else.
    pub fn or(self, rarely: u8, right: u64) -> u64 {
        if rarely % 8 != 5 {
            return right;
        }
        match self {
            Number::Right => right,
            Number::Near(by) => right.wrapping_add_signed(by.into()),
            Number::Edge(bits) => {
                let edge = 1u64.checked_shl(u32::from(bits % 65)).unwrap_or(0);
                if bits & 0x80 == 0 { edge } else { edge.wrapping_sub(1) }
            }
            Number::Wild(number) => number,
        }
    }
}

/// A dimension: small mostly.
pub fn dimension(small: u8, number: Number) -> u64 {
    number.or(small, u64::from(small % 7))
}

/// One of a few names, so that files refer to what they have.
pub fn name(number: u8) -> String {
    match number % 12 {
        0 => String::new(),
        1 => "x".repeat(usize::from(number)),
        n => format!("t{n}"),
    }
}
