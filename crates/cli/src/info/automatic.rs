//! Which memory a request takes that names none, now and on this machine.

use serde::Serialize;
use tenure::memory::{self, Error, Refusal, Request};

use super::memories::reason;

/// The automatic choice.
#[derive(Debug, Serialize)]
pub(super) struct Automatic {
    /// The memories that are tried, in order.
    pub(super) order: Vec<&'static str>,
    /// The memory that served; `null` if none did.
    pub(super) takes: Option<&'static str>,
    /// The memories that were tried before and refused.
    pub(super) refusals: Vec<Refused>,
}

/// A memory that refused.
#[derive(Debug, Serialize)]
pub(super) struct Refused {
    /// The memory.
    pub(super) name: &'static str,
    /// Why.
    pub(super) reason: String,
}

/// Makes the choice once, for a page.
pub(super) fn automatic() -> Automatic {
    let order = memory::automatic().iter().map(|memory| memory.name()).collect();
    let chosen = Request::new(4096).and_then(|request| memory::allocate(None, &request));
    let (takes, refusals) = match &chosen {
        Ok(raw) => (Some(raw.memory().name()), raw.refusals()),
        Err(Error::NoneServed(none)) => (None, none.refusals.as_slice()),
        Err(_) => (None, [].as_slice()),
    };
    Automatic { order, takes, refusals: refusals.iter().map(refused).collect() }
}

fn refused(refusal: &Refusal) -> Refused {
    Refused { name: refusal.memory.name(), reason: reason(&refusal.error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_comes_after_what_refused() {
        let choice = automatic();
        let before = choice.refusals.iter().map(|refused| refused.name);
        let tried: Vec<_> = before.chain(choice.takes).collect();
        assert!(choice.order.starts_with(&tried), "{choice:?}");
    }
}
