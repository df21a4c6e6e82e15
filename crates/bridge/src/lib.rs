//! Streams of tensors to other machines, over Zenoh.
//!
//! The promise of this crate: a stream of another machine is a stream of this one. A bridge there is
//! an ordinary consumer that carries frames; a bridge here publishes them again, with their type,
//! shape, format, colour, quantisation, numbers, times and blobs, to consumers that need not know.
//! Frames are dropped rather than queued: one is on its way for each stream, and the next is the
//! newest there is. Nothing that comes from the network is believed before it is checked.
//!
//! ```no_run
//! use tenure_bridge::Bridge;
//!
//! // On the machine with the camera:
//! let here = Bridge::builder().listen("tcp/0.0.0.0:7447").export("cam0/**").open()?;
//!
//! // On another:
//! let there = Bridge::builder().connect("tcp/camera-host:7447").import("cam0/frame").open()?;
//! let mut frames = tenure_stream::Subscriber::builder("cam0/frame")
//!     .wait(std::time::Duration::from_secs(10))
//!     .open()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | what happens | what the stream that is repeated does |
//! |---|---|
//! | frames get lost, or the link is slow | numbers go on; consumers see how many were dropped |
//! | the link is cut, or the other bridge is gone | it pauses, and [`Origin`] says so; it goes on by itself |
//! | nobody has it for five minutes ([`BridgeBuilder::give_up_after`]) | it ends; it begins anew if somebody has it again |
//! | the producer there ends the stream | it ends; if the link was cut then, as soon as that is known |
//! | another producer there takes the name | it ends and begins anew, as it does there |
//!
//! Where two machines have a stream of one name, the one that was found first is repeated until it is
//! gone; then the other, as another producer. [`BridgeBuilder::under`] tells them apart. One link
//! carries one frame of a stream at a time, so a slow machine slows the others that have it.
//!
//! Memory for what others send is limited for the whole bridge ([`BridgeBuilder::memory`]): frames that
//! do not fit are refused, and the report says so. A peer cannot have more memory than 64 bytes for
//! each that it has sent, besides 16 MiB for a stream. What a stream held is given back when nobody
//! who has it can be reached.
//!
//! What was brought here is not carried on: a stream with an [`Origin`] is never exported, so that
//! frames cannot go in circles. Whoever can reach the port can have the frames: Zenoh over plain TCP
//! neither encrypts nor asks who is there.
//!
//! On systems other than Linux and Android this crate is empty.
//!
//! [`Origin`]: tenure_stream::Origin
#![forbid(unsafe_code)]
#![warn(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used
)]

#[cfg(linux_like)]
mod body;
#[cfg(linux_like)]
mod compression;
#[cfg(linux_like)]
mod dense;
#[cfg(linux_like)]
mod error;
#[cfg(linux_like)]
pub mod packet;

#[cfg(all(linux_like, feature = "zenoh"))]
mod bridge;
#[cfg(all(linux_like, feature = "zenoh"))]
mod budget;
#[cfg(all(linux_like, feature = "zenoh"))]
mod builder;
#[cfg(all(linux_like, feature = "zenoh"))]
mod export;
#[cfg(all(linux_like, feature = "zenoh"))]
mod import;
#[cfg(all(linux_like, feature = "zenoh"))]
mod keys;
#[cfg(all(linux_like, feature = "zenoh"))]
mod manager;
#[cfg(all(linux_like, feature = "zenoh"))]
mod report;
#[cfg(all(linux_like, feature = "zenoh"))]
mod session;
#[cfg(all(linux_like, feature = "zenoh"))]
mod signal;
#[cfg(all(linux_like, feature = "zenoh"))]
mod timing;
#[cfg(all(linux_like, feature = "zenoh"))]
mod watch;

#[cfg(linux_like)]
pub use body::{Carried, pack, unpack};
#[cfg(linux_like)]
pub use compression::{Compression, UnknownCompression};
#[cfg(linux_like)]
pub use error::{Error, Result};
#[cfg(linux_like)]
pub use tenure_layout::ErrorKind;

#[cfg(all(linux_like, feature = "zenoh"))]
pub use bridge::Bridge;
#[cfg(all(linux_like, feature = "zenoh"))]
pub use budget::OverBudget;
#[cfg(all(linux_like, feature = "zenoh"))]
pub use builder::BridgeBuilder;
#[cfg(all(linux_like, feature = "zenoh"))]
pub use report::{BridgeReport, ExportReport, ExportState, ImportReport, ImportState, Remote};
