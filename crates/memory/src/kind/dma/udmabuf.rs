//! Memory files wrapped as DMA-BUF: `/dev/udmabuf`.

use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};

use super::request::udmabuf_create;
use super::{SourceRefusal, advice, refused};
use crate::kind::shm::sealed_memory;

const PATH: &str = "/dev/udmabuf";
const LIMIT: &str = "/sys/module/udmabuf/parameters/size_limit_mb";

/// A buffer over a new memory file, which the driver keeps.
pub(super) fn make(bytes: usize) -> Result<OwnedFd, SourceRefusal> {
    let refuse = |reason: String| SourceRefusal { source: PATH.to_owned(), reason, passing: false };
    let device = OpenOptions::new().read(true).write(true).open(PATH);
    let device = device.map_err(|error| advice(PATH, &error))?;
    if let Some(limit) = size_limit()
        && bytes as u64 > limit
    {
        return Err(refuse(format!(
            "{bytes} bytes are above the driver's limit of {limit} ({LIMIT})"
        )));
    }
    let file = sealed_memory(bytes).map_err(|error| refuse(error.to_string()))?;
    udmabuf_create(device.as_fd(), file.as_fd(), bytes as u64)
        .map_err(|errno| refused(PATH, bytes, errno))
}

fn size_limit() -> Option<u64> {
    let text = fs::read_to_string(LIMIT).ok()?;
    text.trim().parse::<u64>().ok().map(|megabytes| megabytes << 20)
}
