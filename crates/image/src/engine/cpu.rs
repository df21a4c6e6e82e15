//! The processor's vector units: every source row is read once, nothing but rows is kept.
//!
//! For each output row, source rows are summed down (`kernels` `bytes`, `pairs`, `words`), the
//! sums are resized along the row, put through the colour matrix and stored, all in scratch
//! memory that stays in the first caches. Pictures in luma and chroma are resized as such, so
//! that only finished pixels are converted.
#![expect(unsafe_code, reason = "promises strips that planes are held")]

use std::env;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Result;
use crate::engine::{Engine, EngineKind};
use crate::held::{Held, check_reachable};
use crate::job::{Job, Recipe};

mod coloured;
mod crew;
mod direct;
mod feed;
mod fill;
mod finish;
mod fixed;
mod gathered;
#[cfg_attr(
    not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))),
    expect(dead_code, unused_imports, reason = "only kernels of these processors use them")
)]
mod kernels;
mod loss;
mod pairs;
mod picked;
mod precise;
mod prepare;
mod regular;
mod scratch;
mod strip;
mod threads;
mod walk;
mod workspace;

use fixed::LANES;
use kernels::Kernels;
use precise::Planes;
use prepare::{Prepared, Work};
use strip::Strip;
use threads::Threads;
use workspace::Workspace;

/// The environment variable that names the instructions to use, instead of the best that there are.
const KERNELS: &str = "TENURE_IMAGE_KERNELS";

/// Conversions whose tables are kept.
const REMEMBERED: usize = 16;

pub(crate) struct Cpu {
    kernels: &'static Kernels,
    threads: Threads,
    /// Most recently used first.
    prepared: Mutex<Vec<(Recipe, Arc<Prepared>)>>,
    /// Scratch memory that no thread uses now.
    scratch: Mutex<Vec<Workspace>>,
}

impl Cpu {
    /// `threads` as in [`crate::ImageProcessorBuilder::threads`].
    pub(crate) fn new(threads: Option<usize>) -> Result<Cpu> {
        let name = env::var_os(KERNELS).filter(|name| !name.is_empty());
        let name = name.as_ref().map(|name| name.to_string_lossy());
        let kernels = kernels::named(name.as_ref().map(|name| name.trim()))?;
        Ok(Cpu::with_kernels(kernels, Threads::new(threads)?))
    }

    fn with_kernels(kernels: &'static Kernels, threads: Threads) -> Cpu {
        Cpu { kernels, threads, prepared: Mutex::new(vec![]), scratch: Mutex::new(vec![]) }
    }

    fn prepared(&self, recipe: &Recipe) -> Arc<Prepared> {
        let lock = || self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = lock();
        if let Some(at) = known.iter().position(|(own, _)| own == recipe) {
            known[..=at].rotate_right(1);
            return Arc::clone(&known[0].1);
        }
        drop(known);
        let prepared = Arc::new(Prepared::new(recipe, self.kernels.ways));
        let mut known = lock();
        known.truncate(REMEMBERED - 1);
        known.insert(0, (*recipe, Arc::clone(&prepared)));
        prepared
    }

    /// Sees that every thread finds scratch memory: not the first time that all of them happen to
    /// work at once, but now.
    fn provide(&self, strips: usize, work: &Work) {
        let mut scratch = self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = self.threads.count().min(strips).max(scratch.len());
        scratch.resize_with(wanted, Workspace::default);
        scratch.iter_mut().for_each(|workspace| workspace.grow(work));
    }

    fn with_workspace(&self, work: impl FnOnce(&mut Workspace)) {
        let lock = || self.scratch.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = lock().pop().unwrap_or_default();
        work(&mut workspace);
        lock().push(workspace);
    }

    /// Does its work in strips; with the first goes what the picture does not cover.
    fn pass(&self, recipe: &Recipe, pass: &Work, first: bool, source: &Held, target: &Held) {
        let kernels = self.kernels;
        let (source, target) = (source.planes(), target.planes());
        let transposed = recipe.geometry.transposed;
        let pixels = recipe.geometry.crop.height * recipe.geometry.crop.width;
        let (down, together) = match pass {
            Work::Fixed(pass) => (pass.down, pass.scratch.together),
            Work::Precise(precise) => (precise.down, 1),
        };
        let cut = self.threads.strips(down, pixels, [LANES, together * LANES]);
        let strips = cut.count();
        self.provide(strips, pass);
        let fill = usize::from(first && !recipe.geometry.covers());
        let work = |index: usize| {
            if index == strips {
                // Last, because it is small: whoever is first done with strips has time for it.
                // SAFETY: the destination is held to write, and no strip touches this part.
                return unsafe { fill::fill(recipe, kernels, target) };
            }
            let rows = cut.rows(index);
            self.with_workspace(|workspace| {
                workspace.grow(pass);
                // SAFETY: both images are held until this function's caller is done, they are of
                // the recipe's kind, and strips do not overlap.
                unsafe {
                    match pass {
                        Work::Fixed(pass) => {
                            Strip { kernels, pass, source, target, transposed, rows }
                                .run(workspace);
                        }
                        Work::Precise(precise) => {
                            let planes = Planes { kernels, source, target, transposed };
                            precise.run(&planes, rows, workspace);
                        }
                    }
                }
            });
        };
        if strips > 1 {
            self.threads.each(strips + fill, work);
        } else {
            (0..strips + fill).for_each(work);
        }
    }
}

impl Engine for Cpu {
    fn kind(&self) -> EngineKind {
        EngineKind::Cpu
    }

    fn check(&self, job: &Job) -> Result<()> {
        check_reachable(&job.source)?;
        check_reachable(&job.target)
    }

    fn explain(&self, job: &Job) -> String {
        let (recipe, threads) = (&job.recipe, self.threads.count());
        let (from, to) = (&recipe.source, &recipe.target);
        let works = &self.prepared(recipe).works;
        let floating = works.iter().any(|work| matches!(work, Work::Precise(_)));
        let numbers = if floating { " in floating point" } else { "" };
        format!(
            "{} {} {}x{} to {} {}x{} in one pass{numbers} with {} kernels, up to {threads} threads",
            from.format,
            from.dtype,
            from.width,
            from.height,
            to.format,
            to.width,
            to.height,
            self.kernels.name,
        )
    }

    fn run(&self, job: &Job) -> Result<()> {
        let (source, target) = (Held::to_read(&job.source)?, Held::to_write(&job.target)?);
        let recipe = &job.recipe;
        let prepared = self.prepared(recipe);
        for (index, pass) in prepared.works.iter().enumerate() {
            self.pass(recipe, pass, index == 0, &source, &target);
        }
        source.intact()?;
        target.intact()
    }
}

#[cfg(test)]
mod tests;
