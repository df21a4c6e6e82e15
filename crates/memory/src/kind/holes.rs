//! Memory files with holes: bytes that were never written and take no memory until they are read.
//!
//! Reading a hole of a memory file through a mapping makes its page, in the name of the reader. A
//! peer could send a file of terabytes that costs it nothing, and let this process run out of
//! memory. So holes are counted when such a file is mapped, and those of all mappings in this
//! process together may be a quarter of its main memory at most. Files that their maker allocated
//! (as Tenure does) have no holes and no limit here. A peer that may still write a file can make
//! holes later; one that is sealed against writing, as published frames are, stays as it is.

use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicU64;

use rustix::fs;

use super::room::{Claim, main_memory};
use crate::backend::ObjectKey;
use crate::descriptor::is_tmpfs;
use crate::{Error, Result};

/// The share of main memory that holes may take.
const SHARE: u64 = 4;

static HOLES: AtomicU64 = AtomicU64::new(0);

/// Counts the holes in the first `size` bytes of a file for as long as it is mapped, and says which
/// file it is. Files on disks are not counted: their pages can be given up again.
///
/// # Errors
/// [`Error::Sparse`] if there are more holes than this process can afford to read.
pub(crate) fn look(fd: BorrowedFd<'_>, size: usize) -> Result<(ObjectKey, Option<Claim>)> {
    let stat = fs::fstat(fd).map_err(|errno| Error::system("looking at the descriptor", errno))?;
    let key = crate::descriptor::key_of(&stat);
    // Blocks are of 512 bytes, whatever the block size.
    let there = u64::try_from(stat.st_blocks).unwrap_or(0).saturating_mul(512);
    let holes = (size as u64).saturating_sub(there);
    if holes == 0 || !is_tmpfs(fd) {
        return Ok((key, None));
    }
    let limit = main_memory() / SHARE;
    match Claim::new(&HOLES, holes, limit) {
        Ok(claim) => Ok((key, Some(claim))),
        Err(counted) => {
            let left = limit.saturating_sub(counted);
            Err(Error::from(crate::detail::Sparse { size: size as u64, holes, left }))
        }
    }
}
