//! gguf: keys, tensors and their places.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use super::{Number, dimension, name};

#[derive(Debug, Arbitrary)]
pub struct File {
    version: u8,
    counts: [(u8, Number); 2],
    alignment: Option<u8>,
    keys: Vec<Key>,
    tensors: Vec<Tensor>,
    /// Bytes that are missing at the end.
    cut: u8,
}

#[derive(Debug, Arbitrary)]
struct Key {
    name: u8,
    value: Value,
}

#[derive(Debug, Arbitrary)]
enum Value {
    Plain { kind: u8, number: u64 },
    Text { length: (u8, Number), text: u8 },
    List { of: u8, count: (u8, Number), number: u64 },
    Nested { depth: u8, count: (u8, Number) },
}

#[derive(Debug, Arbitrary)]
struct Tensor {
    name: u8,
    rank: u8,
    shape: [(u8, Number); 4],
    kind: u8,
    offset: (u8, Number),
}

fn text(file: &mut Vec<u8>, (rarely, number): (u8, Number), text: &str) {
    file.extend(number.or(rarely, text.len() as u64).to_le_bytes());
    file.extend(text.as_bytes());
}

/// Bytes of a plain value of a kind.
fn width(kind: u8) -> usize {
    match kind {
        0 | 1 | 7 => 1,
        2 | 3 => 2,
        4..=6 => 4,
        _ => 8,
    }
}

impl Value {
    fn write(&self, file: &mut Vec<u8>) {
        match *self {
            Value::Plain { kind, number } => {
                // Now and then a kind that there is not.
                let kind = kind % 14;
                let kind = if matches!(kind, 8 | 9) { 4 } else { kind };
                file.extend(u32::from(kind).to_le_bytes());
                let number = if kind == 7 { number & 1 } else { number };
                file.extend(&number.to_le_bytes()[..width(kind)]);
            }
            Value::Text { length, text: number } => {
                file.extend(8u32.to_le_bytes());
                text(file, length, &name(number));
            }
            Value::List { of, count: (rarely, count), number } => {
                file.extend(9u32.to_le_bytes());
                let of = [0, 2, 4, 5, 6, 7, 10, 11, 12][usize::from(of % 9)];
                file.extend(u32::from(of).to_le_bytes());
                let right = u64::from(rarely / 16);
                file.extend(count.or(rarely, right).to_le_bytes());
                for _ in 0..right {
                    let number = if of == 7 { number & 1 } else { number };
                    file.extend(&number.to_le_bytes()[..width(of)]);
                }
            }
            Value::Nested { depth, count: (rarely, count) } => {
                file.extend(9u32.to_le_bytes());
                for _ in 0..depth % 8 {
                    file.extend(9u32.to_le_bytes());
                    file.extend(count.or(rarely, 1).to_le_bytes());
                }
                file.extend(4u32.to_le_bytes());
                file.extend(1u64.to_le_bytes());
                file.extend(7u32.to_le_bytes());
            }
        }
    }
}

impl File {
    pub fn bytes(&self) -> Vec<u8> {
        let (keys, tensors) =
            (&self.keys[..self.keys.len().min(8)], &self.tensors[..self.tensors.len().min(8)]);
        let mut file = b"GGUF".to_vec();
        let version = if self.version % 16 == 15 { u32::from(self.version) } else { 3 };
        file.extend(version.to_le_bytes());
        let [(rarely, number), (rarely_keys, number_keys)] = self.counts;
        file.extend(number.or(rarely, tensors.len() as u64).to_le_bytes());
        let key_count = keys.len() + usize::from(self.alignment.is_some());
        file.extend(number_keys.or(rarely_keys, key_count as u64).to_le_bytes());
        let alignment = self.alignment.map_or(32, |bits| 1u32 << (bits % 32));
        if self.alignment.is_some() {
            text(&mut file, (0, Number::Right), "general.alignment");
            file.extend(4u32.to_le_bytes());
            file.extend(alignment.to_le_bytes());
        }
        for key in keys {
            text(&mut file, (0, Number::Right), &name(key.name));
            key.value.write(&mut file);
        }
        let mut place = 0u64;
        for (at, tensor) in tensors.iter().enumerate() {
            text(&mut file, (0, Number::Right), &format!("{}{at}", name(tensor.name)));
            let rank = tensor.rank % 6;
            file.extend(u32::from(rank).to_le_bytes());
            // Whole blocks of a quantised type are 32 or 256 elements.
            let kind = u32::from(tensor.kind % 42);
            let block = if matches!(kind, 0 | 1 | 24..=28 | 30) { 1 } else { 256 };
            let mut elements = 1u64;
            for (axis, (small, number)) in tensor.shape.iter().take(rank.into()).enumerate() {
                let dim = dimension(*small, *number);
                let dim = if axis == 0 { dim.wrapping_mul(block) } else { dim };
                elements = elements.wrapping_mul(dim);
                file.extend(dim.to_le_bytes());
            }
            (4..rank).for_each(|_| file.extend(1u64.to_le_bytes()));
            file.extend(kind.to_le_bytes());
            let (rarely, number) = tensor.offset;
            file.extend(number.or(rarely, place).to_le_bytes());
            let bytes = elements.wrapping_mul(8).min(1 << 14);
            place = (place + bytes).next_multiple_of(u64::from(alignment).clamp(1, 1 << 12));
        }
        let size = (file.len() as u64).next_multiple_of(u64::from(alignment).clamp(1, 1 << 12));
        file.resize((size + place).min(1 << 17) as usize, 0x5a);
        file.truncate(file.len().saturating_sub(usize::from(self.cut / 16)));
        file
    }
}
