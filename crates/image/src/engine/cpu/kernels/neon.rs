//! Loops for 64-bit ARM processors, which all have NEON.
//!
//! Results are those of plain Rust, bit by bit, but for real numbers, which are multiplied and
//! added with one rounding, as with AVX2. NEON is part of every such target, so that vectors may
//! pass through iterators, unlike those of AVX2.

use std::arch::is_aarch64_feature_detected;

use super::{Kernels, Way, portable};

mod band;
mod finish;
mod gather;
mod horizontal;
mod lanes;
mod matrix;
mod mixed;
mod pixel;
mod store_bytes;
mod store_coloured;
mod store_kept;
mod store_real;
mod turn;
mod turned;
mod uniform;
mod vertical;
mod walked;
mod weighted;
mod wide;

pub(crate) static KERNELS: Kernels = Kernels {
    name: "neon",
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
    store_rgb: None,
    store_bytes: store_bytes::store_bytes,
    store_real: store_real::store_real,
    store_coloured: store_coloured::store_coloured,
    settle: portable::coloured::settle,
    fill: portable::fill::fill,
    precise: portable::precise::PRECISE,
};

/// Whether the processor has the instructions.
pub(crate) fn available() -> bool {
    is_aarch64_feature_detected!("neon")
}
