//! What numpy writes, what we write, and what is refused.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use super::*;
use crate::npy;
use tenure_tensor::DynTensor;

fn file(version: u8, words: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((words.len() as u16).to_le_bytes()),
        _ => bytes.extend((words.len() as u32).to_le_bytes()),
    }
    bytes.extend(words.bytes());
    bytes.extend(elements);
    bytes
}

const GOOD: &str = "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }    \n";

#[test]
fn what_is_written_is_read() {
    for dtype in DType::all() {
        for shape in [&[][..], &[3], &[0, 2], &[2, 1, 3]] {
            let t = TensorDyn::new(shape, dtype, Some(TensorMemory::Mem), None).unwrap();
            let mut bytes = vec![];
            if npy::write(&mut bytes, &t).is_ok() {
                let back = read(&bytes, Some(TensorMemory::Mem)).unwrap();
                assert_eq!((back.shape(), back.dtype()), (shape, dtype));
                // Every shorter and every longer file is refused.
                for end in 0..bytes.len() {
                    assert!(read(&bytes[..end], None).is_err(), "{dtype} {shape:?} {end}");
                }
                bytes.push(0);
                assert!(read(&bytes, None).is_err());
            }
        }
    }
}

#[test]
fn every_version_of_numpy_is_read() {
    let others = [
        "{\"shape\": (2, 3), \"descr\": \"|u1\", \"fortran_order\": False}",
        "{'descr': '=u1', 'fortran_order': False, 'shape': (2L, 3L)}\n",
    ];
    for version in 1..=3 {
        for words in [GOOD].iter().chain(&others) {
            let t = read(&file(version, words, &[1, 2, 3, 4, 5, 6]), None).unwrap();
            assert_eq!((t.shape(), t.dtype()), (&[2, 3][..], DType::U8));
            assert_eq!(t.map_read().unwrap().as_slice(), [1, 2, 3, 4, 5, 6]);
        }
    }
}

#[test]
fn hostile_headers_are_refused() {
    let changed = |from: &str, to: &str| GOOD.replace(from, to);
    for (words, said) in [
        (changed("(2, 3)", "(18446744073709551615, 3)"), "bytes of elements"),
        (changed("(2, 3)", "(99999999999999999999, 3)"), "no numbers"),
        (changed("(2, 3)", "(-2, 3)"), "no numbers"),
        (changed("(2, 3)", "(2, 3"), "no numbers"),
        (changed("(2, 3)", "(2, 3 }"), "`)`"),
        (changed("(2, 3)", &format!("({})", "1, ".repeat(65))), "64 dimensions"),
        (changed("False", "True"), "numpy.ascontiguousarray"),
        (changed("False", "None"), "neither True nor False"),
        (changed("|u1", "|u2"), "`|u2`"),
        (changed("|u1", ">c32"), "`>c32`"),
        (changed("|u1", "|O"), "`|O`"),
        (changed("|u1", ""), "``"),
        (changed("|u1", "é1"), "`é1`"),
        (changed("'|u1'", "[('a', '|u1')]"), "where text belongs"),
        (changed("descr", "shape"), "where one belongs"),
        (changed("'shape': (2, 3), ", ""), "no descr"),
        (changed("'shape'", "'__import__'"), "`__import__`"),
        (changed("}", "} + {}"), "more after its end"),
        (changed("'shape'", "'descr': '|u1', 'shape'"), "two keys"),
        (String::new(), "`{`"),
    ] {
        let error = read(&file(1, &words, &[0; 6]), None).unwrap_err().to_string();
        assert!(error.contains(said), "{words}: {error}");
    }
    let error = read(&file(9, GOOD, &[0; 6]), None).unwrap_err().to_string();
    assert!(error.contains("version 9.0: 1.0 to 3.0 are known"), "{error}");
    let mut long = file(2, GOOD, &[0; 6]);
    long[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&long, None).unwrap_err().to_string().contains("4294967295 bytes"));
}

/// One array in both orders: numpy's words for it, and the bytes.
fn both_orders() -> [(&'static str, Vec<u8>); 2] {
    let numbers = [1u32, 0x0102_0304, u32::MAX, 7, 8, 9];
    [
        ("<u4", numbers.iter().flat_map(|number| number.to_le_bytes()).collect()),
        (">u4", numbers.iter().flat_map(|number| number.to_be_bytes()).collect()),
    ]
}

#[test]
fn both_byte_orders_are_read() {
    let folder = tempfile::tempdir().unwrap();
    for (descr, elements) in both_orders() {
        for (fortran, fifth) in [("False", 8), ("True", 7)] {
            let words = GOOD.replace("|u1", descr).replace("False", fortran);
            let whole = file(1, &words, &elements);
            let path = folder.path().join("numbers.npy");
            std::fs::write(&path, &whole).unwrap();
            let opened = crate::open(&path).unwrap();
            let native = descr.starts_with(if cfg!(target_endian = "little") { '<' } else { '>' });
            // Aligned or not, a reversed array is no view.
            let copied = opened.entry("numbers").unwrap().copied();
            if !native {
                assert!(copied.unwrap().contains("byte order"), "{descr}: {copied:?}");
                assert!(matches!(
                    opened.view("numbers").unwrap_err().cause(),
                    Error::NotAView { .. }
                ));
            }
            let loaded = opened.load().run().unwrap();
            for t in [opened.tensor("numbers").unwrap(), loaded.tensor("numbers").unwrap()] {
                assert_eq!((t.shape(), t.dtype()), (&[2, 3][..], DType::U32));
                let t = t.typed::<u32>().unwrap().to(Some(TensorMemory::Mem)).unwrap();
                assert_eq!(t.map_read().unwrap().as_slice()[4], fifth, "{descr} {fortran}");
            }
            if fortran == "False" {
                let t = read(&whole, None).unwrap().typed::<u32>().unwrap();
                assert_eq!(t.map_read().unwrap().as_slice()[..3], [1, 0x0102_0304, u32::MAX]);
            }
        }
    }
}

#[test]
fn a_reversed_array_of_several_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.npy");
    let count = (9 << 20) / 2;
    let numbers = (0..count as u32).map(|number| number as u16);
    for (descr, elements) in [
        ("<u2", numbers.clone().flat_map(u16::to_le_bytes).collect::<Vec<u8>>()),
        (">u2", numbers.clone().flat_map(u16::to_be_bytes).collect()),
    ] {
        let words = GOOD.replace("|u1", descr).replace("(2, 3)", &format!("({count},)"));
        std::fs::write(&path, file(1, &words, &elements)).unwrap();
        let loaded = crate::open(&path).unwrap().load().threads(2).run().unwrap();
        let t = loaded.tensor("long").unwrap().typed::<u16>().unwrap();
        assert!(t.map_read().unwrap().as_slice().iter().copied().eq(numbers.clone()), "{descr}");
    }
}
