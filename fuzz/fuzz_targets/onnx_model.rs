//! ONNX files: whatever is read is a graph in which every index exists, every size is that of its
//! shape, and nothing is read before it is written; and its schedule makes sense.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use tenure_models::{Graph, Kind, onnx};

fuzz_target!(|bytes: &[u8]| {
    let dims = BTreeMap::new();
    if let Ok(graph) = onnx::read(bytes, &dims) {
        check(&graph);
        return;
    }
    let dims = BTreeMap::from([("batch".to_owned(), 2)]);
    if let Ok(graph) = onnx::read(bytes, &dims) {
        check(&graph);
    }
});

fn check(graph: &Graph) {
    let mut written: Vec<bool> =
        graph.tensors.iter().map(|info| info.kind == Kind::Constant).collect();
    for info in &graph.tensors {
        assert_eq!(info.dtype.bytes(&info.shape), Some(info.bytes));
    }
    for &input in &graph.inputs {
        written[input] = true;
    }
    for node in &graph.nodes {
        for &input in node.inputs.iter().flatten() {
            assert!(written[input], "{} reads {input} too early", node.name);
        }
        for &output in node.outputs.iter().flatten() {
            written[output] = true;
        }
        for &(output, input) in node.alias.iter().chain(&node.in_place) {
            assert!(node.outputs.contains(&Some(output)) && node.inputs.contains(&Some(input)));
            assert_eq!(graph.tensors[output].bytes, graph.tensors[input].bytes);
        }
    }
    assert!(graph.outputs.iter().all(|&output| written[output]));
    // Sizes may be too large for a schedule, and nothing else may be wrong with it.
    let large = graph.tensors.iter().any(|info| info.bytes > 1 << 40);
    assert!(large || graph.schedule().validate().is_ok());
}
