//! Small files that stand for more than there is memory or time: all are refused soon.

mod common;

use std::collections::BTreeMap;

use common::{field, number};
use tenure_models::read_bytes;

/// A model with this graph.
fn model(graph: &[u8]) -> Vec<u8> {
    [number(1, 8), field(8, &number(2, 17)), field(7, graph)].concat()
}

fn refusal(bytes: &[u8]) -> String {
    read_bytes(bytes, &BTreeMap::new()).unwrap_err().to_string()
}

fn node(op: &str, inputs: &[&str], output: &str, more: &[u8]) -> Vec<u8> {
    let mut node: Vec<u8> = inputs.iter().flat_map(|name| field(1, name.as_bytes())).collect();
    node.extend([field(2, output.as_bytes()), field(4, op.as_bytes()), more.to_vec()].concat());
    node
}

/// A constant `c` with the number 0, as a node.
fn constant() -> Vec<u8> {
    let tensor = [number(1, 1), number(2, 7), field(9, &[0; 8])].concat();
    node("Constant", &[], "c", &field(5, &[field(1, b"value"), field(5, &tensor)].concat()))
}

/// A model that calls a function with this body so many times.
fn called(body: &[Vec<u8>], times: usize) -> Vec<u8> {
    let mut function = [field(1, b"f"), field(10, b"own"), field(5, b"y")].concat();
    function.extend(body.iter().flat_map(|node| field(7, node)));
    let own = field(7, b"own");
    let calls = (0..times).flat_map(|at| field(1, &node("f", &[], &format!("y{at}"), &own)));
    [model(&calls.collect::<Vec<u8>>()), field(25, &function)].concat()
}

#[test]
fn two_bytes_are_a_node() {
    let said = refusal(&model(&field(1, &[]).repeat(1_200_000)));
    assert!(said.contains("more than 1048576 nodes"), "{said}");
    let said = refusal(&model(&field(1, &field(1, &[]).repeat(5 << 20))));
    assert!(said.contains("more than 4194304 names"), "{said}");
    let said = refusal(&model(&field(1, &field(5, &[]).repeat(1 << 20))));
    assert!(said.contains("more than 256 entries"), "{said}");
}

#[test]
fn bodies_are_counted_wherever_they_are_called() {
    let axis = field(5, &[field(1, b"axis"), number(3, 0)].concat());
    let concat = |inputs: usize| node("Concat", &vec!["c"; inputs], "y", &axis);
    let said = refusal(&called(&[constant(), concat(3_000)], 3_000));
    assert!(said.contains("steps of calls inside calls"), "{said}");
    // A branch that is never taken has to be looked at all the same.
    let branch = |nodes: usize| [field(1, &constant()).repeat(nodes), field(12, &field(1, b"c"))];
    let graph = |name: &str, nodes| {
        field(5, &[field(1, name.as_bytes()), field(6, &branch(nodes).concat())].concat())
    };
    let both = [graph("then_branch", 3_000), graph("else_branch", 1)].concat();
    let said = refusal(&called(&[constant(), node("If", &["c"], "y", &both)], 3_000));
    assert!(said.contains("steps of calls inside calls"), "{said}");
}

#[test]
fn names_are_counted_wherever_they_are_repeated() {
    let long = "n".repeat(1 << 20);
    let body = [constant(), node("Relu", &["c"], "y", &field(3, long.as_bytes()))];
    let said = refusal(&called(&body, 20_000));
    assert!(said.contains("steps of calls inside calls"), "{said}");
}

#[test]
fn numbers_are_followed_only_so_far() {
    // A list of 1024 ones, negated again and again: the shape of the last is one of many numbers.
    let shape = |nodes: usize| {
        let ones = [number(1, 1024), number(2, 7), field(8, b"0"), field(9, &[0; 8192])].concat();
        let negated = (0..nodes).flat_map(|at| {
            let (from, to) = (at.to_string(), (at + 1).to_string());
            field(1, &node("Neg", &[&from], &to, &[]))
        });
        let mut graph: Vec<u8> = negated.collect();
        let [last, one] = [nodes.to_string(), "zero".to_owned()];
        graph.extend(field(1, &node("Gather", &[&last, &one], "n", &[])));
        graph.extend(field(1, &node("ConstantOfShape", &["n"], "y", &[])));
        let zero = [number(1, 1), number(2, 7), field(8, b"zero"), field(9, &[0; 8])].concat();
        graph.extend([field(5, &ones), field(5, &zero), field(12, &field(1, b"y"))].concat());
        read_bytes(&model(&graph), &BTreeMap::new())
    };
    assert_eq!(shape(10).unwrap().tensors.last().unwrap().shape, [0]);
    let said = shape(5_000).unwrap_err().to_string();
    assert!(said.contains("known only in a run"), "{said}");
}

/// A TensorFlow Lite file in which every subgraph is the same one, and every tensor too.
fn same_again(subgraphs: u32, tensors: u32) -> Vec<u8> {
    let mut bytes = vec![];
    let u32s = |bytes: &mut Vec<u8>, words: &[u32]| {
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    u32s(&mut bytes, &[20]);
    bytes.extend(b"TFL3");
    // Its fields: only the third, at byte 4.
    bytes.extend([10, 8, 0, 0, 4, 0].iter().flat_map(|word: &u16| word.to_le_bytes()));
    u32s(&mut bytes, &[12, 4, subgraphs]);
    let at = 32 + 4 * subgraphs + 8;
    for index in 0..subgraphs {
        u32s(&mut bytes, &[at - (32 + 4 * index)]);
    }
    bytes.extend([6, 8, 4, 0].iter().flat_map(|word: &u16| word.to_le_bytes()));
    u32s(&mut bytes, &[8, 4, tensors]);
    for index in 0..tensors {
        u32s(&mut bytes, &[4 * (tensors - index) + 4]);
    }
    bytes.extend([4, 4].iter().flat_map(|word: &u16| word.to_le_bytes()));
    u32s(&mut bytes, &[4]);
    bytes
}

#[test]
fn tables_that_are_shared_are_counted_each_time() {
    let graph = read_bytes(&same_again(2, 3), &BTreeMap::new()).unwrap();
    assert_eq!(graph.tensors.len(), 6);
    let said = refusal(&same_again(3_000, 3_000));
    assert!(said.contains("more than 4194304 entries of tensors"), "{said}");
}

/// What no model can be is found out by its first bytes and its length, not by reading it.
#[test]
fn enormous_and_endless_files_are_refused_at_once() {
    let began = std::time::Instant::now();
    let folder = tempfile::tempdir().unwrap();
    let refused = |path: &std::path::Path| {
        tenure_models::read(path, &BTreeMap::new()).unwrap_err().to_string()
    };
    // Sparse: they take no place on the disk.
    let starts: [(&[u8], &str); 4] = [
        (b"what is this", "not a model file"),
        (b"", "not a model file"),
        (b"\x1c\0\0\0TFL3", "more than"),
        (b"\x08\x07", ""),
    ];
    for (index, (start, words)) in starts.into_iter().enumerate() {
        let path = folder.path().join(index.to_string());
        std::fs::write(&path, start).unwrap();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(1 << 40).unwrap();
        let error = refused(&path);
        assert!(error.contains(words), "{error}");
    }
    let error = refused(folder.path());
    assert!(error.contains("regular file") || cfg!(windows), "{error}");
    #[cfg(unix)]
    {
        let fifo = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
        assert!(made.success());
        assert!(refused(&fifo).contains("regular file"));
        assert!(refused(std::path::Path::new("/dev/zero")).contains("regular file"));
    }
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}
