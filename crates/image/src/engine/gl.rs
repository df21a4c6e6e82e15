//! The GPU through OpenGL ES 3: any source is sampled as words of four bytes, any destination is
//! drawn as words of four bytes, so one path serves all formats.
//!
//! DMA-BUF (and, where the driver takes it, shared memory) is imported and neither copied in nor
//! out; pixel buffers that the processor made stay on the GPU's side; other memory is copied. The
//! weights of every filter are computed once by the same code as for the other engines.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};

use tenure_memory::{Allocator, Fence, RawBuffer, Request, TensorMemory, Why};

use crate::engine::{Engine, EngineKind};
use crate::held::check_reachable;
use crate::job::Job;
use crate::origin::Origin;
use crate::{Error, Result};

mod api;
mod buffers;
mod carry;
mod display;
mod feed;
mod gbm;
mod import;
mod obstacle;
mod packing;
mod paint;
mod pbo;
mod plan;
mod prepare;
mod ramp;
mod scratch;
mod shader;
mod side;
mod state;
mod table;
mod target;
mod transfer;
mod way;
mod worker;

#[cfg(test)]
mod tests;

use paint::Work;
use pbo::Pixels;
use side::Side;
use worker::{Done, Order, Worker};

/// The engine. Its context is made when it is first needed, and anew when it was lost.
pub(crate) struct OpenGl {
    worker: Mutex<Slot>,
    /// The only platform to look for a display on.
    only: Option<&'static str>,
    /// A context does not survive a fork, nor does its thread.
    origin: Origin,
}

/// Where the worker is kept.
enum Slot {
    /// Not asked for yet.
    Unknown,
    Running(Arc<Running>),
    /// It was there and was lost. A driver that has just been reset may need a moment, so it is
    /// asked until there is a new one.
    Lost,
    /// Why there never was one.
    Absent(String),
}

struct Running {
    worker: Worker,
    pixels: Pixels,
}

fn refused(reason: impl Into<String>) -> Error {
    Error::from(crate::detail::Engine { engine: EngineKind::Gl.name(), reason: reason.into() })
}

impl OpenGl {
    /// The engine, also on a machine that has no OpenGL: it then says so when asked.
    pub(crate) fn new() -> OpenGl {
        OpenGl::only_on(None)
    }

    fn only_on(only: Option<&'static str>) -> OpenGl {
        OpenGl { worker: Mutex::new(Slot::Unknown), only, origin: Origin::here() }
    }

    fn running(&self) -> Result<Arc<Running>> {
        let forked = || refused("this process was forked off the one that made it: make it here");
        let mut slot = match self.origin.is_here() {
            true => self.worker.lock().unwrap_or_else(PoisonError::into_inner),
            // Somebody may have had it locked who is not here.
            false => self.worker.try_lock().map_err(|_| forked())?,
        };
        let absent = |reason: &str| refused(format!("there is no OpenGL ES 3 here: {reason}"));
        match &*slot {
            Slot::Running(running) if !running.worker.orders.is_here() => return Err(forked()),
            Slot::Running(running) if !running.worker.state.lost() => {
                return Ok(Arc::clone(running));
            }
            Slot::Running(_) => {
                tracing::warn!("the OpenGL context was lost, a new one is made");
                *slot = Slot::Lost;
            }
            Slot::Absent(reason) => return Err(absent(reason)),
            Slot::Unknown | Slot::Lost => {}
        }
        match Running::start(self.only) {
            Ok(running) => {
                *slot = Slot::Running(Arc::clone(&running));
                Ok(running)
            }
            Err(reason) => {
                let error = absent(&reason);
                if !matches!(*slot, Slot::Lost) {
                    *slot = Slot::Absent(reason);
                }
                Err(error)
            }
        }
    }
}

impl Allocator for OpenGl {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Pbo
    }

    fn allocate(&self, request: &Request<'_>) -> tenure_memory::Result<RawBuffer> {
        match self.running() {
            Ok(running) => running.pixels.allocate(request),
            Err(error) => {
                let why = Why::Refused {
                    what: "OpenGL",
                    reason: tenure_layout::Language::Plain.say(&error),
                };
                Err(tenure_memory::Error::from(tenure_memory::detail::Unavailable {
                    memory: TensorMemory::Pbo,
                    why,
                }))
            }
        }
    }
}

impl Running {
    fn start(only: Option<&'static str>) -> Result<Arc<Running>, String> {
        let worker = Worker::start(only).inspect_err(|reason| {
            tracing::info!("there is no OpenGL ES 3 here: {reason}");
        })?;
        let pixels = Pixels::new(worker.orders.clone());
        Ok(Arc::new(Running { worker, pixels }))
    }

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
            if let (Err(why), false) = (check_reachable(image), abilities.imports) {
                return Err(refused(format!("the {role} cannot be imported here, and {why}")));
            }
        }
        plan::check_size(&job.recipe, longest).map_err(refused)?;
        let dtype = job.recipe.target.dtype;
        if plan::is_float(dtype) && !abilities.floats {
            return Err(refused(format!("this driver cannot draw floats, which {dtype} needs")));
        }
        Ok(())
    }

    /// Both sides, held.
    fn work(&self, job: &Job) -> Result<Box<Work>> {
        let source = Side::to_read(&job.source, &self.pixels)?;
        let abilities = &self.worker.abilities;
        let target = Side::to_write(&job.target, &self.pixels, |memory| abilities.import(memory))?;
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
            Err(error) => return tenure_layout::Language::Plain.say(&error),
        };
        let abilities = &running.worker.abilities;
        let (from, to) = (&job.recipe.source, &job.recipe.target);
        format!(
            "{} {}x{} ({}) to {} {} {}x{} ({}) with {} ({}), {} imports kept, {} copies made",
            from.format,
            from.width,
            from.height,
            running.way(&job.source, false),
            to.format,
            to.dtype,
            to.width,
            to.height,
            running.way(&job.target, true),
            abilities.renderer,
            abilities.platform,
            running.worker.state.imports(),
            running.worker.state.copies(),
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
        let (signal, fence) = Fence::pair()?;
        running.send(running.work(job)?, Done::Signal(signal))?;
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

    fn imports(&self) -> bool {
        true
    }

    fn allocator(&self, memory: TensorMemory) -> Option<&dyn Allocator> {
        (memory == TensorMemory::Pbo).then_some(self)
    }
}
