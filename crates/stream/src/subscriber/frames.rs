//! The frames of a stream as an iterator.

use std::time::Duration;

use super::Subscriber;
use crate::{Error, Frame, Result};

/// Every frame of a stream as it comes, until it ends. Made by [`Subscriber::frames`].
#[derive(Debug)]
#[must_use = "an iterator gives nothing until it is asked"]
pub struct Frames<'a> {
    pub(super) subscriber: &'a mut Subscriber,
}

impl Iterator for Frames<'_> {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Result<Frame>> {
        match self.subscriber.next(Duration::MAX) {
            Ok(Some(frame)) => Some(Ok(frame)),
            Ok(None) => None,
            Err(Error::Ended { .. }) => None,
            Err(error) => Some(Err(error)),
        }
    }
}

impl<'a> IntoIterator for &'a mut Subscriber {
    type Item = Result<Frame>;
    type IntoIter = Frames<'a>;

    fn into_iter(self) -> Frames<'a> {
        self.frames()
    }
}
