//! One stream of this machine, carried to whoever wants it.
//!
//! A thread of its own is an ordinary consumer of the stream. It gives one frame to the network at a
//! time and waits until that is taken; then it goes on with the newest there is. While nobody wants
//! the stream, nothing is consumed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_stream::{Error as StreamError, Frame, Subscriber, stat_in};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Session, Wait};

use crate::body;
use crate::bridge::{Shown, locked};
use crate::builder::Plan;
use crate::keys::Token;
use crate::packet::{Head, Packet};
use crate::session::network;
use crate::signal::Signal;
use crate::{Error, ExportReport, ExportState, Result};

/// How often to look, while frames are sent, whether somebody still wants them.
const LOOK: Duration = Duration::from_millis(200);
/// How often to look at a stream that nobody wants, or that cannot be sent, though nobody said that
/// something has changed.
const SWEEP: Duration = Duration::from_secs(10);
/// How long to leave a stream alone that did not answer.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// Frames to hold: the one that is sent and the newest.
const CREDITS: u32 = 2;

pub(crate) struct Export {
    pub(crate) session: Session,
    pub(crate) plan: Arc<Plan>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) token: Token,
    pub(crate) shown: Shown<ExportReport>,
    /// Raised when the stream may have changed hands, somebody wants it, or the bridge ends.
    pub(crate) look: Arc<Signal>,
}

/// Why to look at the stream anew.
enum Over {
    /// Nobody wants it any more, or it has another producer.
    Again,
    /// The bridge ends.
    Stopped,
}

impl Export {
    pub(crate) fn report(name: &str) -> ExportReport {
        ExportReport {
            name: name.to_owned(),
            state: ExportState::Idle,
            sent: 0,
            bytes: 0,
            missed: 0,
            problem: None,
        }
    }

    /// Carries the stream until it is gone.
    pub(crate) fn run(self) {
        let mut alive = None;
        let mut publisher = None;
        while !self.stop.load(Ordering::Relaxed) {
            match self.look(&mut alive, &mut publisher) {
                Ok(Over::Again) => {}
                Ok(Over::Stopped) => return,
                Err(Error::Stream(error)) if error.is_over() => return,
                // Others still see the stream: it is there, and may be sent again.
                Err(error) => {
                    self.tell(ExportState::Refused, Some(error.to_string()));
                    self.look.wait(TRY_AGAIN);
                }
            }
        }
    }

    /// Looks at the stream once, and carries it if somebody wants it.
    fn look(
        &self,
        alive: &mut Option<LivelinessToken>,
        publisher: &mut Option<Publisher<'static>>,
    ) -> Result<Over> {
        let (keys, name) = (&self.plan.keys, &self.token.name);
        let report = stat_in(&self.plan.directory, name)?;
        if let Some(origin) = report.origin {
            *alive = None;
            let problem = format!("it comes from {}: it is not sent on", origin.from);
            self.tell(ExportState::Refused, Some(problem));
            self.look.wait(SWEEP);
            return Ok(Over::Again);
        }
        let publisher = match publisher {
            Some(known) => known,
            none => none.insert(self.offer()?),
        };
        if alive.is_none() {
            let token = self.session.liveliness().declare_token(keys.have(&self.token)).wait();
            *alive = Some(token.map_err(network("offering a stream"))?);
        }
        if !wanted(publisher) {
            self.tell(ExportState::Idle, None);
            self.look.wait(SWEEP);
            return Ok(Over::Again);
        }
        let mut subscriber = Subscriber::builder(name)
            .directory(&self.plan.directory)
            .credits(CREDITS)
            .wait_when_full(true)
            .open()?;
        // Another producer has the name since: it was not asked where its frames come from.
        if subscriber.incarnation() != report.incarnation {
            return Ok(Over::Again);
        }
        self.carry(&mut subscriber, publisher)
    }

    /// Where frames go, and word of it when somebody wants them.
    fn offer(&self) -> Result<Publisher<'static>> {
        let key = self.plan.keys.frames(&self.token.id, &self.token.name);
        let publisher = self.session.declare_publisher(key);
        let publisher = publisher.congestion_control(CongestionControl::Drop).wait();
        let publisher = publisher.map_err(network("offering a stream"))?;
        let look = Arc::clone(&self.look);
        let listener = publisher.matching_listener().callback(move |_| look.raise());
        listener.background().wait().map_err(network("offering a stream"))?;
        Ok(publisher)
    }

    /// Sends frames until nobody wants them. One that cannot travel is left out; the next may look
    /// different.
    fn carry(&self, subscriber: &mut Subscriber, publisher: &Publisher<'_>) -> Result<Over> {
        self.tell(ExportState::Sending, None);
        let mut next = None;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Over::Stopped);
            }
            if !wanted(publisher) {
                return Ok(Over::Again);
            }
            match subscriber.next(LOOK) {
                Ok(None) => {}
                Ok(Some(first)) => {
                    let newest = subscriber.latest().ok().flatten().unwrap_or(first);
                    match self.send(&newest, publisher, &mut next) {
                        Ok(()) => self.tell(ExportState::Sending, None),
                        Err(error @ Error::Network { .. }) => return Err(error),
                        Err(error) => self.tell(ExportState::Refused, Some(error.to_string())),
                    }
                }
                Err(StreamError::Ended { .. }) => {
                    let end = Packet::End { incarnation: subscriber.incarnation() };
                    put(publisher, vec![], &end)?;
                    return Ok(Over::Again);
                }
                Err(StreamError::Evicted { .. }) => return Ok(Over::Again),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn send(&self, frame: &Frame, publisher: &Publisher<'_>, next: &mut Option<u64>) -> Result<()> {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let mut head = Head::of(frame.tensor())?;
        let body = body::pack(frame.tensor(), &mut head, self.plan.compression)?;
        head.incarnation = frame.incarnation();
        head.sequence = frame.sequence();
        head.captured = frame.timestamp().map(nanoseconds);
        head.sent = nanoseconds(frame.published().saturating_add(frame.age()));
        head.blob = frame.blob().to_vec();
        let (sequence, bytes) = (head.sequence, body.len() as u64);
        put(publisher, body, &Packet::Frame(Box::new(head)))?;
        let missed = next.map_or(0, |next| sequence.saturating_sub(next));
        *next = Some(sequence.saturating_add(1));
        let mut shown = locked(&self.shown);
        shown.sent += 1;
        shown.bytes += bytes;
        shown.missed += missed;
        Ok(())
    }

    fn tell(&self, state: ExportState, problem: Option<String>) {
        let mut shown = locked(&self.shown);
        shown.state = state;
        if problem.is_some() {
            shown.problem = problem;
        }
    }
}

/// Whether some bridge has subscribed.
fn wanted(publisher: &Publisher<'_>) -> bool {
    publisher.matching_status().wait().is_ok_and(|status| status.matching())
}

/// Gives a message to the network, and waits until it is taken or dropped.
fn put(publisher: &Publisher<'_>, body: Vec<u8>, packet: &Packet) -> Result<()> {
    publisher.put(body).attachment(packet.encode()).wait().map_err(network("sending a frame"))
}
