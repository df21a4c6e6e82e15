//! What can be wrong with a schedule.

/// Why a [`Schedule`](crate::Schedule) makes no sense. Each variant names what it is about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// More buffers, steps or touches than can be numbered.
    #[error("{count} {what} are more than the {max} that a schedule can have", max = MAX_COUNT)]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        count: usize,
    },

    /// Steps run on more queues than can be kept in order.
    #[error("step {step:?} runs on lane {lanes} of the schedule; there can be {max}", max = MAX_LANES)]
    TooManyLanes {
        /// The step that is on one queue too many.
        step: String,
        /// How many queues there are up to that step.
        lanes: usize,
    },

    /// Two buffers have one name.
    #[error("buffers {first} and {second} are both named {name:?}; names must differ")]
    SameName {
        /// The name.
        name: String,
        /// Index of the first.
        first: usize,
        /// Index of the other.
        second: usize,
    },

    /// Alignments must be powers of two.
    #[error(
        "buffer {buffer:?} is aligned to {align}, which is not a power of two; 1 asks for nothing"
    )]
    Align {
        /// Name of the buffer.
        buffer: String,
        /// What was asked for, in bytes.
        align: u64,
    },

    /// The sizes of all buffers do not add up to a number.
    #[error("with buffer {buffer:?} of {bytes} bytes the sizes and alignments sum to over {max}", max = crate::MAX_TOTAL)]
    TooLarge {
        /// Name of the first buffer that is too much.
        buffer: String,
        /// Its size in bytes.
        bytes: u64,
    },

    /// A step touches a buffer that does not exist.
    #[error("step {step:?} touches buffer {buffer}, but there are {buffers} buffers, from 0")]
    NoSuchBuffer {
        /// Name of the step.
        step: String,
        /// The index that it names.
        buffer: usize,
        /// How many buffers there are.
        buffers: usize,
    },

    /// A buffer refers to one that does not exist.
    #[error("buffer {buffer:?} refers to buffer {other}, but there are {buffers} buffers, from 0")]
    NoSuchBase {
        /// Name of the buffer.
        buffer: String,
        /// The index that it names.
        other: usize,
        /// How many buffers there are.
        buffers: usize,
    },

    /// A view is, through others, a view of itself.
    #[error("buffer {buffer:?} is a view of itself by way of other views")]
    ViewCycle {
        /// Name of a buffer of the circle.
        buffer: String,
    },

    /// A view does not lie inside of its base.
    #[error(
        "view {view:?} has {bytes} bytes from {offset} on, but its base {base:?} has {base_bytes}"
    )]
    ViewOutside {
        /// Name of the view.
        view: String,
        /// Its size in bytes.
        bytes: u64,
        /// Where in the base it starts.
        offset: u64,
        /// Name of the base.
        base: String,
        /// The base's size in bytes.
        base_bytes: u64,
    },

    /// A view is said to be on another device than its base.
    #[error("view {view:?} is on device {device}, its base {base:?} on device {base_device}")]
    ViewDevice {
        /// Name of the view.
        view: String,
        /// The device of the view.
        device: u32,
        /// Name of the base.
        base: String,
        /// The device of the base.
        base_device: u32,
    },

    /// A step reads bytes that have no contents.
    #[error(
        "step {step:?} reads {buffer:?}, but no step has written all of it before; if it has contents it is an input, allocated, disk or partial"
    )]
    ReadBeforeWrite {
        /// Name of the step.
        step: String,
        /// Name of the buffer.
        buffer: String,
    },

    /// A step writes an input.
    #[error(
        "step {step:?} writes input {buffer:?}; a buffer with contents that steps change is allocated, not an input"
    )]
    WrittenInput {
        /// Name of the step.
        step: String,
        /// Name of the buffer.
        buffer: String,
    },

    /// Some steps have levels and this one has none, or the other way round.
    #[error("step {step:?} has {} level, the steps before have {}", if *.has { "a" } else { "no" }, if *.has { "none" } else { "one" })]
    MixedLevels {
        /// Name of the step.
        step: String,
        /// Whether it has a level.
        has: bool,
    },

    /// Levels fall.
    #[error("step {step:?} has level {level}, the step before has {before}; levels never fall")]
    LevelOrder {
        /// Name of the step.
        step: String,
        /// Its level.
        level: u32,
        /// The level of the step before.
        before: u32,
    },

    /// Steps that run at the same time touch the same bytes.
    #[error(
        "steps {first:?} and {second:?} run at the same time in level {level}, and one writes what the other touches: {buffer:?}"
    )]
    LevelConflict {
        /// Name of one step.
        first: String,
        /// Name of the other.
        second: String,
        /// Their level.
        level: u32,
        /// Name of the buffer that one of them touches.
        buffer: String,
    },
}

/// The most buffers, steps, or touches of all steps.
pub(crate) const MAX_COUNT: usize = (u32::MAX / 4) as usize;

/// The most queues: what orders them takes time in proportion.
pub(crate) const MAX_LANES: usize = 64;

impl ScheduleError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
