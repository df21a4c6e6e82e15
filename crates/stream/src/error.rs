//! Everything that can go wrong with a stream, with the values that were wrong.

use std::io;
use std::path::PathBuf;

use crate::wire::Fault;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a stream could not be made, joined or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A name that cannot be one.
    #[error("`{name}` is no name for a stream: {reason}")]
    Name {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The directory of the streams cannot be used.
    #[error(
        "the directory of streams {} cannot be used: {cause} (set XDG_RUNTIME_DIR or \
         TENURE_STREAM_DIR to a directory of this user, or let the administrator make /run/tenure)",
        path.display()
    )]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's answer.
        cause: io::Error,
    },
    /// A path that no socket can have.
    #[error(
        "the socket's path {} has {} bytes, at most {limit} are possible: choose a shorter name or \
         directory", path.display(), path.as_os_str().len()
    )]
    PathTooLong {
        /// The path.
        path: PathBuf,
        /// The most bytes.
        limit: usize,
    },
    /// The stream has a producer already.
    #[error("stream `{name}` has a producer already (it holds the lock {})", lock.display())]
    Taken {
        /// The stream.
        name: String,
        /// The lock.
        lock: PathBuf,
    },
    /// Nobody publishes the stream.
    #[error("nobody publishes stream `{name}` at {}: start its producer first", path.display())]
    NoStream {
        /// The stream.
        name: String,
        /// Where its socket is or would be.
        path: PathBuf,
    },
    /// The producer is there and does not answer.
    #[error("the producer of stream `{name}` did not answer within {after:?}: is it stopped?")]
    NoAnswer {
        /// The stream.
        name: String,
        /// How long it was waited for.
        after: std::time::Duration,
    },
    /// The producer said no.
    #[error("the producer of stream `{name}` refused: {reason}")]
    Refused {
        /// The stream.
        name: String,
        /// Why, in the producer's words.
        reason: String,
    },
    /// The stream is over: its producer ended it, or died.
    #[error("stream `{name}` has ended: its producer {}", if *dead { "died" } else { "closed it" })]
    Ended {
        /// The stream.
        name: String,
        /// Whether the producer was gone without a word.
        dead: bool,
    },
    /// The producer put this consumer out.
    #[error(
        "the producer of stream `{name}` put this consumer out, because it held all of its \
         {credits} frames for too long: drop frames sooner, or ask for more credits"
    )]
    Evicted {
        /// The stream.
        name: String,
        /// Frames that it could hold.
        credits: usize,
    },
    /// The producer is of a user that is not trusted.
    #[error(
        "stream `{name}` at {} is published by user {uid}, who is neither this user, root, the \
         owner of the directory nor of this group: if that is right, subscribe with \
         `producer_uid({uid})`", path.display()
    )]
    Producer {
        /// The stream.
        name: String,
        /// Its socket.
        path: PathBuf,
        /// Who publishes it.
        uid: u32,
    },
    /// All frames that a subscriber may hold are held, so no other can come.
    #[error(
        "all {credits} frames of stream `{name}` that this subscriber may hold are still held, so \
         no other can come: drop one, ask for more `credits`, or build the subscriber to \
         `wait_when_full` if another thread drops them"
    )]
    AllHeld {
        /// The stream.
        name: String,
        /// Frames that it can hold.
        credits: usize,
    },
    /// The memory of a frame is more than this subscriber takes.
    #[error(
        "a frame of stream `{name}` is in memory beyond what this subscriber keeps at one time: \
         {bytes} bytes in {memories} memories, at most {byte_limit} in {memory_limit} are taken \
         (raise `memory_limit` or `descriptor_limit`, see ulimit -n)"
    )]
    MemoryLimit {
        /// The stream.
        name: String,
        /// Bytes that would be mapped.
        bytes: usize,
        /// The most bytes.
        byte_limit: usize,
        /// Memories that would be kept.
        memories: usize,
        /// The most memories.
        memory_limit: usize,
    },
    /// A frame that does not look as the publisher declared.
    #[error(
        "frames of stream `{name}` are declared as {declared}, this one is {found}: open the \
         publisher with `initial_spec` instead of `spec`, or without, if frames may differ"
    )]
    OtherSpec {
        /// The stream.
        name: String,
        /// What frames look like.
        declared: String,
        /// What this one looks like.
        found: String,
    },
    /// The producer has claimed all the slots that it may.
    #[error(
        "{claimed} slots of stream `{name}` are claimed and not published, of {limit} that may be: \
         publish or drop one, or build the publisher with more `claims`"
    )]
    NoSlot {
        /// The stream.
        name: String,
        /// How many are claimed.
        claimed: usize,
        /// How many may be.
        limit: usize,
    },
    /// Devices still read what consumers gave back.
    #[error(
        "devices of consumers are not done with {resting} DMA-BUFs of stream `{name}` that were \
         given back, and it has no others: try again, or build the publisher with more `claims`"
    )]
    DevicesBusy {
        /// The stream.
        name: String,
        /// How many of its memories devices still use besides its slots.
        resting: usize,
    },
    /// A slot was claimed without saying what for.
    #[error("stream `{name}` does not know what its frames look like: use `claim_as` first")]
    NoSpec {
        /// The stream.
        name: String,
    },
    /// A claimed slot that a copy or a device still works on.
    #[error(
        "a copy or a device still works on the slot's tensor, or another stream has published it: \
         wait for its end first. The frame was not published"
    )]
    StillHeld,
    /// Something that does not fit a packet.
    #[error("{what} has {bytes} bytes, at most {limit} travel with a frame")]
    TooLong {
        /// What.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The most that fit.
        limit: usize,
    },
    /// Memory that the user brings has no slot left: consumers hold as many others.
    #[error(
        "the stream has {slots} slots, which is as many as can be, and all of those for memory \
         that is brought are with consumers: bring the same memory again and again, or copy"
    )]
    TooManySlots {
        /// How many.
        slots: usize,
    },
    /// It was made before this process was forked off.
    #[error(
        "stream `{name}` was opened by the process that this one was forked off, whose it stays: \
         open it here"
    )]
    Forked {
        /// The stream.
        name: String,
    },
    /// What the other side sent makes no sense.
    #[error("a packet of stream `{name}` was refused: {fault}")]
    Packet {
        /// The stream.
        name: String,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A report that makes no sense.
    #[error("the report of stream `{name}` cannot be read: {cause}")]
    Report {
        /// The stream.
        name: String,
        /// Why not.
        cause: serde_json::Error,
    },
    /// A system call failed.
    #[error("{what} failed: {cause}")]
    System {
        /// The call, in words.
        what: &'static str,
        /// The system's answer; part of the text, so no source besides.
        cause: io::Error,
    },
    /// Memory was refused.
    #[error(transparent)]
    Memory(#[from] tenure_memory::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
}

impl Error {
    pub(crate) fn system(what: &'static str, cause: impl Into<io::Error>) -> Error {
        Error::System { what, cause: cause.into() }
    }

    /// Whether the stream is over for this consumer, and only opening it again can help.
    pub fn is_over(&self) -> bool {
        matches!(self, Error::Ended { .. } | Error::Evicted { .. } | Error::NoStream { .. })
    }
}

impl From<tenure_layout::Error> for Error {
    fn from(error: tenure_layout::Error) -> Error {
        Error::Tensor(error.into())
    }
}
