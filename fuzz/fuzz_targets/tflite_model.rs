//! TFLite files: what is read has a schedule that makes sense, and a plan written into the file
//! is read back with the same graph.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_models::{Kind, tflite};

fuzz_target!(|bytes: &[u8]| {
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
});
