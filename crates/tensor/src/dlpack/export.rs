//! A tensor as a DLPack structure, in one allocation: the structure, what is held, shape and
//! strides. The deleter frees that allocation, and with it the hold.
#![expect(unsafe_code, reason = "foreign code calls the deleter with a pointer that we gave out")]

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU8;

use smallvec::SmallVec;
use tenure_memory::backend::DeviceHold;
use tenure_memory::{Access, DlDevice, Hold};

use super::ffi::{
    DLDataType, DLDevice, DLDeviceType, DLManagedTensor, DLManagedTensorVersioned,
    DLPACK_FLAG_BITMASK_IS_COPIED as COPIED, DLPACK_FLAG_BITMASK_READ_ONLY as READ_ONLY, DLTensor,
};
use super::managed::Deleter;
use super::request::Terms;
use super::{Fault, Managed, ManagedStruct};
use crate::meta::{Parts, Placed};
use crate::{ElementKind, Result, Tensor};

/// The owner that structures of this copy of the library name. Nothing is read or written there:
/// what counts is that nobody else has the address, which interior mutability assures.
static OURS: AtomicU8 = AtomicU8::new(0);

/// The deleters of both structures.
pub(super) static RELEASE_VERSIONED: Deleter<DLManagedTensorVersioned> = release;
/// See [`RELEASE_VERSIONED`].
pub(super) static RELEASE_LEGACY: Deleter<DLManagedTensor> = release;

/// What foreign code holds.
#[repr(C)]
struct Lent<S> {
    /// First, so that a pointer to it is a pointer to all.
    managed: S,
    held: Held,
    /// Shape, then strides.
    numbers: SmallVec<[i64; 12]>,
    read_only: bool,
}

/// The tensor's bytes, entered in the ledger.
enum Held {
    /// With an address for the CPU.
    Mapped(Hold<Placed>),
    /// By what their device calls them.
    OnDevice { _hold: DeviceHold, parts: Arc<Parts> },
}

impl Held {
    fn parts(&self) -> &Arc<Parts> {
        match self {
            Held::Mapped(hold) => hold.keep().parts(),
            Held::OnDevice { parts, .. } => parts,
        }
    }
}

/// Where the first element is, as DLPack says it.
struct Start {
    data: *mut c_void,
    byte_offset: u64,
}

impl Start {
    /// What DLPack asks of tensors without elements.
    const NOWHERE: Start = Start { data: ptr::null_mut(), byte_offset: 0 };
}

impl<E: ElementKind> Tensor<E> {
    /// Lends the tensor, in either structure.
    pub(super) fn lend<S: ManagedStruct>(&self, terms: Terms) -> Result<Managed<S>> {
        self.check_one_buffer()?;
        let Terms { device, read_only, copied } = terms;
        let access = if read_only { Access::ExportRead } else { Access::ExportWrite };
        let (held, start) = self.hold_for_export(access)?;

        let flag = |is: bool, flag: u32| if is { u64::from(flag) } else { 0 };
        let flags = flag(read_only, READ_ONLY) | flag(copied, COPIED);
        let tensor = self.described(&start, device, ptr::null_mut(), ptr::null_mut());
        let owner = (&raw const OURS).cast_mut().cast();
        let managed = S::assemble(tensor, flags, owner, S::our_deleter());

        let mut lent = Box::new(Lent { managed, held, numbers: SmallVec::new(), read_only });
        let layout = self.layout();
        // Both were checked to fit an `isize`, which is no wider than this. Filled in where they
        // stay: moving them would cost more than all the rest.
        lent.numbers.extend(layout.shape().iter().map(|&dim| dim as i64));
        lent.numbers.extend(layout.strides().iter().map(|&stride| stride as i64));
        let lent = Box::into_raw(lent);
        // SAFETY: `lent` is a box that nobody else knows. The numbers have their place only now;
        // references to both fields are made from the pointer that is given out, so that they
        // take nothing from it.
        let managed = unsafe {
            let numbers = (*lent).numbers.as_mut_ptr();
            let tensor = (*lent).managed.tensor_mut();
            (tensor.shape, tensor.strides) = (numbers, numbers.wrapping_add(layout.rank()));
            NonNull::new_unchecked(lent.cast::<S>())
        };
        // SAFETY: a structure of ours, which only this value knows. The memory is held for what
        // the flags allow until the deleter runs, and the lists of numbers live as long.
        Ok(unsafe { Managed::own(managed) })
    }

    /// Holds the bytes of the elements, and says where the first of them is.
    fn hold_for_export(&self, access: Access) -> Result<(Held, Start)> {
        let (parts, layout) = (&self.parts, self.layout());
        let span = layout.span();
        let range = parts.buffer.range_in_raw(span.clone())?;
        let raw = parts.buffer.raw()?;
        if raw.cpu_accessible() {
            let hold = Hold::over(self.placed(), access, range).map_err(|it| self.named(it))?;
            let first = hold.address().as_ptr().wrapping_add(layout.offset() - span.start);
            let start = match span.is_empty() {
                true => Start::NOWHERE,
                // Not beside the pointer, where the specification has it: torch ignores it there.
                false => Start { data: first.cast(), byte_offset: 0 },
            };
            return Ok((Held::Mapped(hold), start));
        }
        let first = range.start + (layout.offset() - span.start);
        let start = match raw.device_address() {
            _ if span.is_empty() => Start::NOWHERE,
            None => return Err(Fault::NoAddress { space: raw.space() }.into()),
            Some(base) if raw.vendor().is_some_and(|vendor| vendor.has_addresses()) => {
                Start { data: base.as_ptr().wrapping_add(first).cast(), byte_offset: 0 }
            }
            Some(handle) => {
                // Beside the handle goes where the allocation starts in what it names.
                let before = raw.device_place().map_or(0, |place| place.offset);
                Start { data: handle.as_ptr().cast(), byte_offset: (before + first) as u64 }
            }
        };
        let hold = DeviceHold::over(Arc::clone(raw), access, range).map_err(|it| self.named(it))?;
        Ok((Held::OnDevice { _hold: hold, parts: Arc::clone(parts) }, start))
    }

    fn described(
        &self,
        start: &Start,
        device: DlDevice,
        shape: *mut i64,
        strides: *mut i64,
    ) -> DLTensor {
        let (code, bits) = self.dtype().dlpack();
        let DlDevice { device_type, device_id } = device;
        let device_type = DLDeviceType(device_type.cast_unsigned());
        DLTensor {
            data: start.data,
            device: DLDevice { device_type, device_id },
            // At most `MAX_RANK`.
            ndim: self.rank() as i32,
            dtype: DLDataType { code, bits, lanes: 1 },
            shape,
            strides,
            byte_offset: start.byte_offset,
        }
    }

    /// The description alone, for consumers that use the memory before they return and keep
    /// nothing: what the C exchange interface calls `dltensor_from_py_object_no_sync`. Nothing is
    /// allocated, and nothing entered in the ledger.
    ///
    /// # Errors
    /// If the tensor has no address that stays, or its planes are in several buffers. Exports read
    /// only are refused too: this structure has no flags to say so.
    ///
    /// # Safety
    /// What it points to is valid for as long as this tensor is neither changed nor dropped, and
    /// must not be written through `shape` and `strides`. The caller must keep uses of the memory
    /// from overlapping in time with a conflicting guard, as with
    /// [`Buffer::as_ptr`](crate::Buffer::as_ptr), and must do itself what the memory needs around
    /// CPU access.
    #[cfg(target_pointer_width = "64")]
    pub unsafe fn to_dl_tensor(&self) -> Result<DLTensor> {
        self.check_one_buffer()?;
        if !self.is_writable()? || self.buffer().raw()?.is_published() {
            return Err(Fault::ReadOnlyUnversioned.into());
        }
        let layout = self.layout();
        let start = if layout.span().is_empty() {
            Start::NOWHERE
        } else {
            // SAFETY: the caller makes the promises.
            let base = unsafe { self.buffer().as_ptr()? };
            Start { data: base.as_ptr().wrapping_add(layout.offset()).cast(), byte_offset: 0 }
        };
        // Numbers of the same width, and none of them beyond `isize`.
        let shape = layout.shape().as_ptr().cast::<i64>().cast_mut();
        let strides = layout.strides().as_ptr().cast::<i64>().cast_mut();
        Ok(self.described(&start, self.dlpack_device()?, shape, strides))
    }
}

/// The deleter of what we lend.
///
/// # Safety
/// `pointer` must be null or come from [`Tensor::lend`], and is used for the last time.
unsafe extern "C" fn release<S: ManagedStruct>(pointer: *mut S) {
    if !pointer.is_null() {
        // SAFETY: by the caller's promise; the structure is the first field of what was leaked.
        drop(unsafe { Box::from_raw(pointer.cast::<Lent<S>>()) });
    }
}

/// The tensor that a structure of ours was made of, and whether the structure is read-only.
/// `None` for structures of others.
pub(super) fn own_parts<S: ManagedStruct>(managed: &Managed<S>) -> Option<(&Arc<Parts>, bool)> {
    // SAFETY: an owned structure is whole.
    let deleter = unsafe { S::deleter(managed.pointer().as_ptr()) }?;
    let ours = ptr::eq(managed.fields().owner(), (&raw const OURS).cast())
        && ptr::fn_addr_eq(deleter, S::our_deleter());
    if !ours {
        return None;
    }
    // SAFETY: nobody but `lend` writes our owner beside our deleter, and what it makes is the
    // first field of this; whoever copied the structure could not have it deleted either.
    let lent = unsafe { managed.pointer().cast::<Lent<S>>().as_ref() };
    Some((lent.held.parts(), lent.read_only))
}
