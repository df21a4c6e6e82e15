//! The head of a frame: fixed in size, the same for every frame, written without an allocation.

use tenure_tensor::fields::Reader;

use super::{Fault, LONGEST_BLOB, LONGEST_DESCRIPTION, MOST_MEMORIES, MOST_SLOTS, code};

/// A time that was not given.
#[cfg(linux_like)]
pub(crate) const NONE: u64 = u64::MAX;

/// What a producer says about a frame. Description and blob follow it in the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Which slot the bytes are in.
    pub slot: u32,
    /// Which memory of the slot.
    pub generation: u32,
    /// Number of the frame, counted by the producer.
    pub sequence: u64,
    /// Frames that this consumer did not get, since it came.
    pub dropped: u64,
    /// When it was taken, in nanoseconds of `CLOCK_MONOTONIC`; all ones if that is not known.
    pub captured: u64,
    /// When it was published, in nanoseconds of `CLOCK_MONOTONIC`.
    pub published: u64,
    /// How many descriptors of memory come along: none if the consumer has them.
    pub memories: u8,
    /// Whether the descriptor of a fence comes along, after those of the memory.
    pub fence: bool,
    /// Bytes of the description.
    pub description: u32,
    /// Bytes of the blob.
    pub blob: u32,
}

impl FrameHead {
    /// Its size.
    pub const BYTES: usize = 52;

    /// The bytes of the packet's head.
    pub fn encode(&self) -> [u8; FrameHead::BYTES] {
        let mut out = [0; FrameHead::BYTES];
        let mut rest = out.as_mut_slice();
        let mut put = |field: &[u8]| {
            if let Some((into, after)) = std::mem::take(&mut rest).split_at_mut_checked(field.len())
            {
                into.copy_from_slice(field);
                rest = after;
            }
        };
        put(&[code::FRAME, if self.fence { code::FENCE } else { 0 }, self.memories, 0]);
        for field in [self.slot, self.generation, self.description, self.blob] {
            put(&field.to_le_bytes());
        }
        for field in [self.sequence, self.dropped, self.captured, self.published] {
            put(&field.to_le_bytes());
        }
        out
    }

    /// Whether a packet is a frame.
    pub fn is_frame(packet: &[u8]) -> bool {
        packet.first() == Some(&code::FRAME)
    }

    /// Reads a packet, checking every field. Gives head, description and blob.
    ///
    /// # Errors
    /// The first [`Fault`] found.
    pub fn decode(packet: &[u8]) -> Result<(FrameHead, &[u8], &[u8]), Fault> {
        let mut input = Reader::new(packet);
        let kind = input.u8("its kind")?;
        if kind != code::FRAME {
            return Err(Fault::Unknown { what: "packet", found: kind.into() });
        }
        let flags = input.u8("its flags")?;
        let memories = input.u8("its memories")?;
        let reserved = input.u8("its flags")?;
        if flags & !code::FENCE != 0 || reserved != 0 {
            let found = u64::from(flags) | u64::from(reserved) << 8;
            return Err(Fault::Unknown { what: "flag set", found });
        }
        let bounded = |what, found: u32, limit: usize| {
            let over = Fault::TooLarge { what, found: found.into(), limit: limit as u64 };
            if found as usize > limit { Err(over) } else { Ok(found) }
        };
        bounded("number of memories", memories.into(), MOST_MEMORIES)?;
        let slot = bounded("slot", input.u32("its slot")?, MOST_SLOTS - 1)?;
        let generation = input.u32("its generation")?;
        let description =
            bounded("description", input.u32("its description")?, LONGEST_DESCRIPTION)?;
        let blob = bounded("blob", input.u32("its blob")?, LONGEST_BLOB)?;
        let head = FrameHead {
            slot,
            generation,
            sequence: input.u64("its sequence")?,
            dropped: input.u64("its dropped frames")?,
            captured: input.u64("its times")?,
            published: input.u64("its times")?,
            memories,
            fence: flags & code::FENCE != 0,
            description,
            blob,
        };
        let words = input.bytes(description as usize, "its description")?;
        let bytes = input.bytes(blob as usize, "its blob")?;
        input.finish()?;
        Ok((head, words, bytes))
    }
}
