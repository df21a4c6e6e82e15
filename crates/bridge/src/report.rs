//! What a bridge tells about itself.

use serde::Serialize;

/// A bridge at one moment. Made by [`crate::Bridge::report`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct BridgeReport {
    /// Streams of this machine that others can have.
    pub exports: Vec<ExportReport>,
    /// Streams of others that are repeated here.
    pub imports: Vec<ImportReport>,
    /// Streams of others that are known, repeated here or not.
    pub remote: Vec<Remote>,
    /// Bytes of memory that streams of others take here.
    pub memory: u64,
    /// The most that they may take: see [`crate::BridgeBuilder::memory`].
    pub memory_limit: u64,
}

/// A stream that another bridge has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Remote {
    /// What it is called there.
    pub name: String,
    /// The machine.
    pub host: String,
    /// The bridge, by the id of its session.
    pub bridge: String,
}

/// A stream that others can have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ExportReport {
    /// Its name.
    pub name: String,
    /// What it does now.
    pub state: ExportState,
    /// Frames that were given to the network, which may lose some: those that came are counted there.
    pub sent: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Frames that were not sent, because the one before was still on its way.
    pub missed: u64,
    /// The last thing that went wrong.
    pub problem: Option<String>,
}

/// What an exported stream does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExportState {
    /// Nobody wants it: no frame is touched.
    Idle,
    /// Somebody gets its frames.
    Sending,
    /// It cannot be exported; the problem says why.
    Refused,
    /// Its producer has ended it.
    Ended,
}

/// A stream that is repeated here.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ImportReport {
    /// What it is called here.
    pub name: String,
    /// Where it comes from: machine and name there.
    pub from: String,
    /// What it does now.
    pub state: ImportState,
    /// Frames that came and were published.
    pub received: u64,
    /// Bytes of their bodies.
    pub bytes: u64,
    /// Frames that were published there and not here.
    pub lost: u64,
    /// Packets that made no sense.
    pub refused: u64,
    /// The last thing that went wrong.
    pub problem: Option<String>,
}

/// What an imported stream does now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ImportState {
    /// The other side is there, and no frame has come yet.
    Waiting,
    /// Frames come.
    Live,
    /// The other side cannot be reached.
    Paused,
    /// The producer there has ended it, or could not be reached for too long, as the problem says.
    Ended,
    /// It cannot be published here; the problem says why.
    Refused,
}
