//! `npz`: several arrays of numpy in one file, which is a zip file of npy files.
//!
//! Stored arrays are used where they lie if their bytes begin at a multiple of their element size,
//! which zip files do not care for; all others are copied, compressed ones inflated. Members that
//! are no arrays of numbers are not tensors, and say why ([`crate::Refused`]).

mod zip;

#[cfg(test)]
pub(crate) mod tests;

use std::io::{self, Read};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use crate::catalogue::Refused;
use crate::entry::Packing;
use crate::order::reverse;
use crate::source::{self, Source, Stream};
use crate::{Catalogue, Entry, Error, Format, Result, npy};
use zip::{Member, Method};

/// Bytes that are inflated at one time where nobody keeps them.
const CHUNK: usize = 16 << 10;

pub(crate) fn read(source: &(impl Source + ?Sized)) -> Result<Catalogue> {
    let (mut entries, mut refused) = (vec![], vec![]);
    for member in zip::members(source)? {
        match entry(source, &member) {
            Ok(entry) => entries.push(entry),
            // A file that cannot be read has no other members either.
            Err(error @ (Error::Read { .. } | Error::CutOff { .. })) => return Err(error),
            Err(error) => refused.push(Refused { name: member.name, why: error.to_string() }),
        }
    }
    entries.sort_by_key(|entry| entry.offset);
    Ok(Catalogue { format: Format::Npz, entries, metadata: vec![], refused })
}

/// The array of a member.
fn entry(source: &(impl Source + ?Sized), member: &Member) -> Result<Entry> {
    let name = member.name.strip_suffix(".npy");
    let name = name.ok_or_else(|| damaged("has a member that is no npy file"))?.to_owned();
    let room = member.size.min(npy::LONGEST_HEAD);
    let (head, method) = match member.method {
        Method::Stored => (source::bytes(source, member.offset, room)?, Packing::Stored),
        Method::Deflated => {
            let mut head = vec![];
            let inflated = inflate(source, member.offset, member.packed).take(room);
            { inflated }.read_to_end(&mut head).map_err(|cause| not_deflated(&cause))?;
            let (bytes, before, crc) = (member.packed, 0, member.crc);
            (Some(head), Packing::Deflated { bytes, before, crc })
        }
    };
    let head = head.ok_or_else(|| damaged("is cut off in a member"))?;
    let mut entry = npy::entry(name, &head, member.size)?;
    match method {
        Packing::Stored => entry.offset += member.offset,
        Packing::Deflated { bytes, crc, .. } => {
            let before = usize::try_from(entry.offset).unwrap_or(usize::MAX);
            entry.packing = Packing::Deflated { bytes, before, crc };
            entry.offset = member.offset;
        }
    }
    Ok(entry)
}

fn inflate<S: Source + ?Sized>(source: &S, at: u64, packed: u64) -> DeflateDecoder<Stream<'_, S>> {
    DeflateDecoder::new(Stream::new(source, at, at.saturating_add(packed)))
}

/// Inflates a tensor into memory: all of it, and with the sum that the file has.
pub(crate) fn inflate_into(
    source: &(impl Source + ?Sized),
    entry: &Entry,
    into: &mut [u8],
) -> Result<()> {
    let Packing::Deflated { bytes, before, crc } = entry.packing else {
        return source::read_exact(source, entry.offset, into);
    };
    let mut inflated = inflate(source, entry.offset, bytes);
    let (mut sum, mut chunk, mut rest) = (Crc::new(), [0; CHUNK], before);
    while rest > 0 {
        let part = chunk.get_mut(..rest.min(CHUNK)).unwrap_or_default();
        inflated.read_exact(part).map_err(|cause| not_deflated(&cause))?;
        sum.update(part);
        rest -= part.len();
    }
    inflated.read_exact(into).map_err(|cause| not_deflated(&cause))?;
    sum.update(into);
    let more = inflated.read(&mut chunk).map_err(|cause| not_deflated(&cause))?;
    if more > 0 {
        return Err(damaged("has more bytes in a member than it says"));
    }
    if sum.sum() != crc {
        return Err(damaged("has a member whose bytes do not give its sum"));
    }
    reverse(into, entry.reversed);
    Ok(())
}

fn not_deflated(cause: &io::Error) -> Error {
    damaged(&format!("has a member that cannot be inflated: {cause}"))
}

fn damaged(what: &str) -> Error {
    Error::from(crate::detail::Damaged { format: Format::Npz.name(), what: what.to_owned() })
}
