//! Whether there is memory for what a file says that it has.
//!
//! Bytes that lie in a file have been somewhere before. Compressed ones are claimed: 20 MB of a
//! file may be 20 GB of memory. Such a claim is compared with what can be had now, before anything
//! is allocated: the heap gives more than that, and whoever fills it is killed.

use tenure_memory::available_memory;

use crate::entry::Packing;
use crate::shard::Shard;
use crate::{Entry, Error, Result, detail};

/// This part of the available memory is left to others.
const LEFT: u64 = 8;

/// Checks that tensors of these files, which take so many bytes, are no more than `limit`, or than
/// there is memory for.
pub(super) fn check(
    entries: &[&Entry],
    shards: &[Shard],
    bytes: usize,
    limit: Option<u64>,
) -> Result<()> {
    let deflated = entries.iter().any(|entry| matches!(entry.packing, Packing::Deflated { .. }));
    if !deflated {
        return Ok(());
    }
    let most = || available_memory().map(|bytes| bytes - bytes / LEFT);
    match limit.or_else(most) {
        Some(limit) if bytes as u64 > limit => {
            // Only said.
            let sizes = shards.iter().map(|shard| shard.source.size);
            let stored = sizes.fold(0, u64::saturating_add);
            Err(Error::from(detail::Inflated { bytes, stored, limit }))
        }
        _ => Ok(()),
    }
}
