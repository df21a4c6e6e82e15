//! Memories that are not made by an allocator of this crate, and who makes them.

use tenure_layout::Remedy;

use crate::{Allocator, Result, Why};

type Answer = Result<&'static dyn Allocator, Why>;

pub(super) fn pbo() -> Answer {
    Err(Why::NotAllocated {
        reason: "pixel buffers belong to an OpenGL context: an image processor makes them",
        remedy: None,
    })
}

pub(super) fn file() -> Answer {
    Err(Why::NotAllocated {
        reason: "files are opened, not allocated",
        remedy: Some(Remedy::OpenFile),
    })
}

pub(super) fn pinned() -> Answer {
    Err(Why::NotAllocated {
        reason: "pinned memory belongs to a device",
        remedy: Some(Remedy::OpenAnyDevice),
    })
}

pub(super) fn device() -> Answer {
    Err(Why::NotAllocated {
        reason: "device memory belongs to a device",
        remedy: Some(Remedy::OpenAnyDevice),
    })
}

pub(super) fn managed() -> Answer {
    Err(Why::NotAllocated {
        reason: "managed memory belongs to a device",
        remedy: Some(Remedy::OpenAnyDevice),
    })
}
