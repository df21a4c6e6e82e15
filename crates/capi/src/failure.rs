//! Why a call did not do what it was asked, and which status that is.

use std::error::Error as _;

use crate::status::Status;

/// The result of what a call does.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

/// A status and its text.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Failure {
        Failure { status, text: text.into() }
    }

    pub(crate) fn invalid(text: impl Into<String>) -> Failure {
        Failure::new(Status::Invalid, text)
    }

    pub(crate) fn null(what: &str) -> Failure {
        Failure::new(Status::Null, format!("{what} is a null pointer"))
    }

    /// The error with its causes, as far as its text does not have them: C has one text.
    fn of(error: &tenure::Error) -> Failure {
        let mut text = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            let words = cause.to_string();
            if !text.contains(&words) {
                text = format!("{text}: {words}");
            }
            next = cause.source();
        }
        Failure::new(error.kind().into(), text)
    }
}

/// Every error of the library by way of the one that all of them become. Its text tells calls of C:
/// `guarded` sees to that.
impl<E: Into<tenure::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::of(&error.into())
    }
}

#[cfg(test)]
mod tests {
    use tenure::memory::{Error, TensorMemory, detail};
    use tenure::realize::{self, RealizeError};

    use super::*;

    #[test]
    fn a_text_has_its_causes_once() {
        let cause = || std::io::Error::other("no pages");
        let (memory, available) = (TensorMemory::Mem, None);
        let full = detail::OutOfMemory { memory, bytes: 8, available, source: Some(cause()) };
        let source = Error::from(full);
        let arena = realize::detail::Arena { arena: 1, bytes: 8, of: vec![], source };
        let failure = Failure::from(RealizeError::from(arena));
        assert_eq!(failure.status, Status::OutOfMemory);
        let why = "was not allocated: mem: no room for 8 bytes: no pages";
        assert!(failure.text.ends_with(why), "{}", failure.text);

        let open = detail::Open { path: "x".into(), cause: cause() };
        assert_eq!(Failure::from(Error::from(open)).text, "cannot open x: no pages");
    }
}
