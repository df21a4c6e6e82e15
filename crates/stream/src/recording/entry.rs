//! One frame of a recording, checked.

use std::time::Duration;

use super::line::Line;
use super::{FRAMES, LONGEST_LINE};
use crate::Spec;
use crate::wire::LONGEST_BLOB;

/// One frame of a recording: what it was, and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    line: Line,
    spec: Spec,
}

impl Entry {
    /// Reads a line of an index whose frames are in a file of so many bytes. Everything in it is
    /// checked: what it describes can be, has as many bytes as it says, and lies in the file.
    ///
    /// # Errors
    /// What is wrong with the line, in words.
    pub fn parse(line: &[u8], frames: u64) -> Result<Entry, String> {
        if line.len() > LONGEST_LINE {
            return Err(format!(
                "it has {} bytes, at most {LONGEST_LINE} are possible",
                line.len()
            ));
        }
        let line: Line = serde_json::from_slice(line)
            .map_err(|cause| format!("it is no line of a recording: {cause}"))?;
        let spec = line.spec()?;
        if line.offset.checked_add(line.bytes).is_none_or(|end| end > frames) {
            let (offset, bytes) = (line.offset, line.bytes);
            return Err(format!(
                "{bytes} bytes from {offset} on are beyond the {frames} of {FRAMES}"
            ));
        }
        if line.blob.len() > LONGEST_BLOB {
            let (found, most) = (line.blob.len(), LONGEST_BLOB);
            return Err(format!("its blob has {found} bytes, at most {most} are possible"));
        }
        Ok(Entry { line, spec })
    }

    /// What the frame looks like.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The number that it had.
    pub fn sequence(&self) -> u64 {
        self.line.sequence
    }

    /// When it was taken, by the clock of the machine that recorded it, if the producer said so.
    pub fn timestamp(&self) -> Option<Duration> {
        self.line.taken.map(Duration::from_nanos)
    }

    /// When it was published, by the same clock.
    pub fn published(&self) -> Duration {
        Duration::from_nanos(self.line.published)
    }

    /// The producer's own bytes.
    pub fn blob(&self) -> &[u8] {
        &self.line.blob
    }

    /// Where its elements begin in the file of the frames.
    pub fn offset(&self) -> u64 {
        self.line.offset
    }
}
