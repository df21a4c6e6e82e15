//! What goes with a frame, and what became of it.

use std::time::Duration;

use tenure_memory::Fence;

use crate::wire::LONGEST_BLOB;
use crate::{Error, Result};

/// What travels with a frame besides the tensor.
///
/// ```
/// use std::time::Duration;
/// use tenure_stream::Meta;
/// let meta = Meta::new().timestamp(Duration::from_millis(1500)).blob(b"exposure 12 ms");
/// ```
#[derive(Debug, Clone, Copy, Default)]
#[must_use]
pub struct Meta<'a> {
    pub(crate) timestamp: Option<Duration>,
    pub(crate) blob: &'a [u8],
    pub(crate) fence: Option<&'a Fence>,
}

impl<'a> Meta<'a> {
    /// Nothing.
    pub fn new() -> Meta<'a> {
        Meta::default()
    }

    /// When the frame was taken, by the clock `CLOCK_MONOTONIC`, as cameras say it.
    pub fn timestamp(mut self, timestamp: Duration) -> Meta<'a> {
        self.timestamp = Some(timestamp);
        self
    }

    /// Bytes of the user's own, at most 16 KiB; they are copied.
    pub fn blob(mut self, blob: &'a [u8]) -> Meta<'a> {
        self.blob = blob;
        self
    }

    /// The frame is complete when this fence is done: a device still writes it.
    pub fn fence(mut self, fence: &'a Fence) -> Meta<'a> {
        self.fence = Some(fence);
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        let (bytes, limit) = (self.blob.len(), LONGEST_BLOB);
        if bytes > limit {
            return Err(Error::from(crate::detail::TooLong { what: "the blob", bytes, limit }));
        }
        Ok(())
    }
}

/// What became of a published frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Number of the frame.
    pub sequence: u64,
    /// Consumers that it was sent to.
    pub consumers: usize,
    /// Consumers that had no credit left and did not get it.
    pub dropped: usize,
}
