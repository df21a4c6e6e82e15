//! The bridge as its user has it: opened, asked for reports, and dropped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tenure_memory::backend::Process;
use zenoh::liveliness::LivelinessToken;
use zenoh::sample::{Sample, SampleKind};
use zenoh::{Session, Wait};

use crate::budget::Budget;
use crate::builder::Plan;
use crate::keys::{Said, Token, host};
use crate::manager::{Event, Manager};
use crate::report::{BridgeReport, ExportReport, ImportReport, Remote};
use crate::session::{self, network};
use crate::watch::Watch;
use crate::{BridgeBuilder, Error, Result};

/// What is shown of a stream; its thread writes it, reports read it.
pub(crate) type Shown<T> = Arc<Mutex<T>>;

pub(crate) fn locked<T>(shown: &Shown<T>) -> MutexGuard<'_, T> {
    shown.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Carries streams to other machines, and repeats theirs here, until it is dropped.
///
/// ```no_run
/// use tenure_bridge::Bridge;
/// let bridge = Bridge::builder().listen("tcp/0.0.0.0:7447").export("**").open()?;
/// for export in bridge.report().exports {
///     println!("{}: {:?}, {} frames sent", export.name, export.state, export.sent);
/// }
/// # Ok::<(), tenure_bridge::Error>(())
/// ```
pub struct Bridge {
    /// There until dropped.
    session: Option<Session>,
    id: String,
    process: Process,
    stop: Arc<AtomicBool>,
    board: Arc<Board>,
    budget: Arc<Budget>,
    events: Option<Sender<Event>>,
    thread: Option<JoinHandle<()>>,
    /// Tells others that this bridge is there, so that they know what it does not have any more.
    here: Option<LivelinessToken>,
}

/// What can be seen from outside.
#[derive(Debug, Default)]
pub(crate) struct Board {
    pub(crate) exports: Mutex<BTreeMap<String, Shown<ExportReport>>>,
    pub(crate) imports: Mutex<BTreeMap<String, Shown<ImportReport>>>,
    pub(crate) remote: Mutex<BTreeSet<Remote>>,
}

pub(crate) fn on<T>(board: &Mutex<T>) -> MutexGuard<'_, T> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    /// A bridge with options.
    pub fn builder() -> BridgeBuilder {
        BridgeBuilder::default()
    }

    pub(crate) fn start(builder: &BridgeBuilder, plan: Plan) -> Result<Bridge> {
        let session = session::open(builder, plan.budget.limit())?;
        let id = session.zid().to_string();
        let here = if plan.exports.is_empty() {
            None
        } else {
            let token = session.liveliness().declare_token(plan.keys.here(&id, &host())).wait();
            Some(token.map_err(network("telling others that a bridge is here"))?)
        };
        let (sender, events) = channel();
        let heard = sender.clone();
        let (all, keys) = (plan.keys.all(), plan.keys.clone());
        let own = id.clone();
        let hear = move |sample: Sample| {
            let Some(said) = keys.read(sample.key_expr().as_str()) else { return };
            let (Said::Bridge(who) | Said::Stream(Token { id: who, .. })) = &said;
            if *who != own {
                // Nobody listens any more when the bridge ends.
                let _ = heard.send(Event::Said(said, sample.kind() == SampleKind::Put));
            }
        };
        session
            .liveliness()
            .declare_subscriber(all)
            .history(true)
            .callback(hear)
            .background()
            .wait()
            .map_err(network("looking for streams of others"))?;

        let (stop, board) = (Arc::new(AtomicBool::new(false)), Arc::new(Board::default()));
        let changed = sender.clone();
        let watch = if plan.exports.is_empty() {
            None
        } else {
            Watch::start(&plan.directory, move || drop(changed.send(Event::Changed)))
        };
        let budget = Arc::clone(&plan.budget);
        let manager = Manager::new(&session, plan, watch, &stop, &board);
        let thread = spawn("tenure-bridge", move || manager.run(&events))?;
        let thread = Some(thread);
        let (session, events, process) = (Some(session), Some(sender), Process::current());
        Ok(Bridge { session, id, process, stop, board, budget, events, thread, here })
    }

    /// The id by which others know this bridge.
    pub fn id(&self) -> String {
        self.id.clone()
    }

    /// What is carried, what is repeated, and what others have.
    pub fn report(&self) -> BridgeReport {
        BridgeReport {
            exports: on(&self.board.exports).values().map(|it| locked(it).clone()).collect(),
            imports: on(&self.board.imports).values().map(|it| locked(it).clone()).collect(),
            remote: on(&self.board.remote).iter().cloned().collect(),
            memory: self.budget.used(),
            memory_limit: self.budget.limit(),
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // Its threads, and those of the network, are in the process that this one was forked off:
            // there is nobody to tell, and what they had locked stays locked.
            std::mem::forget((self.here.take(), self.session.take()));
            return std::mem::forget((self.events.take(), self.thread.take()));
        }
        self.stop.store(true, Ordering::Relaxed);
        if let Some(events) = self.events.take() {
            let _ = events.send(Event::Stop);
        }
        // Whoever waits for the network is told that there is none any more.
        if let Some(session) = &self.session {
            let _ = session.close().wait();
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("id", &self.id()).finish_non_exhaustive()
    }
}

pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    let work = move || {
        tenure_memory::prepare_thread();
        work();
    };
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(Error::Thread)
}
