//! ONNX files from tests/data: shapes, views, order, and refusals that name what is wrong.

use std::collections::BTreeMap;
use std::path::Path;

use tenure_models::{ElementType, Error, Graph, Kind, read_bytes};
use tenure_plan::{Options, Packer, PlannerMode, plan, verify};

fn file(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read(path).unwrap()
}

fn with_batch(name: &str, batch: u64) -> Graph {
    read_bytes(&file(name), &BTreeMap::from([("batch".to_owned(), batch)])).unwrap()
}

fn refusal(name: &str, dims: &[(&str, u64)]) -> String {
    let dims = dims.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    read_bytes(&file(name), &dims).unwrap_err().to_string()
}

fn tensor<'g>(graph: &'g Graph, name: &str) -> (usize, &'g tenure_models::TensorInfo) {
    let found = graph.tensors.iter().enumerate().find(|(_, info)| info.name == name);
    found.unwrap_or_else(|| panic!("no tensor {name}"))
}

#[test]
fn shapes_follow_numbers_through_the_graph() {
    let graph = with_batch("small_cnn.onnx", 2);
    assert_eq!(tensor(&graph, "c").1.shape, [2, 4, 4, 4]);
    assert_eq!(tensor(&graph, "flat").1.shape, [2, 64]);
    let y = tensor(&graph, "y").1;
    assert_eq!((y.shape.as_slice(), y.dtype, y.bytes), (&[2, 10][..], ElementType::F32, 80));
    assert_eq!(tensor(&graph, "w").1.kind, Kind::Constant);
    let node = |name: &str| graph.nodes.iter().find(|node| node.name == name).unwrap();
    let (relu, view) = (node("relu"), node("view"));
    assert_eq!(relu.in_place, [(tensor(&graph, "r").0, tensor(&graph, "c").0)]);
    assert_eq!(view.alias, [(tensor(&graph, "flat").0, tensor(&graph, "r").0)]);
    assert!(node("conv").in_place.is_empty() && node("gemm").alias.is_empty());
}

#[test]
fn schedules_of_models_are_planned() {
    for graph in [with_batch("small_cnn.onnx", 3), with_batch("unsorted.onnx", 3)] {
        let schedule = graph.schedule();
        let mode = PlannerMode::Arena;
        let plan = plan(&schedule, mode, Packer::Best, &Options::default()).unwrap();
        assert_eq!(verify(&schedule, &plan), Ok(()));
        assert!(plan.optimal);
        assert_eq!(plan.place(tensor(&graph, "r").0), plan.place(tensor(&graph, "flat").0));
        assert_eq!(plan.place(tensor(&graph, "x").0), None);
    }
    let control = read_bytes(&file("control.onnx"), &BTreeMap::new()).unwrap();
    for schedule in [control.schedule(), control.arena_schedule()] {
        let mode = PlannerMode::Arena;
        let plan = plan(&schedule, mode, Packer::Best, &Options::default()).unwrap();
        assert_eq!(verify(&schedule, &plan), Ok(()));
    }
}

#[test]
fn nodes_out_of_order_are_sorted() {
    let names = |name| {
        let graph = with_batch(name, 1);
        let mut names: Vec<_> = graph.nodes.iter().map(|node| node.name.clone()).collect();
        names.sort();
        (names, graph.outputs.len())
    };
    assert_eq!(names("small_cnn.onnx"), names("unsorted.onnx"));
}

#[test]
fn branches_and_loops_are_in_place() {
    let graph = read_bytes(&file("control.onnx"), &BTreeMap::new()).unwrap();
    assert_eq!(tensor(&graph, "all").1.shape, [5, 4, 4]);
    let end = graph.nodes.last().unwrap();
    // What the body takes from around it lives until the last round is over.
    assert!(end.inputs.contains(&Some(tensor(&graph, "x").0)));
    let begin = graph.nodes.iter().find(|node| node.name.ends_with("(begin)")).unwrap();
    assert!(begin.outputs.contains(&Some(tensor(&graph, "all").0)));
    assert!(graph.tensors.iter().any(|info| info.name.ends_with("/t1")));
}

#[test]
fn refusals_name_what_is_wrong() {
    let unset = refusal("small_cnn.onnx", &[]);
    assert!(unset.contains("batch") && unset.contains("dims"), "{unset}");
    let unknown = refusal("small_cnn.onnx", &[("bacth", 1)]);
    assert!(unknown.contains("bacth") && unknown.contains("the model has batch"), "{unknown}");
    let cycle = refusal("cycle.onnx", &[]);
    assert!(cycle.contains("first") || cycle.contains("second"), "{cycle}");
    let riddle = refusal("unknown.onnx", &[]);
    assert!(riddle.contains("riddle") && riddle.contains("Mystery"), "{riddle}");
    assert!(riddle.contains("tensor y") && riddle.contains("value_info"), "{riddle}");
    assert!(refusal("huge.onnx", &[]).contains("tensor y"));
    assert!(read_bytes(&file("declared.onnx"), &BTreeMap::new()).is_ok());
    assert!(matches!(read_bytes(b"", &BTreeMap::new()), Err(Error::UnknownFormat)));
}

#[test]
fn every_truncation_is_refused_or_read() {
    let dims = BTreeMap::from([("batch".to_owned(), 1)]);
    for name in ["small_cnn.onnx", "control.onnx"] {
        let bytes = file(name);
        for len in 0..bytes.len() {
            let _ = read_bytes(&bytes[..len], &dims);
        }
        // Every byte changed, once up and once to all ones.
        for at in 0..bytes.len() {
            for change in [1u8, 0x80, 0xff] {
                let mut bytes = bytes.clone();
                bytes[at] ^= change;
                let _ = read_bytes(&bytes, &dims);
            }
        }
    }
}
