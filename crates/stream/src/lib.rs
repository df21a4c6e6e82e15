//! Tensors from one process to every other that wants them, without a copy.
//!
//! The promise of this crate: whoever publishes never waits for whoever consumes, whoever consumes
//! never sees a frame change, and nobody can hurt anybody, whoever dies when. A consumer gets
//! memory that the kernel lets nobody but the producer write, and holds at most the slots that it
//! was granted; all counts are in the producer's own memory.
//!
//! ```
//! use std::time::Duration;
//! use tenure_stream::{Meta, Publisher, Spec, Subscriber};
//! use tenure_tensor::PixelFormat;
//!
//! # let directory = tempfile::tempdir()?;
//! # let here = directory.path();
//! // One process publishes; slots are tensors to fill.
//! let mut publisher = Publisher::builder("cam0")
//! #    .directory(here)
//!     .spec(Spec::image(640, 480, PixelFormat::Rgb)?)
//!     .open()?;
//!
//! // Others subscribe, as many as want to.
//! let mut subscriber = Subscriber::builder("cam0")
//! #    .directory(here)
//!     .credits(3)
//!     .open()?;
//!
//! let slot = publisher.claim()?;
//! slot.typed::<u8>()?.fill(128)?;
//! slot.publish(Meta::new())?;
//!
//! if let Some(frame) = subscriber.next(Duration::from_secs(1))? {
//!     println!("{} {:?} after {:?}", frame.sequence(), frame.shape(), frame.age());
//! } // Dropped here: the slot goes back.
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Who may hurt whom
//!
//! - **Other users of the machine.** A directory of streams is used only if others cannot replace what
//!   is in it (see [`directory`]); sockets are made out of their reach and appear with their mode. A
//!   producer lets processes of its own user and group in, and whom
//!   [`PublisherBuilder::allow`] allows. A consumer listens to producers of its own user, root, the
//!   owner of the directory and its own group, and of [`SubscriberBuilder::producer_uid`].
//!   In a sticky directory, whoever takes a name first has it.
//! - **A producer that lies** is disconnected with an error. It can make a consumer hold no more frames
//!   than credits were asked for, map no more than [`SubscriberBuilder::memory_limit`], keep no more
//!   than [`SubscriberBuilder::descriptor_limit`] descriptors, and read no more elements than the
//!   memory that it sent has bytes for; every call ends after bounded work. What is in a frame is the
//!   producer's word alone, and so are its times and counts.
//! - **A consumer that lies** is put out. It can hold no more than its credits, write nothing, and make
//!   nobody wait.
//! - **A process that was forked off** can drop what it inherited at any moment, and ends nothing.
//!
//! Not defended: what the same user's processes do to each other's files, and parents of the
//! directory that somebody else can write.
//!
//! On systems other than Linux and Android only the pure parts exist.
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

#[cfg(any(linux_like, test))]
#[cfg_attr(not(linux_like), expect(dead_code, reason = "whoever uses all of it is not there"))]
mod accounts;
#[cfg(any(linux_like, test))]
pub mod wire;

#[cfg(all(linux_like, feature = "async"))]
mod asynchronous;
#[cfg(linux_like)]
mod binding;
#[cfg(linux_like)]
mod clock;
#[cfg(linux_like)]
pub mod detail;
#[cfg(linux_like)]
mod directory;
#[cfg(linux_like)]
mod error;
#[cfg(linux_like)]
mod fill;
#[cfg(linux_like)]
mod frame;
#[cfg(linux_like)]
pub mod gstreamer;
#[cfg(linux_like)]
mod list;
#[cfg(linux_like)]
mod patience;
#[cfg(linux_like)]
mod publisher;
#[cfg(linux_like)]
pub mod recording;
#[cfg(linux_like)]
mod report;
#[cfg(linux_like)]
mod socket;
#[cfg(linux_like)]
mod spec;
#[cfg(linux_like)]
mod subscriber;

#[cfg(all(linux_like, feature = "async"))]
pub use asynchronous::AsyncSubscriber;
#[cfg(linux_like)]
pub use directory::{VARIABLE, check_name, directory};
#[cfg(linux_like)]
pub use error::{Error, Result};
#[cfg(linux_like)]
pub use fill::{Unfilled, fill};
#[cfg(linux_like)]
pub use frame::{Frame, Guarded};
#[cfg(linux_like)]
pub use list::{Listed, list, list_in, stat, stat_in, stat_within};
#[cfg(linux_like)]
pub use publisher::{Meta, Publisher, PublisherBuilder, Receipt, Slot};
#[cfg(linux_like)]
pub use report::{ConsumerReport, FrameReport, Origin, SlotReport, SlotState, StreamReport};
#[cfg(linux_like)]
pub use spec::Spec;
#[cfg(linux_like)]
pub use subscriber::{Frames, Subscriber, SubscriberBuilder};
#[cfg(linux_like)]
pub use tenure_layout::ErrorKind;
#[cfg(linux_like)]
pub use tenure_memory::share::Peer;
