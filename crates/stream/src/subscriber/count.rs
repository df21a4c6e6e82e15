//! How many frames did not come, as the producer counts them in a memory file.

use std::os::fd::{AsFd, OwnedFd};

use super::known::look;
use crate::frame::Guarded;
use crate::wire::{Fault, NO_COUNT};

/// This consumer's counter; nothing if the producer has none for it.
#[derive(Debug)]
pub(crate) struct Count(Option<(OwnedFd, u64)>);

impl Count {
    /// No counter.
    pub(super) fn none() -> Count {
        Count(None)
    }

    /// The counter of this number in the file that came. Read, never mapped: whatever the producer
    /// does with it, reading gives a number or an error.
    pub(super) fn new(file: Option<OwnedFd>, number: u32) -> Result<Count, Fault> {
        let (found, expected) = (usize::from(file.is_some()), usize::from(number != NO_COUNT));
        if found != expected {
            return Err(Fault::Descriptors { found, expected });
        }
        let Some(file) = file else { return Ok(Count(None)) };
        match look(file.as_fd())? {
            Guarded::Sealed => Ok(Count(Some((file, u64::from(number) * 8)))),
            _ => Err(Fault::Memory { found: "no memory file".to_owned() }),
        }
    }

    /// What it says now.
    pub(super) fn read(&self) -> Option<u64> {
        let (file, offset) = self.0.as_ref()?;
        let mut count = [0; 8];
        let read = rustix::io::pread(file, &mut count, *offset).ok()?;
        (read == count.len()).then(|| u64::from_ne_bytes(count))
    }
}
