//! Work without the interpreter's lock, and never in the middle of a fork.
//!
//! A child process has one thread. A lock of the library that another thread held when the process
//! was forked stays locked in the child for ever. So whoever forks (`os.fork`, `multiprocessing`)
//! waits here until no thread is inside, and lets nobody in before the fork is done. Work that
//! holds no lock and may take long (waiting for a message, planning) stays outside.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;

#[derive(Debug)]
struct Inside {
    /// Threads that are inside.
    threads: usize,
    /// Forks that are about to happen.
    forks: usize,
}

static INSIDE: Mutex<Inside> = Mutex::new(Inside { threads: 0, forks: 0 });
/// Rung when one of the numbers becomes less.
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// How often this thread is inside: work may call Python, and that the library again.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

fn inside() -> MutexGuard<'static, Inside> {
    INSIDE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// This thread, inside until it is dropped.
struct Entered;

impl Entered {
    fn new() -> Entered {
        if DEPTH.get() == 0 {
            let mut now = inside();
            while now.forks > 0 {
                now = CHANGED.wait(now).unwrap_or_else(PoisonError::into_inner);
            }
            now.threads += 1;
        }
        DEPTH.set(DEPTH.get() + 1);
        Entered
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get().saturating_sub(1));
        if DEPTH.get() == 0 {
            let mut now = inside();
            now.threads = now.threads.saturating_sub(1);
            CHANGED.notify_all();
        }
    }
}

/// Runs `work` without the interpreter's lock, while nobody forks.
pub(crate) fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(|| {
        let _entered = Entered::new();
        work()
    })
}

/// Waits until no other thread is inside, and keeps them out.
#[pyfunction]
fn before_fork(py: Python<'_>) {
    // What is inside may need the interpreter's lock to come out.
    py.detach(|| {
        let own = usize::from(DEPTH.get() > 0);
        let mut now = inside();
        now.forks += 1;
        while now.threads > own {
            now = CHANGED.wait(now).unwrap_or_else(PoisonError::into_inner);
        }
    });
}

#[pyfunction]
fn after_fork() {
    let mut now = inside();
    now.forks = now.forks.saturating_sub(1);
    CHANGED.notify_all();
}

/// Other threads that were about to fork are not in the child.
#[pyfunction]
fn after_fork_in_child() {
    let mut now = inside();
    (now.threads, now.forks) = (usize::from(DEPTH.get() > 0), 0);
}

/// Tells Python whom to call when it forks. In a subinterpreter that may not fork there is nothing
/// to tell.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? else { return Ok(()) };
    let hooks = PyDict::new(py);
    hooks.set_item("before", wrap_pyfunction!(before_fork, module)?)?;
    hooks.set_item("after_in_parent", wrap_pyfunction!(after_fork, module)?)?;
    hooks.set_item("after_in_child", wrap_pyfunction!(after_fork_in_child, module)?)?;
    register.call((), Some(&hooks))?;
    Ok(())
}
