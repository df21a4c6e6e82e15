//! The packets of a stream: encoded here, believed by nobody until decoded here.
//!
//! Numbers are little-endian and fixed in width; elements are in memory that both sides share, in the
//! order of the machine. One packet of the socket is one packet of this
//! module. The first of each side begins with mark and version, so that versions that know nothing
//! else of each other can still say so.

mod frame;
#[cfg(test)]
mod tests;

use tenure_tensor::fields::{Cut, Reader, Writer};

pub use frame::FrameHead;
#[cfg(linux_like)]
pub(crate) use frame::NONE;

/// The version that this build speaks.
pub const VERSION: u16 = 2;
/// The longest description of a tensor, in bytes.
pub const LONGEST_DESCRIPTION: usize = 16 << 10;
/// The longest blob with a frame, in bytes.
pub const LONGEST_BLOB: usize = 16 << 10;
/// The longest packet, except reports.
pub const LONGEST: usize = FrameHead::BYTES + LONGEST_DESCRIPTION + LONGEST_BLOB;
/// The longest report.
pub const LONGEST_REPORT: usize = 160 << 10;
/// The most slots that a stream has, so that a number from outside costs little.
pub const MOST_SLOTS: usize = 1024;
/// The most memories of a slot: one for each plane of an image.
pub const MOST_MEMORIES: usize = 4;
/// The most descriptors with a packet: memories, and a fence.
pub const MOST_DESCRIPTORS: usize = MOST_MEMORIES + 1;

/// The counter of a consumer that has none.
pub const NO_COUNT: u32 = u32::MAX;

const MARK: u32 = u32::from_le_bytes(*b"TNST");
/// The longest text of a refusal.
const LONGEST_TEXT: usize = 512;

/// What is wrong with a packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// It ends in the middle of a field.
    #[error("it ends in the middle of {0}")]
    Short(&'static str),
    /// Bytes are left over.
    #[error("{0} bytes are left over")]
    Long(usize),
    /// It does not begin as the first packet of a stream does.
    #[error("it begins with {found:#010x}, which is no packet of a stream")]
    NotOurs {
        /// The first four bytes.
        found: u32,
    },
    /// A version that this build does not speak.
    #[error("it has version {found}, this build speaks {VERSION}")]
    Version {
        /// Its version.
        found: u16,
    },
    /// A code that means nothing.
    #[error("{what} {found} is unknown")]
    Unknown {
        /// Which field.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// A number out of its range.
    #[error("{what} is {found}, at most {limit} is possible")]
    TooLarge {
        /// Which field.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The largest possible.
        limit: u64,
    },
    /// Another number of descriptors than the packet says.
    #[error("{found} descriptors came, {expected} are right")]
    Descriptors {
        /// How many came.
        found: usize,
        /// How many are right.
        expected: usize,
    },
    /// The kernel could not give this process the descriptors.
    #[error(
        "the descriptors that came with it were lost: this process has as many open as it may \
         (see `ulimit -n`)"
    )]
    DescriptorsLost,
    /// Memory of a slot that was never sent.
    #[error("slot {slot} generation {generation} was never sent")]
    UnknownSlot {
        /// Slot.
        slot: u32,
        /// Generation.
        generation: u32,
    },
    /// A memory file that somebody could still write to, shrink or unseal.
    #[error(
        "its memory file has the seals {found:#x}: a stream's memory is sealed against shrinking, \
         growing, writing and further seals"
    )]
    Unsealed {
        /// The seals it has, as the kernel numbers them.
        found: u32,
    },
    /// Memory of another kind than streams are made of.
    #[error("its memory is {found}: streams are memory files (shm) and DMA-BUFs (dma)")]
    Memory {
        /// What it is.
        found: String,
    },
    /// A release of something that the consumer does not hold.
    #[error("slot {slot} with frame {sequence} was given back, which is not held")]
    NotHeld {
        /// Slot.
        slot: u32,
        /// Frame.
        sequence: u64,
    },
    /// A text that is none.
    #[error("its text is not UTF-8")]
    Text,
    /// Credits that were not asked for, or none.
    #[error("it grants {found} credits, from 1 to the {asked} that were asked for are possible")]
    Credits {
        /// Credits granted.
        found: u32,
        /// Credits asked for.
        asked: u32,
    },
    /// A frame that the consumer has no credit for.
    #[error("it is frame {found} that is held at one time, {credits} were granted")]
    NoCredit {
        /// Frames held, this one included.
        found: usize,
        /// Credits granted.
        credits: usize,
    },
    /// More memory is forgotten than was sent.
    #[error("it forgets slot {slot}, and no memory is left that was sent")]
    Forgets {
        /// The slot.
        slot: u32,
    },
}

impl Fault {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_tensor::ErrorKind {
        tenure_tensor::ErrorKind::Damaged
    }
}

impl From<Cut> for Fault {
    fn from(cut: Cut) -> Fault {
        match cut {
            Cut::Short(what) => Fault::Short(what),
            Cut::Long(bytes) => Fault::Long(bytes),
            Cut::TooLarge { what, found, limit } => Fault::TooLarge { what, found, limit },
        }
    }
}

/// What a consumer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// First: wants frames, and to hold so many at one time.
    Consume {
        /// Credits asked for.
        credits: u32,
    },
    /// First: wants a report, and nothing else.
    Report,
    /// Gives a frame back.
    Release {
        /// The slot.
        slot: u32,
        /// The frame.
        sequence: u64,
        /// The memory could not be taken and must be sent again.
        unknown: bool,
        /// The descriptor of a fence came along: the slot is free when that is done.
        fence: bool,
    },
    /// Wants no more frames; what it holds it goes on holding.
    Enough,
}

/// What a producer says, but for frames and reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// First: frames will follow.
    Welcome {
        /// Tells one life of the producer from the next.
        incarnation: u64,
        /// The consumer's number.
        consumer: u64,
        /// Credits granted.
        credits: u32,
        /// Which counter of the memory file that comes along says how many frames the consumer did
        /// not get; [`NO_COUNT`] if none does.
        count: u32,
    },
    /// First and last: no.
    Refused {
        /// Why, in words.
        reason: String,
    },
    /// Last: the stream is over.
    Ended,
    /// Last: the consumer held all its frames for too long.
    Evicted,
    /// The memory of a slot will not be used again: whoever has it may let it go.
    Forget {
        /// The slot.
        slot: u32,
        /// Which memory of the slot.
        generation: u32,
    },
    /// First and last: a report follows in the same packet.
    Report,
}

mod code {
    pub(super) const CONSUME: u8 = 1;
    pub(super) const REPORT: u8 = 2;
    pub(super) const RELEASE: u8 = 3;
    pub(super) const ENOUGH: u8 = 4;
    pub(super) const WELCOME: u8 = 16;
    pub(super) const REFUSED: u8 = 17;
    pub(super) const ENDED: u8 = 18;
    pub(super) const EVICTED: u8 = 19;
    pub(super) const REPORTED: u8 = 20;
    pub(super) const FORGET: u8 = 21;
    pub(super) const FRAME: u8 = 32;
    pub(super) const UNKNOWN: u8 = 1;
    pub(super) const FENCE: u8 = 2;
}

fn first(out: &mut Writer, kind: u8) {
    out.u8(kind);
    out.u32(MARK);
    out.u16(VERSION);
}

fn check_first(input: &mut Reader<'_>) -> Result<(), Fault> {
    let found = input.u32("its mark")?;
    if found != MARK {
        return Err(Fault::NotOurs { found });
    }
    match input.u16("its version")? {
        VERSION => Ok(()),
        found => Err(Fault::Version { found }),
    }
}

impl Request {
    /// The bytes of the packet.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match *self {
            Request::Consume { credits } => {
                first(&mut out, code::CONSUME);
                out.u32(credits);
            }
            Request::Report => first(&mut out, code::REPORT),
            Request::Release { .. } => out.bytes(&self.release()),
            Request::Enough => out.u8(code::ENOUGH),
        }
        out.into_bytes()
    }

    /// The bytes of a release, without an allocation.
    pub(crate) fn release(&self) -> [u8; 14] {
        let mut out = [0; 14];
        if let Request::Release { slot, sequence, unknown, fence } = *self {
            let flags = if unknown { code::UNKNOWN } else { 0 };
            let flags = flags | if fence { code::FENCE } else { 0 };
            let [s0, s1, s2, s3] = slot.to_le_bytes();
            let [q0, q1, q2, q3, q4, q5, q6, q7] = sequence.to_le_bytes();
            out = [code::RELEASE, flags, s0, s1, s2, s3, q0, q1, q2, q3, q4, q5, q6, q7];
        }
        out
    }

    /// Reads a packet, checking every field.
    ///
    /// # Errors
    /// The first [`Fault`] found.
    pub fn decode(packet: &[u8]) -> Result<Request, Fault> {
        let mut input = Reader::new(packet);
        let request = match input.u8("its kind")? {
            code::CONSUME => {
                check_first(&mut input)?;
                Request::Consume { credits: input.u32("its credits")? }
            }
            code::REPORT => {
                check_first(&mut input)?;
                Request::Report
            }
            code::RELEASE => {
                let flags = input.u8("its flags")?;
                if flags & !(code::UNKNOWN | code::FENCE) != 0 {
                    return Err(Fault::Unknown { what: "flag set", found: flags.into() });
                }
                Request::Release {
                    slot: input.u32("its slot")?,
                    sequence: input.u64("its sequence")?,
                    unknown: flags & code::UNKNOWN != 0,
                    fence: flags & code::FENCE != 0,
                }
            }
            code::ENOUGH => Request::Enough,
            found => return Err(Fault::Unknown { what: "packet", found: found.into() }),
        };
        input.finish()?;
        Ok(request)
    }
}

impl Answer {
    /// The bytes of the packet.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        match self {
            Answer::Welcome { incarnation, consumer, credits, count } => {
                first(&mut out, code::WELCOME);
                out.u64(*incarnation);
                out.u64(*consumer);
                out.u32(*credits);
                out.u32(*count);
            }
            Answer::Refused { reason } => {
                first(&mut out, code::REFUSED);
                out.bytes(cut(reason).as_bytes());
            }
            Answer::Ended => out.u8(code::ENDED),
            Answer::Evicted => out.u8(code::EVICTED),
            Answer::Forget { slot, generation } => {
                out.u8(code::FORGET);
                out.u32(*slot);
                out.u32(*generation);
            }
            Answer::Report => first(&mut out, code::REPORTED),
        }
        out.into_bytes()
    }

    /// Reads a packet, checking every field, and gives what follows in it.
    ///
    /// # Errors
    /// The first [`Fault`] found.
    pub fn decode(packet: &[u8]) -> Result<(Answer, &[u8]), Fault> {
        let mut input = Reader::new(packet);
        let answer = match input.u8("its kind")? {
            code::WELCOME => {
                check_first(&mut input)?;
                let incarnation = input.u64("its incarnation")?;
                let consumer = input.u64("its consumer")?;
                let credits = input.u32("its credits")?;
                let count = input.u32("its counter")?;
                Answer::Welcome { incarnation, consumer, credits, count }
            }
            code::REFUSED => {
                check_first(&mut input)?;
                let text = std::str::from_utf8(input.rest()).map_err(|_| Fault::Text)?;
                // It is shown to people, whose terminals obey other characters.
                let reason = cut(text).chars().filter(|letter| !letter.is_control()).collect();
                Answer::Refused { reason }
            }
            code::ENDED => Answer::Ended,
            code::EVICTED => Answer::Evicted,
            code::FORGET => Answer::Forget {
                slot: input.u32("its slot")?,
                generation: input.u32("its generation")?,
            },
            code::REPORTED => {
                check_first(&mut input)?;
                return Ok((Answer::Report, input.rest()));
            }
            found => return Err(Fault::Unknown { what: "packet", found: found.into() }),
        };
        input.finish()?;
        Ok((answer, &[]))
    }
}

/// The beginning of a text, cut at a character.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
