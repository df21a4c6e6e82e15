//! Copies that were begun and not waited for. What Python sees of memory are addresses, which the
//! ledger keeps nobody from; so whoever is about to get one waits here for the copies of its bytes.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use tenure::TensorDyn;
use tenure::memory::Fence;

use crate::fail::Answer;

/// How long Python's signals wait while nothing is done.
const PATIENCE: Duration = Duration::from_millis(100);

/// Bytes of an allocation, by its identity.
type Bytes = (u64, Range<usize>);

struct Begun {
    written: Vec<Bytes>,
    read: Vec<Bytes>,
    fence: Arc<Fence>,
    /// Whose copy it is: in a process that was forked off nobody does it.
    process: u32,
}

static BEGUN: Mutex<Vec<Begun>> = Mutex::new(vec![]);
/// How many those are, for a look without the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Those that are still under way.
fn begun() -> MutexGuard<'static, Vec<Begun>> {
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    let here = std::process::id();
    // One that failed stays until somebody is told.
    begun.retain(|copy| copy.process == here && !copy.fence.is_done().unwrap_or(false));
    COUNT.store(begun.len(), Ordering::Release);
    begun
}

/// The bytes of a tensor, of all of its planes.
fn bytes(tensor: &TensorDyn) -> Answer<Vec<Bytes>> {
    let of = |tensor: &TensorDyn| -> Answer<Bytes> {
        let buffer = tensor.buffer();
        let range = buffer.range_in_raw(tensor.layout().span())?;
        Ok((buffer.raw()?.identity().id(), range))
    };
    match tensor.is_multi_buffer() {
        false => Ok(vec![of(tensor)?]),
        true => (0..tensor.plane_count()).map(|plane| of(&tensor.plane(plane)?)).collect(),
    }
}

/// Remembers copies that were begun, of pairs (to, from).
pub(crate) fn remember(pairs: &[(TensorDyn, TensorDyn)], fence: &Arc<Fence>) -> Answer<()> {
    if fence.is_done().unwrap_or(false) {
        return Ok(());
    }
    let (fence, process) = (Arc::clone(fence), std::process::id());
    let mut copy = Begun { written: vec![], read: vec![], fence, process };
    for (to, from) in pairs {
        copy.written.extend(bytes(to)?);
        copy.read.extend(bytes(from)?);
    }
    let mut begun = begun();
    begun.push(copy);
    COUNT.store(begun.len(), Ordering::Release);
    Ok(())
}

/// Waits, at most so long, for copies that write bytes of the tensor, and, for whoever `writes`
/// himself, for those that read them.
pub(crate) fn settle(
    py: Python<'_>,
    tensor: &TensorDyn,
    writes: bool,
    timeout: Option<Duration>,
) -> Answer<()> {
    if COUNT.load(Ordering::Acquire) == 0 {
        return Ok(());
    }
    let wanted = bytes(tensor)?;
    let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    while let Some(fence) = in_the_way(&wanted, writes) {
        match wait(py, &fence, deadline) {
            Ok(true) => {}
            Ok(false) => {
                let message = "a copy of these bytes is under way: wait for its fence, or map with \
                               a longer timeout";
                return Err(PyBufferError::new_err(message).into());
            }
            Err(fail) => {
                // A copy that failed is told once; Ctrl-C leaves it as it is.
                if fence.is_done().is_err() {
                    begun().retain(|copy| !Arc::ptr_eq(&copy.fence, &fence));
                }
                return Err(fail);
            }
        }
    }
    Ok(())
}

/// One copy that must end first.
fn in_the_way(wanted: &[Bytes], writes: bool) -> Option<Arc<Fence>> {
    let touches = |bytes: &[Bytes]| {
        bytes.iter().any(|(identity, range)| {
            wanted.iter().any(|(id, part)| {
                id == identity && range.start.max(part.start) < range.end.min(part.end)
            })
        })
    };
    let clash = |copy: &&Begun| touches(&copy.written) || writes && touches(&copy.read);
    begun().iter().find(clash).map(|copy| Arc::clone(&copy.fence))
}

/// Waits until the work is done, the time is over, or somebody presses Ctrl-C.
pub(crate) fn wait(py: Python<'_>, fence: &Fence, deadline: Option<Instant>) -> Answer<bool> {
    loop {
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let now = left.map_or(PATIENCE, |left| left.min(PATIENCE));
        if py.detach(|| fence.wait(Some(now)))? {
            return Ok(true);
        }
        if left.is_some_and(|left| left <= PATIENCE) {
            return Ok(false);
        }
        py.check_signals()?;
    }
}
