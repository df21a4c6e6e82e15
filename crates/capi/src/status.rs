//! What every call answers.

use tenure::ErrorKind;

/// What a call answers. Anything but `TENURE_STATUS_OK` has a text, which `tenure_last_error`
/// gives; what a call would have put out is left as it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// It is done.
    Ok = 0,
    /// A pointer is null that must not be.
    Null = 1,
    /// A value is wrong: a shape, a code, a region, a word.
    Invalid = 2,
    /// Somebody holds bytes in a way that excludes what was asked: release that first.
    Busy = 3,
    /// The memory, engine or device cannot be had on this machine or in this build.
    Unavailable = 4,
    /// There is no room for so many bytes.
    OutOfMemory = 5,
    /// The bytes are read-only.
    ReadOnly = 6,
    /// It makes sense, but not for this: a descriptor of heap memory, one map of several buffers.
    Unsupported = 7,
    /// The operating system said no.
    System = 8,
    /// A file or a message is not as its format asks for, or has lost bytes.
    Damaged = 9,
    /// The other side closed the connection, or the stream has ended.
    Closed = 10,
    /// There is nothing of this name or number.
    NotFound = 11,
    /// A callback asked to stop.
    Stopped = 12,
    /// A fault in the library itself, which went on: please report it.
    Internal = 13,
    /// The other side said no; the text has its reason.
    Refused = 14,
    /// The other side is there and did not answer in time.
    NoAnswer = 15,
    /// The producer put this consumer out, because it held its frames for too long.
    Evicted = 16,
    /// Something has this name already: a stream with a producer.
    Exists = 17,
    /// An element type that this cannot be done with.
    WrongType = 18,
    /// It was made before this process was forked off, and stays the other process's: make it here.
    Forked = 19,
}

impl From<ErrorKind> for Status {
    fn from(kind: ErrorKind) -> Status {
        match kind {
            ErrorKind::Invalid => Status::Invalid,
            ErrorKind::WrongType => Status::WrongType,
            ErrorKind::Busy => Status::Busy,
            ErrorKind::ReadOnly => Status::ReadOnly,
            ErrorKind::Unsupported => Status::Unsupported,
            ErrorKind::Unavailable => Status::Unavailable,
            ErrorKind::OutOfMemory => Status::OutOfMemory,
            ErrorKind::NotFound => Status::NotFound,
            ErrorKind::Exists => Status::Exists,
            ErrorKind::Damaged => Status::Damaged,
            ErrorKind::Closed => Status::Closed,
            ErrorKind::Evicted => Status::Evicted,
            ErrorKind::Refused => Status::Refused,
            ErrorKind::NoAnswer => Status::NoAnswer,
            ErrorKind::Forked => Status::Forked,
            ErrorKind::Stopped => Status::Stopped,
            ErrorKind::System => Status::System,
            // A kind of a later version; a test finds those that are missing here.
            _ => Status::Invalid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_status_of_its_own() {
        let mut codes: Vec<_> = ErrorKind::ALL.map(|kind| Status::from(kind) as i32).into();
        assert!(codes.iter().all(|&code| code != Status::Internal as i32 && code > 1));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), ErrorKind::ALL.len());
    }
}
