//! DMA-BUF on systems that have none: not served, and why.

use crate::{Allocator, Result, Why};

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    Err(Why::NotOnThisSystem("DMA-BUF"))
}
