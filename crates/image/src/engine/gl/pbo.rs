//! Pixel buffers as memory of tensors: `TensorMemory::Pbo`.
//!
//! A pixel buffer has an address only while it is mapped, and only the worker can map it. When
//! the processor is gone, so are the bytes; mapping then says so.
#![expect(unsafe_code, reason = "promises that a mapped pixel buffer is valid")]

use std::ptr::NonNull;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use glow::Buffer;
use tenure_memory::{
    Access, Allocator, CpuAddress, Error, RawBuffer, RawMemory, Request, Result, TensorMemory, Why,
};
use tenure_tensor::TensorDyn;

use super::worker::{Order, Orders};

/// The pixel buffers of one context, and who makes them.
pub(super) struct Pixels {
    orders: Orders,
    /// Allocation, buffer, and where in it the bytes start.
    names: Arc<Mutex<Vec<(u64, Buffer, usize)>>>,
}

/// The bytes of one pixel buffer.
struct Pbo {
    orders: Orders,
    names: Arc<Mutex<Vec<(u64, Buffer, usize)>>>,
    buffer: Buffer,
    size: usize,
    align: usize,
    /// Bytes before the first, so that it is aligned.
    shift: usize,
}

/// The address of a mapped buffer's first byte, on its way from the worker.
pub(super) struct Address(pub(super) NonNull<u8>);

// SAFETY: an address; what it points to is reached through the ledger only, on any thread.
unsafe impl Send for Address {}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused(reason: impl Into<String>) -> Error {
    let why = Why::Refused { what: "OpenGL", reason: reason.into() };
    Error::from(tenure_memory::detail::Unavailable { memory: TensorMemory::Pbo, why })
}

const GONE: &str = "the image processor of this pixel buffer is gone, and its bytes with it";

const FORKED: &str = "this process was forked off the one that made it: make a processor here";

/// Sends an order and waits for its answer.
fn ask<T>(
    orders: &Orders,
    order: impl FnOnce(std::sync::mpsc::SyncSender<Result<T, String>>) -> Order,
) -> Result<T> {
    if !orders.is_here() {
        return Err(refused(FORKED));
    }
    let (reply, answer) = sync_channel(1);
    orders.send(order(reply)).map_err(|_| refused(GONE))?;
    answer.recv().map_err(|_| refused(GONE))?.map_err(refused)
}

impl Pixels {
    pub(super) fn new(orders: Orders) -> Pixels {
        Pixels { orders, names: Arc::default() }
    }

    /// The buffer that an image is in, and where its allocation starts in it; `None` for images
    /// in other memory and for pixel buffers of others, which are memory like any other here.
    pub(super) fn find(&self, image: &TensorDyn) -> Option<(Buffer, usize)> {
        if image.memory() != TensorMemory::Pbo || image.is_multi_buffer() {
            return None;
        }
        let id = image.buffer().raw_if_placed()?.identity().id();
        let names = lock(&self.names);
        names.iter().find(|(own, ..)| *own == id).map(|(_, buffer, shift)| (*buffer, *shift))
    }
}

impl Allocator for Pixels {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Pbo
    }

    fn allocate(&self, request: &Request<'_>) -> Result<RawBuffer> {
        let (size, align) = (request.bytes(), request.align());
        let (buffer, shift) =
            ask(&self.orders, |reply| Order::Allocate { bytes: size, align, reply })?;
        let (orders, names) = (self.orders.clone(), Arc::clone(&self.names));
        let raw = RawBuffer::new(Pbo { orders, names, buffer, size, align, shift }, request.name());
        lock(&self.names).push((raw.identity().id(), buffer, shift));
        Ok(raw)
    }
}

// SAFETY: the worker keeps a buffer mapped, at one address, from the first `begin` to the last
// `end`, and the context as long as any buffer is mapped. The buffer has `size` bytes from
// `shift` on, zeroed when made. The engine uses it only while the ledger holds it for the device,
// by address where it is mapped.
unsafe impl RawMemory for Pbo {
    fn memory(&self) -> TensorMemory {
        TensorMemory::Pbo
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        CpuAddress::WhileMapped
    }

    fn maintained(&self) -> bool {
        true
    }

    fn begin(&self, _: Access) -> Result<NonNull<u8>> {
        let Address(address) =
            ask(&self.orders, |reply| Order::Map { buffer: self.buffer, reply })?;
        // Inside the buffer: it is longer than `size` by `shift` and more.
        let first = address.map_addr(|base| base.saturating_add(self.shift));
        if first.addr().get().is_multiple_of(self.align) {
            return Ok(first);
        }
        self.end(Access::Read);
        Err(refused("the driver maps the pixel buffer at another alignment than before"))
    }

    fn end(&self, _: Access) {
        // If the worker is gone there is nothing left to unmap.
        let _ = self.orders.send(Order::Unmap { buffer: self.buffer });
    }
}

impl Drop for Pbo {
    fn drop(&mut self) {
        // In a process that was forked off there is nothing to give back, and somebody may have had
        // the names locked.
        if !self.orders.is_here() {
            return;
        }
        lock(&self.names).retain(|(_, own, _)| *own != self.buffer);
        let _ = self.orders.send(Order::Free { buffer: self.buffer });
    }
}
