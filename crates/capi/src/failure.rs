//! Why a call did not do what it was asked, and which status that is.

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

    fn of(error: &tenure::Error) -> Failure {
        Failure::new(error.kind().into(), error.to_string())
    }
}

/// Every error of the library by way of the one that all of them become. Its text tells calls of C:
/// `guarded` sees to that.
impl<E: Into<tenure::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::of(&error.into())
    }
}
