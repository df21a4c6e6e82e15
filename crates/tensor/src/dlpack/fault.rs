//! What DLPack cannot describe, and what is wrong with a structure from outside.

use tenure_layout::{DType, ErrorKind, MAX_RANK, Remedy};
use tenure_memory::{DlDevice, LogicalMemorySpace, TensorMemory};

use super::VERSION;
use super::request::{CPU, CUDA, CUDA_HOST, CUDA_MANAGED, ROCM, ROCM_HOST};

/// Why a tensor was not exported, or a structure not imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// No structure at all.
    #[error("the pointer to the DLPack structure is null")]
    Null,
    /// An address that no such structure can have.
    #[error("the DLPack structure is at {address:#x}, which is no multiple of {align}")]
    Misplaced {
        /// Where it is said to be.
        address: usize,
        /// What its address must be a multiple of.
        align: usize,
    },
    /// Another layout of the structure.
    #[error("the DLPack structure has version {major}.{minor}; this build reads {}.x", VERSION.0)]
    Version {
        /// Its major version.
        major: u32,
        /// Its minor version.
        minor: u32,
    },
    /// A number of dimensions that no tensor has.
    #[error("{ndim} dimensions: there can be 0 to {MAX_RANK}")]
    Dimensions {
        /// What the structure says.
        ndim: i32,
    },
    /// Dimensions, but no list of them.
    #[error("{ndim} dimensions, but the pointer to the shape is null")]
    NoShape {
        /// How many dimensions there are said to be.
        ndim: i32,
    },
    /// A dimension below zero, or beyond what this machine can address.
    #[error("dimension {axis} of the shape is {len}, which no dimension can be")]
    Dimension {
        /// Which.
        axis: usize,
        /// What the shape says.
        len: i64,
    },
    /// A stride beyond what this machine can address.
    #[error("stride {axis} is {stride} elements, more than can be addressed")]
    Stride {
        /// Which.
        axis: usize,
        /// What the strides say.
        stride: i64,
    },
    /// Elements, but no address.
    #[error("{bytes} bytes of elements, but the data pointer is null")]
    NoData {
        /// Bytes that there should be.
        bytes: usize,
    },
    /// Elements that would lie outside every address space.
    #[error("{bytes} bytes at {:#x} + {} leave the address space", at.0, at.1)]
    Address {
        /// The data pointer, and what is to be added to it.
        at: Box<(usize, u64)>,
        /// Bytes of elements.
        bytes: usize,
    },
    /// Elements of less than a byte that each take a whole one.
    #[error(
        "{dtype} elements padded to whole bytes (flag {}) cannot be described: pack them first",
        super::ffi::DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
    )]
    Padded {
        /// The element type.
        dtype: DType,
    },
    /// A device that cannot exist.
    #[error("device {} of type {} cannot exist", .device.device_id, .device.device_type)]
    Device {
        /// The device.
        device: DlDevice,
    },
    /// Memory that has no address to be lent by.
    #[error("memory in space {space} has no address that other libraries could use")]
    NoAddress {
        /// Where it lives.
        space: LogicalMemorySpace,
    },
    /// A promise that the unversioned structure cannot carry.
    #[error(
        "the tensor is read-only, which the unversioned structure cannot say{}",
        Remedy::AskVersionedDlpack.clause()
    )]
    ReadOnlyUnversioned,
    /// Memory that must not be written and of which there are no private pages, but no copy.
    #[error(
        "the tensor is read-only and in {memory} memory, of which the kernel has no private pages: \
         it can only be lent as a copy, which was forbidden"
    )]
    CopyNeeded {
        /// Its memory.
        memory: TensorMemory,
    },
    /// A queue that the tensor's device cannot have.
    #[error("stream is {stream}, which is none of {}", streams_of(*device_type))]
    Stream {
        /// What was asked for.
        stream: i64,
        /// The type of the device, as DLPack numbers them.
        device_type: i32,
    },
    /// Another device was asked for, but no copy.
    #[error(
        "the tensor is on device {} of type {}, and bringing it to device {} of type {} needs a \
         copy, which was forbidden",
        have.device_id, have.device_type, asked.device_id, asked.device_type
    )]
    CopyForbidden {
        /// Where it is.
        have: DlDevice,
        /// Where it was wanted.
        asked: DlDevice,
    },
    /// Another device was asked for, which is not open.
    #[error(
        "the tensor is on device {} of type {} and cannot be brought to device {} of type {}, which \
         is not open here; the CPU (type 1) can be asked for{}",
        have.device_id, have.device_type, asked.device_id, asked.device_type,
        Remedy::OpenAnyDevice.clause()
    )]
    Unreachable {
        /// Where it is.
        have: DlDevice,
        /// Where it was wanted.
        asked: DlDevice,
    },
}

impl Fault {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Fault::Null => ErrorKind::Invalid,
            Fault::Misplaced { .. }
            | Fault::Version { .. }
            | Fault::Dimensions { .. }
            | Fault::NoShape { .. }
            | Fault::Dimension { .. }
            | Fault::Stride { .. }
            | Fault::NoData { .. }
            | Fault::Address { .. }
            | Fault::Padded { .. }
            | Fault::Device { .. }
            | Fault::NoAddress { .. }
            | Fault::ReadOnlyUnversioned
            | Fault::CopyNeeded { .. }
            | Fault::Stream { .. }
            | Fault::CopyForbidden { .. }
            | Fault::Unreachable { .. } => ErrorKind::Unsupported,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Fault::ReadOnlyUnversioned => Some(Remedy::AskVersionedDlpack),
            Fault::Unreachable { .. } => Some(Remedy::OpenAnyDevice),
            _ => None,
        }
    }
}

/// Whose streams they are, and what to pass.
fn streams_of(device_type: i32) -> &'static str {
    match device_type {
        CPU => "the CPU, which has no streams: pass None",
        CUDA | CUDA_HOST | CUDA_MANAGED => "CUDA: pass 1, 2, a pointer, -1 or None",
        ROCM | ROCM_HOST => "ROCm: pass 0, a pointer, -1 or None",
        _ => "this device, which has no streams: pass -1 or None",
    }
}
