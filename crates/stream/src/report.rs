//! What a stream tells about itself, in this process or to another.

use serde::{Deserialize, Serialize};

/// A stream at one moment. Made by [`crate::Publisher::stats`] and [`crate::stat`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StreamReport {
    /// Its name.
    pub name: String,
    /// Process id of the producer, as the producer sees it.
    pub pid: u32,
    /// Tells one life of the producer from the next.
    pub incarnation: u64,
    /// Since when it is there.
    pub seconds: f64,
    /// Frames published.
    pub published: u64,
    /// Frames that consumers did not get, all together.
    pub dropped: u64,
    /// Frames per second, of the last few; 0 while the stream pauses.
    pub rate: f64,
    /// Memory of its slots; what it would be if there are none yet.
    pub memory: String,
    /// Slots that the producer may claim at one time.
    pub claims: usize,
    /// Credits for all consumers together.
    pub credits: usize,
    /// Credits granted.
    pub granted: usize,
    /// Its slots.
    pub slots: Vec<SlotReport>,
    /// Its consumers.
    pub consumers: Vec<ConsumerReport>,
    /// What the last frame looked like.
    pub frame: Option<FrameReport>,
    /// Where its frames come from, if it repeats a stream of another machine.
    #[serde(default)]
    pub origin: Option<Origin>,
}

/// Where the frames of a stream come from that repeats one of another machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The stream there, in the words of whoever brings it here.
    pub from: String,
    /// Whether nothing can come at the moment: the way to it is cut.
    pub paused: bool,
}

impl StreamReport {
    /// Without characters that terminals obey: its texts come from another process and are shown to
    /// people.
    pub(crate) fn harmless(mut self) -> StreamReport {
        let frame = self.frame.as_mut();
        let (dtype, format) =
            frame.map_or((None, None), |frame| (Some(&mut frame.dtype), frame.format.as_mut()));
        let origin = self.origin.as_mut().map(|origin| &mut origin.from);
        let texts = [Some(&mut self.name), Some(&mut self.memory), dtype, format, origin];
        texts.into_iter().flatten().for_each(|text| text.retain(|letter| !letter.is_control()));
        self
    }

    /// Bytes of all slots that have memory, as the producer says.
    pub fn bytes(&self) -> usize {
        self.slots.iter().fold(0, |sum, slot| sum.saturating_add(slot.bytes))
    }
}

/// One slot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct SlotReport {
    /// Its number.
    pub index: usize,
    /// Counts the memories that it has had.
    pub generation: u32,
    /// Bytes of its memory, the stream's or the user's.
    pub bytes: usize,
    /// Whether the memory is the user's: of a camera, say.
    pub borrowed: bool,
    /// What it is now.
    pub state: SlotState,
}

/// What a slot is at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum SlotState {
    /// Without memory.
    Vacant,
    /// Waiting to be claimed.
    Free,
    /// Being filled.
    Claimed,
    /// With consumers.
    Published {
        /// How many frames in it they have.
        frames: usize,
    },
}

/// One consumer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ConsumerReport {
    /// Its number: see [`crate::Publisher::evict`].
    pub id: u64,
    /// Its process id; zero if it lives outside the producer's namespace.
    pub pid: u32,
    /// Its user id.
    pub uid: u32,
    /// Frames that it may hold at one time.
    pub credits: usize,
    /// Frames that it holds, waiting to be read or in use.
    pub held: usize,
    /// Frames that it got.
    pub sent: u64,
    /// Frames that it did not get.
    pub dropped: u64,
    /// Since when it has neither got a frame nor given one back.
    pub idle_seconds: f64,
    /// Whether it was put out, and still holds memory that is not the stream's.
    pub evicted: bool,
}

/// What a frame looks like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FrameReport {
    /// Element type.
    pub dtype: String,
    /// Elements per dimension.
    pub shape: Vec<usize>,
    /// Pixel format, if it is an image.
    pub format: Option<String>,
    /// Pixels across, if it is an image.
    pub width: Option<usize>,
    /// Pixels down, if it is an image.
    pub height: Option<usize>,
}
