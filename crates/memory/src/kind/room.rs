//! Whether the machine has so much memory: the kernel would rather kill a process than refuse.

use crate::{Error, Result, TensorMemory};

/// From this size on the machine is asked: it takes far longer to make such memory than to ask.
const ASK_FIRST: usize = 4 << 20;

/// Refuses what is more than the kernel thinks can be had without swapping.
pub(super) fn check_room(memory: TensorMemory, bytes: usize) -> Result<()> {
    if bytes >= ASK_FIRST
        && let Some(available) = available_memory()
        && bytes as u64 > available
    {
        return Err(Error::OutOfMemory { memory, bytes, available: Some(available), source: None });
    }
    Ok(())
}

fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes * 1024)
}
