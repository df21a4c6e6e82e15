//! What runs, in which order, and what it touches: plain data, checked before it is used.

pub(crate) mod coverage;
pub(crate) mod error;
pub(crate) mod groups;
pub(crate) mod levels;
pub(crate) mod validate;

use serde::{Deserialize, Serialize};
use tenure_layout::DType;

/// What a buffer is aligned to if nothing else is said: what every graphics interface takes as
/// the offset of a storage buffer.
pub const DEFAULT_ALIGN: u64 = 256;

/// Steps in order and the buffers that they read and write.
///
/// ```
/// use tenure_plan::{BufferSpec, Schedule, Step};
/// let schedule = Schedule {
///     buffers: vec![
///         BufferSpec { input: true, ..BufferSpec::new("x", 1024) },
///         BufferSpec::new("hidden", 4096),
///         BufferSpec { output: true, ..BufferSpec::new("y", 1024) },
///     ],
///     steps: vec![Step::new("up", [0], [1]), Step::new("down", [1], [2])],
/// };
/// schedule.validate()?;
/// # Ok::<(), tenure_plan::ScheduleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// What the steps touch. Steps, views and plans name buffers by their index here.
    pub buffers: Vec<BufferSpec>,
    /// What runs, in order.
    pub steps: Vec<Step>,
}

/// One buffer of a [`Schedule`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BufferSpec {
    /// What people call it; no two buffers have the same name.
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its offset in an arena is a multiple of this; a power of two. A view is where its base
    /// is, so that of a view is not looked at.
    #[serde(default = "default_align")]
    pub align: u64,
    /// The device whose memory it lives in.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub device: u32,
    /// What its bytes mean. Only buffers of one type share an allocation when remapped.
    #[serde(default = "default_dtype", with = "crate::json::by_name")]
    pub dtype: DType,
    /// Has its contents before the first step; no step writes it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub input: bool,
    /// Is looked at after the last step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub output: bool,
    /// Has memory already, and maybe contents.
    #[serde(default, skip_serializing_if = "is_false")]
    pub allocated: bool,
    /// Steps read bytes of it that no step has written.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// Its bytes are a file's: it is on the device that others call DISK, which nothing is packed
    /// into.
    #[serde(default, skip_serializing_if = "is_false")]
    pub disk: bool,
    /// Has no bytes of its own, but some of another buffer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view_of: Option<View>,
    /// Buffers whose bytes it may take, if one is read for the last time by the step that writes
    /// this buffer for the first time. Of these, only buffers of the same size are considered,
    /// each rounded up to its alignment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_place: Vec<usize>,
}

/// Where a view's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// The base: a buffer or another view.
    pub buffer: usize,
    /// Bytes from the start of the base.
    pub offset: u64,
}

/// One thing that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What people call it; names may repeat.
    pub name: String,
    /// Buffers that it reads, before it writes.
    #[serde(default)]
    pub reads: Vec<usize>,
    /// Buffers that it writes, every byte of them.
    #[serde(default)]
    pub writes: Vec<usize>,
    /// Which queue of the device it runs on.
    #[serde(default, skip_serializing_if = "is_compute")]
    pub lane: Lane,
    /// The device it runs on.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub device: u32,
    /// Steps of one level run at the same time, and those of the next when they are done. Either
    /// all steps have a level or none, and levels never fall from one step to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u32>,
}

/// The queues of a device. Each runs its steps in order, and waits for another only where data
/// passes between them.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Where things are computed.
    #[default]
    Compute,
    /// Where bytes are moved from and to other places.
    Copy,
}

impl Lane {
    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Lane::Compute => "compute",
            Lane::Copy => "copy",
        }
    }
}

impl std::fmt::Display for Lane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl BufferSpec {
    /// A buffer of bytes on device 0 that nothing else is said of.
    pub fn new(name: impl Into<String>, bytes: u64) -> BufferSpec {
        BufferSpec {
            name: name.into(),
            bytes,
            align: DEFAULT_ALIGN,
            device: 0,
            dtype: DType::U8,
            input: false,
            output: false,
            allocated: false,
            partial: false,
            disk: false,
            view_of: None,
            in_place: Vec::new(),
        }
    }

    /// The size rounded up to the alignment, as far as numbers go.
    pub(crate) fn rounded(&self) -> u64 {
        self.bytes.checked_next_multiple_of(self.align.max(1)).unwrap_or(u64::MAX)
    }
}

impl Step {
    /// A step on the compute lane of device 0.
    pub fn new(
        name: impl Into<String>,
        reads: impl Into<Vec<usize>>,
        writes: impl Into<Vec<usize>>,
    ) -> Step {
        Step {
            name: name.into(),
            reads: reads.into(),
            writes: writes.into(),
            lane: Lane::Compute,
            device: 0,
            level: None,
        }
    }

    /// What it reads and what it writes, each with whether it is written.
    pub(crate) fn touches(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let reads = self.reads.iter().map(|&buffer| (buffer, false));
        reads.chain(self.writes.iter().map(|&buffer| (buffer, true)))
    }
}

fn default_align() -> u64 {
    DEFAULT_ALIGN
}

fn default_dtype() -> DType {
    DType::U8
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_compute(lane: &Lane) -> bool {
    *lane == Lane::Compute
}
