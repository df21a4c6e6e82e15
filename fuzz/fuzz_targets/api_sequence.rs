//! Random sequences over the safe interface of tensors, pools and streams, beside a shadow model:
//! every byte, every guard that is given or refused, and every frame is what the model says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_fuzz::sequence::{Operations, World};

/// The most operations of a sequence.
const MOST: usize = 96;

fuzz_target!(|input: Operations| {
    // One in sixteen: they are slow.
    let mut world = World::new(input.end >> 4 == 7);
    input.ops.iter().take(MOST).for_each(|op| world.apply(op));
    world.finish(input.end);
});
