//! The bytes of GStreamer's unixfd protocol, as `unixfdsink` of GStreamer 1.24 and later writes
//! them. Nothing here touches a system.
//!
//! A command is its type and the length of what follows, both 32 bits, in the order of the
//! machine; descriptors travel with its first byte. The server sends caps, buffers and the end of
//! the stream; a client says only that it has let go of a buffer.

use smallvec::SmallVec;

use super::places::Piece;
use crate::wire::MOST_MEMORIES;

/// A buffer, with one descriptor for each of its memories.
const NEW_BUFFER: u32 = 0;
/// What a client lets go of.
const RELEASE_BUFFER: u32 = 1;
/// What buffers look like from now on: a text that ends with a zero.
const CAPS: u32 = 2;
/// There is nothing more.
const END: u32 = 3;

/// Bytes before what a command carries.
const HEAD: usize = 8;
/// The longest command of a client that is listened to.
const LONGEST: usize = 4096;
/// No time.
const NO_TIME: u64 = u64::MAX;

/// A command that is ready to be sent.
pub(super) type Command = SmallVec<[u8; 256]>;

/// One buffer, in one memory or in several, which follow each other.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewBuffer<'a> {
    /// The number that the client gives back.
    pub(super) id: u64,
    /// When it was published, by `CLOCK_MONOTONIC`, in nanoseconds.
    pub(super) time: u64,
    /// Number of the frame.
    pub(super) sequence: u64,
    /// Whether its memories are DMA-BUFs; all are, or none is.
    pub(super) dmabuf: bool,
    /// Where it lies in each of them; at most [`MOST_MEMORIES`].
    pub(super) pieces: &'a [Piece],
    /// A serialised meta, or nothing.
    pub(super) meta: &'a [u8],
}

fn command(kind: u32, payload: &[&[u8]]) -> Command {
    let bytes: usize = payload.iter().map(|part| part.len()).sum();
    let mut command = Command::new();
    command.extend_from_slice(&kind.to_ne_bytes());
    // What we send is a few hundred bytes.
    command.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes());
    payload.iter().for_each(|part| command.extend_from_slice(part));
    command
}

/// The command that says what buffers look like.
pub(super) fn caps(text: &str) -> Command {
    command(CAPS, &[text.as_bytes(), &[0]])
}

/// The command that says that nothing more comes.
pub(super) fn end() -> Command {
    command(END, &[])
}

impl NewBuffer<'_> {
    /// The command for it; a descriptor for each piece goes with it.
    pub(super) fn command(&self) -> Command {
        let mut fixed = SmallVec::<[u8; 120]>::new();
        // Presentation time; no decoding time and no duration; numbers of this frame and the next.
        let words =
            [self.id, self.time, NO_TIME, NO_TIME, self.sequence, self.sequence.wrapping_add(1)];
        words.iter().for_each(|word| fixed.extend_from_slice(&word.to_ne_bytes()));
        let flags = 0u32;
        fixed.extend_from_slice(&flags.to_ne_bytes());
        let pieces = self.pieces.get(..MOST_MEMORIES).unwrap_or(self.pieces);
        fixed.extend_from_slice(&[u8::from(self.dmabuf), pieces.len() as u8]);
        fixed.extend_from_slice(&u16::from(!self.meta.is_empty()).to_ne_bytes());
        for Piece { offset, size } in pieces {
            fixed.extend_from_slice(&(*size as u64).to_ne_bytes());
            fixed.extend_from_slice(&(*offset as u64).to_ne_bytes());
        }
        command(NEW_BUFFER, &[&fixed, self.meta])
    }
}

/// Why a client is not listened to any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Nonsense {
    #[error("a command of {bytes} bytes")]
    TooLong { bytes: u32 },
    #[error("command {kind}, which only servers send")]
    NotForUs { kind: u32 },
    #[error("a release of {bytes} bytes, which has 8")]
    Release { bytes: usize },
}

/// What a client has sent and is not understood yet.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: Vec<u8>,
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*word))
}

impl Incoming {
    /// More of it.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next buffer that the client lets go of. Commands that do not exist yet are passed over,
    /// as the protocol wants it.
    pub(super) fn release(&mut self) -> Result<Option<u64>, Nonsense> {
        loop {
            let (Some(kind), Some(bytes)) = (word(&self.bytes, 0), word(&self.bytes, 4)) else {
                return Ok(None);
            };
            let length = bytes as usize;
            if length > LONGEST {
                return Err(Nonsense::TooLong { bytes });
            }
            if kind == NEW_BUFFER || kind == CAPS {
                return Err(Nonsense::NotForUs { kind });
            }
            let Some(payload) = self.bytes.get(HEAD..HEAD + length) else { return Ok(None) };
            let id = payload.first_chunk().map(|id| u64::from_ne_bytes(*id));
            self.bytes.drain(..HEAD + length);
            match (kind, id) {
                (RELEASE_BUFFER, Some(id)) => return Ok(Some(id)),
                (RELEASE_BUFFER, None) => return Err(Nonsense::Release { bytes: length }),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers as the protocol has them.
    fn bytes(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn buffers_are_as_gstreamer_lays_them_out() {
        let buffer = NewBuffer {
            id: 7,
            time: 1_000_000_001,
            sequence: 41,
            dmabuf: true,
            pieces: &[Piece { offset: 64, size: 4096 }, Piece { offset: 0, size: 2048 }],
            meta: b"meta",
        };
        let numbers = |numbers: &[u64]| -> Vec<u8> {
            numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
        };
        let expected = [
            bytes(&[0, 56 + 2 * 16 + 4]),
            numbers(&[7, 1_000_000_001, u64::MAX, u64::MAX, 41, 42]),
            // Flags, the type of memory, memories, metas.
            bytes(&[0]),
            vec![1, 2],
            1u16.to_ne_bytes().to_vec(),
            // Of each memory the size and where it begins.
            numbers(&[4096, 64, 2048, 0]),
            b"meta".to_vec(),
        ];
        assert_eq!(buffer.command()[..], expected.concat());
        assert_eq!(caps("a")[..], [bytes(&[2, 2]), b"a\0".to_vec()].concat());
        assert_eq!(end()[..], bytes(&[3, 0]));
    }

    #[test]
    fn releases_are_found_however_they_arrive() {
        let mut incoming = Incoming::default();
        let unknown = [bytes(&[9, 3]), b"abc".to_vec()].concat();
        let release = [bytes(&[1, 8]), 77u64.to_ne_bytes().to_vec()].concat();
        let all = [unknown.clone(), release.clone(), bytes(&[3, 0]), release].concat();
        let mut found = vec![];
        for byte in &all {
            incoming.push(&[*byte]);
            while let Some(id) = incoming.release().unwrap() {
                found.push(id);
            }
        }
        assert_eq!(found, [77, 77]);
        incoming.push(&all);
        assert_eq!(incoming.release(), Ok(Some(77)));
        assert_eq!(incoming.release(), Ok(Some(77)));
        assert_eq!(incoming.release(), Ok(None));
    }

    #[test]
    fn nonsense_is_refused_before_it_is_waited_for() {
        for (words, expected) in [
            (bytes(&[1, 1 << 31]), Nonsense::TooLong { bytes: 1 << 31 }),
            (bytes(&[9, 4097]), Nonsense::TooLong { bytes: 4097 }),
            (bytes(&[0, 0]), Nonsense::NotForUs { kind: 0 }),
            (bytes(&[2, 5]), Nonsense::NotForUs { kind: 2 }),
            (bytes(&[1, 4, 0]), Nonsense::Release { bytes: 4 }),
        ] {
            let mut incoming = Incoming::default();
            incoming.push(&words);
            assert_eq!(incoming.release(), Err(expected));
        }
    }
}
