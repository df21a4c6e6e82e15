//! DMA heaps: `/dev/dma_heap/*`.

use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};

use super::request::heap_allocate;
use super::{Source, SourceRefusal, advice, refused};

const FOLDER: &str = "/dev/dma_heap";

/// Every heap, `system` first: it has the most memory. Uncached ones come last, because the CPU
/// is slow in them.
pub(super) fn list(refusals: &mut Vec<SourceRefusal>) -> Vec<Source> {
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) => {
            refusals.push(advice(FOLDER, &error));
            return vec![];
        }
    };
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_by_key(|name| (name.contains("uncached"), name != "system", name.clone()));
    names.into_iter().map(Source::Heap).collect()
}

/// A buffer from one heap.
pub(super) fn make(name: &str, bytes: usize) -> Result<OwnedFd, SourceRefusal> {
    let path = format!("{FOLDER}/{name}");
    let heap = OpenOptions::new().read(true).write(true).open(&path);
    let heap = heap.or_else(|_| OpenOptions::new().read(true).open(&path));
    let heap = heap.map_err(|error| advice(&path, &error))?;
    heap_allocate(heap.as_fd(), bytes as u64).map_err(|errno| refused(&path, bytes, errno))
}
