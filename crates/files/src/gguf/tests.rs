//! Files made by hand, and hostile ones.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use crate::{Catalogue, Elements, Error, Format, catalogue};
use tenure_tensor::DType;

#[derive(Default, Clone)]
struct Made {
    version: u32,
    tensors: u64,
    keys: u64,
    body: Vec<u8>,
}

impl Made {
    fn new() -> Made {
        Made { version: 3, ..Made::default() }
    }

    fn text(mut self, text: &[u8]) -> Made {
        self.body.extend((text.len() as u64).to_le_bytes());
        self.body.extend(text);
        self
    }

    fn raw(mut self, bytes: &[u8]) -> Made {
        self.body.extend(bytes);
        self
    }

    fn key(mut self, key: &str, kind: u32, value: &[u8]) -> Made {
        self.keys += 1;
        self.text(key.as_bytes()).raw(&kind.to_le_bytes()).raw(value)
    }

    fn tensor(mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Made {
        self.tensors += 1;
        let mut made = self.text(name.as_bytes()).raw(&(dims.len() as u32).to_le_bytes());
        for dim in dims {
            made = made.raw(&dim.to_le_bytes());
        }
        made.raw(&kind.to_le_bytes()).raw(&offset.to_le_bytes())
    }

    /// The file, with so many bytes of tensors at the next multiple of `align`.
    fn file(&self, align: usize, data: usize) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.tensors.to_le_bytes());
        bytes.extend(self.keys.to_le_bytes());
        bytes.extend(&self.body);
        bytes.resize(bytes.len().next_multiple_of(align) + data, 0);
        bytes
    }

    fn read(&self, data: usize) -> Result<Catalogue, Error> {
        catalogue(&self.file(32, data), Some(Format::Gguf))
    }
}

fn text(text: &str) -> Vec<u8> {
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text.bytes());
    bytes
}

#[test]
fn keys_and_tensors_are_read() {
    let list = [&5u32.to_le_bytes()[..], &2u64.to_le_bytes(), &[0; 8]].concat();
    let words = [&8u32.to_le_bytes()[..], &2u64.to_le_bytes(), &text("a"), &text("bc")].concat();
    let lists = [&9u32.to_le_bytes()[..], &1u64.to_le_bytes(), &list].concat();
    for version in [2, 3] {
        let made = Made { version, ..Made::new() }
            .key("general.architecture", 8, &text("llama"))
            .key("small", 1, &[0xff])
            .key("yes", 7, &[1])
            .key("real", 6, &0.5f32.to_le_bytes())
            .key("tokens", 9, &words)
            .key("numbers", 9, &list)
            .key("lists", 9, &lists)
            .key("general.alignment", 4, &64u32.to_le_bytes())
            .tensor("output", &[512, 3], 12, 64)
            .tensor("norm", &[3], 0, 0);
        let bytes = made.file(64, 64 + 2 * 144 * 3);
        let found = catalogue(&bytes, None).unwrap();
        assert_eq!(found.format(), Format::Gguf);
        let words: Vec<_> = found.metadata().iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(
            words,
            ["llama", "-1", "true", "0.5", "[2 x text]", "[2 x i32]", "[1 x list]", "64"]
        );
        let [norm, output] = found.entries() else { panic!("{found:?}") };
        let start = bytes.len() as u64 - (64 + 2 * 144 * 3);
        assert_eq!((norm.name(), norm.offset(), norm.shape()), ("norm", start, &[3][..]));
        assert_eq!(norm.elements(), &Elements::Plain(DType::F32));
        assert_eq!((output.shape(), output.bytes()), (&[3, 512][..], 3 * 288));
        assert_eq!(output.elements(), &Elements::blocks("q4_k", 256, 144));
        assert_eq!(output.layout.shape(), [3, 288]);
        assert_eq!(output.offset(), start + 64);
    }
}

#[test]
fn hostile_heads_are_refused() {
    let good = Made::new().tensor("a", &[32], 8, 0);
    assert_eq!(good.read(34).unwrap().entries().len(), 1);
    let mut deep = vec![];
    for _ in 0..1000 {
        deep.extend(9u32.to_le_bytes());
        deep.extend(1u64.to_le_bytes());
    }
    let list = |kind: u32, count: u64| [&kind.to_le_bytes()[..], &count.to_le_bytes()].concat();
    for (made, data, said) in [
        (Made { version: 1, ..good.clone() }, 34, "version 1: 2 and 3"),
        (Made { version: 3u32.swap_bytes(), ..good.clone() }, 34, "big-endian"),
        (Made { tensors: 1 << 60, ..good.clone() }, 34, "1152921504606846976 tensors"),
        (Made { tensors: 2, ..good.clone() }, 34, "has"),
        (Made { keys: 1 << 60, ..good.clone() }, 34, "1152921504606846976 keys"),
        (good.clone(), 33, "and is"),
        (Made::new().tensor("a", &[33], 8, 0), 99, "no whole number"),
        (Made::new().tensor("a", &[1 << 62, 1 << 62], 0, 0), 99, "no whole number"),
        (Made::new().tensor("a", &[u64::MAX / 2], 8, 0), 99, "no whole number"),
        (Made::new().tensor("a", &[1; 5], 0, 0), 99, "5 dimensions"),
        (Made::new().tensor("a", &[1], 4, 0), 99, "of type 4: known are 0, 1"),
        (Made::new().tensor("a", &[1], 0, 16), 99, "no multiple of 32"),
        (Made::new().tensor("a", &[1], 0, u64::MAX - 31), 99, "beyond every file's end"),
        (Made::new().tensor("a", &[1], 0, 1 << 40), 99, "and is"),
        (good.clone().tensor("b", &[1], 0, 0), 99, "in the same bytes"),
        (good.clone().tensor("a", &[1], 0, 64), 99, "two tensors `a`"),
        (
            Made { tensors: 1, ..Made::new().raw(&u64::MAX.to_le_bytes()).raw(&[0; 40]) },
            0,
            "text of",
        ),
        (Made { tensors: 1, ..Made::new().text(b"\xff\xff").raw(&[0; 40]) }, 0, "no UTF-8"),
        (Made::new().key("k", 13, &[]), 0, "type 13"),
        (Made::new().key("k", 7, &[2]), 0, "truth value of 2"),
        (Made::new().key("k", 9, &deep), 0, "deeper than 4"),
        (Made::new().key("k", 9, &list(12, u64::MAX)), 0, "cut off"),
        (Made::new().key("k", 9, &list(8, u64::MAX)), 0, "cut off"),
        (Made::new().key("k", 9, &list(77, 1)), 0, "type 77"),
        (Made::new().key("general.alignment", 4, &0u32.to_le_bytes()), 0, "a power of two"),
        (Made::new().key("general.alignment", 4, &48u32.to_le_bytes()), 0, "a power of two"),
        (Made::new().key("general.alignment", 8, &text("32")), 0, "a power of two"),
    ] {
        let error = made.read(data).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let bytes = good.file(32, 34);
    for end in 0..bytes.len() {
        assert!(catalogue(&bytes[..end], Some(Format::Gguf)).is_err(), "{end}");
    }
}
