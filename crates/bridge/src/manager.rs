//! Who has which streams, here and elsewhere; starts and ends what carries single streams.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tenure_stream::list_in;
use zenoh::key_expr::{OwnedKeyExpr, keyexpr};
use zenoh::pubsub::Subscriber;
use zenoh::{Session, Wait};

use crate::bridge::{Board, Shown, locked, on, spawn};
use crate::builder::Plan;
use crate::export::Export;
use crate::import::{Import, Inbox};
use crate::keys::{Said, Token, host};
use crate::report::{ExportState, ImportReport, ImportState, Remote};
use crate::signal::Signal;
use crate::watch::Watch;

/// How often to look at streams of this machine while something happens there.
const LOOK: Duration = Duration::from_millis(250);
/// How long something happens after the directory told of it: producers begin and end in several
/// steps.
const LIVELY: Duration = Duration::from_secs(2);
/// How often to look at other times, for what the directory did not tell.
const SWEEP: Duration = Duration::from_secs(5);
/// How long a bridge that is there has to say that it still has a stream.
const SETTLE: Duration = Duration::from_secs(3);
/// The most bridges and streams of others that are remembered, and repeated: whoever is in the
/// network can make up as many as it likes.
const MOST_BRIDGES: usize = 1024;
const MOST_REMOTE: usize = 4096;
const MOST_IMPORTS: usize = 256;
/// The most reports of streams of this machine and of others, those that have ended among them.
const MOST_EXPORTS: usize = 1024;
const MOST_REPORTS: usize = 1024;

/// What a bridge is told.
pub(crate) enum Event {
    /// What others say: `true` if it is so, `false` if it is not any more.
    Said(Said, bool),
    /// Streams of this machine may have come or gone.
    Changed,
    /// It ends.
    Stop,
}

/// Starts and ends what carries single streams.
pub(crate) struct Manager {
    id: String,
    session: Session,
    plan: Arc<Plan>,
    stop: Arc<AtomicBool>,
    board: Arc<Board>,
    /// `None` if streams of this machine have to be looked for.
    watch: Option<Watch>,
    exports: BTreeMap<String, Exported>,
    imports: BTreeMap<String, Repeated>,
    /// Streams that would be repeated if fewer were.
    waiting: BTreeSet<Token>,
    /// Bridges that are there, by their id, and since when.
    bridges: BTreeMap<String, Instant>,
}

/// A stream of this machine that others may have.
struct Exported {
    thread: JoinHandle<()>,
    /// Raised to have it look at its stream.
    look: Arc<Signal>,
}

/// A stream that is repeated here.
struct Repeated {
    inbox: Arc<Inbox>,
    /// Bridges that have it, by their id.
    sources: BTreeMap<String, Token>,
    /// Since when there is none of them.
    alone: Option<Instant>,
    /// The one that is listened to, or was last.
    current: Option<(String, Subscriber<()>)>,
    thread: JoinHandle<()>,
}

impl Manager {
    pub(crate) fn new(
        session: &Session,
        plan: Plan,
        watch: Option<Watch>,
        stop: &Arc<AtomicBool>,
        board: &Arc<Board>,
    ) -> Manager {
        Manager {
            id: session.zid().to_string(),
            session: session.clone(),
            plan: Arc::new(plan),
            stop: Arc::clone(stop),
            board: Arc::clone(board),
            watch,
            exports: BTreeMap::new(),
            imports: BTreeMap::new(),
            waiting: BTreeSet::new(),
            bridges: BTreeMap::new(),
        }
    }

    /// Works until the bridge ends.
    pub(crate) fn run(mut self, events: &Receiver<Event>) {
        let mut last = None::<Instant>;
        let mut lively = Instant::now() + LIVELY;
        while !self.stop.load(Ordering::Relaxed) {
            let now = Instant::now();
            let every = if now < lively || self.must_look() { LOOK } else { SWEEP };
            let next = last.map_or(now, |last| last + every);
            if now >= next {
                self.look();
                self.end_what_is_gone();
                last = Some(now);
                continue;
            }
            match events.recv_timeout(next - now) {
                Ok(Event::Said(said, so)) => self.hear(said, so),
                Ok(Event::Changed) => {
                    // At once, whether it was looked a moment ago or not.
                    last = None;
                    lively = Instant::now() + LIVELY;
                    self.exports.values().for_each(|export| export.look.raise());
                }
                Ok(Event::Stop) => break,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(LOOK),
            }
        }
        self.exports.values().for_each(|export| export.look.raise());
        for repeated in self.imports.values() {
            repeated.inbox.stop();
        }
        let exports = std::mem::take(&mut self.exports).into_values().map(|it| it.thread);
        let imports = std::mem::take(&mut self.imports).into_values().map(|it| it.thread);
        for thread in exports.chain(imports) {
            let _ = thread.join();
        }
    }

    fn hear(&mut self, said: Said, so: bool) {
        match (said, so) {
            (Said::Stream(token), true) => self.came(token),
            (Said::Stream(token), false) => self.went(&token),
            (Said::Bridge(id), true) if self.bridges.len() < MOST_BRIDGES => {
                self.bridges.entry(id).or_insert_with(Instant::now);
            }
            (Said::Bridge(_), true) => {}
            (Said::Bridge(id), false) => {
                self.bridges.remove(&id);
            }
        }
    }

    /// Whether something has to be noticed that nobody tells: streams of this machine, and that
    /// what is repeated here, or would be, has been alone for too long.
    fn must_look(&self) -> bool {
        let alone = |it: &Repeated| it.alone.is_some();
        (self.watch.is_none() && !self.plan.exports.is_empty()) || self.imports.values().any(alone)
    }

    /// Streams of this machine that came and went.
    fn look(&mut self) {
        if self.plan.exports.is_empty() {
            return;
        }
        let mut reports = on(&self.board.exports);
        self.exports.retain(|name, export| {
            let gone = export.thread.is_finished();
            if let Some(report) = reports.get(name).filter(|_| gone) {
                locked(report).state = ExportState::Ended;
            }
            !gone
        });
        if reports.len() >= MOST_EXPORTS {
            reports.retain(|name, _| self.exports.contains_key(name));
        }
        drop(reports);
        // A directory that cannot be read may be made by the first producer.
        let streams = list_in(&self.plan.directory).unwrap_or_default();
        let names = streams.into_iter().filter(|stream| stream.alive).map(|stream| stream.name);
        let there: BTreeSet<String> =
            names.filter(|name| matches(&self.plan.exports, name)).collect();
        let gone = self.exports.iter().filter(|(name, _)| !there.contains(*name));
        gone.for_each(|(_, export)| export.look.raise());
        for name in there {
            if !self.exports.contains_key(&name) {
                self.export(name);
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
            look: Arc::default(),
        };
        let look = Arc::clone(&export.look);
        // Without a thread it is tried again when streams are looked for again.
        if let Ok(thread) = spawn("tenure-export", move || export.run()) {
            on(&self.board.exports).insert(name.clone(), shown);
            self.exports.insert(name, Exported { thread, look });
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
            if self.imports.len() >= MOST_IMPORTS && !self.forget_one() {
                self.waiting.insert(token);
                return;
            }
            let Some(repeated) = self.import(&name, &token) else { return };
            self.imports.insert(name.clone(), repeated);
        }
        if let Some(repeated) = self.imports.get_mut(&name) {
            repeated.sources.insert(token.id.clone(), token);
            repeated.alone = None;
            listen(&self.session, &self.plan, repeated);
        }
    }

    /// Another bridge does not have a stream any more, or cannot be reached.
    fn went(&mut self, token: &Token) {
        on(&self.board.remote).remove(&remote(token));
        for repeated in self.imports.values_mut() {
            let same = |it: &Token| it.name == token.name;
            if !repeated.sources.get(&token.id).is_some_and(same) {
                continue;
            }
            repeated.sources.remove(&token.id);
            if repeated.sources.is_empty() {
                repeated.alone = Some(Instant::now());
            }
            listen(&self.session, &self.plan, repeated);
        }
        self.waiting.remove(token);
        if let Some(next) = self.waiting.pop_first() {
            self.came(next);
        }
    }

    /// Ends what is repeated here and gone there: the bridge that it came from is there, and does not
    /// have it (that the producer has ended is said in a packet, which is lost if the link is cut just
    /// then), or it has not come back for so long that nobody waits for it any more. What never became
    /// a stream, or has ended, is forgotten with its thread.
    fn end_what_is_gone(&mut self) {
        let over = |it: &Repeated| {
            !it.inbox.has_stream() && it.alone.is_some_and(|alone| alone.elapsed() >= SETTLE)
        };
        let gone = self.imports.iter().filter(|(_, it)| over(it)).map(|(name, _)| name.clone());
        for name in gone.collect::<Vec<_>>() {
            self.forget(&name);
            if let Some(next) = self.waiting.pop_first() {
                self.came(next);
            }
        }
        for repeated in self.imports.values() {
            let (Some(alone), Some((id, _))) = (repeated.alone, &repeated.current) else {
                continue;
            };
            if !repeated.inbox.has_stream() {
                continue;
            }
            match self.bridges.get(id) {
                Some(there) if alone.max(*there).elapsed() >= SETTLE => repeated.inbox.end(None),
                None if alone.elapsed() >= self.plan.give_up => {
                    repeated.inbox.end(Some(self.plan.give_up));
                }
                _ => {}
            }
        }
    }

    /// Makes room for another stream: ends one that nobody has any more, best one that is not there
    /// now; `false` if all are had by somebody.
    fn forget_one(&mut self) -> bool {
        let alone = self.imports.iter().filter_map(|(name, it)| Some((it.alone?, name, it)));
        let oldest = alone.min_by_key(|(since, _, it)| (it.inbox.has_stream(), *since));
        let Some(name) = oldest.map(|(_, name, _)| name.clone()) else { return false };
        self.forget(&name);
        true
    }

    /// Ends what repeats a stream. Its report stays if there was something to report.
    fn forget(&mut self, name: &str) {
        let Some(repeated) = self.imports.remove(name) else { return };
        let Repeated { inbox, current, thread, .. } = repeated;
        // Nothing comes in any more; then it is ended.
        drop(current);
        inbox.stop();
        let _ = thread.join();
        let mut reports = on(&self.board.imports);
        let empty = |shown: &Shown<ImportReport>| {
            let shown = locked(shown);
            shown.received == 0 && shown.refused == 0 && shown.problem.is_none()
        };
        if reports.get(name).is_some_and(empty) || reports.len() > MOST_REPORTS {
            reports.remove(name);
        } else if let Some(shown) = reports.get(name) {
            let mut shown = locked(shown);
            if shown.state != ImportState::Refused {
                shown.state = ImportState::Ended;
            }
        }
    }

    fn import(&self, name: &str, token: &Token) -> Option<Repeated> {
        // One that was here before goes on counting.
        let known = on(&self.board.imports).get(name).cloned();
        let shown =
            known.unwrap_or_else(|| Arc::new(Mutex::new(Import::report(name, &from(token)))));
        locked(&shown).state = ImportState::Waiting;
        let budget = &self.plan.budget;
        let inbox = Arc::new(Inbox::new(Arc::clone(&shown), Arc::clone(budget)));
        let import = Import {
            name: name.to_owned(),
            directory: self.plan.directory.clone(),
            inbox: Arc::clone(&inbox),
            shown: Arc::clone(&shown),
            share: budget.share(),
            came: 0,
        };
        let thread = spawn("tenure-import", move || import.run()).ok()?;
        on(&self.board.imports).insert(name.to_owned(), shown);
        Some(Repeated { inbox, sources: BTreeMap::new(), alone: None, current: None, thread })
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
