//! What a consumer asks for, in the words of `__dlpack__`: version, device, copy.

use tenure_memory::{DeviceVendor, DlDevice, LogicalMemorySpace, TensorMemory, allocator_on};

use super::ffi::{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
use super::{Fault, Legacy, Versioned};
use crate::{ElementKind, Result, Tensor};

/// The DLPack version of what this build exports, and the newest that it knows.
pub const VERSION: (u32, u32) = (DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);

/// Types of devices, as DLPack numbers them.
pub(super) const CPU: i32 = 1;
pub(super) const CUDA: i32 = 2;
pub(super) const CUDA_HOST: i32 = 3;
pub(super) const ROCM: i32 = 10;
pub(super) const ROCM_HOST: i32 = 11;
pub(super) const CUDA_MANAGED: i32 = 13;

/// The stream of a consumer that does not want to be waited for.
const NO_SYNC: i64 = -1;

/// What a consumer asks of an export: the arguments of `__dlpack__`.
///
/// ```
/// use tenure_tensor::Tensor;
/// use tenure_tensor::dlpack::{Exported, ExportRequest};
/// let t = Tensor::from_slice(&[1u8, 2, 3], &[3])?;
/// // A consumer that names no version wants the old structure.
/// assert!(matches!(t.to_dlpack_for(&ExportRequest::new())?, Exported::Legacy(_)));
/// let new = ExportRequest::new().max_version(Some((1, 0))).copy(Some(true));
/// let Exported::Versioned(copy) = t.to_dlpack_for(&new)? else { unreachable!() };
/// assert!(copy.is_copied());
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use = "a request does nothing until an export is asked with it"]
pub struct ExportRequest {
    max_version: Option<(u32, u32)>,
    device: Option<DlDevice>,
    copy: Option<bool>,
    read_only: bool,
    stream: Option<i64>,
}

impl ExportRequest {
    /// What a consumer gets that asks for nothing: the unversioned structure over shared memory.
    pub fn new() -> ExportRequest {
        ExportRequest::default()
    }

    /// The newest version that the consumer reads. From 1.0 on it gets the versioned structure,
    /// in this build's version: minor versions only add, and a consumer of a later major version
    /// sees by the version what it got.
    pub fn max_version(self, max_version: Option<(u32, u32)>) -> ExportRequest {
        ExportRequest { max_version, ..self }
    }

    /// Where the consumer wants the memory: on the CPU, or on a device that is open here. What the CPU
    /// can reach is offered as memory of the CPU without a copy.
    pub fn device(self, device: Option<DlDevice>) -> ExportRequest {
        ExportRequest { device, ..self }
    }

    /// Always a copy, never one, or only where nothing else helps.
    pub fn copy(self, copy: Option<bool>) -> ExportRequest {
        ExportRequest { copy, ..self }
    }

    /// On which queue of the tensor's device the consumer will use it: its number or address there; -1
    /// to be told of nothing, `None` for the default. There is nothing here that would have to be
    /// waited for, but a value that no queue has is refused.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// use tenure_tensor::dlpack::ExportRequest;
    /// let on_the_cpu = Tensor::from_slice(&[1u8, 2, 3], &[3])?;
    /// assert!(on_the_cpu.to_dlpack_for(&ExportRequest::new().stream(Some(1))).is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn stream(self, stream: Option<i64>) -> ExportRequest {
        ExportRequest { stream, ..self }
    }

    /// Whether the [stream](ExportRequest::stream) can be one of a device of this type (a
    /// [`DlDevice::device_type`]). Those of CUDA are 1 (the default one), 2 (one per thread) and
    /// addresses, those of ROCm 0 (the default one) and addresses; the CPU has none.
    ///
    /// # Errors
    /// [`Fault::Stream`].
    pub fn check_stream(&self, device_type: i32) -> Result<()> {
        let Some(stream) = self.stream else { return Ok(()) };
        let right = match device_type {
            CPU => false,
            CUDA | CUDA_HOST | CUDA_MANAGED => stream == NO_SYNC || stream > 0,
            ROCM | ROCM_HOST => stream == NO_SYNC || stream == 0 || stream > 2,
            _ => stream == NO_SYNC,
        };
        if right { Ok(()) } else { Err(Fault::Stream { stream, device_type }.into()) }
    }

    /// Whether to forbid writing to the consumer.
    pub fn read_only(self, read_only: bool) -> ExportRequest {
        ExportRequest { read_only, ..self }
    }
}

/// A structure for whoever asked: which one depends on the version they read.
#[derive(Debug)]
pub enum Exported {
    /// For consumers of DLPack 1.0 and later.
    Versioned(Versioned),
    /// For older ones.
    Legacy(Legacy),
}

/// How a tensor is lent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terms {
    pub(super) device: DlDevice,
    pub(super) read_only: bool,
    pub(super) copied: bool,
}

impl<E: ElementKind> Tensor<E> {
    /// The device that an export of this tensor names. Touches no data.
    ///
    /// # Errors
    /// If memory of a device has to be allocated to know whose it is, and cannot be.
    pub fn dlpack_device(&self) -> Result<DlDevice> {
        let space = self.space();
        let vendor = match space {
            LogicalMemorySpace::MainMemory => None,
            _ => self.buffer().raw()?.vendor(),
        };
        Ok(space.dlpack(vendor.unwrap_or(DeviceVendor::Cuda)))
    }

    /// Lends the tensor to foreign code that reads DLPack 1.0 or later, without a copy. The
    /// structure says that it is read-only if the memory is, if other processes read it because it
    /// was published, or if elements share bytes with each other (a broadcast view). A consumer that
    /// writes all the same changes pages of its own where the memory is a memory file.
    ///
    /// # Errors
    /// [`tenure_memory::Error::Busy`] while a guard holds bytes of it (for reading-only exports:
    /// while one writes), and [`crate::Error::SeveralBuffers`].
    pub fn to_dlpack(&self) -> Result<Versioned> {
        let (device, read_only) = (self.dlpack_device()?, self.export_reads_only()?);
        let copied = read_only && self.buffer().raw()?.exports_copies();
        self.lend(Terms { device, read_only, copied })
    }

    /// Lends the tensor to foreign code that only reads DLPack before 1.0.
    ///
    /// # Errors
    /// As [`Tensor::to_dlpack`], and [`Fault::ReadOnlyUnversioned`].
    pub fn to_dlpack_legacy(&self) -> Result<Legacy> {
        match self.to_dlpack_for(&ExportRequest::new())? {
            Exported::Legacy(legacy) => Ok(legacy),
            Exported::Versioned(_) => unreachable!("no version asked for means the old structure"),
        }
    }

    /// Lends the tensor, or a copy of it, as a consumer asks.
    ///
    /// # Errors
    /// As [`Tensor::to_dlpack`], and the [`Fault`]s of what was asked.
    pub fn to_dlpack_for(&self, request: &ExportRequest) -> Result<Exported> {
        let have = self.dlpack_device()?;
        request.check_stream(have.device_type)?;
        let cpu = LogicalMemorySpace::MainMemory.dlpack(DeviceVendor::Cuda);
        let device = request.device.unwrap_or(have);
        // Memory of the CPU has no second device.
        if device.device_type == cpu.device_type && device != cpu {
            return Err(Fault::Unreachable { have, asked: device }.into());
        }
        let shareable = device == have || (device == cpu && self.space().cpu_reachable());
        if !shareable && request.copy == Some(false) {
            return Err(Fault::CopyForbidden { have, asked: device }.into());
        }
        if shareable && request.copy != Some(true) {
            let read_only = request.read_only || self.export_reads_only()?;
            let copied = read_only && self.buffer().raw()?.exports_copies();
            if copied && request.copy == Some(false) {
                return Err(Fault::CopyNeeded { memory: self.memory() }.into());
            }
            return self.lend_as(request, Terms { device, read_only, copied });
        }
        let copy = match device == cpu {
            true => self.to(Some(TensorMemory::Mem))?,
            false => self.to_device(device, have)?,
        };
        copy.lend_as(request, Terms { device, read_only: request.read_only, copied: true })
    }

    /// A copy on a device, which must be open.
    fn to_device(&self, device: DlDevice, have: DlDevice) -> Result<Tensor<E>> {
        // The device that it is on, which need not be the first of those with this name.
        let own = self.buffer().raw()?.carrier().filter(|_| device == have);
        let allocator = match own {
            Some(own) => own.allocator(self.space()),
            None => LogicalMemorySpace::from_dlpack(device)
                .and_then(|(space, vendor)| allocator_on(vendor?, space)),
        };
        let allocator = allocator.ok_or(Fault::Unreachable { have, asked: device })?;
        self.to_in(allocator.as_ref())
    }

    /// Whether an export must forbid writing.
    fn export_reads_only(&self) -> Result<bool> {
        let layout = self.layout();
        let unwritten = !self.is_writable()? || self.buffer().raw()?.is_published();
        Ok(unwritten || (!layout.is_row_major() && layout.may_self_overlap()))
    }

    /// Lends it in the structure that goes with the version asked for.
    fn lend_as(&self, request: &ExportRequest, terms: Terms) -> Result<Exported> {
        match request.max_version {
            Some((major, _)) if major >= 1 => self.lend(terms).map(Exported::Versioned),
            _ if terms.read_only => Err(Fault::ReadOnlyUnversioned.into()),
            _ => self.lend(terms).map(Exported::Legacy),
        }
    }
}
