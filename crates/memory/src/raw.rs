//! One allocation: owns its bytes, gives them back when dropped.
#![expect(unsafe_code, reason = "the trait that memories implement promises valid addresses")]

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
#[cfg(linux_like)]
use std::sync::atomic::AtomicBool;

#[cfg(linux_like)]
use std::os::fd::BorrowedFd;

use crate::backend::{Carrier, DevicePlace, ObjectKey};
use crate::identity::OwnIdentity;
use crate::ledger::Ledger;
use crate::pool::Home;
use crate::{
    Access, BufferIdentity, DeviceVendor, Error, LogicalMemorySpace, Refusal, Result, TensorMemory,
    registry, statistics,
};

#[cfg(linux_like)]
mod descriptors;
mod enter;
#[cfg(linux_like)]
mod exports;
mod kind;
#[cfg(linux_like)]
mod turns;
mod watch;
mod windows;

pub use kind::RawKind;

/// How the CPU reaches a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuAddress {
    /// Not at all.
    None,
    /// At this address, for as long as the memory exists.
    Fixed(NonNull<u8>),
    /// At an address that is known only between [`RawMemory::begin`] and [`RawMemory::end`].
    WhileMapped,
}

/// What each kind of memory implements: the owner of one allocation's bytes, which are freed
/// when it is dropped.
///
/// # Safety
/// For as long as the value exists (for [`CpuAddress::WhileMapped`]: between `begin` and `end`)
/// the address must be valid for reads of [`RawMemory::size`] initialised bytes and, if
/// [`RawMemory::writable`], for writes; aligned as the allocator was asked; and not used by
/// anything else in this process except through the [`RawBuffer`] that owns the value. The
/// answers of the other methods never change. Reading bytes that another process took away must
/// not kill this one.
pub unsafe trait RawMemory: Send + Sync + 'static {
    /// The memory's name.
    fn memory(&self) -> TensorMemory;

    /// What it is, where that is not what [`RawMemory::memory`] says.
    fn kind(&self) -> RawKind {
        RawKind::of(self.memory())
    }

    /// Where it lives.
    fn space(&self) -> LogicalMemorySpace {
        LogicalMemorySpace::MainMemory
    }

    /// Whose driver made it, for memory of devices, pinned and managed memory.
    fn vendor(&self) -> Option<DeviceVendor> {
        None
    }

    /// What its device calls the first byte, for memory that the CPU does not reach: an address
    /// or a handle, whichever [`DeviceVendor::has_addresses`] says.
    fn device_address(&self) -> Option<NonNull<u8>> {
        None
    }

    /// Where its device finds it, for memory of devices, pinned and managed memory.
    fn device_place(&self) -> Option<DevicePlace> {
        None
    }

    /// Who copies from and to it, for memory of devices, pinned and managed memory.
    fn carrier(&self) -> Option<Arc<dyn Carrier>> {
        None
    }

    /// Bytes that may be used.
    fn size(&self) -> usize;

    /// How the CPU reaches it.
    fn address(&self) -> CpuAddress;

    /// Whether bytes may be written.
    fn writable(&self) -> bool {
        true
    }

    /// Whether [`RawMemory::begin`] and [`RawMemory::end`] must be called around CPU access.
    fn maintained(&self) -> bool {
        false
    }

    /// Prepares for CPU access and gives the address of the first byte. Called only if
    /// [`RawMemory::maintained`]; accesses may be nested.
    ///
    /// # Errors
    /// Whatever kept the CPU from the bytes; `end` is then not called.
    fn begin(&self, _access: Access) -> Result<NonNull<u8>> {
        match self.address() {
            CpuAddress::Fixed(address) => Ok(address),
            _ => Err(Error::NotMappable { memory: self.memory(), space: self.space() }),
        }
    }

    /// Ends an access that [`RawMemory::begin`] allowed.
    fn end(&self, _access: Access) {}

    /// Whether the bytes are still what was mapped.
    ///
    /// # Errors
    /// [`Error::Truncated`] if another process took bytes away.
    fn intact(&self) -> Result<()> {
        Ok(())
    }

    /// How many bytes of a range inside the memory are in main memory now, of memory that is
    /// elsewhere until it is touched; `None` if there is no saying.
    fn resident(&self, _range: Range<usize>) -> Option<usize> {
        None
    }

    /// The kernel object behind this memory, if it can be mapped again by whoever can name it;
    /// this memory must then start at the object's first byte.
    fn object(&self) -> Option<ObjectKey> {
        None
    }

    /// Whether another raw buffer owns the bytes and this one only lends them on: the statistics
    /// then count them once.
    fn borrowed(&self) -> bool {
        false
    }

    /// The raw buffer whose bytes these are, for memory that is another's.
    fn home(&self) -> Option<&RawBuffer> {
        None
    }

    /// The descriptor that shares this memory with other processes, if there is one.
    #[cfg(linux_like)]
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Makes the kernel refuse every new way of writing for everyone that gets the descriptor.
    ///
    /// # Errors
    /// [`Error::NotSealable`] if the kernel cannot do that for this memory.
    #[cfg(linux_like)]
    fn seal_for_others(&self) -> Result<()> {
        let reason = "its kind has no seals";
        Err(Error::NotSealable { memory: self.memory(), reason })
    }

    /// Moves the shared bytes to another address, which the answer owns, and leaves private pages
    /// here that show the same: see [`crate::SlotMemory::part`], the only one to call this.
    #[cfg(linux_like)]
    #[doc(hidden)]
    fn move_away(&self) -> Result<Box<dyn RawMemory>> {
        Err(Error::system("moving memory", rustix::io::Errno::OPNOTSUPP))
    }

    /// What keeps the bytes, for the last holder to take back ([`crate::Buffer::into_owner`]);
    /// nobody reaches the bytes any more then.
    #[doc(hidden)]
    fn owner(&mut self) -> Option<&mut Option<Box<dyn Any + Send + Sync>>> {
        None
    }

    /// Makes the private pages that [`RawMemory::move_away`] left keep what they show.
    #[cfg(linux_like)]
    #[doc(hidden)]
    fn copy_pages(&self) -> Result<()> {
        Ok(())
    }
}

/// One allocation of any memory.
pub struct RawBuffer {
    /// `Some` until dropped; then it is freed or goes home to a pool.
    core: Option<Box<Core>>,
    name: Option<Arc<str>>,
    home: Option<Home>,
    /// Memories that were tried before the one that served.
    refusals: Vec<Refusal>,
}

/// What stays together when a raw buffer goes through a pool.
struct Core {
    /// Shared with other mappings of the same kernel object, and with windows over this buffer:
    /// dropped before the memory, so that the last owner of the ledger knows that it is the last.
    ledger: Arc<Ledger>,
    memory: Box<dyn RawMemory>,
    identity: OwnIdentity,
    object: Option<ObjectKey>,
    /// Copies of the memory's own answers, so that a guard costs no virtual call.
    address: CpuAddress,
    size: usize,
    kind: TensorMemory,
    writable: bool,
    maintained: bool,
    /// `None` for bytes that another raw buffer is counted for.
    record: Option<statistics::Record>,
    /// Who is told before the memory goes.
    watch: watch::Watch,
    /// Pages of foreign code that is to read only.
    #[cfg(linux_like)]
    exports: exports::Exports,
    /// Of a window with a ledger of its own.
    #[cfg(linux_like)]
    turn: Option<Box<turns::Turns>>,
    /// The memory's bytes were moved elsewhere, from under a window over this.
    #[cfg(linux_like)]
    left_behind: AtomicBool,
}

// SAFETY: the address is a copy of what the memory answers, which is `Send + Sync` itself; bytes
// are reached through the ledger only.
unsafe impl Send for Core {}
// SAFETY: as above.
unsafe impl Sync for Core {}

impl RawBuffer {
    /// Takes ownership of memory. Its identity is new, unless the same kernel object is mapped
    /// already.
    pub fn new(memory: impl RawMemory, name: Option<&str>) -> RawBuffer {
        RawBuffer::from_box(Box::new(memory), name)
    }

    fn from_box(memory: Box<dyn RawMemory>, name: Option<&str>) -> RawBuffer {
        let kind = memory.memory();
        let (address, size) = (memory.address(), memory.size());
        let (writable, maintained) = (memory.writable(), memory.maintained());
        let object = memory.object();
        let (ledger, identity) = registry::join(object);
        let name: Option<Arc<str>> = name.map(Arc::from);
        let record = (!memory.borrowed())
            .then(|| statistics::Record::new(identity.id(), kind, size, name.clone()));
        let core = Core {
            ledger,
            memory,
            identity,
            object,
            address,
            size,
            kind,
            writable,
            maintained,
            record,
            watch: watch::Watch::default(),
            #[cfg(linux_like)]
            exports: exports::Exports::default(),
            #[cfg(linux_like)]
            turn: None,
            #[cfg(linux_like)]
            left_behind: AtomicBool::new(false),
        };
        RawBuffer { core: Some(Box::new(core)), name, home: None, refusals: vec![] }
    }

    /// The memory itself, for windows over it.
    pub(crate) fn own_memory(&self) -> &dyn RawMemory {
        self.core().memory.as_ref()
    }

    /// The same buffer in use again, by another name.
    pub(crate) fn again(mut self, name: Option<&str>) -> RawBuffer {
        self.name = name.map(Arc::from);
        if let Some(record) = &self.core().record {
            record.rename(self.name.clone());
        }
        self
    }

    /// The same buffer, to go home to a pool when dropped, and from there to the home it has.
    pub(crate) fn with_home(mut self, home: Home) -> RawBuffer {
        self.home = Some(home.before(self.home.take()));
        self
    }

    /// The same buffer, remembering which memories were tried before this one served.
    pub(crate) fn with_refusals(mut self, refusals: Vec<Refusal>) -> RawBuffer {
        self.refusals = refusals;
        self
    }

    /// Which memories an automatic choice tried before this one, and why they did not serve.
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    #[inline]
    fn core(&self) -> &Core {
        match &self.core {
            Some(core) => core,
            None => unreachable!("a raw buffer has its core until it is dropped"),
        }
    }

    /// Bytes that may be used.
    pub fn size(&self) -> usize {
        self.core().size
    }

    /// The memory's name.
    pub fn memory(&self) -> TensorMemory {
        self.core().kind
    }

    /// Where the bytes live.
    pub fn space(&self) -> LogicalMemorySpace {
        self.core().memory.space()
    }

    /// Whose driver made it, for memory of devices, pinned and managed memory.
    pub fn vendor(&self) -> Option<DeviceVendor> {
        self.core().memory.vendor()
    }

    /// What its device calls the first byte, for memory that the CPU does not reach: an address
    /// or a handle, whichever [`DeviceVendor::has_addresses`] says. Valid for as long as this
    /// exists; entered in no ledger.
    pub fn device_address(&self) -> Option<NonNull<u8>> {
        self.core().memory.device_address()
    }

    /// Where its device finds it, for memory of devices, pinned and managed memory. Valid for as
    /// long as this exists; entered in no ledger.
    pub fn device_place(&self) -> Option<DevicePlace> {
        self.core().memory.device_place()
    }

    /// Who copies from and to it, for memory of devices, pinned and managed memory.
    pub fn carrier(&self) -> Option<Arc<dyn Carrier>> {
        self.core().memory.carrier()
    }

    /// Whether the CPU can map it.
    pub fn cpu_accessible(&self) -> bool {
        self.core().address != CpuAddress::None
    }

    /// Whether bytes may be written.
    pub fn writable(&self) -> bool {
        self.core().writable
    }

    /// Which allocation this is. A window over a slot becomes another when it is parted from the
    /// memory.
    pub fn identity(&self) -> &BufferIdentity {
        #[cfg(linux_like)]
        if let Some(own) = self.parted_identity() {
            return own;
        }
        &self.core().identity
    }

    /// The name it was asked for with.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// How many guards, kernels and exports hold bytes of it now.
    pub fn held(&self) -> usize {
        self.core().ledger.held()
    }

    /// Whether other processes read it now because it was published: nobody may write it until
    /// they have given it back.
    pub fn is_published(&self) -> bool {
        self.core().ledger.has(Access::Publish)
    }

    /// Whether [`Access::ExportRead`] gives foreign code a copy: of memory that must not be written
    /// and of which the kernel has no private pages (DMA-BUF).
    pub fn exports_copies(&self) -> bool {
        #[cfg(linux_like)]
        return self.exports_apart().is_some_and(|(_, copied)| copied);
        #[cfg(not(linux_like))]
        false
    }

    /// Whether the bytes are still what was mapped.
    ///
    /// # Errors
    /// [`Error::Truncated`] if another process cut a mapped file.
    pub fn intact(&self) -> Result<()> {
        self.core().memory.intact()
    }

    /// How many bytes of `range` are in main memory now, of a mapped file; `None` if there is no
    /// saying: the kernel tells only the owner of the file.
    pub fn resident(&self, range: Range<usize>) -> Option<usize> {
        let inside = range.start <= range.end && range.end <= self.size();
        inside.then(|| self.core().memory.resident(range)).flatten()
    }

    /// The address of the first byte, if it never changes; entered in no ledger.
    pub(crate) fn fixed_address(&self) -> Option<NonNull<u8>> {
        match self.core().address {
            CpuAddress::Fixed(address) => Some(address),
            _ => None,
        }
    }

    /// What alignments are counted from: the address of the first byte, or where the device has
    /// it; `None` for memory whose address changes.
    pub(crate) fn base(&self) -> Option<usize> {
        match self.core().address {
            CpuAddress::Fixed(address) => Some(address.addr().get()),
            CpuAddress::WhileMapped => None,
            CpuAddress::None if self.vendor().is_some_and(DeviceVendor::has_addresses) => {
                self.device_address().map(|address| address.addr().get())
            }
            CpuAddress::None => self.device_place().map(|place| place.offset),
        }
    }

    /// What keeps the bytes, if it is an `O`. The buffer is to be dropped without a look at them.
    pub(crate) fn take_owner<O: Any>(&mut self) -> Option<O> {
        let owner = self.core.as_mut()?.memory.owner()?;
        let kept: Box<dyn Any> = owner.take_if(|kept| (**kept).is::<O>())?;
        kept.downcast().ok().map(|owner| *owner)
    }

    pub(crate) fn is_aligned(&self, align: usize) -> bool {
        self.base().is_some_and(|base| base.is_multiple_of(align))
    }

    /// Whether nobody outside this process can hold the bytes, or has taken some away.
    pub(crate) fn reusable(&self) -> bool {
        let core = self.core();
        !core.ledger.is_shared() && core.memory.intact().is_ok()
    }

    /// Remembers that others may hold the bytes, through whichever window or mapping they got
    /// them: a pool must not reuse them.
    pub fn mark_shared(&self) {
        self.core().ledger.mark_shared();
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        #[cfg(linux_like)]
        self.end_turns();
        self.watch.tell();
        if let Some(key) = self.object {
            registry::leave(key, &self.ledger);
        }
    }
}

impl Drop for RawBuffer {
    fn drop(&mut self) {
        if let (Some(core), Some(mut home)) = (self.core.take(), self.home.take()) {
            let next = home.next();
            home.take_back(RawBuffer {
                core: Some(core),
                name: None,
                home: next,
                refusals: vec![],
            });
        }
    }
}

impl fmt::Debug for RawBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawBuffer")
            .field("id", &self.identity().id())
            .field("memory", &self.memory())
            .field("size", &self.size())
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
