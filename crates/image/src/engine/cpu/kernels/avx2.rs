//! Loops for x86 processors with AVX2, FMA and F16C.
//!
//! Vectors pass through no iterator and no `array::map`: those are compiled without the instructions,
//! and a closure that uses them is then a call for every vector.
#![expect(clippy::needless_range_loop, reason = "vectors pass through no iterator")]

use std::arch::is_x86_feature_detected;

use super::{Kernels, Way, portable};

mod band;
mod between;
pub(super) mod fetch;
mod fill;
mod finish;
mod gather;
mod horizontal;
mod lanes;
mod matrix;
mod mixed;
mod paired;
mod pixel;
mod precise;
mod store_bytes;
mod store_coloured;
mod store_kept;
mod store_real;
mod store_rgb;
mod turn;
mod turned;
mod uniform;
mod vertical;
mod walked;
mod walked_wide;
mod weighted;
mod wide;

pub(super) use band::{NEAR, Squares, turn};

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx2",
    bytes: vertical::bytes,
    pairs: vertical::pairs,
    words: vertical::words,
    band: band::band,
    split_pairs: lanes::split_pairs,
    split_triples: lanes::split_triples,
    split_bytes: lanes::split_bytes,
    to_columns: turn::to_columns,
    to_rows: turn::to_rows,
    horizontal: horizontal::horizontal,
    weighted: weighted::weighted,
    ways: &[Way::NARROW, Way::APART],
    gather: gather::gather,
    halved: uniform::halved,
    slid_pairs: uniform::slid_pairs,
    store_kept: store_kept::store_kept,
    matrix: matrix::matrix,
    mixed: mixed::mixed,
    store_columns: Some(finish::store_columns),
    store_turned: Some(turned::store_turned),
    store_rgb: Some(store_rgb::store_rgb),
    store_bytes: store_bytes::store_bytes,
    store_real: store_real::store_real,
    store_coloured: store_coloured::store_coloured,
    settle: portable::coloured::settle,
    fill: fill::fill,
    precise: precise::PRECISE,
};

/// Whether the processor has the instructions.
pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("f16c")
}
