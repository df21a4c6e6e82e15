//! Streams of DMA-BUFs on a kernel that has them: slots, cameras, fences, and lies about memory.
//!
//! Ignored by default because most machines have none; `tests/vm/test` runs them in a virtual
//! machine.
#![cfg(all(target_os = "linux", not(miri)))]

use std::path::Path;

use tenure_memory::kind::dma::{Dma, Source};
use tenure_memory::{Allocator, Buffer, Request};
use tenure_stream::{Publisher, SlotReport, SlotState};

#[path = "../common/actor.rs"]
mod actor;
mod cameras;
#[path = "../../../memory/tests/common/child.rs"]
mod child;
mod fences;
mod foreign_writes;
#[path = "../common/liar.rs"]
mod liar;
mod lies;
#[path = "../common/pipeline.rs"]
mod pipeline;
mod pipelines;
#[path = "../common/raw.rs"]
mod raw;
mod slots;
#[path = "../common/stage.rs"]
mod stage;
#[path = "../../../memory/tests/dma/vgem.rs"]
mod vgem;

/// Every source of DMA memory that the virtual machine has.
fn sources() -> [Source; 3] {
    [Source::Heap("system".to_owned()), Source::Udmabuf, Source::Card("card0".to_owned())]
}

fn dma(source: Source, bytes: usize) -> Buffer {
    let request = Request::new(bytes).unwrap();
    Buffer::from_raw(Dma::from_source(source).allocate(&request).unwrap())
}

fn heap(bytes: usize) -> Buffer {
    dma(Source::Heap("system".to_owned()), bytes)
}

fn published(publisher: &Publisher) -> usize {
    let busy = |slot: &&SlotReport| matches!(slot.state, SlotState::Published { .. });
    publisher.stats().slots.iter().filter(busy).count()
}

/// Leaves a sign for the other process.
fn sign(directory: &Path, name: &str) {
    std::fs::write(directory.join(name), "").unwrap();
}
