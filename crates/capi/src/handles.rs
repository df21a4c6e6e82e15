//! Which handles exist, for programs that are looked at: with `TENURE_CHECK_HANDLES=1` in the
//! environment every handle that C passes is looked up before it is used. One that was freed, is of
//! another kind or never was a handle is then an answer, and freeing it again does nothing.
//!
//! Without the variable nothing is looked up: a lookup takes a lock, and a pointer that C passes
//! on is the business of C. Tools that watch memory (AddressSanitizer, valgrind) see misuse of
//! handles only without it: memory of freed handles is kept for a while, so that no new handle
//! takes an old one's address.

use std::any::{TypeId, type_name};
use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use crate::failure::{Failure, Outcome};

/// The variable that asks for it.
const VARIABLE: &str = "TENURE_CHECK_HANDLES";
/// So many freed handles are remembered, and their addresses not used again.
const REMEMBERED: usize = 1 << 12;

/// What C has as an opaque pointer.
pub(crate) trait Handle: 'static {}

#[derive(Default)]
struct Handles {
    live: HashMap<usize, Kind>,
    /// The oldest first. Their memory goes with them.
    freed: VecDeque<(usize, Kind, Box<dyn Send>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kind {
    id: TypeId,
    name: &'static str,
}

impl Kind {
    fn of<T: Handle>() -> Kind {
        let name = type_name::<T>();
        Kind { id: TypeId::of::<T>(), name: name.rsplit("::").next().unwrap_or(name) }
    }
}

/// The table, if it was asked for.
fn table() -> Option<MutexGuard<'static, Handles>> {
    static TABLE: OnceLock<Option<Mutex<Handles>>> = OnceLock::new();
    let asked = || std::env::var_os(VARIABLE).is_some_and(|value| value == "1");
    let table = TABLE.get_or_init(|| asked().then(Mutex::default)).as_ref()?;
    Some(table.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Remembers a handle that is given out.
pub(crate) fn enter<T: Handle>(address: usize) {
    if let Some(mut table) = table() {
        table.live.insert(address, Kind::of::<T>());
    }
}

/// An error if it is known that this is no handle of that kind.
pub(crate) fn check<T: Handle>(address: usize, what: &'static str) -> Outcome {
    table().map_or(Ok(()), |table| table.check(address, Kind::of::<T>(), what))
}

/// As [`check`], for a handle that is given back: it is none from then on. `true` if the memory has
/// to be handed to [`bury`].
pub(crate) fn leave<T: Handle>(address: usize, what: &'static str) -> Outcome<bool> {
    let Some(mut table) = table() else { return Ok(false) };
    table.check(address, Kind::of::<T>(), what)?;
    table.live.remove(&address);
    Ok(true)
}

/// Keeps the memory of a handle that was given back, so that its address is not used again soon.
pub(crate) fn bury<T: Handle>(address: usize, memory: Box<dyn Send>) {
    let Some(mut table) = table() else { return };
    table.freed.push_back((address, Kind::of::<T>(), memory));
    let gone = if table.freed.len() > REMEMBERED { table.freed.pop_front() } else { None };
    drop(table);
    drop(gone);
}

impl Handles {
    fn check(&self, address: usize, kind: Kind, what: &'static str) -> Outcome {
        let wrong = match self.live.get(&address) {
            Some(live) if *live == kind => return Ok(()),
            Some(other) => format!("a {} and no {}", other.name, kind.name),
            None if self.freed.iter().any(|freed| freed.0 == address) => {
                format!("a {} that was freed", kind.name)
            }
            None => "no handle of this library".to_owned(),
        };
        Err(Failure::invalid(format!("{what} ({address:#x}) is {wrong}")))
    }
}
