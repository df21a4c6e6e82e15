//! An element type of one's own, with a reference in it: the list of element types is closed.
#![forbid(unsafe_code)]

use tenure::{DType, Element, ElementKind};

#[derive(Debug, Clone, Copy, PartialEq)]
struct Mine(&'static str);

impl ElementKind for Mine {
    type Stored = Mine;
    const KNOWN: Option<DType> = Some(DType::U8);
}

impl Element for Mine {
    const DTYPE: DType = DType::U8;
}

fn main() {
    println!("{}", Mine("").0);
}
