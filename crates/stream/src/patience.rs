//! How long somebody waits.

use std::time::{Duration, Instant};

/// A time to wait that is used up piece by piece.
#[derive(Debug)]
pub(crate) enum Patience {
    /// Not at all.
    Nothing,
    /// Without end.
    Endless,
    Until {
        at: Instant,
        /// All of it, while none is used.
        whole: Option<Duration>,
    },
}

impl Patience {
    pub(crate) fn new(timeout: Duration) -> Patience {
        if timeout.is_zero() {
            return Patience::Nothing;
        }
        match Instant::now().checked_add(timeout) {
            Some(at) => Patience::Until { at, whole: Some(timeout) },
            None => Patience::Endless,
        }
    }

    /// What is left of it, and all of it the first time: whoever waits with the same patience for
    /// every frame tells the kernel the same time, which it knows then. `None` is without end.
    pub(crate) fn left(&mut self) -> Option<Duration> {
        match self {
            Patience::Nothing => Some(Duration::ZERO),
            Patience::Endless => None,
            Patience::Until { at, whole } => {
                let left = || at.saturating_duration_since(Instant::now());
                Some(whole.take().unwrap_or_else(left))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_whole_once_and_less_afterwards() {
        let moment = Duration::from_millis(2);
        let mut patience = Patience::new(moment);
        assert_eq!(patience.left(), Some(moment));
        std::thread::sleep(moment);
        assert_eq!(patience.left(), Some(Duration::ZERO));
        let mut none = Patience::new(Duration::ZERO);
        assert_eq!([none.left(), none.left()], [Some(Duration::ZERO); 2]);
        let mut endless = Patience::new(Duration::MAX);
        assert_eq!([endless.left(), endless.left()], [None; 2]);
    }
}
