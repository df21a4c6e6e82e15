//! Elements in the wrong order of bytes: the format says little-endian, whatever machine writes and
//! reads. What is saved is looked at byte by byte, and what others wrote is read by value; numpy's
//! files say which order they have.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use tenure::files::{self, safetensors};
use tenure::{Tensor, TensorDyn};

const HALVES: [u16; 3] = [0x0102, 0xfffe, 0x8000];
const WORDS: [u32; 2] = [0x0102_0304, 0xff00_0001];
const DOUBLES: [f64; 2] = [1.5, -2.0e-300];

fn tensor<T: tenure::Element>(values: &[T]) -> TensorDyn {
    Tensor::<T>::from_slice(values, &[values.len()]).expect("memory").to_dyn()
}

/// The bytes of a tensor in a file, found with nothing but the format's own words.
fn stored(file: &[u8], name: &str) -> Vec<u8> {
    let length = u64::from_le_bytes(file[..8].try_into().expect("eight bytes")) as usize;
    let head = std::str::from_utf8(&file[8..8 + length]).expect("JSON");
    let entry = head.split_once(&format!("\"{name}\"")).expect("it is there").1;
    let offsets = entry.split_once("\"data_offsets\"").expect("offsets").1;
    let (_, offsets) = offsets.split_once('[').expect("a list");
    let (offsets, _) = offsets.split_once(']').expect("its end");
    let mut ends = offsets.split(',').map(|end| end.trim().parse::<usize>().expect("a number"));
    let (start, end) = (ends.next().expect("a start"), ends.next().expect("an end"));
    file[8 + length + start..8 + length + end].to_vec()
}

fn saved(path: &Path) {
    let all = [("h", tensor(&HALVES)), ("w", tensor(&WORDS)), ("d", tensor(&DOUBLES))];
    safetensors::save(path, &all, &Default::default()).expect("saved");
    let file = fs::read(path).expect("a file");
    assert_eq!(stored(&file, "h"), HALVES.map(u16::to_le_bytes).concat());
    assert_eq!(stored(&file, "w"), WORDS.map(u32::to_le_bytes).concat());
    assert_eq!(stored(&file, "d"), DOUBLES.map(f64::to_le_bytes).concat());
}

fn read(path: &Path) {
    let head = r#"{"w":{"dtype":"U32","shape":[2],"data_offsets":[0,8]}}"#;
    let length = (head.len() as u64).to_le_bytes();
    let body = WORDS.map(u32::to_le_bytes).concat();
    fs::write(path, [&length[..], head.as_bytes(), &body].concat()).expect("written");
    let file = files::open(path).expect("a file");
    for tensor in [file.tensor("w").expect("mapped"), loaded(&file)] {
        let tensor = tensor.typed::<u32>().expect("its type");
        assert_eq!(tensor.map_read().expect("free").as_slice(), WORDS);
    }
    // A length that is the other way round is a file with a head of exabytes.
    let swapped = (head.len() as u64).to_be_bytes();
    fs::write(path, [&swapped[..], head.as_bytes(), &body].concat()).expect("written");
    let error = files::open(path).expect_err("no such head");
    assert!(error.to_string().contains("head"), "{error}");
}

fn loaded(file: &files::TensorFile) -> TensorDyn {
    file.load().run().expect("loaded").tensor("w").expect("it is there")
}

fn numpy(path: &Path) {
    for (order, bytes) in
        [('<', WORDS.map(u32::to_le_bytes).concat()), ('>', WORDS.map(u32::to_be_bytes).concat())]
    {
        let head = format!("{{'descr': '{order}u4', 'fortran_order': False, 'shape': (2,), }}\n");
        let length = u16::try_from(head.len()).expect("short").to_le_bytes();
        let file = [&b"\x93NUMPY\x01\x00"[..], &length, head.as_bytes(), &bytes].concat();
        fs::write(path, file).expect("written");
        let file = files::open(path).expect("a file");
        let tensor = file.entries().first().expect("one tensor").name().to_owned();
        let tensor = file.tensor(&tensor).expect("its elements").typed::<u32>().expect("its type");
        assert_eq!(tensor.map_read().expect("free").as_slice(), WORDS, "{order}");
    }
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    saved(&folder.path().join("saved.safetensors"));
    read(&folder.path().join("read.safetensors"));
    numpy(&folder.path().join("read.npy"));
}
