//! How publishers are made.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tenure_memory::TensorMemory;
use tenure_memory::backend::Process;
use tenure_memory::share::Peer;

use super::core::Core;
use super::service::Door;
use super::{Publisher, Shared};
use crate::accounts::Limits;
use crate::directory::Place;
use crate::wire::MOST_SLOTS;
use crate::{Error, Origin, Result, Spec, clock};

/// Credits of all consumers: enough for 64 that ask for what they get without asking.
const CREDITS: usize = 192;

/// Decides whether a process may subscribe.
pub(super) type Policy = Box<dyn Fn(&Peer) -> bool + Send + Sync>;

/// Options of a [`Publisher`].
///
/// ```no_run
/// use std::time::Duration;
/// use tenure_stream::{Publisher, Spec};
/// use tenure_tensor::{PixelFormat, TensorMemory};
///
/// let publisher = Publisher::builder("cam0/frame")
///     .spec(Spec::image(3840, 2160, PixelFormat::Nv12)?)
///     .memory(TensorMemory::Dma)
///     .credits(12)
///     .evict_after(Duration::from_secs(5))
///     .allow(|peer| peer.uid == 1001)
///     .open()?;
/// # Ok::<(), tenure_stream::Error>(())
/// ```
#[must_use]
pub struct PublisherBuilder {
    name: String,
    directory: Option<PathBuf>,
    spec: Option<Spec>,
    /// Whether frames must look like `spec`.
    declared: bool,
    memory: TensorMemory,
    claims: usize,
    credits: usize,
    credits_each: usize,
    consumers: usize,
    patience: Option<Duration>,
    policy: Option<Policy>,
    thread: bool,
    first_sequence: u64,
    origin: Option<Origin>,
}

impl PublisherBuilder {
    pub(super) fn new(name: &str) -> PublisherBuilder {
        PublisherBuilder {
            name: name.to_owned(),
            directory: None,
            spec: None,
            declared: false,
            memory: TensorMemory::Shm,
            claims: 2,
            credits: CREDITS,
            credits_each: 16,
            consumers: 256,
            patience: None,
            policy: None,
            thread: true,
            first_sequence: 0,
            origin: None,
        }
    }

    /// The directory of the socket, instead of [`crate::directory`].
    pub fn directory(mut self, directory: impl AsRef<Path>) -> PublisherBuilder {
        self.directory = Some(directory.as_ref().to_owned());
        self
    }

    /// What all frames look like: others are [`Error::OtherSpec`] and not published (see
    /// [`Spec::admits`]). Memory for a new consumer is made when it comes and not when the first
    /// frame needs it. For frames that may differ from each other, see
    /// [`PublisherBuilder::initial_spec`].
    pub fn spec(mut self, spec: Spec) -> PublisherBuilder {
        (self.spec, self.declared) = (Some(spec), true);
        self
    }

    /// What the first frames will look like, so that there is memory for them; later ones may look
    /// otherwise. A publisher with neither this nor [`PublisherBuilder::spec`] knows it with the
    /// first frame.
    pub fn initial_spec(mut self, spec: Spec) -> PublisherBuilder {
        (self.spec, self.declared) = (Some(spec), false);
        self
    }

    /// The memory of slots: shared memory (the default) or DMA-BUFs.
    pub fn memory(mut self, memory: TensorMemory) -> PublisherBuilder {
        self.memory = memory;
        self
    }

    /// How many slots may be claimed at one time; 2 if not said.
    pub fn claims(mut self, claims: usize) -> PublisherBuilder {
        self.claims = claims.clamp(1, MOST_SLOTS / 2);
        self
    }

    /// How many frames all consumers together may hold at one time; 192 if not said, from 1 to 512.
    /// The stream has as many slots as its consumers were granted and its claims need, and no more.
    /// For streams of a camera's own buffers: how many of them may be away.
    ///
    /// Consumers get what they ask for until half of this is granted; whoever comes later gets at
    /// most a quarter of what is left, and at least one while there is one.
    pub fn credits(mut self, credits: usize) -> PublisherBuilder {
        self.credits = credits.clamp(1, MOST_SLOTS / 2);
        self
    }

    /// How many frames one consumer may hold at one time; 16 if not said. Whoever asks for more
    /// gets so many.
    pub fn credits_each(mut self, credits: usize) -> PublisherBuilder {
        self.credits_each = credits.max(1);
        self
    }

    /// The most consumers at one time; 256 if not said.
    pub fn consumers(mut self, consumers: usize) -> PublisherBuilder {
        self.consumers = consumers;
        self
    }

    /// Puts a consumer out that has held all its frames for so long. Without this, it keeps them
    /// and gets no others.
    pub fn evict_after(mut self, patience: Duration) -> PublisherBuilder {
        self.patience = Some(patience);
        self
    }

    /// Who may subscribe, besides processes of the same user or group.
    pub fn allow(
        mut self,
        policy: impl Fn(&Peer) -> bool + Send + Sync + 'static,
    ) -> PublisherBuilder {
        self.policy = Some(Box::new(policy));
        self
    }

    /// No thread: [`Publisher::serve`] has to be called to let consumers in.
    pub fn without_thread(mut self) -> PublisherBuilder {
        self.thread = false;
        self
    }

    /// The number of the first frame; 0 if not said. For streams that repeat another stream.
    pub fn first_sequence(mut self, sequence: u64) -> PublisherBuilder {
        self.first_sequence = sequence;
        self
    }

    /// Where the frames come from, for the stream's report. For streams that repeat another
    /// stream, so that nobody leads them back there.
    pub fn origin(mut self, origin: Origin) -> PublisherBuilder {
        self.origin = Some(origin);
        self
    }

    /// Takes the name, and lets consumers in.
    ///
    /// # Errors
    /// [`Error::Taken`] if another producer has the name; if name or directory are impossible.
    pub fn open(self) -> Result<Publisher> {
        let place = Place::new(&self.name, self.directory.as_deref())?;
        if !matches!(self.memory, TensorMemory::Shm | TensorMemory::Dma) {
            return Err(tenure_memory::Error::NoDescriptor { memory: self.memory }.into());
        }
        let limits = Limits {
            claims: self.claims,
            credits: self.credits,
            credits_each: self.credits_each,
            consumers: self.consumers,
            slots: MOST_SLOTS,
        };
        let patience = self.patience.map(clock::nanoseconds);
        let door = Door::open(&place, self.policy, self.patience)?;
        let epoll = Arc::clone(door.epoll());
        let spec = self.spec.map(Arc::new);
        let declared = spec.clone().filter(|_| self.declared);
        let mut core = Core::new(limits, spec, patience, epoll);
        core.skip(self.first_sequence);
        core.origin = self.origin;
        let shared = Arc::new(Shared {
            place,
            memory: self.memory,
            declared,
            incarnation: clock::now(),
            core: Mutex::new(core),
            door,
            process: Process::current(),
        });
        let thread = if self.thread {
            let served = Arc::clone(&shared);
            let name = "tenure-stream".to_owned();
            let thread = thread::Builder::new().name(name).spawn(move || {
                tenure_memory::prepare_thread();
                served.serve_on();
            });
            Some(thread.map_err(|cause| Error::system("starting the stream's thread", cause))?)
        } else {
            None
        };
        Ok(Publisher { shared, thread })
    }
}

impl fmt::Debug for PublisherBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PublisherBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}
