//! TFLite files: reading, and plans that are written only if they are right.

use std::collections::BTreeMap;
use std::path::Path;

use tenure_models::tflite::{offline_offsets, read, write_offline_plan};
use tenure_models::{Graph, Kind, read_bytes};
use tenure_plan::{Options, Packer, PlannerMode, plan, verify};

fn chain() -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/chain.tflite");
    std::fs::read(path).unwrap()
}

fn planned(graph: &Graph) -> Vec<Option<u64>> {
    let schedule = graph.arena_schedule();
    let plan = plan(&schedule, PlannerMode::Arena, Packer::Best, &Options::default()).unwrap();
    assert_eq!(verify(&schedule, &plan), Ok(()));
    offline_offsets(graph, &plan)
}

fn refusal(offsets: &[Option<u64>]) -> String {
    write_offline_plan(&chain(), offsets).unwrap_err().to_string()
}

#[test]
fn reads_tensors_operators_and_rules() {
    let graph = read_bytes(&chain(), &BTreeMap::new()).unwrap();
    let kinds: Vec<Kind> = graph.tensors.iter().map(|info| info.kind).collect();
    assert_eq!(kinds.iter().filter(|&&kind| kind == Kind::Constant).count(), 2);
    let ops: Vec<&str> = graph.nodes.iter().map(|node| node.op.as_str()).collect();
    assert_eq!(ops, ["ADD", "RELU", "RESHAPE", "MUL"]);
    assert_eq!(graph.nodes[0].in_place, [(2, 0)]);
    assert_eq!(graph.nodes[2].alias, [(5, 3)]);
    assert_eq!((graph.inputs.as_slice(), graph.outputs.as_slice()), (&[0][..], &[6][..]));
    assert_eq!(graph.tensors[5].shape, [4, 8]);
    let error = read_bytes(&chain(), &BTreeMap::from([("batch".to_owned(), 1)])).unwrap_err();
    assert!(error.to_string().contains("batch"), "{error}");
}

#[test]
fn a_plan_is_added_and_replaced_and_all_else_is_kept() {
    let bytes = chain();
    let graph = read(&bytes).unwrap();
    // Its own greedy plan is as small: everything is left to the interpreter.
    assert_eq!(planned(&graph), vec![None; 7]);
    let offsets = [Some(0), None, Some(0), Some(0), None, Some(0), Some(128)];
    let once = write_offline_plan(&bytes, &offsets).unwrap();
    assert_eq!(read(&once).unwrap(), graph);
    // The old bytes are still there, at a place that keeps their alignment.
    let head = once.len() - bytes.len();
    assert_eq!((&once[head..], head % 64), (bytes.as_slice(), 0));
    let count = |file: &[u8]| {
        file.windows(23).filter(|window| window == b"OfflineMemoryAllocation").count()
    };
    assert_eq!((count(&bytes), count(&once)), (0, 1));
    let mut words = vec![1, 0, offsets.len() as i32];
    words.extend(offsets.iter().map(|offset| offset.map_or(-1, |offset| offset as i32)));
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let at = once.windows(data.len()).position(|window| window == data).unwrap();
    assert_eq!(at % 16, 0);
    let twice = write_offline_plan(&once, &vec![None; offsets.len()]).unwrap();
    assert_eq!(read(&twice).unwrap(), graph);
}

#[test]
fn wrong_plans_are_refused() {
    let none = vec![None; 7];
    let with = |changes: &[(usize, u64)]| {
        let mut offsets = none.clone();
        for &(tensor, offset) in changes {
            offsets[tensor] = Some(offset);
        }
        offsets
    };
    assert!(refusal(&none[1..]).contains("6 offsets for 7 tensors"));
    assert!(refusal(&with(&[(0, 8)])).contains("multiple of 16"));
    assert!(refusal(&with(&[(0, (1 << 31) - 16)])).contains("2^31"));
    assert!(refusal(&with(&[(0, u64::MAX - 15)])).contains("2^31"));
    assert!(refusal(&with(&[(1, 0)])).contains("a weight"));
    // Partly over its input; wholly is in place and right.
    assert!(refusal(&with(&[(0, 0), (2, 64)])).contains("share bytes"));
    assert!(write_offline_plan(&chain(), &with(&[(0, 0), (2, 0)])).is_ok());
    assert!(write_offline_plan(&chain(), &none).is_ok());
}

#[test]
fn every_truncation_and_change_is_refused_or_read() {
    let bytes = chain();
    for len in 0..bytes.len() {
        let _ = read(&bytes[..len]);
    }
    for at in 0..bytes.len() {
        for change in [1u8, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[at] ^= change;
            if let Ok(graph) = read(&bytes) {
                let _ = write_offline_plan(&bytes, &vec![None; graph.tensors.len()]);
            }
        }
    }
}
