//! Zip files made by hand, and hostile ones.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use tenure_tensor::Tensor;

use super::*;
use crate::catalogue;

/// A member: name, bytes, whether deflated.
pub(crate) type Part<'a> = (&'a str, Vec<u8>, bool);

pub(crate) fn array(values: &[f32]) -> Vec<u8> {
    let mut bytes = vec![];
    npy::write(&mut bytes, &Tensor::from_slice(values, &[values.len()]).unwrap()).unwrap();
    bytes
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(vec![], Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A zip file, with 64-bit sizes if asked for.
pub(crate) fn zipped(parts: &[Part<'_>], large: bool) -> Vec<u8> {
    let (mut file, mut list) = (vec![], vec![]);
    for (name, bytes, deflate) in parts {
        let packed = if *deflate { deflated(bytes) } else { bytes.clone() };
        let mut crc = Crc::new();
        crc.update(bytes);
        let sizes = [packed.len() as u64, bytes.len() as u64];
        let local = file.len() as u64;
        let small = |size: u64| if large { u32::MAX } else { size as u32 };
        let mut common = vec![20, 0, 0, 0, if *deflate { 8 } else { 0 }, 0, 0, 0, 0, 0];
        common.extend(crc.sum().to_le_bytes());
        common.extend(sizes.iter().flat_map(|size| small(*size).to_le_bytes()));
        common.extend((name.len() as u16).to_le_bytes());
        let mut extra = vec![];
        if large {
            extra.extend([1, 0, 16, 0]);
            extra.extend([sizes[1], sizes[0]].iter().flat_map(|size| size.to_le_bytes()));
        }
        common.extend((extra.len() as u16).to_le_bytes());
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.bytes());
        file.extend(&extra);
        file.extend(packed);
        list.extend(b"PK\x01\x02\x14\x00");
        list.extend(&common);
        list.extend([0; 10]);
        list.extend((local as u32).to_le_bytes());
        list.extend(name.bytes());
        list.extend(&extra);
    }
    let (offset, bytes, count) = (file.len() as u64, list.len() as u64, parts.len() as u64);
    file.extend(list);
    if large {
        let place = file.len() as u64;
        file.extend(b"PK\x06\x06");
        file.extend(44u64.to_le_bytes());
        file.extend([45, 0, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        file.extend([count, count, bytes, offset].iter().flat_map(|number| number.to_le_bytes()));
        file.extend(b"PK\x06\x07\0\0\0\0");
        file.extend(place.to_le_bytes());
        file.extend(1u32.to_le_bytes());
    }
    let (shown, count) = if large { (u32::MAX, u16::MAX) } else { (offset as u32, count as u16) };
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((bytes as u32).to_le_bytes());
    file.extend(shown.to_le_bytes());
    file.extend([0, 0]);
    file
}

fn refusal(bytes: &[u8]) -> String {
    catalogue(bytes, Some(Format::Npz)).unwrap_err().to_string()
}

#[test]
fn members_are_tensors() {
    let text =
        b"\x93NUMPY\x01\x00\x38\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,)}  \n";
    for large in [false, true] {
        let parts = [
            ("weights.npy", array(&[1.0, 2.0, 3.0]), false),
            ("packed.npy", array(&[4.0; 1000]), true),
            ("readme.txt", b"hello".to_vec(), false),
            ("object.npy", text.to_vec(), false),
        ];
        let bytes = zipped(&parts, large);
        let found = catalogue(&bytes, None).unwrap();
        assert_eq!(found.format(), Format::Npz);
        let [weights, packed] = found.entries() else { panic!("{found:?}") };
        assert_eq!((weights.name(), weights.shape()), ("weights", &[3][..]));
        let at = weights.offset() as usize;
        assert_eq!(bytes[at..at + 4], 1.0f32.to_ne_bytes());
        assert_eq!((packed.name(), packed.shape(), packed.bytes()), ("packed", &[1000][..], 4000));
        assert_eq!(packed.copied(), Some("its bytes are compressed"));
        let mut values = vec![0; 4000];
        inflate_into(&bytes[..], packed, &mut values).unwrap();
        assert!(values.chunks(4).all(|value| value == 4.0f32.to_ne_bytes()));
        let refused: Vec<_> = found.refused().iter().map(|one| one.name.as_str()).collect();
        assert_eq!(refused, ["readme.txt", "object.npy"]);
        assert!(found.refused()[1].why.contains("|O"), "{:?}", found.refused());
    }
}

#[test]
fn what_is_damaged_is_refused() {
    let parts = [("a.npy", array(&[1.0; 100]), true), ("b.npy", array(&[2.0]), false)];
    let good = zipped(&parts, false);
    let found = catalogue(&good, None).unwrap();
    // A changed byte in what is deflated is seen by the sum, at the latest, or changes nothing.
    let a = &found.entries()[0];
    let Packing::Deflated { bytes, .. } = a.packing else { panic!() };
    for at in a.offset..a.offset + bytes {
        let mut bad = good.clone();
        bad[at as usize] ^= 1;
        let mut values = vec![0; a.bytes()];
        if inflate_into(&bad[..], a, &mut values).is_ok() {
            assert!(values.chunks(4).all(|value| value == 1.0f32.to_ne_bytes()), "{at}");
        }
    }
    // A shorter file has no end record.
    for end in 0..good.len() {
        assert!(catalogue(&good[..end], Some(Format::Npz)).is_err(), "{end}");
    }
    let two = zipped(&[("a.npy", array(&[1.0]), false), ("a.npy", array(&[1.0]), false)], false);
    assert!(refusal(&two).contains("two tensors `a`"));
}

#[test]
fn hostile_lists_are_refused() {
    let good =
        zipped(&[("a.npy", array(&[1.0; 100]), true), ("b.npy", array(&[2.0]), false)], false);
    let list = good.windows(4).position(|word| word == b"PK\x01\x02").unwrap();
    let second = list + 46 + 5;
    let end = good.len() - 22;
    let with = |at: usize, bytes: &[u8]| {
        let mut bad = good.clone();
        bad[at..at + bytes.len()].copy_from_slice(bytes);
        bad
    };
    for (bad, said) in [
        (with(end + 10, &[3, 0]), "3 members in a list of 102 bytes"),
        (with(list, &[0]), "something else in its list"),
        (with(end + 10, &[255, 255]), "65535 members"),
        (with(end + 10, &[1, 0]), "more in its list"),
        (with(end + 16, &u32::MAX.to_le_bytes()), "beyond its end record"),
        (with(end + 12, &u32::MAX.to_le_bytes()), "beyond its end record"),
        (with(list + 8, &[1]), "encrypted"),
        (with(list + 10, &[12]), "method 12"),
        (with(list + 20, &(1u32 << 30).to_le_bytes()), "beyond its list"),
        (with(list + 24, &(1u32 << 30).to_le_bytes()), "not possible"),
        (with(list + 42, &u32::MAX.to_le_bytes()), "sizes that are not there"),
        (with(list + 42, &7u32.to_le_bytes()), "where none is"),
        (with(list + 46, &[0xff]), "no UTF-8"),
        (with(second + 42, &0u32.to_le_bytes()), "has member"),
        (with(list + 28, &[255, 255]), "cut off in its list"),
    ] {
        let error = refusal(&bad);
        assert!(error.contains(said), "{said}: {error}");
    }
    // Two stored members in the same bytes.
    let twin = zipped(&[("a.npy", array(&[2.0]), false), ("b.npy", array(&[2.0]), false)], false);
    let second = twin.windows(4).rposition(|word| word == b"PK\x01\x02").unwrap();
    let mut bad = twin.clone();
    bad[second + 42..second + 46].copy_from_slice(&[0; 4]);
    assert!(refusal(&bad).contains("share bytes"), "{}", refusal(&bad));
}

#[test]
fn arrays_of_either_byte_order_are_inflated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("both.npz");
    let member = |order: char, elements: Vec<u8>| {
        let words = format!("{{'descr': '{order}f8', 'fortran_order': False, 'shape': (3,)}}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((words.len() as u16).to_le_bytes());
        [bytes, words.into_bytes(), elements].concat()
    };
    let numbers = [1.5f64, -2.0, 3.25];
    let little = member('<', numbers.iter().flat_map(|number| number.to_le_bytes()).collect());
    let big = member('>', numbers.iter().flat_map(|number| number.to_be_bytes()).collect());
    let parts = [
        ("little.npy", little.clone(), false),
        ("big.npy", big.clone(), false),
        ("packed-little.npy", little, true),
        ("packed-big.npy", big, true),
    ];
    std::fs::write(&path, zipped(&parts, false)).unwrap();
    let file = crate::open(&path).unwrap();
    let loaded = file.load().run().unwrap();
    for name in ["little", "big", "packed-little", "packed-big"] {
        for t in [file.tensor(name).unwrap(), loaded.tensor(name).unwrap()] {
            let t = t.typed::<f64>().unwrap();
            assert_eq!(t.map_read().unwrap().as_slice(), numbers, "{name}");
        }
    }
}
