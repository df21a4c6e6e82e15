//! A device and its heaps: what every allocation of it keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_memory::{DeviceFault, Error, Request, Result, TensorMemory, Why};

use crate::device::{Device, FdKind, Properties, Task, release};
use crate::heap::{Heap, HeapReport, Taken};
use crate::imports::Imports;
use crate::peers::{self, Peers};
use crate::process;

/// A device that is open.
pub(crate) struct Core {
    /// Which one it is in this process.
    pub(crate) number: u64,
    device: Arc<dyn Device>,
    heaps: Vec<Heap>,
    pub(crate) imports: Imports,
    pub(crate) peers: Peers,
    /// The process that opened it: drivers do not survive a fork.
    process: u32,
    generation: u64,
}

impl Core {
    pub(crate) fn open(device: Arc<dyn Device>) -> Arc<Core> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let heaps = device.properties().memories.iter().map(|&memory| Heap::new(memory)).collect();
        let (process, generation) = (std::process::id(), process::generation());
        let (imports, peers) = (Imports::default(), Peers::default());
        let core = Arc::new(Core { number, device, heaps, imports, peers, process, generation });
        peers::enter(&core);
        core
    }

    pub(crate) fn properties(&self) -> &Properties {
        self.device.properties()
    }

    fn here(&self) -> bool {
        process::generation() == self.generation
    }

    /// The device, in the process that opened it.
    pub(crate) fn device(&self, what: &'static str) -> Result<&dyn Device> {
        match self.here() {
            true => Ok(self.device.as_ref()),
            false => {
                let (opened, here) = (self.process, std::process::id());
                Err(self.properties().fault(what, DeviceFault::Forked { opened, here }))
            }
        }
    }

    pub(crate) fn heap(&self, memory: TensorMemory) -> Result<&Heap> {
        let why = match memory {
            TensorMemory::Managed => {
                "this device has no managed memory that the CPU may use while the device works: use \
                 pinned or device"
            }
            TensorMemory::Pinned | TensorMemory::Device => "this device has no such memory",
            _ => "a device makes device, pinned and managed memory only",
        };
        let found = self.heaps.iter().find(|heap| heap.memory == memory);
        found.ok_or(Error::from(tenure_memory::detail::Unavailable {
            memory,
            why: Why::NotAllocated { reason: why, remedy: None },
        }))
    }

    /// Takes memory; what is in it is not said.
    pub(crate) fn take(&self, memory: TensorMemory, request: &Request<'_>) -> Result<Taken> {
        self.heap(memory)?.take(self.device("allocating")?, request)
    }

    /// Takes a block of its own that others can use.
    pub(crate) fn take_shared(
        &self,
        memory: TensorMemory,
        request: &Request<'_>,
        kind: FdKind,
    ) -> Result<Taken> {
        self.heap(memory)?;
        let device = self.device("allocating")?;
        let block =
            device.allocate_shared(memory, crate::share::room(memory, request.bytes())?, kind)?;
        if request.align() > block.align {
            release(device, block.id);
            return Err(Error::BadRequest { bytes: request.bytes(), align: request.align() });
        }
        Ok(Taken::whole(&block))
    }

    /// Takes memory back.
    pub(crate) fn give(&self, memory: TensorMemory, taken: &mut Taken) {
        // In a forked process the driver is not there any more.
        if let (true, Ok(heap)) = (self.here(), self.heap(memory)) {
            heap.give(taken, |block| self.free(block));
        }
    }

    /// Gives a block back to the driver, after whoever reached it from another device.
    fn free(&self, block: u64) {
        self.peers.recall(self.number, block);
        release(self.device.as_ref(), block);
    }

    pub(crate) fn reports(&self) -> Vec<HeapReport> {
        self.heaps.iter().map(Heap::report).collect()
    }

    /// Zeroes part of a block that was just taken, by a queue, and waits.
    pub(crate) fn zero(&self, queue: usize, taken: &Taken, bytes: usize) -> Result<()> {
        let device = self.device("filling")?;
        // Parts are whole granules, so that there is room for the last word.
        let (to, bytes) = ((taken.block, taken.offset), bytes.next_multiple_of(4));
        if bytes > 0 {
            crate::carry::run(device, queue, &[Task::Fill { to, bytes, pattern: [0; 4] }])?;
        }
        Ok(())
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        match self.here() {
            true => {
                self.imports.clear(self.device.as_ref());
                self.peers.clear(self.device.as_ref());
                self.heaps.iter().for_each(|heap| heap.clear(|block| self.free(block)));
            }
            // What it would call belongs to the other process.
            false => std::mem::forget(Arc::clone(&self.device)),
        }
    }
}
