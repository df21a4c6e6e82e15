//! Tensors to and from other libraries, without a copy: DLPack 1.3, versioned and unversioned.
//!
//! [`Tensor::to_dlpack`](crate::Tensor::to_dlpack) lends a tensor to foreign code as a
//! [`Managed`] structure, and [`Tensor::from_dlpack`](crate::Tensor::from_dlpack) makes a tensor
//! of one. What an export lends is held in the ledger until its deleter runs, on whatever thread
//! and however late: exports do not exclude each other, nor kernels and copies, which use raw
//! pointers as foreign code does. They exclude Rust references: while foreign code may write,
//! `map()` and `map_read()` are `Busy`; while it only reads, `map()` is.
//!
//! ```
//! use tenure_tensor::dlpack::Managed;
//! use tenure_tensor::{Tensor, TensorDyn};
//!
//! let t = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0], &[2, 2])?;
//! let lent = t.to_dlpack()?;
//! assert_eq!((lent.tensor().ndim, lent.is_read_only()), (2, false));
//! assert!(t.map_read().is_err(), "foreign code may be writing");
//!
//! // What goes to foreign code is a pointer; whoever has it calls the deleter, once.
//! let pointer = lent.into_raw();
//! // SAFETY: the structure is ours, and nobody else has the pointer.
//! let lent = unsafe { Managed::from_raw(pointer.as_ptr())? };
//!
//! // And back: a tensor over the same bytes.
//! let back = TensorDyn::from_dlpack(lent)?.typed::<f32>()?;
//! back.map()?.as_mut_slice()[3] = 5.0;
//! assert_eq!(t.map_read()?.as_slice(), [1.0, 2.0, 3.0, 5.0]);
//! # Ok::<(), tenure_tensor::Error>(())
//! ```

mod exchange;
mod export;
mod fault;
mod import;
mod managed;
mod request;

#[cfg(test)]
mod tests;

pub use dlpack_ffi as ffi;
pub use exchange::{ExchangeTable, allocate, current_work_stream, managed_tensor_allocator};
pub use fault::Fault;
pub use managed::{Legacy, Managed, ManagedStruct, Versioned};
pub use request::{ExportRequest, Exported, VERSION};
