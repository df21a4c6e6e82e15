//! The thread that owns the context. Everything that needs OpenGL is an order to it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use glow::Buffer;
use tenure_memory::{Fence, Signal, TensorMemory};

use super::api::Gl;
use super::buffers::Buffers;
use super::display::Display;
use super::paint::{Painter, Work};
use super::pbo::Address;
use super::state::State;
use crate::origin::Origin;
use crate::{Error, Result};

/// What the worker is asked for.
pub(super) enum Order {
    /// A picture.
    Convert {
        work: Box<Work>,
        done: Done,
    },
    /// A pixel buffer, and where in it the first aligned byte is.
    Allocate {
        bytes: usize,
        align: usize,
        reply: SyncSender<Result<(Buffer, usize), String>>,
    },
    /// The address of a buffer's first byte.
    Map {
        buffer: Buffer,
        reply: SyncSender<Result<Address, String>>,
    },
    Unmap {
        buffer: Buffer,
    },
    Free {
        buffer: Buffer,
    },
    /// The driver says from now on that the context is lost.
    #[cfg(test)]
    LoseContext,
    /// The thread ends as it does where a driver or we are wrong.
    #[cfg(test)]
    Panic,
    /// The end, as soon as nothing is mapped; the answer says whether that is now.
    Stop {
        reply: SyncSender<bool>,
    },
}

/// How the end of a conversion is told.
pub(super) enum Done {
    Reply(SyncSender<Result<()>>),
    /// Dropped without a word when it failed.
    Signal(Signal),
}

/// What the context can do.
#[derive(Debug, Clone)]
pub(super) struct Abilities {
    pub(super) platform: &'static str,
    pub(super) renderer: String,
    pub(super) longest: usize,
    pub(super) floats: bool,
    /// Whether DMA-BUF can be imported.
    pub(super) imports: bool,
    /// Whether shared memory can be.
    pub(super) imports_shared: bool,
}

impl Abilities {
    /// Whether memory of this kind can be imported.
    pub(super) fn import(&self, memory: TensorMemory) -> bool {
        match memory {
            TensorMemory::Dma => self.imports,
            TensorMemory::Shm => self.imports_shared,
            _ => false,
        }
    }
}

/// The way to the worker. In a process that was forked off there is no worker: orders are refused,
/// and nothing is touched that it may have had locked.
#[derive(Clone)]
pub(super) struct Orders {
    /// Always there, until it is dropped.
    sender: Option<Sender<Order>>,
    origin: Origin,
}

/// There is nobody who takes the order.
#[derive(Debug)]
pub(super) struct Gone;

impl Orders {
    pub(super) fn send(&self, order: Order) -> Result<(), Gone> {
        match &self.sender {
            Some(sender) if self.is_here() => sender.send(order).map_err(|_| Gone),
            _ => Err(Gone),
        }
    }

    /// Whether the worker is in this process.
    pub(super) fn is_here(&self) -> bool {
        self.origin.is_here()
    }

    fn new(sender: Sender<Order>) -> Orders {
        Orders { sender: Some(sender), origin: Origin::here() }
    }
}

impl Drop for Orders {
    fn drop(&mut self) {
        if !self.is_here() {
            std::mem::forget(self.sender.take());
        }
    }
}

/// A running worker. Dropping it stops the thread.
pub(super) struct Worker {
    pub(super) orders: Orders,
    pub(super) abilities: Abilities,
    /// How the context is.
    pub(super) state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the thread and makes its context; only on the platform named, if one is.
    ///
    /// # Errors
    /// Why there is no context.
    pub(super) fn start(only: Option<&'static str>) -> Result<Worker, String> {
        let (orders, received) = channel();
        let (reply, answer) = sync_channel(1);
        let state = Arc::new(State::default());
        let own_state = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("tenure-gl".to_owned())
            .spawn(move || {
                tenure_memory::prepare_thread();
                let opened = Display::open(only).and_then(|display| {
                    let gl = Gl::new(&display)?;
                    Ok((display, gl))
                });
                match opened {
                    Ok((display, gl)) => {
                        let _end = End(Arc::clone(&own_state));
                        let mut painter = Painter::new(gl, display, own_state);
                        let _ = reply.send(Ok(painter.abilities()));
                        work(&mut painter, &received);
                    }
                    Err(reason) => {
                        let _ = reply.send(Err(reason));
                    }
                }
            })
            .map_err(|error| format!("no thread: {error}"))?;
        let abilities = answer.recv().map_err(|_| "the driver ended the thread".to_owned())??;
        Ok(Worker { orders: Orders::new(orders), abilities, state, thread: Some(thread) })
    }
}

/// Tells whoever asks next that the thread is gone, however it ended.
struct End(Arc<State>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.lose();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let (reply, answer) = sync_channel(1);
        let stops = self.orders.send(Order::Stop { reply }).is_ok() && answer.recv() == Ok(true);
        // With a buffer still mapped, perhaps by this very thread, it ends by itself later.
        let Some(thread) = self.thread.take() else { return };
        if !self.orders.is_here() {
            std::mem::forget(thread);
        } else if stops {
            let _ = thread.join();
        }
    }
}

/// A conversion that the GPU has not finished.
struct Pending {
    fence: Fence,
    work: Box<Work>,
    done: Done,
}

/// How often pending conversions are looked at while nothing else is to do.
const LOOK: Duration = Duration::from_millis(1);
/// How often it is looked whether imported memory is gone: the driver keeps it until then.
const TIDY: Duration = Duration::from_millis(250);
/// How long the last ones are waited for.
const LAST: Duration = Duration::from_secs(1);

fn work(painter: &mut Painter, orders: &Receiver<Order>) {
    let mut buffers = Buffers::default();
    let mut pending: Vec<Pending> = vec![];
    let mut stopped = false;
    loop {
        let order = match (pending.is_empty(), painter.imports.any()) {
            (true, false) => orders.recv().map_err(|_| RecvTimeoutError::Disconnected),
            (true, true) => orders.recv_timeout(TIDY),
            (false, _) => orders.recv_timeout(LOOK),
        };
        settle(painter, &mut pending);
        if matches!(order, Err(RecvTimeoutError::Timeout)) && pending.is_empty() {
            painter.tidy();
        }
        let order = match order {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        match order {
            Order::Convert { work, done } => {
                let wait = matches!(done, Done::Reply(_));
                let result = match stopped {
                    false => painter.convert(&work, &buffers, wait),
                    true => Err(gone()),
                };
                match result {
                    Ok(Some(fence)) => pending.push(Pending { fence, work, done }),
                    other => done.tell(work, other.map(drop)),
                }
            }
            Order::Allocate { bytes, align, reply } => {
                let made = match stopped {
                    false => buffers.allocate(painter.gl(), bytes, align),
                    true => Err(gone().to_string()),
                };
                let _ = reply.send(made);
            }
            Order::Map { buffer, reply } => {
                let mapped = match stopped {
                    false => buffers.map(painter.gl(), buffer).map(Address),
                    true => Err("its image processor is gone".to_owned()),
                };
                let _ = reply.send(mapped);
            }
            Order::Unmap { buffer } => buffers.unmap(painter.gl(), buffer),
            Order::Free { buffer } => buffers.free(painter.gl(), buffer),
            #[cfg(test)]
            Order::LoseContext => painter.gl.lose_context(),
            #[cfg(test)]
            Order::Panic => std::panic::resume_unwind(Box::new("told to")),
            Order::Stop { reply } => {
                stopped = true;
                let _ = reply.send(!buffers.any_mapped());
            }
        }
        if stopped && !buffers.any_mapped() {
            painter.gl().finish();
            for own in &pending {
                // Done by now; the kernel may be a moment late to say so.
                let _ = own.fence.wait(Some(LAST));
            }
            settle(painter, &mut pending);
            return;
        }
    }
}

/// Tells of the conversions that are done.
fn settle(painter: &Painter, pending: &mut Vec<Pending>) {
    let settled = |own: &mut Pending| own.fence.is_done().unwrap_or(true);
    for Pending { fence, work, done } in pending.extract_if(.., settled) {
        let result = fence.wait(None).map(drop).map_err(Error::from);
        let result = result.and_then(|()| painter.check()).and_then(|()| work.intact());
        done.tell(work, result);
    }
}

fn gone() -> Error {
    Error::from(crate::detail::Engine { engine: "gl", reason: "its processor is gone".to_owned() })
}

impl Done {
    fn tell(self, work: Box<Work>, result: Result<()>) {
        // Before it is said to be done, so that whoever waits may use the bytes at once.
        drop(work);
        match self {
            // Whoever asked may have gone.
            Done::Reply(reply) => {
                let _ = reply.send(result);
            }
            Done::Signal(signal) => match result {
                Ok(()) => signal.done(),
                Err(error) => tracing::error!("a conversion failed on its way: {error}"),
            },
        }
    }
}
