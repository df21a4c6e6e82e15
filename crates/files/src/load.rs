//! Bringing tensors from files into memory, at the speed of the disk.
//!
//! Bytes go straight to where they stay: the destination has the files' bytes at the same place of
//! a page, so that reads past the system's cache (`O_DIRECT`) need no second buffer. Pieces of
//! [`PIECE`] bytes are read by several threads, each in the way that is faster for it: what is in
//! the cache is copied from there, all else comes from the disk without going through it.
//! `docs/performance.md` has the numbers.

mod carried;
mod direct;
mod plan;
mod room;
mod warm;
mod work;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::ControlFlow;

use tenure_memory::allocate;
use tenure_tensor::{Allocator, Buffer, Request, TensorDyn, TensorMemory};

use crate::{Entry, Error, Result, TensorFile};
use plan::{BLOCK, Plan};

/// Bytes that one thread reads at one time.
const PIECE: usize = 8 << 20;

/// Whether reads go past the system's cache of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Direct {
    /// Where bytes are not in the cache, if the system says so and can.
    #[default]
    WhenCold,
    /// Nowhere.
    Never,
    /// Everywhere that the system can.
    Always,
}

/// How far loading is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are in memory.
    pub done: u64,
    /// Bytes that were asked for.
    pub all: u64,
}

/// What to call, and what it says.
type Callback<'a> = Box<dyn FnMut(Progress) -> ControlFlow<()> + 'a>;

/// Tensors to be loaded, and how. Nothing happens before [`Load::run`].
///
/// ```
/// use std::ops::ControlFlow;
/// use tenure_files::{open, safetensors};
/// use tenure_memory::kind;
/// use tenure_tensor::{Pool, Tensor, TensorMemory};
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.safetensors");
/// let weight = Tensor::<f32>::from_slice(&[1.0; 1000], &[1000])?.to_dyn();
/// safetensors::save(&path, &[("a", weight.clone()), ("b", weight)], &Default::default())?;
///
/// let pool = Pool::new(kind::allocator(TensorMemory::Mem)?);
/// let mut seen = 0;
/// let loaded = open(&path)?
///     .load()
///     .only(["b"])?
///     .allocator(&pool)
///     .progress(|progress| {
///         seen = progress.done;
///         ControlFlow::Continue(())
///     })
///     .run()?;
/// let mut b = loaded.tensor("b")?.typed::<f32>()?;
/// b.map()?.as_mut_slice()[0] = 2.0;
/// assert_eq!((loaded.tensors().len(), seen), (1, 4000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is loaded before run()"]
pub struct Load<'a> {
    file: &'a TensorFile,
    /// Positions in the list of entries.
    chosen: Vec<usize>,
    destination: Destination<'a>,
    threads: Option<usize>,
    direct: Direct,
    align: usize,
    inflated_limit: Option<u64>,
    progress: Option<Callback<'a>>,
}

enum Destination<'a> {
    Memory(Option<TensorMemory>),
    Allocator(&'a dyn Allocator),
}

impl<'a> Load<'a> {
    pub(crate) fn new(file: &'a TensorFile) -> Load<'a> {
        Load {
            file,
            chosen: (0..file.entries().len()).collect(),
            destination: Destination::Memory(None),
            threads: None,
            direct: Direct::default(),
            align: 1,
            inflated_limit: None,
            progress: None,
        }
    }

    /// Only the tensors with these names.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`].
    pub fn only<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Result<Load<'a>> {
        let mut wanted = vec![];
        for name in names {
            wanted.push(self.file.entry(name)?.name());
        }
        wanted.sort_unstable();
        Ok(self.filter(|entry| wanted.binary_search(&entry.name()).is_ok()))
    }

    /// Only the tensors that `wanted` says yes to.
    pub fn filter(mut self, wanted: impl Fn(&Entry) -> bool) -> Load<'a> {
        let entries = self.file.entries();
        self.chosen.retain(|index| entries.get(*index).is_some_and(&wanted));
        self
    }

    /// Into this memory; otherwise into the first that serves of DMA-BUF, shared memory and heap.
    pub fn memory(mut self, memory: TensorMemory) -> Load<'a> {
        self.destination = Destination::Memory(Some(memory));
        self
    }

    /// Into memory from this allocator: a pool, whose pages are there already, is what makes
    /// loading as fast as the disk. That of a device takes bytes by way of main memory, part by
    /// part, and what the CPU can map takes them straight.
    pub fn allocator(mut self, allocator: &'a dyn Allocator) -> Load<'a> {
        self.destination = Destination::Allocator(allocator);
        self
    }

    /// With so many threads [default: one for each processor, and at least four].
    pub fn threads(mut self, threads: usize) -> Load<'a> {
        self.threads = Some(threads.max(1));
        self
    }

    /// Whether reads go past the system's cache.
    pub fn direct(mut self, direct: Direct) -> Load<'a> {
        self.direct = direct;
        self
    }

    /// Every tensor at a multiple of `align` bytes (a power of two up to 4096). Without this each
    /// is where its file has it within a page, which is at least a multiple of its element size;
    /// what files have at other places is read through the cache. Any other number is
    /// [`Error::Align`] when it [runs](Load::run).
    pub fn align(mut self, align: usize) -> Load<'a> {
        self.align = align;
        self
    }

    /// At most so many bytes where some of the tensors are compressed [default: seven eighths of the
    /// memory that is available when loading begins]: a file of 20 MB may be 20 GB of zeros.
    pub fn inflated_limit(mut self, bytes: u64) -> Load<'a> {
        self.inflated_limit = Some(bytes);
        self
    }

    /// Calls `callback` on this thread after every piece; `Break` ends the loading.
    pub fn progress(mut self, callback: impl FnMut(Progress) -> ControlFlow<()> + 'a) -> Load<'a> {
        self.progress = Some(Box::new(callback));
        self
    }

    /// Loads. All tensors are views of one buffer.
    ///
    /// # Errors
    /// If no memory serves, if compressed tensors are more than there is memory for
    /// ([`Error::Inflated`]), if a byte cannot be read, if a file has become shorter
    /// ([`Error::CutOff`]), if a compressed tensor is damaged, if the alignment is none
    /// ([`Error::Align`]), or if the callback said so ([`Error::Stopped`]). Then nothing is loaded:
    /// there is no half of a tensor.
    pub fn run(self) -> Result<Loaded> {
        if !self.align.is_power_of_two() || self.align > BLOCK {
            return Err(Error::Align { align: self.align, most: BLOCK });
        }
        let entries: Vec<&Entry> =
            self.chosen.iter().filter_map(|index| self.file.entries().get(*index)).collect();
        let plan = Plan::new(&entries, self.align);
        let plan = plan.ok_or(Error::TooLarge { count: entries.len() })?;
        room::check(&entries, &self.file.shards, plan.bytes, self.inflated_limit)?;
        let request = Request::new(plan.bytes)?.with_align(BLOCK)?;
        let name = self.file.path.file_name().and_then(|name| name.to_str());
        let request = request.with_name(name);
        // Every byte of a tensor is read, so that only gaps between tensors have to be zero.
        // No more than the plan's bytes: tensors do not meet there.
        let used: usize = entries.iter().map(|entry| entry.bytes()).sum();
        let gaps = used < plan.bytes;
        let request = if gaps { request } else { request.without_zeroing() };
        let raw = match self.destination {
            Destination::Memory(memory) => allocate(memory, &request)?,
            Destination::Allocator(allocator) => allocator.allocate(&request)?,
        };
        let buffer = Buffer::from_raw(raw);
        let read = if plan.pieces.is_empty() {
            work::Read::default()
        } else {
            let work = work::Work {
                shards: &self.file.shards,
                entries: &entries,
                direct: self.direct,
                threads: self.threads,
                warm: warm::Warm::default(),
            };
            if buffer.raw()?.cpu_accessible() {
                let mut guard = buffer.write_range(0..plan.bytes)?;
                work.run(&plan, guard.as_bytes_mut(), self.progress)?
            } else {
                carried::run(&work, &plan, &buffer, self.progress)?
            }
        };
        let mut tensors = Vec::with_capacity(entries.len());
        for (entry, place) in entries.iter().zip(&plan.places) {
            let bytes = buffer.slice(*place..*place + entry.bytes())?;
            let tensor = TensorDyn::from_buffer(bytes, entry.tensor_layout()?)?;
            tensors.push((entry.name.clone(), tensor));
        }
        let work::Read { bytes, direct } = read;
        Ok(Loaded { tensors, bytes, direct })
    }
}

impl fmt::Debug for Load<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Load")
            .field("path", &self.file.path)
            .field("tensors", &self.chosen.len())
            .field("direct", &self.direct)
            .finish_non_exhaustive()
    }
}

/// Tensors that were loaded.
#[derive(Debug)]
pub struct Loaded {
    tensors: Vec<(String, TensorDyn)>,
    bytes: u64,
    direct: u64,
}

impl Loaded {
    /// The tensors with their names, in the order of the file.
    pub fn tensors(&self) -> &[(String, TensorDyn)] {
        &self.tensors
    }

    /// The same, to keep.
    pub fn into_tensors(self) -> Vec<(String, TensorDyn)> {
        self.tensors
    }

    /// The tensor of this name.
    ///
    /// # Errors
    /// [`Error::NoSuchTensor`].
    pub fn tensor(&self, name: &str) -> Result<TensorDyn> {
        let found = self.tensors.iter().find(|(found, _)| found == name);
        found.map(|(_, tensor)| tensor.clone()).ok_or_else(|| {
            Error::from(crate::detail::NoSuchTensor {
                name: name.to_owned(),
                count: self.tensors.len(),
                near: None,
            })
        })
    }

    /// Bytes of all tensors.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many of them were read past the system's cache.
    pub fn direct_bytes(&self) -> u64 {
        self.direct
    }
}
