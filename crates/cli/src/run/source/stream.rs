//! Another stream, whose frames are passed on as they are.

use tenure::stream::{Error, Publisher, Subscriber};

use super::{LOOK, Source, Taken, Tensor};
use crate::run::Problem;
use crate::stop::Stop;

/// Frames to hold: those that our consumers have, and one on its way.
const CREDITS: u32 = 8;

/// A stream of another process.
pub(super) struct Other {
    name: String,
    /// `None` if it was over before the producer had answered.
    subscriber: Option<Subscriber>,
}

impl Other {
    pub(super) fn open(name: &str, stop: &Stop) -> Result<Other, Problem> {
        let builder = Subscriber::builder(name).credits(CREDITS).wait_when_full(true);
        let opened = stop.unless_over(|| builder.open()).map_err(Problem::Threads)?;
        Ok(Other { name: name.to_owned(), subscriber: opened.transpose()? })
    }
}

impl Source for Other {
    fn about(&self) -> String {
        format!("stream {}", self.name)
    }

    fn lends(&self) -> Option<usize> {
        self.subscriber.as_ref().map(|it| it.credits().saturating_sub(2).max(1))
    }

    fn next(&mut self, _frames: &mut Publisher, stop: &Stop) -> Result<Option<Taken>, Problem> {
        let Some(subscriber) = &mut self.subscriber else { return Ok(None) };
        while !stop.is_over() {
            match subscriber.next(LOOK) {
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
