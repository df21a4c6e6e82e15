//! DMA-BUF memory: not allocated by this version, which says what the machine has.

use std::fs;
use std::sync::OnceLock;

use crate::{Allocator, Result, Why};

/// The machine is asked once; device nodes do not come and go in normal operation.
static ANSWER: OnceLock<Why> = OnceLock::new();

pub(super) fn probe() -> Result<&'static dyn Allocator, Why> {
    Err(ANSWER.get_or_init(look).clone())
}

fn look() -> Why {
    if !cfg!(linux_like) {
        return Why::NotOnThisSystem("DMA-BUF");
    }
    // Looked at without opening it: a process without descriptors left gets the same answer.
    match fs::metadata("/dev/dma_heap") {
        Ok(_) => {
            Why::NotInThisBuild("/dev/dma_heap exists, but this version does not allocate from it")
        }
        Err(error) => Why::Refused { what: "/dev/dma_heap", reason: error.to_string() },
    }
}
