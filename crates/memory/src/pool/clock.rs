//! The time since which buffers are kept, told cheaply.
//!
//! Every buffer that comes back is dated, but hardly anybody asks. So the date is the kernel's last
//! tick, which is read without asking the processor's counter, and who asks how long a buffer was
//! idle takes what the tick may be late by off the answer.
#![cfg_attr(linux_like, expect(unsafe_code, reason = "asks the C library for the time"))]

use std::time::Duration;

/// A time that has passed, at most [`Tick::late`] ago when it was taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tick(Duration);

/// By the C library: reading the clock is no system call there, also under Valgrind.
#[cfg(linux_like)]
mod system {
    use std::mem::MaybeUninit;
    use std::time::Duration;

    type Ask = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> libc::c_int;

    fn ask(call: Ask, clock: libc::clockid_t) -> Duration {
        let mut time = MaybeUninit::<libc::timespec>::zeroed();
        // SAFETY: both calls write a time to the address, which is valid for one, or nothing; zeros
        // are a time too.
        let time = unsafe {
            call(clock, time.as_mut_ptr());
            time.assume_init()
        };
        let (seconds, nanoseconds) = (time.tv_sec.try_into(), time.tv_nsec.try_into());
        Duration::new(seconds.unwrap_or(0), nanoseconds.unwrap_or(0))
    }

    pub(super) fn tick() -> Duration {
        ask(libc::clock_gettime, libc::CLOCK_MONOTONIC_COARSE)
    }

    pub(super) fn now() -> Duration {
        ask(libc::clock_gettime, libc::CLOCK_MONOTONIC)
    }

    pub(super) fn late() -> Duration {
        ask(libc::clock_getres, libc::CLOCK_MONOTONIC_COARSE)
    }
}

/// Elsewhere the clock is precise.
#[cfg(not(linux_like))]
mod system {
    use std::sync::OnceLock;
    use std::time::{Duration, Instant};

    pub(super) fn now() -> Duration {
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }

    pub(super) use now as tick;

    pub(super) fn late() -> Duration {
        Duration::ZERO
    }
}

impl Tick {
    pub(super) fn now() -> Tick {
        Tick(system::tick())
    }

    /// Whether at least `time` has passed before `now`, beyond doubt. The kernel may be late with a
    /// tick once more when the processor was busy.
    pub(super) fn is_ago(self, time: Duration, now: Now) -> bool {
        now.0.saturating_sub(self.0).saturating_sub(now.1) >= time
    }
}

/// A precise time, and how late ticks may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now(Duration, Duration);

impl Now {
    pub(super) fn get() -> Now {
        Now(system::now(), system::late() * 2)
    }
}

#[cfg(test)]
#[cfg(not(loom))]
mod tests {
    use super::*;

    #[test]
    fn what_was_just_dated_was_not_long_ago() {
        let tick = Tick::now();
        assert!(tick.is_ago(Duration::ZERO, Now::get()));
        let waited = Duration::from_millis(if cfg!(miri) { 1 } else { 40 });
        assert!(!Tick::now().is_ago(Duration::from_secs(60), Now::get()));
        std::thread::sleep(waited);
        assert!(tick.is_ago(waited / 2, Now::get()), "ticks are at most 10 ms apart");
        // Both clocks are one: a tick is in the past.
        assert!(system::tick() <= system::now());
    }
}
