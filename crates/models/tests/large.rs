//! Files that are larger than what is read of them.

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use common::{field, number, varint};
use tenure_models::{Graph, Kind, read};

/// A weight of so many bytes, up to where its content begins.
fn weight(name: &str, bytes: u64) -> Vec<u8> {
    let head = [number(1, 2), number(1, bytes / 8), number(2, 1), field(8, name.as_bytes())];
    let head = [head.concat(), varint(9 << 3 | 2), varint(bytes)].concat();
    [varint(5 << 3 | 2), varint(head.len() as u64 + bytes), head].concat()
}

fn declared(name: &str, shape: [u64; 2]) -> Vec<u8> {
    let shape: Vec<u8> = shape.iter().flat_map(|dim| field(1, &number(1, *dim))).collect();
    let tensor = [number(1, 1), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// A model with two weights of so many bytes, whose contents are holes of the file as well.
fn write(path: &Path, bytes: u64, last: &[u8]) -> u64 {
    let add = |a: &str, b: &str, c: &str| {
        let names = [field(1, a.as_bytes()), field(1, b.as_bytes()), field(2, c.as_bytes())];
        field(1, &[names.concat(), field(4, b"Add"), field(3, c.as_bytes())].concat())
    };
    let shape = [2, bytes / 8];
    let start = [add("x", "w", "a"), weight("w", bytes)].concat();
    let middle = [add("a", "v", "y"), weight("v", bytes)].concat();
    let end = [field(11, &declared("x", shape)), field(12, &declared("y", shape)), last.to_vec()];
    let end = end.concat();
    let len = (start.len() + middle.len() + end.len()) as u64 + 2 * bytes;
    let mut file = File::create(path).unwrap();
    let head = [number(1, 8), field(8, &number(2, 17)), varint(7 << 3 | 2), varint(len)].concat();
    file.write_all(&[head, start].concat()).unwrap();
    file.seek(SeekFrom::Current(bytes as i64)).unwrap();
    file.write_all(&middle).unwrap();
    file.seek(SeekFrom::Current(bytes as i64)).unwrap();
    file.write_all(&end).unwrap();
    file.metadata().unwrap().len()
}

fn summary(graph: &Graph) -> Vec<(&str, Kind, u64)> {
    graph.tensors.iter().map(|info| (info.name.as_str(), info.kind, info.bytes)).collect()
}

#[test]
fn weights_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.onnx");
    // More than there is memory; the largest is more than a file that is read whole may have.
    for bytes in [1 << 10, 1 << 20, 1 << 24, 1 << 36] {
        write(&path, bytes, &[]);
        let graph = read(&path, &BTreeMap::new()).unwrap();
        let (constant, made) = (Kind::Constant, Kind::Activation);
        let all = [("w", constant), ("v", constant), ("x", made), ("a", made), ("y", made)];
        assert_eq!(summary(&graph), all.map(|(name, kind)| (name, kind, bytes)));
        assert_eq!((graph.nodes.len(), graph.inputs.len(), graph.outputs.len()), (2, 1, 1));
    }
}

#[test]
fn what_is_wrong_is_named_by_its_place_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.onnx");
    for bytes in [1 << 10, 1 << 30] {
        let len = write(&path, bytes, &[7 << 3 | 3]);
        let said = read(&path, &BTreeMap::new()).unwrap_err().to_string();
        assert!(said.contains(&format!("at byte {}: wire type 3", len - 1)), "{said}");
        // Cut off inside the second weight.
        File::options().write(true).open(&path).unwrap().set_len(len - bytes / 2).unwrap();
        let said = read(&path, &BTreeMap::new()).unwrap_err().to_string();
        assert!(said.contains("is the file cut off?"), "{said}");
    }
}
