//! Another stream, whose frames are passed on as they are.

use tenure::stream::{Error, Publisher, Subscriber};

use super::{LOOK, Source, Taken, Tensor};
use crate::run::Problem;
use crate::stop::Stop;

/// Frames to hold: those that our consumers have, and one on its way.
const CREDITS: u32 = 8;

/// A stream of another process.
pub(super) struct Other {
    subscriber: Subscriber,
}

impl Other {
    pub(super) fn open(name: &str) -> Result<Other, Problem> {
        Ok(Other {
            subscriber: Subscriber::builder(name).credits(CREDITS).wait_when_full(true).open()?,
        })
    }
}

impl Source for Other {
    fn about(&self) -> String {
        format!("stream {}", self.subscriber.name())
    }

    fn lends(&self) -> Option<usize> {
        Some(self.subscriber.credits().saturating_sub(2).max(1))
    }

    fn next(&mut self, _frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        while !stop.is_over() {
            match self.subscriber.next(LOOK) {
                Ok(None) => {}
                // Its producer closed it: no frames come any more, and nothing is wrong.
                Err(Error::Ended(end)) if !end.dead => return Ok(None),
                Err(error) => return Err(error.into()),
                Ok(Some(frame)) => {
                    let missed = frame.dropped();
                    let timestamp = frame.timestamp().unwrap_or(frame.published());
                    let tensor = Tensor::Brought(frame.into_tensor());
                    return Ok(Some(Taken { tensor, timestamp, missed }));
                }
            }
        }
        Ok(None)
    }
}
