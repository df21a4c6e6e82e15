//! Heads beside what the crate of the format says of them, and hostile ones.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use super::*;
use crate::{Error, Format, catalogue};
use proptest::prelude::*;

pub(super) fn file(head: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
    bytes.extend(head.bytes());
    bytes.extend(data);
    bytes
}

fn read(head: &str, data: usize) -> Result<crate::Catalogue, Error> {
    catalogue(&file(head, &vec![0; data]), Some(Format::Safetensors))
}

const GOOD: &str = r#"{"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[2,26]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}"#;

#[test]
fn tensors_are_in_the_order_of_their_bytes() {
    let found = catalogue(&file(GOOD, &[0; 26]), None).unwrap();
    let start = 8 + GOOD.len() as u64;
    assert_eq!(found.format(), Format::Safetensors);
    assert_eq!(found.metadata(), [("format".to_owned(), "pt".to_owned())]);
    let [a, b] = found.entries() else { panic!("{found:?}") };
    assert_eq!((a.name(), a.offset(), a.bytes()), ("a", start, 2));
    assert_eq!((b.name(), b.offset(), b.shape()), ("b", start + 2, &[2, 3][..]));
    assert_eq!(b.elements(), &Elements::Plain(DType::F32));
}

#[test]
fn every_word_of_the_format_is_known() {
    use ::safetensors::Dtype;
    let all = [
        Dtype::BOOL,
        Dtype::F4,
        Dtype::F6_E2M3,
        Dtype::F6_E3M2,
        Dtype::U8,
        Dtype::I8,
        Dtype::F8_E5M2,
        Dtype::F8_E4M3,
        Dtype::F8_E8M0,
        Dtype::I16,
        Dtype::U16,
        Dtype::F16,
        Dtype::BF16,
        Dtype::I32,
        Dtype::U32,
        Dtype::F32,
        Dtype::C64,
        Dtype::F64,
        Dtype::I64,
        Dtype::U64,
    ];
    for dtype in all {
        let bytes = 8 * dtype.bitsize() / 8;
        let head =
            format!(r#"{{"a":{{"dtype":"{dtype}","shape":[8],"data_offsets":[0,{bytes}]}}}}"#);
        let bytes = file(&head, &vec![0; bytes]);
        ::safetensors::SafeTensors::deserialize(&bytes).unwrap();
        assert_eq!(catalogue(&bytes, None).unwrap().entries().len(), 1, "{dtype}");
    }
}

#[test]
fn hostile_heads_are_refused() {
    let one = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"a":{{"dtype":"{dtype}","shape":{shape},"data_offsets":{offsets}}}}}"#)
    };
    let two = |first: &str, second: &str| {
        let tensor = |name, offsets| {
            format!(r#""{name}":{{"dtype":"U8","shape":[4],"data_offsets":{offsets}}}"#)
        };
        format!("{{{},{}}}", tensor("a", first), tensor("b", second))
    };
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("[{}1]", "1,".repeat(64));
    for (head, data, said) in [
        (one("F32", "[2]", "[0,4]"), 4, "4 bytes for tensor `a`, F32 [2]"),
        (one("F32", "[2]", "[0,8]"), 4, "bytes 0..8 of 4 bytes"),
        (one("F32", "[2]", "[8,0]"), 8, "bytes 8..0"),
        (one("F32", "[2]", "[0,8]"), 9, "1 bytes after its last tensor"),
        (one("U8", "[18446744073709551615,2]", "[0,4]"), 4, "whose shape"),
        (
            one("U8", "[4]", "[18446744073709551612,18446744073709551615]"),
            4,
            "18446744073709551612",
        ),
        (one("U8", "[4]", "[18446744073709551616,4]"), 4, "makes no sense"),
        (one("U8", "[-4]", "[0,4]"), 4, "makes no sense"),
        (one("U8", &long, "[0,1]"), 1, "at most 64 numbers"),
        (one("Q9", "[4]", "[0,4]"), 4, "`Q9`: known are BOOL"),
        (one("F6_E2M3", "[3]", "[0,3]"), 3, "whose shape"),
        (two("[0,4]", "[2,6]"), 6, "shares bytes"),
        (two("[0,4]", "[5,9]"), 9, "bytes of no tensor before it"),
        (two("[0,4]", "[4,8]").replace("\"b\"", "\"a\""), 8, "two tensors `a`"),
        (deep, 0, "makes no sense"),
        (r#"{"__metadata__":{},"__metadata__":{}}"#.to_owned(), 0, "duplicate field"),
        (r#"{"__metadata__":{"a":1}}"#.to_owned(), 0, "makes no sense"),
        (
            r#"{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#.to_owned(),
            0,
            "dup",
        ),
        ("{} {}".to_owned(), 0, "trailing"),
        (" {}".to_owned(), 0, "does not begin with `{`"),
        (String::new(), 0, "does not begin with `{`"),
        ("{".to_owned(), 0, "EOF"),
    ] {
        let error = read(&head, data).unwrap_err().to_string();
        assert!(error.contains(said), "{}: {error}", &head[..head.len().min(200)]);
    }
    let mut bytes = file("{}", &[]);
    bytes[8..].copy_from_slice(b"\xff}");
    assert!(catalogue(&bytes, Some(Format::Safetensors)).is_err());
    bytes = file("{\"a\":\"é\"}", &[]);
    bytes[14] = 0xff;
    let error = catalogue(&bytes, Some(Format::Safetensors)).unwrap_err().to_string();
    assert!(error.contains("no UTF-8"), "{error}");
    for (length, said) in [
        (u64::MAX, "at most 100000000"),
        (100_000_001, "at most 100000000"),
        (100_000_000, "is 10 bytes long"),
        (3, "is 10 bytes long"),
    ] {
        let mut bytes = file("{}", &[]);
        bytes[..8].copy_from_slice(&length.to_le_bytes());
        let error = catalogue(&bytes, Some(Format::Safetensors)).unwrap_err().to_string();
        assert!(error.contains(said), "{length}: {error}");
    }
    for end in 0..8 {
        assert!(catalogue(&file("{}", &[])[..end], Some(Format::Safetensors)).is_err());
    }
}

#[test]
fn a_head_of_a_hundred_megabytes_is_bounded() {
    // Nothing but metadata, of which there is too much after a thousandth of it.
    let pairs = "\"a\":\"\",".repeat(14_000_000);
    let head = format!("{{\"__metadata__\":{{{pairs}\"x\":\"\"}}}}");
    let error = read(&head, 0).unwrap_err().to_string();
    assert!(head.len() > 98_000_000 && error.contains("65536"), "{error}");
    // One name that is all of it.
    let name = "x".repeat(99_000_000);
    let head = format!(r#"{{"{name}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}}}"#);
    assert_eq!(read(&head, 0).unwrap().entries()[0].name().len(), name.len());
}

proptest! {
    /// What the crate of the format reads we read, and the same of it; what it refuses we refuse.
    #[test]
    fn the_crate_of_the_format_agrees(
        tensors in prop::collection::btree_map("[a-c]{1,2}", (0usize..20, prop::collection::vec(0usize..4, 0..4)), 0..4),
        shift in -1i64..2, extra in 0usize..2,
    ) {
        let words = ["BOOL","U8","I8","F8_E5M2","F8_E4M3","U16","I16","F16","BF16","U32","I32","F32","U64","I64","F64","F4","F8_E8M0","F6_E2M3","F6_E3M2","C64"];
        let (mut at, mut parts) = (0i64, vec![]);
        for (index, (name, (word, shape))) in tensors.iter().enumerate() {
            let layout = elements(words[*word]).unwrap().layout(shape);
            let bytes = layout.map_or(1, |layout| layout.packed_bytes()) as i64;
            let begin = if index == 1 { (at + shift).max(0) } else { at };
            parts.push(format!(r#""{name}":{{"dtype":"{}","shape":{shape:?},"data_offsets":[{begin},{}]}}"#, words[*word], begin + bytes));
            at = begin + bytes;
        }
        let bytes = file(&format!("{{{}}}", parts.join(",")), &vec![0; at as usize + extra]);
        let (ours, theirs) = (catalogue(&bytes, Some(Format::Safetensors)), ::safetensors::SafeTensors::deserialize(&bytes));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                prop_assert_eq!(ours.entries().len(), theirs.len());
                for entry in ours.entries() {
                    let view = theirs.tensor(entry.name()).unwrap();
                    prop_assert_eq!(view.shape(), entry.shape());
                    prop_assert_eq!(view.data().len(), entry.bytes());
                    let at = view.data().as_ptr().addr() - bytes.as_ptr().addr();
                    prop_assert_eq!(at as u64, entry.offset());
                }
            }
            (Err(_), Err(_)) => {}
            // Rows of 6 bits that end inside a byte, which only together are whole ones; and two
            // elements of 4 bits that are no whole byte.
            (Err(_), Ok(_)) => prop_assert!(tensors.values().any(|(word, _)| matches!(words[*word], "F6_E2M3" | "F6_E3M2"))),
            (Ok(_), Err(error)) => prop_assert!(tensors.values().any(|(word, _)| words[*word] == "F4"), "{error}"),
        }
    }
}

/// The format is little-endian on every machine.
#[test]
fn elements_are_little_endian() {
    use tenure_tensor::Tensor;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let numbers = [1u32, 0x0102_0304, u32::MAX - 1];
    let words = Tensor::<u32>::from_slice(&numbers, &[3]).unwrap().to_dyn();
    let reals = Tensor::<f64>::from_slice(&[1.5, -2.0], &[2]).unwrap().to_dyn();
    let bytes = Tensor::<u8>::from_slice(&[1, 2, 3], &[3]).unwrap().to_dyn();
    let all = [("words", words), ("reals", reals), ("bytes", bytes)];
    save(&path, &all, &Save::default()).unwrap();
    let file = std::fs::read(&path).unwrap();
    let expected = [
        ("words", numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>()),
        ("reals", [1.5f64, -2.0].iter().flat_map(|number| number.to_le_bytes()).collect()),
        ("bytes", vec![1, 2, 3]),
    ];
    let opened = crate::open(&path).unwrap();
    for (name, expected) in expected {
        let entry = opened.entry(name).unwrap();
        assert_eq!(file[entry.offset() as usize..][..entry.bytes()], expected, "{name}");
        let view = cfg!(target_endian = "little") || name == "bytes";
        assert_eq!(opened.view(name).is_ok(), view, "{name}");
    }
    let loaded = opened.load().run().unwrap();
    for named in [
        |opened: &crate::TensorFile, _: &crate::Loaded, name: &str| opened.tensor(name),
        |_: &crate::TensorFile, loaded: &crate::Loaded, name: &str| loaded.tensor(name),
    ] {
        let words = named(&opened, &loaded, "words").unwrap().typed::<u32>().unwrap();
        assert_eq!(words.map_read().unwrap().as_slice(), numbers);
        let reals = named(&opened, &loaded, "reals").unwrap().typed::<f64>().unwrap();
        assert_eq!(reals.map_read().unwrap().as_slice(), [1.5, -2.0]);
    }
}

/// The format has pairs of f32, and none of f64.
#[test]
fn complex_elements_of_single_precision() {
    use tenure_tensor::{Complex, DType, Tensor};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let numbers = [Complex::new(1.0f32, -2.0), Complex::new(0.0, 3.5)];
    let single = Tensor::from_slice(&numbers, &[2]).unwrap().to_dyn();
    save(&path, &[("z", single.clone())], &Save::default()).unwrap();
    let opened = crate::open(&path).unwrap();
    let entry = opened.entry("z").unwrap();
    assert_eq!(entry.elements(), &Elements::Plain(DType::Complex64));
    let file = std::fs::read(&path).unwrap();
    let floats = [1.0f32, -2.0, 0.0, 3.5].map(f32::to_le_bytes);
    assert_eq!(file[entry.offset() as usize..][..16], *floats.as_flattened());
    let loaded = opened.load().run().unwrap();
    let back = opened.tensor("z").or_else(|_| loaded.tensor("z")).unwrap();
    let back = back.typed::<Complex<f32>>().unwrap();
    assert_eq!(back.map_read().unwrap()[..], numbers);
    let double = Tensor::from_slice(&[Complex::new(1.0f64, 2.0)], &[1]).unwrap().to_dyn();
    let path = folder.path().join("double.safetensors");
    let refused = save(&path, &[("z", double)], &Save::default()).unwrap_err().to_string();
    assert!(refused.contains("complex128") && refused.contains("complex64"), "{refused}");
    assert!(!path.exists());
}
