//! The types of GGML: plain ones, and blocks with their elements and bytes.

use tenure_tensor::DType;

use crate::Elements;

enum Kind {
    Plain(DType),
    /// Elements and bytes of a block.
    Blocks(&'static str, usize, usize),
}

/// By their numbers, which leave out what the format has given up.
const TABLE: [(u32, Kind); 34] = [
    (0, Kind::Plain(DType::F32)),
    (1, Kind::Plain(DType::F16)),
    (2, Kind::Blocks("q4_0", 32, 18)),
    (3, Kind::Blocks("q4_1", 32, 20)),
    (6, Kind::Blocks("q5_0", 32, 22)),
    (7, Kind::Blocks("q5_1", 32, 24)),
    (8, Kind::Blocks("q8_0", 32, 34)),
    (9, Kind::Blocks("q8_1", 32, 36)),
    (10, Kind::Blocks("q2_k", 256, 84)),
    (11, Kind::Blocks("q3_k", 256, 110)),
    (12, Kind::Blocks("q4_k", 256, 144)),
    (13, Kind::Blocks("q5_k", 256, 176)),
    (14, Kind::Blocks("q6_k", 256, 210)),
    (15, Kind::Blocks("q8_k", 256, 292)),
    (16, Kind::Blocks("iq2_xxs", 256, 66)),
    (17, Kind::Blocks("iq2_xs", 256, 74)),
    (18, Kind::Blocks("iq3_xxs", 256, 98)),
    (19, Kind::Blocks("iq1_s", 256, 50)),
    (20, Kind::Blocks("iq4_nl", 32, 18)),
    (21, Kind::Blocks("iq3_s", 256, 110)),
    (22, Kind::Blocks("iq2_s", 256, 82)),
    (23, Kind::Blocks("iq4_xs", 256, 136)),
    (24, Kind::Plain(DType::I8)),
    (25, Kind::Plain(DType::I16)),
    (26, Kind::Plain(DType::I32)),
    (27, Kind::Plain(DType::I64)),
    (28, Kind::Plain(DType::F64)),
    (29, Kind::Blocks("iq1_m", 256, 56)),
    (30, Kind::Plain(DType::Bf16)),
    (34, Kind::Blocks("tq1_0", 256, 54)),
    (35, Kind::Blocks("tq2_0", 256, 66)),
    (39, Kind::Blocks("mxfp4", 32, 17)),
    (40, Kind::Blocks("nvfp4", 64, 36)),
    (41, Kind::Blocks("q1_0", 128, 18)),
];

/// What the elements of a type are.
pub(super) fn elements(number: u32) -> Option<Elements> {
    TABLE.iter().find(|row| row.0 == number).map(|(_, kind)| match *kind {
        Kind::Plain(dtype) => Elements::Plain(dtype),
        Kind::Blocks(name, elements, bytes) => Elements::blocks(name, elements, bytes),
    })
}

/// The numbers, in words.
pub(super) fn known() -> String {
    let numbers: Vec<_> = TABLE.iter().map(|row| row.0.to_string()).collect();
    format!("known are {}", numbers.join(", "))
}
