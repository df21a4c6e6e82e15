//! Sizes that depend on one number, such as a batch or a sequence length.
//!
//! Sizes never fall as the number grows, and lifetimes do not depend on it. So a plan for the
//! largest number holds for all smaller ones. Only what makes lanes wait for each other may be
//! less for a smaller number, where buffers become empty and views no longer overlap: the plan
//! relies on none of that.

use serde::{Deserialize, Serialize};

use crate::lifetimes::Lifetimes;
use crate::make::plan_lifetimes;
use crate::plan::{Placement, Plan, PlanError};
use crate::schedule::error::ScheduleError;
use crate::{Options, Packer, PlannerMode, Schedule};

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Bytes {
    /// Always the same: the size itself, or what it will not exceed.
    Fixed(u64),
    /// `base + per × n`.
    Affine {
        /// For `n` = 0.
        base: u64,
        /// For each one more.
        per: u64,
    },
}

/// A schedule whose sizes depend on a number `n`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dynamic {
    /// The buffers and steps. Sizes and offsets of views that are given below count instead of
    /// those in here.
    pub schedule: Schedule,
    /// What the number is called.
    pub variable: String,
    /// The smallest number there will be.
    #[serde(default)]
    pub min: u64,
    /// The largest number there will be.
    pub max: u64,
    /// Sizes of some buffers, by index.
    #[serde(default)]
    pub bytes: Vec<(usize, Bytes)>,
    /// Offsets of some views, by the view's index.
    #[serde(default)]
    pub offsets: Vec<(usize, Bytes)>,
}

/// Why there is no schedule for a number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SizeError {
    /// The number is not one that was planned for.
    #[error("{variable} is {n}, but {min} to {max} were announced")]
    OutOfRange {
        /// What the number is called.
        variable: String,
        /// The number.
        n: u64,
        /// The smallest number.
        min: u64,
        /// The largest number.
        max: u64,
    },
    /// A size cannot be written as a number.
    #[error("buffer {buffer:?} has {base} + {per} × {n} bytes, which is more than there are")]
    Overflow {
        /// Name of the buffer.
        buffer: String,
        /// Bytes for 0.
        base: u64,
        /// Bytes for each one more.
        per: u64,
        /// The number.
        n: u64,
    },
    /// A size is given for a buffer that does not exist, or an offset for one that is no view.
    #[error("buffer {buffer} has a size or an offset, but is no buffer or no view")]
    NoSuchBuffer {
        /// The index that is named.
        buffer: usize,
    },
    /// The schedule of that number makes no sense.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// There is no plan for it.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Bytes {
    /// The bytes for `n`, if that is a number.
    pub fn at(self, n: u64) -> Option<u64> {
        match self {
            Bytes::Fixed(bytes) => Some(bytes),
            Bytes::Affine { base, per } => per.checked_mul(n)?.checked_add(base),
        }
    }
}

impl Dynamic {
    /// The schedule for `n`.
    ///
    /// ```
    /// use tenure_plan::{BufferSpec, Bytes, Dynamic, Schedule, Step};
    /// let schedule = Schedule {
    ///     buffers: vec![BufferSpec::new("hidden", 0)],
    ///     steps: vec![Step::new("work", [], [0])],
    /// };
    /// let bytes = vec![(0, Bytes::Affine { base: 64, per: 4096 })];
    /// let variable = "batch".to_owned();
    /// let dynamic = Dynamic { schedule, variable, min: 1, max: 8, bytes, offsets: vec![] };
    /// assert_eq!(dynamic.at(2)?.buffers[0].bytes, 64 + 2 * 4096);
    /// assert!(dynamic.at(9).is_err());
    /// # Ok::<(), tenure_plan::SizeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SizeError`], if `n` is too large or the schedule for it makes no sense.
    pub fn at(&self, n: u64) -> Result<Schedule, SizeError> {
        if n < self.min || n > self.max {
            let (min, max, variable) = (self.min, self.max, self.variable.clone());
            return Err(SizeError::OutOfRange { variable, n, min, max });
        }
        let mut schedule = self.schedule.clone();
        let all = self.bytes.iter().map(|entry| (entry, true));
        for (&(buffer, bytes), is_size) in all.chain(self.offsets.iter().map(|e| (e, false))) {
            let none = SizeError::NoSuchBuffer { buffer };
            let Some(spec) = schedule.buffers.get_mut(buffer) else { return Err(none) };
            let value = bytes.at(n).ok_or_else(|| {
                let (base, per) = match bytes {
                    Bytes::Fixed(base) => (base, 0),
                    Bytes::Affine { base, per } => (base, per),
                };
                SizeError::Overflow { buffer: spec.name.clone(), base, per, n }
            })?;
            match (is_size, &mut spec.view_of) {
                (true, _) => spec.bytes = value,
                (false, Some(view)) => view.offset = value,
                (false, None) => return Err(none),
            }
        }
        schedule.validate()?;
        Ok(schedule)
    }

    /// A plan for the largest number, which holds for all others: see [`Dynamic::plan_at`].
    ///
    /// # Errors
    ///
    /// [`SizeError`], if there is no schedule for the largest number.
    pub fn plan(
        &self,
        mode: PlannerMode,
        packer: Packer,
        options: &Options<'_>,
    ) -> Result<Plan, SizeError> {
        let largest = self.at(self.max)?;
        let certain: Vec<bool> =
            self.at(self.min)?.buffers.iter().map(|spec| spec.bytes > 0).collect();
        let lifetimes = Lifetimes::with(&largest, false, Some(&certain))?;
        Ok(plan_lifetimes(&largest, lifetimes, mode, packer, options)?)
    }

    /// The plan of the largest number, as it is for `n`: arenas and buffers stay where they are,
    /// views move with their offsets. What is proven of its size is proven for the largest number.
    ///
    /// # Errors
    ///
    /// [`SizeError`], if there is no schedule for `n`.
    pub fn plan_at(&self, n: u64, largest: &Plan) -> Result<Plan, SizeError> {
        let schedule = self.at(n)?;
        let groups = schedule.groups()?;
        let mut made = largest.clone();
        for (buffer, placement) in made.placements.iter_mut().enumerate().take(groups.root.len()) {
            if let Placement::At { offset, .. } = placement
                && let Some((_, start)) = largest.place(groups.root(buffer))
            {
                *offset = start + groups.offset[buffer];
            }
        }
        Ok(made)
    }
}

impl SizeError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
