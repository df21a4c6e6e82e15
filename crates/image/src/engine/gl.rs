//! The GPU through OpenGL ES 3: any source is sampled as words of four bytes, any destination is
//! drawn as words of four bytes, so one path serves all formats.
//!
//! DMA-BUF (and, where the driver takes it, shared memory) is imported and neither copied in nor
//! out; pixel buffers that the processor made stay on the GPU's side; other memory is copied. The
//! weights of every filter are computed once by the same code as for the other engines.

use std::fs::File;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;

use rustix::pipe::{PipeFlags, pipe_with};
use tenure_memory::{Allocator, Fence, TensorMemory};
use tenure_tensor::TensorDyn;

use crate::engine::{Engine, EngineKind};
use crate::job::Job;
use crate::{Error, Result};

mod api;
mod buffers;
mod carry;
mod display;
mod feed;
mod import;
mod packing;
mod paint;
mod pbo;
mod plan;
mod prepare;
mod ramp;
mod scratch;
mod shader;
mod side;
mod table;
mod target;
mod transfer;
mod worker;

#[cfg(test)]
mod tests;

use api::LOST;
use paint::Work;
use pbo::Pixels;
use side::Side;
use worker::{Done, Order, Worker};

pub(crate) struct OpenGl {
    /// The worker, or why there is none.
    worker: Result<Running, String>,
}

struct Running {
    worker: Worker,
    pixels: Pixels,
}

fn refused(reason: impl Into<String>) -> Error {
    Error::Engine { engine: EngineKind::Gl.name(), reason: reason.into() }
}

impl OpenGl {
    /// The engine, also on a machine that has no OpenGL: it then says so when asked.
    pub(crate) fn new() -> OpenGl {
        let worker = Worker::start().map(|worker| {
            let pixels = Pixels::new(worker.orders.clone());
            Running { worker, pixels }
        });
        if let Err(reason) = &worker {
            tracing::info!("there is no OpenGL ES 3 here: {reason}");
        }
        OpenGl { worker }
    }

    fn running(&self) -> Result<&Running> {
        let absent = |reason: &String| refused(format!("there is no OpenGL ES 3 here: {reason}"));
        let running = self.worker.as_ref().map_err(absent)?;
        if running.worker.state.lost.load(Ordering::Relaxed) {
            return Err(refused(LOST));
        }
        Ok(running)
    }
}

impl Running {
    /// Whether everything fits the GPU.
    fn check(&self, job: &Job) -> Result<()> {
        let abilities = &self.worker.abilities;
        let longest = abilities.longest;
        for (role, image) in [("source", &job.source), ("destination", &job.target)] {
            let layout = image.image_layout().map_or(&[][..], |layout| layout.planes());
            let rows: usize = layout.iter().map(|plane| plane.rows).sum();
            let words = layout.iter().map(|plane| plane.row_bytes.div_ceil(4)).max();
            if rows.max(words.unwrap_or(0)) > longest {
                return Err(refused(format!(
                    "the {role} is too large: {longest} rows and words of four bytes are the most"
                )));
            }
        }
        let dtype = job.recipe.target.dtype;
        if plan::is_float(dtype) && !abilities.floats {
            return Err(refused(format!("this driver cannot draw floats, which {dtype} needs")));
        }
        Ok(())
    }

    /// How the bytes of an image get to the GPU and back.
    fn way(&self, image: &TensorDyn) -> &'static str {
        let abilities = &self.worker.abilities;
        match image.memory() {
            TensorMemory::Pbo if self.pixels.find(image).is_some() => "pixel buffer",
            TensorMemory::Dma if abilities.imports => "imported if rows and driver allow it",
            TensorMemory::Shm if abilities.imports_shared => "imported if rows allow it",
            _ => "copied",
        }
    }

    /// Both sides, held.
    fn work(&self, job: &Job) -> Result<Box<Work>> {
        let source = Side::to_read(&job.source, &self.pixels)?;
        let target = Side::to_write(&job.target, &self.pixels)?;
        Ok(Box::new(Work { recipe: job.recipe, source, target }))
    }

    fn send(&self, work: Box<Work>, done: Done) -> Result<()> {
        let order = Order::Convert { work, done };
        self.worker.orders.send(order).map_err(|_| refused("its thread is gone"))
    }
}

impl Engine for OpenGl {
    fn kind(&self) -> EngineKind {
        EngineKind::Gl
    }

    fn check(&self, job: &Job) -> Result<()> {
        self.running()?.check(job)
    }

    fn explain(&self, job: &Job) -> String {
        let running = match self.running() {
            Ok(running) => running,
            Err(error) => return error.to_string(),
        };
        let abilities = &running.worker.abilities;
        let (from, to) = (&job.recipe.source, &job.recipe.target);
        format!(
            "{} {}x{} ({}) to {} {} {}x{} ({}) with {} ({}), {} imports kept",
            from.format,
            from.width,
            from.height,
            running.way(&job.source),
            to.format,
            to.dtype,
            to.width,
            to.height,
            running.way(&job.target),
            abilities.renderer,
            abilities.platform,
            running.worker.state.imports.load(Ordering::Relaxed),
        )
    }

    fn run(&self, job: &Job) -> Result<()> {
        let running = self.running()?;
        let (reply, answer) = sync_channel(1);
        running.send(running.work(job)?, Done::Reply(reply))?;
        answer.recv().map_err(|_| refused("its thread is gone"))?
    }

    fn start(&self, job: &Job) -> Result<Fence> {
        let running = self.running()?;
        let no_pipe = |errno| refused(format!("no pipe for a fence: {errno}"));
        let (done, signal) = pipe_with(PipeFlags::CLOEXEC).map_err(no_pipe)?;
        let fence = Fence::from_fd(done)?;
        running.send(running.work(job)?, Done::Signal(File::from(signal)))?;
        Ok(fence)
    }

    fn memories(&self) -> Vec<TensorMemory> {
        let Ok(running) = self.running() else { return vec![] };
        let abilities = &running.worker.abilities;
        let mut memories = vec![];
        if abilities.imports {
            memories.push(TensorMemory::Dma);
        }
        if abilities.imports_shared {
            memories.push(TensorMemory::Shm);
        }
        memories.push(TensorMemory::Pbo);
        memories
    }

    fn allocator(&self, memory: TensorMemory) -> Option<&dyn Allocator> {
        let running = self.running().ok().filter(|_| memory == TensorMemory::Pbo)?;
        Some(&running.pixels)
    }
}
