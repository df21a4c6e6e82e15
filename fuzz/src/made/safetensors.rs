//! safetensors: the length of the head, the head, and the tensors behind it.

use std::fmt::Write;

use libfuzzer_sys::arbitrary::{self, Arbitrary};

use super::{Number, dimension, name};

const WORDS: [(&str, u64); 12] = [
    ("U8", 1),
    ("BOOL", 1),
    ("I8", 1),
    ("F16", 2),
    ("BF16", 2),
    ("F32", 4),
    ("I64", 8),
    ("F64", 8),
    ("F8_E5M2", 1),
    ("C64", 8),
    ("F4", 1),
    ("F6_E2M3", 1),
];

#[derive(Debug, Arbitrary)]
pub struct File<'a> {
    head: (u8, Number),
    tensors: Vec<Tensor>,
    metadata: Option<(u8, &'a str)>,
    spaces: u8,
    /// Put into the head as it is, now and then.
    noise: Option<(u8, &'a [u8])>,
    cut: u8,
}

#[derive(Debug, Arbitrary)]
struct Tensor {
    name: u8,
    word: u8,
    rank: u8,
    shape: [(u8, Number); 3],
    begin: (u8, Number),
    end: (u8, Number),
    /// In which order keys come, and whether one comes twice.
    order: u8,
}

impl File<'_> {
    pub fn bytes(&self) -> Vec<u8> {
        let mut head = String::from("{");
        if let Some((at, text)) = self.metadata {
            let text: String = text.chars().filter(|c| !c.is_control()).take(64).collect();
            let text = text.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = write!(head, "\"__metadata__\":{{\"k{at}\":\"{text}\"}}");
        }
        let mut place = 0u64;
        for (at, tensor) in self.tensors.iter().take(12).enumerate() {
            let (word, size) = WORDS[usize::from(tensor.word) % WORDS.len()];
            let shape: Vec<u64> = tensor
                .shape
                .iter()
                .take(usize::from(tensor.rank % 4))
                .map(|(small, number)| dimension(*small, *number))
                .collect();
            let bytes = shape.iter().fold(size, |bytes, dim| bytes.wrapping_mul(*dim));
            let begin = tensor.begin.1.or(tensor.begin.0, place);
            let end = tensor.end.1.or(tensor.end.0, place.wrapping_add(bytes));
            place = place.wrapping_add(bytes).min(1 << 15);
            let comma = if head.len() > 1 { "," } else { "" };
            let parts = [
                format!("\"dtype\":\"{word}\""),
                format!("\"shape\":{shape:?}"),
                format!("\"data_offsets\":[{begin},{end}]"),
            ];
            let turn = usize::from(tensor.order % 3);
            let twice =
                if tensor.order > 250 { format!(",{}", parts[turn]) } else { String::new() };
            let [a, b, c] = [0, 1, 2].map(|part| &parts[(part + turn) % 3]);
            let title = format!("{}{}", name(tensor.name), if tensor.order > 240 { 0 } else { at });
            let _ = write!(head, "{comma}\"{title}\":{{{a},{b},{c}{twice}}}");
        }
        head.push('}');
        head.push_str(&" ".repeat(usize::from(self.spaces % 16)));
        let mut head = head.into_bytes();
        if let Some((at, noise)) = self.noise.filter(|(at, _)| at % 8 == 3) {
            let at = usize::from(at) % head.len();
            head.splice(at..at, noise.iter().take(32).copied());
        }
        let mut file = self.head.1.or(self.head.0, head.len() as u64).to_le_bytes().to_vec();
        file.append(&mut head);
        file.resize(file.len() + place as usize, 0x5a);
        file.truncate(file.len().saturating_sub(usize::from(self.cut / 32)));
        file
    }
}
