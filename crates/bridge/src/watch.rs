//! Notices when streams of this machine come, go or change hands, without asking them.
//!
//! A producer puts its socket into the directory when it begins, takes it away when it ends, and has
//! its lock open for writing in between, which the kernel closes if it is killed: the directory tells
//! of all three.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tenure_memory::backend::Process;

use crate::bridge::spawn;

/// How often to look for a directory that is not there.
const NO_DIRECTORY: Duration = Duration::from_secs(1);

/// Watches a directory until it is dropped.
pub(crate) struct Watch {
    over: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
    process: Process,
}

impl Watch {
    /// Calls `changed` whenever a stream of the directory may have come or gone. `None` if the
    /// system has no more watches to give.
    pub(crate) fn start(directory: &Path, changed: impl Fn() + Send + 'static) -> Option<Watch> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let over = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok()?;
        let over = Arc::new(over);
        let watching =
            Watching { directory: directory.to_owned(), inotify, over: Arc::clone(&over) };
        let thread = spawn("tenure-watch", move || watching.run(&changed)).ok()?;
        Some(Watch { over, thread: Some(thread), process: Process::current() })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // The thread is in the process that this one was forked off, and goes on there.
            return std::mem::forget(self.thread.take());
        }
        let _ = rustix::io::write(&*self.over, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Watching {
    directory: PathBuf,
    inotify: OwnedFd,
    over: Arc<OwnedFd>,
}

impl Watching {
    fn run(&self, changed: &impl Fn()) {
        let mut there = self.watch();
        if there {
            // What happened before was not told.
            changed();
        }
        while let Some(told) = self.wait(if there { None } else { Some(NO_DIRECTORY) }) {
            let before = there;
            // It may be another directory of the same name.
            there = self.watch();
            if told || there != before {
                changed();
            }
        }
    }

    /// Whether the directory is watched; watching it twice is watching it once.
    fn watch(&self) -> bool {
        let what = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::MOVED_FROM
            | WatchFlags::DELETE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF;
        inotify::add_watch(&self.inotify, &self.directory, what).is_ok()
    }

    /// Waits for the directory, at most so long; says whether it told something, or `None` if it is
    /// over.
    fn wait(&self, timeout: Option<Duration>) -> Option<bool> {
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        let mut fds =
            [PollFd::new(&self.inotify, PollFlags::IN), PollFd::new(&*self.over, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
        let [told, over] = fds.map(|fd| !fd.revents().is_empty());
        if over {
            return None;
        }
        // What it is does not matter: whoever is told looks for himself.
        let mut events = [0u8; 4096];
        while rustix::io::read(&self.inotify, &mut events).is_ok_and(|count| count > 0) {}
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    const SOON: Duration = Duration::from_secs(90);

    #[test]
    fn a_directory_that_comes_later_is_watched() {
        let place = tempfile::tempdir().unwrap();
        let directory = place.path().join("streams");
        let (sender, told) = channel();
        let watch = Watch::start(&directory, move || sender.send(()).unwrap()).unwrap();
        std::fs::create_dir(&directory).unwrap();
        told.recv_timeout(SOON).unwrap();
        let lock = std::fs::File::create(directory.join("lock")).unwrap();
        told.recv_timeout(SOON).unwrap();
        while told.recv_timeout(Duration::from_millis(100)).is_ok() {}
        // As if its producer was killed.
        drop(lock);
        told.recv_timeout(SOON).unwrap();
        drop(watch);
        assert!(told.into_iter().count() < 10);
    }
}
