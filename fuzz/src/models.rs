//! What must hold of every graph that is read of a model file.

use std::collections::BTreeMap;

use tenure_models::{Graph, Kind, onnx, tflite};

/// ONNX: every index exists, every size is that of its shape, nothing is read before it is written,
/// and the schedule makes sense.
pub fn check_onnx(bytes: &[u8]) {
    let dims = BTreeMap::new();
    if let Ok(graph) = onnx::read(bytes, &dims) {
        check(&graph);
        return;
    }
    let dims = BTreeMap::from([("batch".to_owned(), 2)]);
    if let Ok(graph) = onnx::read(bytes, &dims) {
        check(&graph);
    }
}

/// TFLite: the schedule makes sense, and a plan written into the file leaves the graph as it is.
pub fn check_tflite(bytes: &[u8]) {
    let Ok(graph) = tflite::read(bytes) else { return };
    let large = graph.tensors.iter().any(|info| info.bytes > 1 << 40);
    if !large {
        graph.schedule().validate().expect("a schedule that makes sense");
        graph.arena_schedule().validate().expect("a schedule that makes sense");
    }
    // Everything side by side is a plan.
    let mut end = 0u64;
    let offsets: Vec<Option<u64>> = graph
        .tensors
        .iter()
        .map(|info| {
            if info.kind != Kind::Activation || info.bytes == 0 {
                return None;
            }
            let offset = end;
            end = end.saturating_add(info.bytes).checked_next_multiple_of(16)?;
            (end < 1 << 31).then_some(offset)
        })
        .collect();
    if let Ok(planned) = tflite::write_offline_plan(bytes, &offsets) {
        assert_eq!(tflite::read(&planned).expect("a file that was written"), graph);
        if let Ok(again) = tflite::write_offline_plan(&planned, &offsets) {
            assert_eq!(tflite::read(&again).expect("a file that was written"), graph);
        }
    }
}

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
