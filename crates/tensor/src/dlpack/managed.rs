//! Owned DLPack structures: dropping one calls its deleter, once.
#![expect(
    unsafe_code,
    reason = "reads structures that foreign code made, and calls their deleters"
)]

use std::ffi::c_void;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use tenure_memory::DlDevice;

use super::export::{RELEASE_LEGACY, RELEASE_VERSIONED};
use super::ffi::{
    self, DLManagedTensor, DLManagedTensorVersioned, DLPACK_FLAG_BITMASK_IS_COPIED as COPIED,
    DLPACK_FLAG_BITMASK_READ_ONLY as READ_ONLY, DLPackVersion, DLTensor,
};
use super::{Fault, VERSION};
use crate::Result;

/// Destroys what it is given, and everything that structure owns.
pub(super) type Deleter<S> = unsafe extern "C" fn(*mut S);

mod sealed {
    use super::{DLTensor, Deleter, Fault, c_void};

    /// What the two structures have in common. All of it is raw access to fields.
    #[doc(hidden)]
    pub trait Fields: Sized + 'static {
        /// A structure of our own.
        fn assemble(
            tensor: DLTensor,
            flags: u64,
            owner: *mut c_void,
            deleter: Deleter<Self>,
        ) -> Self;

        /// The deleter of what this library lends, as one value: a function may have several
        /// addresses.
        fn our_deleter() -> Deleter<Self>;

        /// Whether the fields are where this build expects them.
        ///
        /// # Safety
        /// `this` must point to a structure with everything up to the version.
        unsafe fn check_version(this: *const Self) -> Result<(), Fault>;

        /// # Safety
        /// `this` must point to a structure with everything up to the deleter.
        unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>>;

        fn tensor(&self) -> &DLTensor;
        fn tensor_mut(&mut self) -> &mut DLTensor;
        fn flags(&self) -> u64;
        fn owner(&self) -> *mut c_void;
    }
}
pub(super) use sealed::Fields;

/// One of the two structures that DLPack exchanges: [`DLManagedTensorVersioned`], and
/// [`DLManagedTensor`] of versions before 1.0.
pub trait ManagedStruct: Fields {}

impl ManagedStruct for DLManagedTensorVersioned {}
impl ManagedStruct for DLManagedTensor {}

impl Fields for DLManagedTensorVersioned {
    fn assemble(
        dl_tensor: DLTensor,
        flags: u64,
        manager_ctx: *mut c_void,
        deleter: Deleter<Self>,
    ) -> Self {
        let version = DLPackVersion { major: VERSION.0, minor: VERSION.1 };
        DLManagedTensorVersioned { version, manager_ctx, deleter: Some(deleter), flags, dl_tensor }
    }

    fn our_deleter() -> Deleter<Self> {
        RELEASE_VERSIONED
    }

    unsafe fn check_version(this: *const Self) -> Result<(), Fault> {
        // SAFETY: by the caller's promise; no reference is made, because a structure of another
        // major version may end before ours does.
        let DLPackVersion { major, minor } = unsafe { (*this).version };
        if major == VERSION.0 { Ok(()) } else { Err(Fault::Version { major, minor }) }
    }

    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: by the caller's promise; every version has the deleter here.
        unsafe { (*this).deleter }
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn tensor_mut(&mut self) -> &mut DLTensor {
        &mut self.dl_tensor
    }

    fn flags(&self) -> u64 {
        self.flags
    }

    fn owner(&self) -> *mut c_void {
        self.manager_ctx
    }
}

impl Fields for DLManagedTensor {
    fn assemble(
        dl_tensor: DLTensor,
        _flags: u64,
        manager_ctx: *mut c_void,
        deleter: Deleter<Self>,
    ) -> Self {
        DLManagedTensor { dl_tensor, manager_ctx, deleter: Some(deleter) }
    }

    fn our_deleter() -> Deleter<Self> {
        RELEASE_LEGACY
    }

    unsafe fn check_version(_this: *const Self) -> Result<(), Fault> {
        Ok(())
    }

    unsafe fn deleter(this: *const Self) -> Option<Deleter<Self>> {
        // SAFETY: by the caller's promise.
        unsafe { (*this).deleter }
    }

    fn tensor(&self) -> &DLTensor {
        &self.dl_tensor
    }

    fn tensor_mut(&mut self) -> &mut DLTensor {
        &mut self.dl_tensor
    }

    fn flags(&self) -> u64 {
        0
    }

    fn owner(&self) -> *mut c_void {
        self.manager_ctx
    }
}

/// A DLPack structure that this program owns. Dropping it calls the deleter, which gives the
/// memory back to whoever lent it.
pub struct Managed<S: ManagedStruct> {
    pointer: NonNull<S>,
}

/// The structure of DLPack 1.0 and later.
pub type Versioned = Managed<DLManagedTensorVersioned>;

/// The structure of DLPack before 1.0, without version and flags.
pub type Legacy = Managed<DLManagedTensor>;

// SAFETY: whoever made this promised a deleter that any thread may call; the fields are read
// only, and the bytes behind them are reached through the ledger.
unsafe impl<S: ManagedStruct> Send for Managed<S> {}
// SAFETY: as above; `&Managed` only reads fields.
unsafe impl<S: ManagedStruct> Sync for Managed<S> {}

impl<S: ManagedStruct> Managed<S> {
    /// Takes over a structure from foreign code: its deleter will be called exactly once, also if
    /// this refuses it. A null deleter is tolerated.
    ///
    /// # Errors
    /// [`Fault::Null`], [`Fault::Misplaced`], and [`Fault::Version`] for a major version that is
    /// not ours.
    ///
    /// # Safety
    /// `pointer`, unless null, must be what a DLPack producer gave out, and this program must own
    /// it: nobody else calls the deleter or changes the structure. The deleter may be called from
    /// any thread. Until it is called, shape and strides must be lists of as many numbers as there
    /// are dimensions, and the memory described must be valid for reads of initialised bytes and,
    /// unless the structure says that it is read-only, for writes. Nothing in this process may use
    /// that memory in a way that conflicts with guards given out for a tensor made of this.
    pub unsafe fn from_raw(pointer: *mut S) -> Result<Managed<S>> {
        let Some(pointer) = NonNull::new(pointer) else { return Err(Fault::Null.into()) };
        if !pointer.is_aligned() {
            let (address, align) = (pointer.addr().get(), align_of::<S>());
            return Err(Fault::Misplaced { address, align }.into());
        }
        let managed = Managed { pointer };
        // SAFETY: by the caller's promise.
        unsafe { S::check_version(pointer.as_ptr()) }?;
        Ok(managed)
    }

    /// Our own structure.
    ///
    /// # Safety
    /// As [`Managed::from_raw`], of which everything must be known to hold.
    pub(super) unsafe fn own(pointer: NonNull<S>) -> Managed<S> {
        Managed { pointer }
    }

    /// Gives the structure away, to foreign code that will call the deleter.
    #[must_use = "whoever has the pointer must call the deleter"]
    pub fn into_raw(self) -> NonNull<S> {
        ManuallyDrop::new(self).pointer
    }

    pub(super) fn pointer(&self) -> NonNull<S> {
        self.pointer
    }

    pub(super) fn fields(&self) -> &S {
        // SAFETY: the pointer is valid until the deleter runs, which `self` will call; the version
        // was checked, so the structure is whole.
        unsafe { self.pointer.as_ref() }
    }

    /// The description.
    pub fn tensor(&self) -> &DLTensor {
        self.fields().tensor()
    }

    /// The flags; 0 for the unversioned structure.
    pub fn flags(&self) -> u64 {
        self.fields().flags()
    }

    /// Whether the consumer must not write.
    pub fn is_read_only(&self) -> bool {
        self.flags() & u64::from(READ_ONLY) != 0
    }

    /// Whether the producer says that it made a copy.
    pub fn is_copied(&self) -> bool {
        self.flags() & u64::from(COPIED) != 0
    }

    /// The device that the memory belongs to.
    pub fn device(&self) -> DlDevice {
        let ffi::DLDevice { device_type, device_id } = self.tensor().device;
        DlDevice { device_type: device_type.0.cast_signed(), device_id }
    }
}

impl<S: ManagedStruct> Drop for Managed<S> {
    fn drop(&mut self) {
        let pointer = self.pointer.as_ptr();
        // SAFETY: the structure is ours until here, and nobody can reach it afterwards.
        unsafe {
            if let Some(deleter) = S::deleter(pointer) {
                deleter(pointer);
            }
        }
    }
}

impl<S: ManagedStruct> fmt::Debug for Managed<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Managed")
            .field("tensor", self.tensor())
            .field("flags", &self.flags())
            .finish_non_exhaustive()
    }
}
