//! Where tensor bytes live, who owns them, and who may touch them.
//!
//! The promise of this crate: bytes reached through a guard of this crate stay valid, stay in
//! place and belong to nobody else for as long as the guard lives, whatever other safe code in
//! this process does. Every touch is entered in the ledger of its allocation; a conflict is
//! [`Error::Busy`] at once.
//!
//! The words, from the outside in: a [`Buffer`] is a byte range of a [`RawBuffer`], which owns one
//! allocation made by an [`Allocator`]; [`ReadGuard`] and [`WriteGuard`] give the CPU the bytes,
//! [`ReadRows`] and [`WriteRows`] those of a rectangle.
//! What the bytes mean is the business of `tenure-layout` and `tenure-tensor`.
//!
//! # Out of memory
//! Memory of tensors, and every buffer of 64 KiB and more whose size a caller, a file or a peer
//! decides (bodies of messages, heads of files, reports of streams, here and in the crates above),
//! is an error where it cannot be had. Handles, entries of lists and texts are allocated by types
//! of the standard library, which abort the process when the heap refuses a few bytes; so are
//! lists that grow with what has really arrived (tensors of a file, scales of a quantisation), and
//! tables inside the decoders of other crates.
#![warn(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

mod allocator;
mod available;
pub mod backend;
mod buffer;
mod carrier;
mod choose;
pub mod detail;
mod device;
pub mod environment;
mod error;
mod guard;
mod identity;
pub mod kind;
mod ledger;
mod once;
mod place;
mod pool;
mod protection;
mod raw;
mod registry;
pub mod regular;
mod rows;
mod space;
mod spaces;
pub mod statistics;
mod sync;
mod tensor_memory;
mod thread;
pub mod tlsf;

#[cfg(linux_like)]
mod bus;
#[cfg(linux_like)]
mod cached;
#[cfg(linux_like)]
mod descriptor;
#[cfg(unix)]
mod duplicate;
#[cfg(linux_like)]
mod fence;
#[cfg(linux_like)]
mod import;
#[cfg(not(linux_like))]
#[path = "import_elsewhere.rs"]
mod import;
#[cfg(linux_like)]
mod ioctl;
#[cfg(maps_pages)]
mod mapping;
#[cfg(unix)]
mod plane;
#[cfg(linux_like)]
mod process;
#[cfg(linux_like)]
pub mod share;
#[cfg(linux_like)]
mod slot;

pub use allocator::{ALIGNMENT, Allocator, CpuAccess, Request};
pub use available::available_memory;
pub use buffer::Buffer;
pub use choose::{allocate, allocate_fitting, automatic};
pub use error::{DeviceFault, Error, MessageFault, Refusal, Result, Why};
pub use guard::{Hold, ReadGuard, ReadRows, RowIter, RowIterMut, WriteGuard, WriteRows};
pub use identity::{BufferIdentity, WeakIdentity};
pub use ledger::Access;
pub use place::Place;
pub use pool::{Pool, PoolLimits, PoolReport};
pub use protection::Protection;
pub use raw::{CpuAddress, RawBuffer, RawKind, RawMemory};
pub use rows::Rows;
pub use space::{DeviceVendor, DlDevice, LogicalMemorySpace};
pub use spaces::{allocator_in, allocator_on};
pub use tensor_memory::TensorMemory;
pub use tenure_layout::ErrorKind;
pub use thread::prepare_thread;

#[cfg(linux_like)]
pub use bus::ensure_sigbus_handler;
#[cfg(linux_like)]
pub use fence::{Fence, Signal};
pub use import::open_file;
#[cfg(unix)]
pub use import::{import, recognise};
#[cfg(unix)]
pub use plane::PlaneDescriptor;
#[cfg(linux_like)]
pub use slot::SlotMemory;
