//! Memories that are not made by an allocator of this crate, and who makes them.

use crate::{Allocator, Result, Why};

type Answer = Result<&'static dyn Allocator, Why>;

pub(super) fn pbo() -> Answer {
    Err(Why::NotAllocated(
        "pixel buffers belong to an OpenGL context: an image processor makes them",
    ))
}

pub(super) fn file() -> Answer {
    Err(Why::NotAllocated("files are opened, not allocated: use open_file()"))
}

pub(super) fn pinned() -> Answer {
    Err(Why::NotAllocated("pinned memory belongs to a device: open one with tenure::gpu"))
}

pub(super) fn device() -> Answer {
    Err(Why::NotAllocated("device memory belongs to a device: open one with tenure::gpu"))
}

pub(super) fn managed() -> Answer {
    Err(Why::NotAllocated("managed memory belongs to a device: open one with tenure::gpu"))
}
