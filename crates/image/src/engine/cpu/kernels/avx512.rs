//! Loops for x86 processors with AVX-512, its permutations of bytes (VBMI) and sums of products (VNNI):
//! what they do in fewer steps than AVX2, which does all else.
//!
//! One instruction takes any 64 of 64 bytes, so that sixteen and more outputs find their samples at
//! once; others take bytes by a mask, which is a number and no vector.
#![expect(clippy::needless_range_loop, reason = "vectors pass through no iterator")]

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::__cpuid;

use super::{Kernels, Samples, Way, avx2};

mod band;
mod gather;
mod horizontal;
mod mixed;
mod paired;
mod store_coloured;
mod store_colours;
mod store_kept;
mod walked;
mod walked_wide;
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
    dealt: 64,
    together: 4,
};

/// The same with more samples, each half of which is found within 64 bytes. Short rows take as long as
/// columns do.
const WORDS: Way = Way { run: 16, samples: Samples::Words, pairs: 5, outputs: 144, ..BYTES };

/// The same for two samples, whatever is between those of one output and of the next.
const FEW_WORDS: Way = Way { pairs: 1, ..WORDS };

pub(crate) static KERNELS: Kernels = Kernels {
    name: "avx512",
    band: band::band::<4, 4, 0>,
    horizontal: horizontal::horizontal,
    weighted: weighted::weighted,
    ways: &[BYTES, WORDS, Way::NARROW, Way::APART],
    gather: gather::gather,
    mixed: mixed::mixed::<false>,
    store_kept: store_kept::store_kept,
    store_coloured: store_coloured::store_coloured,
    settle: store_coloured::settle,
    ..avx2::KERNELS
};

/// Pages that such a processor finds without delay, wherever they are, beside those of all else in use.
const PAGES: usize = 56;

/// For processors that do the halves of long vectors one after the other: columns of short ones are
/// faster there than more than two samples that are gathered as words, and long ones pay for fewer rows.
pub(crate) static ZEN4: Kernels = Kernels {
    name: "zen4",
    band: band::band::<1, 2, PAGES>,
    mixed: mixed::mixed::<true>,
    ways: &[BYTES, FEW_WORDS, Way::NARROW, Way::APART],
    ..KERNELS
};

/// Both, the better one for this processor first.
pub(crate) fn in_order() -> [&'static Kernels; 2] {
    if is_zen4() { [&ZEN4, &KERNELS] } else { [&KERNELS, &ZEN4] }
}

/// Whether this is an AMD processor of the family that has AVX-512 in halves.
fn is_zen4() -> bool {
    const FAMILY: u32 = 0x19;
    let (maker, version) = (__cpuid(0), __cpuid(1).eax);
    let maker = [maker.ebx, maker.edx, maker.ecx].map(u32::to_le_bytes);
    // The family is the sum of two fields.
    let family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
    maker.as_flattened() == b"AuthenticAMD" && family == FAMILY
}

/// Whether the processor has the instructions.
pub(crate) fn available() -> bool {
    avx2::available()
        && is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("avx512vnni")
}
