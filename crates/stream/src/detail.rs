//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use std::io;
use std::path::PathBuf;

use tenure_layout::Remedy;

use crate::Error;
use crate::wire::Fault;

macro_rules! boxed {
    ($($name:ident),* $(,)?) => {$(
        impl From<$name> for Error {
            #[cold]
            fn from(detail: $name) -> Error {
                Error::$name(Box::new(detail))
            }
        }
    )*};
}

boxed!(
    AllHeld,
    DevicesBusy,
    Directory,
    Ended,
    Evicted,
    MemoryLimit,
    Name,
    NoAnswer,
    NoSlot,
    NoStream,
    OtherSpec,
    Packet,
    PathTooLong,
    Producer,
    Refused,
    Report,
    Taken,
    TooLong
);

/// A name that cannot be one.
#[derive(Debug, thiserror::Error)]
#[error("`{name}` is no name for a stream: {reason}")]
pub struct Name {
    /// The name.
    pub name: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

/// The directory of the streams cannot be used.
#[derive(Debug, thiserror::Error)]
#[error(
    "the directory of streams {} cannot be used: {cause} (set XDG_RUNTIME_DIR or \
     TENURE_STREAM_DIR to a directory of this user, or let the administrator make /run/tenure)",
    path.display()
)]
pub struct Directory {
    /// The directory.
    pub path: PathBuf,
    /// The system's answer.
    pub cause: io::Error,
}

/// A path that no socket can have.
#[derive(Debug, thiserror::Error)]
#[error(
    "the socket's path {} has {} bytes, at most {limit} are possible: choose a shorter name or \
     directory", path.display(), path.as_os_str().len()
)]
pub struct PathTooLong {
    /// The path.
    pub path: PathBuf,
    /// The most bytes.
    pub limit: usize,
}

/// The stream has a producer already.
#[derive(Debug, thiserror::Error)]
#[error("stream `{name}` has a producer already (it holds the lock {})", lock.display())]
pub struct Taken {
    /// The stream.
    pub name: String,
    /// The lock.
    pub lock: PathBuf,
}

/// Nobody publishes the stream.
#[derive(Debug, thiserror::Error)]
#[error("nobody publishes stream `{name}` at {}: start its producer first", path.display())]
pub struct NoStream {
    /// The stream.
    pub name: String,
    /// Where its socket is or would be.
    pub path: PathBuf,
}

/// The producer is there and does not answer.
#[derive(Debug, thiserror::Error)]
#[error("the producer of stream `{name}` did not answer within {after:?}: is it stopped?")]
pub struct NoAnswer {
    /// The stream.
    pub name: String,
    /// How long it was waited for.
    pub after: std::time::Duration,
}

/// The producer said no.
#[derive(Debug, thiserror::Error)]
#[error("the producer of stream `{name}` refused: {reason}")]
pub struct Refused {
    /// The stream.
    pub name: String,
    /// Why, in the producer's words.
    pub reason: String,
}

/// The stream is over: its producer ended it, or died.
#[derive(Debug, thiserror::Error)]
#[error("stream `{name}` has ended: its producer {}", if *dead { "died" } else { "closed it" })]
pub struct Ended {
    /// The stream.
    pub name: String,
    /// Whether the producer was gone without a word.
    pub dead: bool,
}

/// The producer put this consumer out.
#[derive(Debug, thiserror::Error)]
#[error(
    "the producer of stream `{name}` put this consumer out, because it held all of its \
     {credits} frames for too long: drop frames sooner, or ask for more credits"
)]
pub struct Evicted {
    /// The stream.
    pub name: String,
    /// Frames that it could hold.
    pub credits: usize,
}

/// The producer is of a user that is not trusted.
#[derive(Debug, thiserror::Error)]
#[error(
    "stream `{name}` at {} is published by user {uid}, who is neither this user, root, the \
     owner of the directory nor of this group{}",
    path.display(),
    Remedy::TrustProducer { uid: *uid }.clause()
)]
pub struct Producer {
    /// The stream.
    pub name: String,
    /// Its socket.
    pub path: PathBuf,
    /// Who publishes it.
    pub uid: u32,
}

/// All frames that a subscriber may hold are held, so no other can come.
#[derive(Debug, thiserror::Error)]
#[error(
    "all {credits} frames of stream `{name}` that this subscriber may hold are still held, so \
     no other can come{}",
    Remedy::DropFrames.clause()
)]
pub struct AllHeld {
    /// The stream.
    pub name: String,
    /// Frames that it can hold.
    pub credits: usize,
}

/// The memory of a frame is more than this subscriber takes.
#[derive(Debug, thiserror::Error)]
#[error(
    "a frame of stream `{name}` is in memory beyond what this subscriber keeps at one time: \
     {bytes} bytes in {memories} memories, at most {byte_limit} in {memory_limit} are taken{}",
    Remedy::RaiseLimits.clause()
)]
pub struct MemoryLimit {
    /// The stream.
    pub name: String,
    /// Bytes that would be mapped.
    pub bytes: usize,
    /// The most bytes.
    pub byte_limit: usize,
    /// Memories that would be kept.
    pub memories: usize,
    /// The most memories.
    pub memory_limit: usize,
}

/// A frame that does not look as the publisher declared.
#[derive(Debug, thiserror::Error)]
#[error(
    "frames of stream `{name}` are declared as {declared}, this one is {found}{}",
    Remedy::LetFramesDiffer.clause()
)]
pub struct OtherSpec {
    /// The stream.
    pub name: String,
    /// What frames look like.
    pub declared: String,
    /// What this one looks like.
    pub found: String,
}

/// The producer has claimed all the slots that it may.
#[derive(Debug, thiserror::Error)]
#[error(
    "{claimed} slots of stream `{name}` are claimed and not published, of {limit} that may be{}",
    Remedy::PublishSlots.clause()
)]
pub struct NoSlot {
    /// The stream.
    pub name: String,
    /// How many are claimed.
    pub claimed: usize,
    /// How many may be.
    pub limit: usize,
}

/// Devices still read what consumers gave back.
#[derive(Debug, thiserror::Error)]
#[error(
    "devices of consumers are not done with {resting} DMA-BUFs of stream `{name}` that were \
     given back, and it has no others{}",
    Remedy::TryAgainOrMoreSlots.clause()
)]
pub struct DevicesBusy {
    /// The stream.
    pub name: String,
    /// How many of its memories devices still use besides its slots.
    pub resting: usize,
}

/// Something that does not fit a packet.
#[derive(Debug, thiserror::Error)]
#[error("{what} has {bytes} bytes, at most {limit} travel with a frame")]
pub struct TooLong {
    /// What.
    pub what: &'static str,
    /// Its size.
    pub bytes: usize,
    /// The most that fit.
    pub limit: usize,
}

/// What the other side sent makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("a packet of stream `{name}` was refused: {fault}")]
pub struct Packet {
    /// The stream.
    pub name: String,
    /// What is wrong with it.
    pub fault: Fault,
}

/// A report that makes no sense.
#[derive(Debug, thiserror::Error)]
#[error("the report of stream `{name}` cannot be read: {cause}")]
pub struct Report {
    /// The stream.
    pub name: String,
    /// Why not.
    pub cause: serde_json::Error,
}
