//! A tensor over memory that a DLPack structure describes and keeps. Nothing in the structure is
//! believed that can be checked.
#![expect(unsafe_code, reason = "reads lists that foreign code made, and adopts its memory")]

use std::num::NonZero;
use std::ptr::NonNull;
use std::sync::Arc;

use tenure_layout::{DType, Dims, Layout, MAX_RANK, Strides};
use tenure_memory::{
    Buffer, CpuAddress, DeviceVendor, LogicalMemorySpace, RawBuffer, RawMemory, TensorMemory,
};

use super::export::own_parts;
use super::ffi::{DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED as PADDED, DLTensor};
use super::{Fault, Managed, ManagedStruct};
use crate::detail::Which;
use crate::meta::{Meta, Parts};
use crate::{ElementKind, Error, Result, Tensor};

/// The address of tensors without elements: aligned like all others, and never read.
const NOWHERE: NonNull<u8> =
    NonNull::without_provenance(NonZero::new(tenure_memory::ALIGNMENT).unwrap());

/// Memory of another library, which its structure keeps.
struct Imported<S: ManagedStruct> {
    /// Of the lowest byte, or the device's handle.
    address: NonNull<u8>,
    size: usize,
    space: LogicalMemorySpace,
    vendor: Option<DeviceVendor>,
    /// Its deleter runs when the last user is gone.
    managed: Managed<S>,
}

// SAFETY: the address is one of the structure's, which may be used on any thread; bytes are
// reached through the ledger.
unsafe impl<S: ManagedStruct> Send for Imported<S> {}
// SAFETY: as above.
unsafe impl<S: ManagedStruct> Sync for Imported<S> {}

// SAFETY: whoever made the structure a `Managed` promised that the memory it describes is valid
// until its deleter runs, and used by nobody else; `locate` gives the bytes described and no more.
unsafe impl<S: ManagedStruct> RawMemory for Imported<S> {
    fn memory(&self) -> TensorMemory {
        match self.space {
            LogicalMemorySpace::MainMemory => TensorMemory::Mem,
            LogicalMemorySpace::PinnedMemory => TensorMemory::Pinned,
            LogicalMemorySpace::GpuMemory { .. } => TensorMemory::Device,
            LogicalMemorySpace::ManagedMemory => TensorMemory::Managed,
        }
    }

    fn space(&self) -> LogicalMemorySpace {
        self.space
    }

    fn vendor(&self) -> Option<DeviceVendor> {
        self.vendor
    }

    fn device_address(&self) -> Option<NonNull<u8>> {
        (!self.space.cpu_reachable()).then_some(self.address)
    }

    fn size(&self) -> usize {
        self.size
    }

    fn address(&self) -> CpuAddress {
        match self.space.cpu_reachable() {
            true => CpuAddress::Fixed(self.address),
            false => CpuAddress::None,
        }
    }

    fn writable(&self) -> bool {
        !self.managed.is_read_only()
    }

    /// It stands in the books of its owner, who may be we.
    fn borrowed(&self) -> bool {
        true
    }
}

impl<E: ElementKind> Tensor<E> {
    /// A tensor over the memory that a DLPack structure describes, without a copy. The deleter
    /// runs when the tensor, its views and guards are gone, or at once if the structure is
    /// refused.
    ///
    /// A structure that this library made gives another handle to the tensor that it was made of:
    /// one ledger, whichever way the bytes are reached.
    ///
    /// # Errors
    /// [`Error::Dlpack`] for what makes no sense or leaves the address space,
    /// [`tenure_layout::Error::UnknownDTypeCode`] for element types that Tenure does not have,
    /// [`Error::MisalignedAddress`] for elements off their natural alignment, and
    /// [`Error::WrongElement`] if `E` is another type.
    pub fn from_dlpack<S: ManagedStruct>(managed: Managed<S>) -> Result<Tensor<E>> {
        if let Some((parts, read_only)) = own_parts(&managed) {
            check_element::<E>(parts.meta.layout.dtype())?;
            return again(parts, read_only);
        }
        let (tensor, padded) = (managed.tensor(), managed.flags() & u64::from(PADDED) != 0);
        let dtype = dtype(tensor, padded)?;
        check_element::<E>(dtype)?;
        let (shape, strides) = (shape(tensor)?, strides(tensor)?);
        let device = managed.device();
        let (space, vendor) =
            LogicalMemorySpace::from_dlpack(device).ok_or(Fault::Device { device })?;
        let addressed = space.cpu_reachable() || vendor.is_some_and(DeviceVendor::has_addresses);
        let (address, layout) = match addressed {
            true => at_address(tensor, dtype, &shape, strides.as_deref())?,
            false => beside_handle(tensor, dtype, &shape, strides.as_deref())?,
        };
        let size = layout.span().end;
        let raw = RawBuffer::new(Imported { address, size, space, vendor, managed }, None);
        Ok(Tensor::assemble(Buffer::from_raw(raw), Meta::new(layout)))
    }
}

fn check_element<E: ElementKind>(have: DType) -> Result<()> {
    match E::KNOWN {
        Some(asked) if asked != have => {
            Err(Error::WrongElement { tensor: Which::default(), have, asked })
        }
        _ => Ok(()),
    }
}

/// Another handle to a tensor of ours that was lent.
fn again<E: ElementKind>(parts: &Arc<Parts>, read_only: bool) -> Result<Tensor<E>> {
    let raw = parts.buffer.raw()?;
    if !read_only || !raw.writable() {
        return Ok(Tensor { parts: Arc::clone(parts), element: std::marker::PhantomData });
    }
    let range = parts.buffer.range_in_raw(0..parts.buffer.len())?;
    let reader = Buffer::from_raw(RawBuffer::read_only(Arc::clone(raw)));
    Ok(Tensor::assemble(reader.slice(range)?, parts.meta.clone()))
}

pub(super) fn dtype(tensor: &DLTensor, padded: bool) -> Result<DType> {
    let dtype = DType::from_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)?;
    if padded && dtype.is_sub_byte() {
        return Err(Fault::Padded { dtype }.into());
    }
    Ok(dtype)
}

/// How many dimensions there are, if there can be as many.
fn rank(tensor: &DLTensor) -> Result<usize, Fault> {
    let ndim = tensor.ndim;
    usize::try_from(ndim).ok().filter(|&rank| rank <= MAX_RANK).ok_or(Fault::Dimensions { ndim })
}

pub(super) fn shape(tensor: &DLTensor) -> Result<Dims> {
    let rank = rank(tensor)?;
    if rank > 0 && tensor.shape.is_null() {
        return Err(Fault::NoShape { ndim: tensor.ndim }.into());
    }
    let mut shape = Dims::new();
    for axis in 0..rank {
        // SAFETY: the list has `ndim` numbers, by the promise of `Managed::from_raw`.
        let len = unsafe { tensor.shape.add(axis).read_unaligned() };
        shape.push(usize::try_from(len).map_err(|_| Fault::Dimension { axis, len })?);
    }
    Ok(shape)
}

/// `None` for elements that follow each other, which versions before 1.2 say without a list.
fn strides(tensor: &DLTensor) -> Result<Option<Strides>> {
    let rank = rank(tensor)?;
    if tensor.strides.is_null() {
        return Ok(None);
    }
    let mut strides = Strides::new();
    for axis in 0..rank {
        // SAFETY: the list has `ndim` numbers, by the promise of `Managed::from_raw`.
        let stride = unsafe { tensor.strides.add(axis).read_unaligned() };
        strides.push(isize::try_from(stride).map_err(|_| Fault::Stride { axis, stride })?);
    }
    Ok(Some(strides))
}

/// The address of the lowest byte, and the layout from there.
fn at_address(
    tensor: &DLTensor,
    dtype: DType,
    shape: &[usize],
    strides: Option<&[isize]>,
) -> Result<(NonNull<u8>, Layout)> {
    let layout = match strides {
        Some(strides) => Layout::from_lowest(dtype, shape, strides)?,
        None => Layout::contiguous(dtype, shape)?,
    };
    let bytes = layout.span().end;
    if bytes == 0 {
        return Ok((NOWHERE, layout));
    }
    if tensor.data.is_null() {
        return Err(Fault::NoData { bytes }.into());
    }
    let (data, byte_offset) = (tensor.data.addr(), tensor.byte_offset);
    let leaves = || Fault::Address { at: Box::new((data, byte_offset)), bytes };
    let first = usize::try_from(byte_offset).ok().and_then(|offset| data.checked_add(offset));
    let lowest = first.and_then(|first| first.checked_sub(layout.offset()));
    let whole = lowest.filter(|lowest| lowest.checked_add(bytes).is_some());
    let address = whole.and_then(|lowest| NonNull::new(tensor.data.cast::<u8>().with_addr(lowest)));
    let address = address.ok_or_else(leaves)?;
    let align = dtype.align();
    if !address.addr().get().is_multiple_of(align) {
        let tensor = Which::default();
        return Err(crate::detail::MisalignedAddress { tensor, dtype, align }.into());
    }
    Ok((address, layout))
}

/// The handle, and the layout inside what it names.
fn beside_handle(
    tensor: &DLTensor,
    dtype: DType,
    shape: &[usize],
    strides: Option<&[isize]>,
) -> Result<(NonNull<u8>, Layout)> {
    let (data, byte_offset) = (tensor.data.addr(), tensor.byte_offset);
    let offset = usize::try_from(byte_offset)
        .map_err(|_| Fault::Address { at: Box::new((data, byte_offset)), bytes: 0 })?;
    let layout = match strides {
        Some(strides) => Layout::strided(dtype, shape, strides, offset)?,
        None => Layout::contiguous(dtype, shape)?.shifted(offset)?,
    };
    layout.check_aligned()?;
    let bytes = layout.span().len();
    match NonNull::new(tensor.data.cast::<u8>()) {
        Some(handle) => Ok((handle, layout)),
        None if bytes == 0 => Ok((NOWHERE, layout)),
        None => Err(Fault::NoData { bytes }.into()),
    }
}
