//! What does the work. Engines are given jobs that are checked already.

use std::fmt;
use std::str::FromStr;

#[cfg(linux_like)]
use tenure_memory::Fence;
use tenure_memory::{Allocator, TensorMemory};

use crate::job::Job;
use crate::{Error, Result};

pub(crate) mod cpu;
#[cfg(opengl)]
pub(crate) mod gl;
pub(crate) mod reference;

/// An engine by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineKind {
    /// The processor's vector units, all rows in one pass.
    Cpu,
    /// The GPU through OpenGL ES 3. In builds with the feature `gl`, on Linux.
    #[cfg(opengl)]
    Gl,
    /// Plain `f64` arithmetic, sample by sample: slow, and what the others are measured against.
    Reference,
}

const KINDS: &[(EngineKind, &str)] = &[
    (EngineKind::Cpu, "cpu"),
    #[cfg(opengl)]
    (EngineKind::Gl, "gl"),
    (EngineKind::Reference, "reference"),
];

/// What this build has no engine for.
const ABSENT: &str = if cfg!(opengl) { "" } else { " (and gl, in builds with it)" };

impl EngineKind {
    /// Every engine.
    pub fn all() -> impl Iterator<Item = EngineKind> {
        KINDS.iter().map(|(kind, _)| *kind)
    }

    /// The engines of a processor that is not told which, in their order.
    pub(crate) fn usual() -> &'static [EngineKind] {
        &[
            EngineKind::Cpu,
            #[cfg(opengl)]
            EngineKind::Gl,
        ]
    }

    /// The word for this engine: `"cpu"`.
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = Error;

    fn from_str(word: &str) -> Result<EngineKind> {
        let known = |(_, name): &&(EngineKind, &str)| name.eq_ignore_ascii_case(word);
        KINDS.iter().find(known).map(|(kind, _)| *kind).ok_or_else(|| {
            Error::from(crate::detail::UnknownWord {
                what: "image engine",
                word: word.to_owned(),
                known: KINDS.iter().map(|(_, name)| *name).collect::<Vec<_>>().join(", ") + ABSENT,
            })
        })
    }
}

/// Something that converts pictures.
pub(crate) trait Engine: Send + Sync {
    fn kind(&self) -> EngineKind;

    /// Whether it can do this job.
    ///
    /// # Errors
    /// Why it cannot.
    fn check(&self, job: &Job) -> Result<()>;

    /// What it would do with a job that it can do, in words.
    fn explain(&self, job: &Job) -> String;

    /// Does it. A destination that could not be written whole is an error.
    fn run(&self, job: &Job) -> Result<()>;

    /// Does it, perhaps after this returned; both sides are held until the fence is done.
    #[cfg(linux_like)]
    fn start(&self, job: &Job) -> Result<Fence> {
        self.run(job)?;
        done()
    }

    /// The memories that it works in best, if not the usual ones.
    fn memories(&self) -> Vec<TensorMemory> {
        vec![]
    }

    /// Whether it imports images in DMA-BUF, for which rows have to lie at certain distances.
    fn imports(&self) -> bool {
        false
    }

    /// Makes memory that only this engine has.
    fn allocator(&self, _: TensorMemory) -> Option<&dyn Allocator> {
        None
    }
}

/// A fence that is done: a pipe with a byte in it.
#[cfg(linux_like)]
fn done() -> Result<Fence> {
    let failed = |errno: rustix::io::Errno| {
        let what = "making a fence";
        Error::from(tenure_memory::Error::from(tenure_memory::detail::System {
            what,
            cause: errno.into(),
        }))
    };
    let (end, start) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_err(failed)?;
    rustix::io::write(start, &[1]).map_err(failed)?;
    Ok(Fence::from_fd(end)?)
}
