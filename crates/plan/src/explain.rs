//! In words, why each buffer is where it is.

use std::fmt;

use crate::lifetimes::{Lifetimes, Reason, Tenant};
use crate::schedule::error::ScheduleError;
use crate::{BufferSpec, Schedule};

/// What a plan does with a buffer, and why. Its `Display` is a sentence's end: "is an input".
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It is placed.
    Planned(Tenant),
    /// It counts with the buffer that it is a view of, which is placed.
    Aliased {
        /// Index of the buffer that has the bytes.
        base: usize,
        /// That buffer's name.
        name: String,
    },
    /// It is not placed.
    Excluded {
        /// Why.
        reason: Reason,
        /// If it shares bytes with another that is not placed: that one's name, and why.
        with: Option<(String, &'static str)>,
    },
}

/// For each buffer of `schedule`, in order, whether it is planned, and if not, why.
///
/// ```
/// use tenure_plan::{BufferSpec, Schedule, Step, View, explain};
/// let view = View { buffer: 0, offset: 0 };
/// let schedule = Schedule {
///     buffers: vec![
///         BufferSpec { input: true, ..BufferSpec::new("x", 64) },
///         BufferSpec { view_of: Some(view), ..BufferSpec::new("flat", 64) },
///         BufferSpec::new("y", 64),
///     ],
///     steps: vec![Step::new("work", [1], [2])],
/// };
/// let why: Vec<String> = explain(&schedule)?.iter().map(|v| v.to_string()).collect();
/// assert_eq!(why[0], "is an input: it has its contents before the first step");
/// assert_eq!(why[1], "shares bytes with \"x\", which is an input");
/// assert_eq!(why[2], "is planned: 64 bytes at times 0..1 on device 0, lane compute");
/// # Ok::<(), tenure_plan::ScheduleError>(())
/// ```
///
/// # Errors
///
/// [`ScheduleError`], if the schedule makes no sense.
pub fn explain(schedule: &Schedule) -> Result<Vec<Verdict>, ScheduleError> {
    let lifetimes = Lifetimes::new(schedule)?;
    let name = |index: usize| schedule.buffers[index].name.clone();
    let verdict = |(buffer, spec): (usize, &BufferSpec)| match lifetimes.parts.of(buffer) {
        Ok((tenant, _)) => {
            let tenant = lifetimes.tenants[tenant as usize];
            match spec.view_of {
                None => Verdict::Planned(tenant),
                Some(_) => Verdict::Aliased { base: tenant.buffer, name: name(tenant.buffer) },
            }
        }
        Err(reason) => {
            let with = match reason {
                Reason::Aliased(other) => match lifetimes.parts.of(other) {
                    Err(why) => Some((name(other), why.phrase())),
                    Ok(_) => None,
                },
                _ => None,
            };
            Verdict::Excluded { reason, with }
        }
    };
    Ok(schedule.buffers.iter().enumerate().map(verdict).collect())
}

impl Reason {
    /// A few words: "is an input".
    pub const fn phrase(self) -> &'static str {
        match self {
            Reason::Input => "is an input",
            Reason::Output => "is an output",
            Reason::Allocated => "is allocated already",
            Reason::Partial => "is partially written",
            Reason::Disk => "is on disk",
            Reason::NeverUsed => "is never used",
            Reason::Disabled => "has memory of its own",
            Reason::Aliased(_) => "shares bytes with a buffer that is not planned",
        }
    }

    const fn because(self) -> &'static str {
        match self {
            Reason::Input => "it has its contents before the first step",
            Reason::Output => "it is looked at after the last step",
            Reason::Allocated => "it has memory of its own",
            Reason::Partial => "bytes of it are read that no step has written",
            Reason::Disk => "its bytes are a file's",
            Reason::NeverUsed => "no step touches it",
            Reason::Disabled => "the planner is disabled",
            Reason::Aliased(_) => "they stay together",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.phrase(), self.because())
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Planned(tenant) => {
                let Tenant { bytes, lower, upper, key, .. } = tenant;
                write!(f, "is planned: {bytes} bytes at times {lower}..{upper} ")?;
                write!(f, "on device {}, lane {}", key.device, key.lane)
            }
            Verdict::Aliased { name, .. } => write!(f, "is a view and counts with {name:?}"),
            Verdict::Excluded { with: Some((name, why)), .. } => {
                write!(f, "shares bytes with {name:?}, which {why}")
            }
            Verdict::Excluded { reason, with: None } => reason.fmt(f),
        }
    }
}
