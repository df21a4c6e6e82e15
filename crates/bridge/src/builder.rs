//! How bridges are made.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use zenoh::key_expr::OwnedKeyExpr;

use crate::budget::{self, Budget};
use crate::keys::{Keys, pattern};
use crate::{Bridge, Compression, Error, Result};

/// How long a stream that is repeated here pauses before it ends, if not said.
const GIVE_UP: Duration = Duration::from_secs(300);

/// Options of a [`Bridge`].
///
/// ```no_run
/// use tenure_bridge::{Bridge, Compression};
///
/// let bridge = Bridge::builder()
///     .connect("tcp/camera-host:7447")
///     .import("cam0/**")
///     .under("garage") // its streams are garage/cam0/frame and so on here
///     .open()?;
/// # Ok::<(), tenure_bridge::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct BridgeBuilder {
    pub(crate) listen: Vec<String>,
    pub(crate) connect: Vec<String>,
    export: Vec<String>,
    import: Vec<String>,
    prefix: Option<String>,
    under: Option<String>,
    directory: Option<PathBuf>,
    compression: Compression,
    give_up: Option<Duration>,
    memory: Option<u64>,
}

/// Options that were found to be possible.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) exports: Vec<OwnedKeyExpr>,
    pub(crate) imports: Vec<OwnedKeyExpr>,
    pub(crate) keys: Keys,
    pub(crate) under: Option<String>,
    pub(crate) directory: PathBuf,
    pub(crate) compression: Compression,
    pub(crate) give_up: Duration,
    /// Memory for streams of others.
    pub(crate) budget: Arc<Budget>,
}

impl BridgeBuilder {
    /// Waits for others at an address such as `tcp/0.0.0.0:7447`.
    pub fn listen(mut self, endpoint: &str) -> BridgeBuilder {
        self.listen.push(endpoint.to_owned());
        self
    }

    /// Goes to others at an address such as `tcp/camera-host:7447`, again and again until they are
    /// there. A bridge that is told neither this nor where to listen looks for others in the local
    /// network by multicast.
    pub fn connect(mut self, endpoint: &str) -> BridgeBuilder {
        self.connect.push(endpoint.to_owned());
        self
    }

    /// Lets others have the streams of this name or pattern, as soon as somebody publishes them:
    /// `*` stands for one part between slashes, `**` for any number of them.
    pub fn export(mut self, pattern: &str) -> BridgeBuilder {
        self.export.push(pattern.to_owned());
        self
    }

    /// Repeats the streams of others of this name or pattern.
    pub fn import(mut self, pattern: &str) -> BridgeBuilder {
        self.import.push(pattern.to_owned());
        self
    }

    /// Where the keys of these bridges are in Zenoh; `tenure` if not said. Bridges see those of the
    /// same prefix.
    pub fn prefix(mut self, prefix: &str) -> BridgeBuilder {
        self.prefix = Some(prefix.to_owned());
        self
    }

    /// Puts this and a slash before the names of streams that are repeated here.
    pub fn under(mut self, name: &str) -> BridgeBuilder {
        self.under = Some(name.to_owned());
        self
    }

    /// The directory of local streams, instead of [`tenure_stream::directory`].
    pub fn directory(mut self, directory: impl AsRef<Path>) -> BridgeBuilder {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// Makes frames smaller before they are sent.
    pub fn compress(mut self, compression: Compression) -> BridgeBuilder {
        self.compression = compression;
        self
    }

    /// How long a stream that is repeated here pauses while no bridge that has it can be reached;
    /// five minutes if not said. Then it ends, and the report says why. If it comes back later, it
    /// begins anew.
    pub fn give_up_after(mut self, time: Duration) -> BridgeBuilder {
        self.give_up = Some(time);
        self
    }

    /// The most bytes of memory that streams of others take here, all together: their slots, frames
    /// that have come and wait, and what unpacking needs. Frames beyond are refused. A quarter of the
    /// memory that is available when the bridge opens (to the machine, and to its control group) if
    /// not said.
    pub fn memory(mut self, bytes: u64) -> BridgeBuilder {
        self.memory = Some(bytes);
        self
    }

    /// Opens the network and begins.
    ///
    /// # Errors
    /// If a pattern or a name is none, or the network cannot be opened: an address that is taken, say. Others
    /// that are not there yet are no error.
    pub fn open(self) -> Result<Bridge> {
        let plan = self.plan()?;
        Bridge::start(&self, plan)
    }

    fn plan(&self) -> Result<Plan> {
        let patterns = |words: &[String]| -> Result<Vec<OwnedKeyExpr>> {
            words.iter().map(|word| pattern(word)).collect()
        };
        if let Some(under) = &self.under {
            tenure_stream::check_name(under)?;
        }
        let memory = self.memory.unwrap_or_else(budget::usual);
        if memory < budget::LEAST {
            return Err(Error::Budget { found: memory, least: budget::LEAST });
        }
        Ok(Plan {
            exports: patterns(&self.export)?,
            imports: patterns(&self.import)?,
            keys: Keys::new(self.prefix.as_deref().unwrap_or("tenure"))?,
            under: self.under.clone(),
            directory: self.directory.clone().unwrap_or_else(tenure_stream::directory),
            compression: self.compression,
            give_up: self.give_up.unwrap_or(GIVE_UP),
            budget: Budget::new(memory),
        })
    }
}
