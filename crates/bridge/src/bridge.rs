//! The bridge: who is there, what is carried, and the threads that do it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tenure_stream::list_in;
use zenoh::key_expr::{OwnedKeyExpr, keyexpr};
use zenoh::pubsub::Subscriber;
use zenoh::sample::SampleKind;
use zenoh::{Session, Wait};

use crate::builder::Plan;
use crate::export::Export;
use crate::import::{Import, Inbox};
use crate::keys::{Token, host};
use crate::report::{BridgeReport, ExportReport, ImportReport, Remote};
use crate::session::{self, network};
use crate::{BridgeBuilder, Error, Result};

/// How often to look for new streams of this machine.
const LOOK: Duration = Duration::from_millis(250);
/// The most streams of others that are remembered, and repeated: whoever is in the network can
/// make up as many as it likes.
const MOST_REMOTE: usize = 4096;
const MOST_IMPORTS: usize = 256;

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
    session: Session,
    stop: Arc<AtomicBool>,
    board: Arc<Board>,
    thread: Option<JoinHandle<()>>,
}

/// What can be seen from outside.
#[derive(Debug, Default)]
struct Board {
    exports: Mutex<BTreeMap<String, Shown<ExportReport>>>,
    imports: Mutex<BTreeMap<String, Shown<ImportReport>>>,
    remote: Mutex<BTreeSet<Remote>>,
}

fn on<T>(board: &Mutex<T>) -> MutexGuard<'_, T> {
    board.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    /// A bridge with options.
    pub fn builder() -> BridgeBuilder {
        BridgeBuilder::default()
    }

    pub(crate) fn start(builder: &BridgeBuilder, plan: Plan) -> Result<Bridge> {
        let session = session::open(builder)?;
        let (heard, events) = channel();
        let all = plan.keys.all();
        let keys = plan.keys.clone();
        let own = session.zid().to_string();
        let hear = move |sample: zenoh::sample::Sample| {
            let Some(token) = keys.read(sample.key_expr().as_str()) else { return };
            if token.id != own {
                let there = sample.kind() == SampleKind::Put;
                // Nobody listens any more when the bridge ends.
                let _ = heard.send((token, there));
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
        let manager = Manager {
            id: session.zid().to_string(),
            session: session.clone(),
            plan: Arc::new(plan),
            stop: Arc::clone(&stop),
            board: Arc::clone(&board),
            exports: BTreeMap::new(),
            imports: BTreeMap::new(),
        };
        let thread = spawn("tenure-bridge", move || manager.run(&events))?;
        Ok(Bridge { session, stop, board, thread: Some(thread) })
    }

    /// The id by which others know this bridge.
    pub fn id(&self) -> String {
        self.session.zid().to_string()
    }

    /// What is carried, what is repeated, and what others have.
    pub fn report(&self) -> BridgeReport {
        BridgeReport {
            exports: on(&self.board.exports).values().map(|it| locked(it).clone()).collect(),
            imports: on(&self.board.imports).values().map(|it| locked(it).clone()).collect(),
            remote: on(&self.board.remote).iter().cloned().collect(),
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Whoever waits for the network is told that there is none any more.
        let _ = self.session.close().wait();
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

/// Starts and ends what carries single streams.
struct Manager {
    id: String,
    session: Session,
    plan: Arc<Plan>,
    stop: Arc<AtomicBool>,
    board: Arc<Board>,
    exports: BTreeMap<String, JoinHandle<()>>,
    imports: BTreeMap<String, Repeated>,
}

/// A stream that is repeated here.
struct Repeated {
    inbox: Arc<Inbox>,
    /// Bridges that have it, by their id.
    sources: BTreeMap<String, Token>,
    /// The one that is listened to, or was last.
    current: Option<(String, Subscriber<()>)>,
    thread: JoinHandle<()>,
}

impl Manager {
    fn run(mut self, events: &Receiver<(Token, bool)>) {
        let mut next = Instant::now();
        while !self.stop.load(Ordering::Relaxed) {
            if Instant::now() >= next {
                self.look();
                next = Instant::now() + LOOK;
            }
            match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok((token, true)) => self.came(token),
                Ok((token, false)) => self.went(&token),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
        }
        for repeated in self.imports.values() {
            repeated.inbox.stop();
        }
        let exports = std::mem::take(&mut self.exports).into_values();
        let imports = std::mem::take(&mut self.imports).into_values().map(|it| it.thread);
        for thread in exports.chain(imports) {
            let _ = thread.join();
        }
    }

    /// Streams of this machine that came and went.
    fn look(&mut self) {
        if self.plan.exports.is_empty() {
            return;
        }
        let gone: Vec<String> = self
            .exports
            .iter()
            .filter(|(_, thread)| thread.is_finished())
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.exports.remove(&name);
            on(&self.board.exports).remove(&name);
        }
        // A directory that cannot be read may be made by the first producer.
        for stream in list_in(&self.plan.directory).unwrap_or_default() {
            let wanted = stream.alive && matches(&self.plan.exports, &stream.name);
            if wanted && !self.exports.contains_key(&stream.name) {
                self.export(stream.name);
            }
        }
    }

    fn export(&mut self, name: String) {
        let shown = Arc::new(Mutex::new(Export::report(&name)));
        let export = Export {
            session: self.session.clone(),
            plan: Arc::clone(&self.plan),
            stop: Arc::clone(&self.stop),
            token: Token { id: self.id.clone(), host: host(), name: name.clone() },
            shown: Arc::clone(&shown),
        };
        // Without a thread it is tried again when streams are looked for again.
        if let Ok(thread) = spawn("tenure-export", move || export.run()) {
            on(&self.board.exports).insert(name.clone(), shown);
            self.exports.insert(name, thread);
        }
    }

    /// Another bridge has a stream.
    fn came(&mut self, token: Token) {
        let known = remote(&token);
        {
            let mut all = on(&self.board.remote);
            if all.len() >= MOST_REMOTE && !all.contains(&known) {
                return;
            }
            all.insert(known);
        }
        if !matches(&self.plan.imports, &token.name) {
            return;
        }
        let name = match &self.plan.under {
            Some(under) => format!("{under}/{}", token.name),
            None => token.name.clone(),
        };
        if !self.imports.contains_key(&name) {
            if self.imports.len() >= MOST_IMPORTS {
                return;
            }
            let Some(repeated) = self.import(&name, &token) else { return };
            self.imports.insert(name.clone(), repeated);
        }
        if let Some(repeated) = self.imports.get_mut(&name) {
            repeated.sources.insert(token.id.clone(), token);
            listen(&self.session, &self.plan, repeated);
        }
    }

    /// Another bridge does not have a stream any more, or cannot be reached.
    fn went(&mut self, token: &Token) {
        on(&self.board.remote).remove(&remote(token));
        let session = &self.session;
        for repeated in self.imports.values_mut() {
            let same = |it: &Token| it.name == token.name;
            if !repeated.sources.get(&token.id).is_some_and(same) {
                continue;
            }
            repeated.sources.remove(&token.id);
            listen(session, &self.plan, repeated);
        }
    }

    fn import(&self, name: &str, token: &Token) -> Option<Repeated> {
        let shown = Arc::new(Mutex::new(Import::report(name, &from(token))));
        let inbox = Arc::new(Inbox::new(Arc::clone(&shown)));
        let import = Import {
            name: name.to_owned(),
            directory: self.plan.directory.clone(),
            inbox: Arc::clone(&inbox),
            shown: Arc::clone(&shown),
        };
        let thread = spawn("tenure-import", move || import.run()).ok()?;
        on(&self.board.imports).insert(name.to_owned(), shown);
        Some(Repeated { inbox, sources: BTreeMap::new(), current: None, thread })
    }
}

/// Listens to a bridge that has the stream; says if there is none. Whoever was listened to last is
/// listened to until there is another: that the stream has ended may come after that it is gone.
fn listen(session: &Session, plan: &Plan, repeated: &mut Repeated) {
    if let Some((id, _)) = &repeated.current
        && let Some(token) = repeated.sources.get(id)
    {
        return repeated.inbox.set_source(Some(from(token)));
    }
    for (id, token) in &repeated.sources {
        let inbox = Arc::clone(&repeated.inbox);
        let subscriber = session
            .declare_subscriber(plan.keys.frames(id, &token.name))
            .callback(move |sample| inbox.lay(&sample))
            .wait();
        if let Ok(subscriber) = subscriber {
            repeated.current = Some((id.clone(), subscriber));
            return repeated.inbox.set_source(Some(from(token)));
        }
    }
    repeated.inbox.set_source(None);
}

fn remote(token: &Token) -> Remote {
    let Token { id, host, name } = token.clone();
    Remote { name, host, bridge: id }
}

fn from(token: &Token) -> String {
    format!("{}:{}", token.host, token.name)
}

fn matches(patterns: &[OwnedKeyExpr], name: &str) -> bool {
    keyexpr::new(name).is_ok_and(|name| patterns.iter().any(|pattern| pattern.includes(name)))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(Error::Thread)
}
