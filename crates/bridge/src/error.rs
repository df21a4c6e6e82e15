//! Everything that can go wrong with a bridge, with the values that were wrong.

use tenure_layout::{ErrorKind, Remedy};

use crate::packet::Fault;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why streams could not be carried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A pattern or prefix that cannot be one.
    #[error("`{pattern}` cannot name streams: {cause} (write a name, or cam0/* or cam0/**)")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// Zenoh's answer.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A prefix that is a pattern.
    #[error("`{prefix}` has wildcards, and a prefix is one place: leave * and ** out")]
    Prefix {
        /// The prefix.
        prefix: String,
    },
    /// Zenoh did not open, or did not do as it was asked.
    #[error("{what} failed: {cause}")]
    Network {
        /// What was asked for.
        what: &'static str,
        /// Zenoh's answer.
        cause: Box<dyn std::error::Error + Send + Sync>,
    },
    /// What came from the network makes no sense.
    #[error("a packet from the network was refused: {0}")]
    Packet(#[from] Fault),
    /// A local stream said no.
    #[error(transparent)]
    Stream(#[from] tenure_stream::Error),
    /// A tensor was refused.
    #[error(transparent)]
    Tensor(#[from] tenure_tensor::Error),
    /// A picture was refused.
    #[error(transparent)]
    Image(#[from] tenure_image::Error),
    /// The memory for streams of others is used up.
    #[cfg(feature = "zenoh")]
    #[error(transparent)]
    OverBudget(#[from] crate::OverBudget),
    /// A budget that is too small.
    #[cfg(feature = "zenoh")]
    #[error("the memory of a bridge must be at least {least} bytes, got {found}")]
    Budget {
        /// The bytes that were asked for.
        found: u64,
        /// The fewest.
        least: u64,
    },
    /// There is no memory for a frame.
    #[error("no memory for a frame of {bytes} bytes")]
    NoMemory {
        /// Bytes of the frame.
        bytes: usize,
    },
    /// A thread was refused.
    #[error("starting a thread failed: {0}")]
    Thread(std::io::Error),
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Pattern { .. } | Error::Prefix { .. } => ErrorKind::Invalid,
            Error::Network { .. } => ErrorKind::Unavailable,
            Error::Packet(fault) => fault.kind(),
            Error::Stream(error) => error.kind(),
            Error::Tensor(error) => error.kind(),
            Error::Image(error) => error.kind(),
            #[cfg(feature = "zenoh")]
            Error::OverBudget(over) => over.kind(),
            #[cfg(feature = "zenoh")]
            Error::Budget { .. } => ErrorKind::Invalid,
            Error::NoMemory { .. } => ErrorKind::OutOfMemory,
            Error::Thread(_) => ErrorKind::System,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Error::Stream(error) => error.remedy(),
            Error::Tensor(error) => error.remedy(),
            Error::Image(error) => error.remedy(),
            #[cfg(feature = "zenoh")]
            Error::OverBudget(_) => Some(Remedy::RaiseBridgeMemory),
            _ => None,
        }
    }
}
