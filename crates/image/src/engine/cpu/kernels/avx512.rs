//! Loops for x86 processors with AVX-512, its permutations of bytes (VBMI) and sums of products (VNNI):
//! what they do in fewer steps than AVX2, which does all else.
//!
//! One instruction takes any 64 of 64 bytes, so that sixteen and more outputs find their samples at
//! once; others take bytes by a mask, which is a number and no vector.
#![expect(clippy::needless_range_loop, reason = "vectors pass through no iterator")]

use std::arch::is_x86_feature_detected;

use super::{Kernels, Samples, Way, avx2};

mod band;
mod gather;
mod mixed;
mod store_coloured;
mod store_colours;
mod store_terms;
mod walked;
mod weighted;

/// Blocks of 32 outputs, which find their first two samples within 64 bytes.
const BYTES: Way = Way {
    block: 32,
    run: 32,
    window: 64,
    samples: Samples::Together,
    pairs: 2,
    rows: 10,
    outputs: 64,
    together: 4,
};

/// The same with more samples, each half of which is found within 64 bytes. Short rows take as long as
/// columns do.
const WORDS: Way = Way { run: 16, samples: Samples::Words, pairs: 5, outputs: 144, ..BYTES };

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx512",
    band: band::band,
    weighted: weighted::weighted,
    ways: &[BYTES, WORDS, Way::NARROW, Way::APART],
    gather: gather::gather,
    mixed: mixed::mixed,
    store_terms: store_terms::store_terms,
    store_coloured: store_coloured::store_coloured,
    ..avx2::KERNELS
};

/// Whether the processor has the instructions.
pub(crate) fn available() -> bool {
    avx2::available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vnni")
}
