//! Why there is no device of some kind: three different answers, for three different remedies.

/// Why there is no device.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// Its library is not installed.
    #[error("no library: {library} cannot be loaded ({reason}); install the driver")]
    NoLibrary {
        /// The library.
        library: String,
        /// What the system says.
        reason: String,
    },
    /// There is a library, and a driver that is too old for it, or none.
    #[error("driver too old: {library} needs {needed}, and finds {found}; update the driver")]
    TooOld {
        /// The library.
        library: String,
        /// What is needed.
        needed: String,
        /// What is there.
        found: String,
    },
    /// Library and driver are there, and no device.
    #[error("no device: {library} finds none{detail}")]
    NoDevice {
        /// The library.
        library: String,
        /// What more is known, in words that go on from there.
        detail: String,
    },
    /// The driver answered something else.
    #[error("{library}: {what} answers {code}")]
    Failed {
        /// The library.
        library: String,
        /// What was asked.
        what: &'static str,
        /// The answer.
        code: String,
    },
}

impl Missing {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Unavailable
    }
}
