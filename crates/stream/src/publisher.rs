//! The producer of a stream.

mod builder;
mod claimed;
mod core;
mod fences;
mod growth;
mod homes;
mod meta;
mod parting;
mod rate;
mod reporting;
mod service;
mod tally;

use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tenure_memory::TensorMemory;
use tenure_memory::backend::Process;
use tenure_tensor::{ElementKind, Tensor};

use self::core::Core;
use self::homes::{
    Borrowed, Home, Lent, Owned, check_shareable, describe, descriptors, memories, needs_copy, seal,
};
use self::service::Door;
use crate::accounts::State;
use crate::directory::Place;
use crate::{Error, Origin, Result, Spec, StreamReport};

pub use builder::PublisherBuilder;
pub use claimed::Slot;
pub use meta::{Meta, Receipt};

/// Publishes tensors under a name, to every process that subscribes.
///
/// Frames are written in place and read in place: a slot is claimed, filled and published, and
/// comes back when the last consumer has let go of it. No consumer can write to it, hold more
/// slots than it was granted, or make the publisher wait.
///
/// ```
/// use std::time::Duration;
/// use tenure_stream::{Meta, Publisher, Spec, Subscriber};
/// use tenure_tensor::DType;
///
/// # let directory = tempfile::tempdir()?;
/// let mut publisher = Publisher::builder("numbers")
/// #    .directory(directory.path())
///     .spec(Spec::tensor(DType::F32, &[4])?)
///     .open()?;
///
/// // In another process:
/// let mut subscriber = Subscriber::builder("numbers")
/// #    .directory(directory.path())
///     .open()?;
///
/// let slot = publisher.claim()?;
/// slot.typed::<f32>()?.map()?.as_mut_slice().fill(1.5);
/// let receipt = slot.publish(Meta::new().blob(b"first"))?;
/// assert_eq!((receipt.sequence, receipt.consumers), (0, 1));
///
/// let frame = subscriber.next(Duration::from_secs(1))?.expect("it was published");
/// assert_eq!(frame.typed::<f32>()?.map_read()?.as_slice(), [1.5; 4]);
/// assert_eq!(frame.blob(), b"first");
/// // Nobody can write to what was published.
/// assert!(frame.map().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A publisher answers consumers that come and go on a thread of its own, unless it is built
/// [`PublisherBuilder::without_thread`].
///
/// It stays with the process that opened it. In one that is forked off later it does nothing:
/// claiming and publishing are [`Error::Forked`], and dropping it ends nothing. As long as such a
/// process lives and has not dropped it, it keeps the name and the connections, also when the
/// process that publishes dies; one that runs another program (`exec`) keeps nothing.
pub struct Publisher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What a publisher, its claimed slots and its thread have in common.
pub(crate) struct Shared {
    pub(crate) place: Place,
    memory: TensorMemory,
    /// What every frame must look like, if that was declared.
    declared: Option<Arc<Spec>>,
    incarnation: u64,
    core: Mutex<Core>,
    door: Door,
    /// Whose it is: in a process that was forked off, the locks may be held by threads that are not
    /// there, and everything else is shared with the one that goes on.
    process: Process,
}

impl Publisher {
    /// A publisher with options.
    pub fn builder(name: &str) -> PublisherBuilder {
        PublisherBuilder::new(name)
    }

    /// A publisher of frames of this kind.
    ///
    /// # Errors
    /// As [`PublisherBuilder::open`].
    pub fn new(name: &str, spec: Spec) -> Result<Publisher> {
        Publisher::builder(name).spec(spec).open()
    }

    /// The stream's name.
    pub fn name(&self) -> &str {
        &self.shared.place.name
    }

    /// A slot to fill, for a frame that looks like the one before.
    ///
    /// # Errors
    /// [`Error::NoSpec`] if there was none before; otherwise as [`Publisher::claim_as`].
    pub fn claim(&mut self) -> Result<Slot> {
        self.shared.check_process()?;
        let spec = self.shared.with(|core| core.spec.clone());
        let spec = spec.ok_or_else(|| Error::NoSpec { name: self.name().to_owned() })?;
        self.shared.claim(&spec)
    }

    /// A slot to fill, for a frame that looks like this. Its bytes are what the last frame in it
    /// left.
    ///
    /// # Errors
    /// [`Error::OtherSpec`] if the publisher was built with another [`PublisherBuilder::spec`],
    /// [`Error::NoSlot`] if too many slots are claimed already, [`Error::DevicesBusy`] if devices
    /// of consumers do not come to an end with DMA-BUFs, and if there is no memory.
    pub fn claim_as(&mut self, spec: &Spec) -> Result<Slot> {
        self.shared.check_process()?;
        if let Some(declared) = self.shared.declared.as_ref().filter(|it| !it.admits(spec)) {
            return Err(self.shared.other_spec(declared, spec));
        }
        let known = self.shared.with(|core| core.spec.clone());
        let spec = match known.filter(|known| **known == *spec) {
            Some(known) => known,
            None => {
                let spec = Arc::new(spec.clone());
                self.shared.with(|core| core.spec = Some(Arc::clone(&spec)));
                spec
            }
        };
        self.shared.claim(&spec)
    }

    /// Publishes a tensor that lives in memory which can be shared: a camera's frame, a frame of
    /// another stream, any tensor in shared memory or a DMA-BUF. Nothing is copied. Its memory is
    /// kept, and kept from being written in this process, until the last consumer has let go:
    /// what is exported of it meanwhile (an array of numpy, say) is to be read only.
    ///
    /// While foreign code has an export of it that can write, an array of numpy from before, a copy
    /// is published instead: what is published does not change. So it is of a mapped file, which
    /// other processes may cut or write.
    ///
    /// Shared memory is sealed by this, for good: what is mapped for writing stays so, but nobody
    /// can map it for writing any more.
    ///
    /// ```no_run
    /// # fn run(publisher: &mut tenure_stream::Publisher, frame: tenure_tensor::TensorDyn)
    /// #     -> tenure_stream::Result<()> {
    /// use tenure_stream::Meta;
    /// publisher.publish_tensor(&frame, Meta::new())?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::OtherSpec`] if the publisher was built with another [`PublisherBuilder::spec`]; if
    /// the memory cannot be shared (heap) or is smaller than the elements (broadcast), or somebody
    /// is writing to it.
    pub fn publish_tensor<E: ElementKind>(
        &mut self,
        tensor: &Tensor<E>,
        meta: Meta<'_>,
    ) -> Result<Receipt> {
        self.shared.check_process()?;
        meta.check()?;
        let tensor = tensor.to_dyn();
        if let Some(declared) =
            self.shared.declared.as_ref().filter(|it| !it.admits_tensor(&tensor))
        {
            return Err(self.shared.other_spec(declared, &Spec::like(&tensor)?));
        }
        // Before the memory is sealed, which cannot be undone.
        let description = describe(&tensor)?;
        let memories = memories(&tensor)?;
        check_shareable(&memories)?;
        let held = Borrowed::hold(&memories);
        if needs_copy(&memories, &held) {
            drop(held);
            return self.publish_copy(&tensor, meta);
        }
        let held = held?;
        seal(&memories)?;
        let descriptors = descriptors(&memories)?;
        // Somebody has to notice at once when a camera can have its buffer back.
        self.shared.door.listen_for_releases(&self.shared)?;
        self.shared.with(|core| {
            let slot = borrowed_slot(core, &memories)?;
            let lent = Lent::new(&memories, tensor.memory());
            core.set_home(slot, Home::Borrowed(lent, Some(held)));
            Ok(core.send(slot, &description, &descriptors, &meta))
        })
    }

    /// Publishes a copy of a tensor in any memory.
    ///
    /// # Errors
    /// As [`Publisher::claim_as`], and if the tensor cannot be read.
    pub fn publish_copy<E: ElementKind>(
        &mut self,
        tensor: &Tensor<E>,
        meta: Meta<'_>,
    ) -> Result<Receipt> {
        let tensor = tensor.to_dyn();
        let slot = self.claim_as(&Spec::like(&tensor)?)?;
        slot.copy_from(&tensor)?;
        slot.publish(meta)
    }

    /// How many consumers there are: those that get the next frame, if they have a credit left.
    pub fn consumers(&self) -> usize {
        let listening =
            |core: &mut Core| core.accounts.consumers().iter().filter(|it| it.listens()).count();
        self.shared.with_own(listening).unwrap_or(0)
    }

    /// Counts frames that were lost on their way to this publisher: the next one's number is larger
    /// by so many, and consumers see them as dropped. For streams that repeat another stream.
    pub fn skip(&mut self, frames: u64) {
        self.shared.with_own(|core| core.skip(frames));
    }

    /// Gives the memory of free slots back to the system; slots get memory again when frames are
    /// published. What consumers hold stays with them. For streams that pause.
    ///
    /// ```
    /// # use tenure_stream::{Meta, Publisher, Spec};
    /// # use tenure_tensor::DType;
    /// # let directory = tempfile::tempdir()?;
    /// # let builder = Publisher::builder("rare").directory(directory.path());
    /// let mut publisher = builder.spec(Spec::tensor(DType::U8, &[1 << 20])?).open()?;
    /// publisher.claim()?.publish(Meta::new())?;
    /// assert!(publisher.stats().bytes() >= 1 << 20);
    /// publisher.release_memory();
    /// assert_eq!(publisher.stats().bytes(), 0);
    /// publisher.claim()?.publish(Meta::new())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn release_memory(&mut self) {
        self.shared.with_own(|core| {
            core.hear_all();
            core.vacate();
        });
    }

    /// Says anew where the frames come from: see [`PublisherBuilder::origin`].
    pub fn set_origin(&mut self, origin: Option<Origin>) {
        self.shared.with_own(|core| core.origin = origin);
    }

    /// Slots, consumers, rates: the same that other processes get from [`crate::stat`]. Empty in a
    /// process that was forked off.
    pub fn stats(&self) -> StreamReport {
        self.shared.report()
    }

    /// Puts a consumer out, by its number in [`Publisher::stats`]. The slots that it holds are not
    /// written again: they get new memory. Says whether there was such a consumer.
    pub fn evict(&mut self, consumer: u64) -> bool {
        let evict = |core: &mut Core| {
            let there = core.accounts.consumer(consumer).is_some();
            core.evict(consumer);
            there
        };
        self.shared.with_own(evict).unwrap_or(false)
    }

    /// Answers whoever came, gave back or went, without waiting. Only for publishers built
    /// [`PublisherBuilder::without_thread`]: to be called when the publisher's descriptor is
    /// readable, or every now and then.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn serve(&mut self) -> Result<()> {
        self.shared.check_process()?;
        self.shared.serve(Some(Duration::ZERO))
    }
}

/// The slot of these memories, or one that can be made theirs.
fn borrowed_slot(core: &mut Core, memories: &homes::Memories) -> Result<usize> {
    if let Some(known) = core.homes().iter().position(|home| home.is_of(memories)) {
        return Ok(known);
    }
    let idle = |slot: usize| {
        core.accounts.slot(slot).is_some_and(|it| it.borrowed && it.state == State::Vacant)
    };
    let over = core.homes().iter().enumerate().find(|(slot, home)| idle(*slot) && home.is_over());
    let slot = match over.map(|(slot, _)| slot).or_else(|| core.accounts.add_borrowed()) {
        Some(slot) => slot,
        // Whatever is idle: consumers have to map it again when it comes back.
        None => (0..core.homes().len())
            .find(|slot| {
                core.accounts.slot(*slot).is_some_and(|it| it.borrowed && it.state == State::Vacant)
            })
            .ok_or(Error::TooManySlots { slots: core.accounts.slots().len() })?,
    };
    core.tell_to_forget(slot);
    core.accounts.renew(slot);
    Ok(slot)
}

impl AsFd for Publisher {
    /// Readable when [`Publisher::serve`] has something to do.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.door.epoll().as_fd()
    }
}

impl fmt::Debug for Publisher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Publisher").field("name", &self.name()).finish_non_exhaustive()
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        if !self.shared.process.is_current() {
            // The stream goes on elsewhere. There is no thread here to wait for.
            std::mem::forget(self.thread.take());
            return self.shared.let_go();
        }
        self.shared.door.close(&self.shared.place);
        self.shared.with(Core::farewell);
        let lends = self.shared.with(|core| core.lends());
        match self.thread.take() {
            Some(thread) if !lends => drop(thread.join()),
            // It ends when consumers have given back what the user lent, which nobody waits for.
            Some(_) => {}
            None if lends => {
                let shared = Arc::clone(&self.shared);
                let name = "tenure-stream".to_owned();
                let _ = thread::Builder::new().name(name).spawn(move || {
                    tenure_memory::prepare_thread();
                    shared.serve_on();
                });
            }
            None => {}
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error in a process that was forked off the one that opened the stream.
    fn check_process(&self) -> Result<()> {
        match self.process.is_current() {
            true => Ok(()),
            false => Err(Error::Forked { name: self.place.name.clone() }),
        }
    }

    fn other_spec(&self, declared: &Spec, found: &Spec) -> Error {
        let (name, declared) = (self.place.name.clone(), declared.to_string());
        Error::from(crate::detail::OtherSpec { name, declared, found: found.to_string() })
    }

    /// Works under the lock, unless this process was forked off.
    fn with_own<T>(&self, work: impl FnOnce(&mut Core) -> T) -> Option<T> {
        self.process.is_current().then(|| self.with(work))
    }

    /// Closes what a process that was forked off has of the stream, as far as that can be reached:
    /// whoever held a lock at that moment holds it here for good.
    fn let_go(&self) {
        self.door.let_go();
        if let Ok(mut core) = self.core.try_lock() {
            core.let_go();
            let trash = core.take_trash();
            drop(core);
            drop(trash);
        }
    }

    /// Works under the lock, and drops what became superfluous without it.
    fn with<T>(&self, work: impl FnOnce(&mut Core) -> T) -> T {
        let mut core = self.lock();
        let result = work(&mut core);
        let trash = core.take_trash();
        drop(core);
        drop(trash);
        result
    }

    fn claim(self: &Arc<Self>, spec: &Arc<Spec>) -> Result<Slot> {
        let claimed = self.with(|core| {
            core.claim().or_else(|| {
                core.hear_all();
                core.claim()
            })
        });
        let Some((slot, owned)) = claimed else {
            let name = self.place.name.clone();
            let (claimed, limit, resting) = self.with(|core| {
                (core.accounts.claimed(), core.accounts.limits().claims, core.resting_slots())
            });
            return Err(if claimed >= limit {
                Error::from(crate::detail::NoSlot { name, claimed, limit })
            } else {
                Error::from(crate::detail::DevicesBusy { name, resting })
            });
        };
        let memory = self.memory_for(slot, owned.as_ref(), spec);
        memory.and_then(|owned| Slot::new(self, slot, owned)).inspect_err(|_| {
            self.with(|core| {
                let has_memory = matches!(core.home(slot), Home::Owned(_));
                core.accounts.unclaim(slot, has_memory);
            });
        })
    }

    /// Memory of a claimed slot that a frame fits into: what it has, or else new.
    fn memory_for(
        &self,
        slot: usize,
        owned: Option<&Arc<Owned>>,
        spec: &Arc<Spec>,
    ) -> Result<Arc<Owned>> {
        if let Some(owned) = owned {
            if Arc::ptr_eq(&owned.spec, spec) || owned.spec == *spec {
                return Ok(Arc::clone(owned));
            }
            if let Some(again) = owned.again(spec)? {
                let again = Arc::new(again);
                self.with(|core| core.set_home(slot, Home::Owned(Arc::clone(&again))));
                return Ok(again);
            }
        }
        // Without the lock: it takes time.
        let made = Arc::new(self.make(spec)?);
        self.with(|core| core.install(slot, &made));
        Ok(made)
    }

    /// New memory for a slot.
    fn make(&self, spec: &Arc<Spec>) -> Result<Owned> {
        Owned::make(self.memory, spec, &self.place.name)
    }

    /// Publishes a slot that was claimed.
    fn publish(&self, slot: usize, owned: &Owned, meta: &Meta<'_>) -> Result<Receipt> {
        let descriptor = owned.raw().descriptor()?;
        Ok(self.with(|core| core.send(slot, &owned.description, &[descriptor], meta)))
    }
}
