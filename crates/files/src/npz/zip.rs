//! The list at the end of a zip file, with the 64-bit sizes that numpy always writes.

use crate::Result;
use crate::source::{self, Source};

use super::damaged;

/// What the records begin with.
const END: [u8; 4] = *b"PK\x05\x06";
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LISTED: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// Bytes of the last record without its comment.
const END_BYTES: u64 = 22;
/// Bytes of the locator of the 64-bit record.
const LOCATOR_BYTES: u64 = 20;
/// Bytes of a listed member and of the record before it, without names and extras.
const LISTED_BYTES: usize = 46;
const LOCAL_BYTES: usize = 30;
/// A longer list than this no file of arrays has.
const LONGEST_LIST: u64 = 64 << 20;
/// The kind of extra that has 64-bit sizes.
const EXTRA_64: u16 = 1;
/// Nothing is deflated to less than one byte of 1032.
const MOST_DEFLATED: u64 = 1032;

/// How a member is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) method: Method,
    pub(super) crc: u32,
    /// Bytes in the file, and where they begin.
    pub(super) packed: u64,
    pub(super) offset: u64,
    /// Bytes of the member.
    pub(super) size: u64,
}

/// Where the list is, and of how many.
struct List {
    count: u64,
    offset: u64,
    bytes: u64,
}

/// All members, none of which share bytes.
pub(super) fn members(source: &(impl Source + ?Sized)) -> Result<Vec<Member>> {
    let List { count, offset, bytes } = find_list(source)?;
    if bytes > LONGEST_LIST {
        return Err(damaged(&format!(
            "has a list of {bytes} bytes: at most {LONGEST_LIST} are read"
        )));
    }
    let list = source::bytes(source, offset, bytes)?;
    let list = list.ok_or_else(|| damaged("has its list beyond its end"))?;
    if count > bytes / LISTED_BYTES as u64 {
        return Err(damaged(&format!("has {count} members in a list of {bytes} bytes")));
    }
    let (mut members, mut rest) = (vec![], &list[..]);
    for _ in 0..count {
        let (member, local, after) = listed(rest)?;
        members.push(locate(source, member, local, offset)?);
        rest = after;
    }
    if !rest.is_empty() {
        return Err(damaged("has more in its list than it says"));
    }
    let mut places: Vec<_> =
        members.iter().map(|member| (member.offset, member.offset + member.packed)).collect();
    places.sort_unstable();
    if places.windows(2).any(|pair| matches!(pair, [one, other] if one.1 > other.0)) {
        return Err(damaged("has members that share bytes"));
    }
    Ok(members)
}

/// The record at the very end says where the list is.
fn find_list(source: &(impl Source + ?Sized)) -> Result<List> {
    let size = source.size();
    let start = size.saturating_sub(END_BYTES + u64::from(u16::MAX));
    let tail = source::bytes(source, start, size - start)?.unwrap_or_default();
    // The last one whose comment goes to the end of the file.
    let ends = |at: &usize| {
        let comment = field::<2>(&tail, at + 20).map(u16::from_le_bytes);
        field(&tail, *at) == Some(END)
            && comment.is_some_and(|bytes| at + 22 + usize::from(bytes) == tail.len())
    };
    let at = (0..tail.len()).rev().find(ends).ok_or_else(|| damaged("has no end record"))?;
    let end = tail.get(at..).unwrap_or_default();
    let place = start + at as u64;
    let list = match place.checked_sub(LOCATOR_BYTES) {
        Some(before) => large_list(source, before)?,
        None => None,
    };
    let small = || {
        Some(List {
            count: u16::from_le_bytes(field(end, 10)?).into(),
            bytes: u32::from_le_bytes(field(end, 12)?).into(),
            offset: u32::from_le_bytes(field(end, 16)?).into(),
        })
    };
    let list = list.or_else(small).ok_or_else(|| damaged("has no end record"))?;
    match list.offset.checked_add(list.bytes) {
        Some(end) if end <= place => Ok(list),
        _ => Err(damaged("has its list beyond its end record")),
    }
}

/// What the 64-bit record says, if a locator at `at` says where one is.
fn large_list(source: &(impl Source + ?Sized), at: u64) -> Result<Option<List>> {
    let locator = source::bytes(source, at, LOCATOR_BYTES)?.unwrap_or_default();
    if field(&locator, 0) != Some(LOCATOR) {
        return Ok(None);
    }
    let wrong = || damaged("has no 64-bit end record where it says");
    let place = u64::from_le_bytes(field(&locator, 8).ok_or_else(wrong)?);
    let record = source::bytes(source, place, 56)?.ok_or_else(wrong)?;
    if field(&record, 0) != Some(END_64) {
        return Err(wrong());
    }
    let number = |at| field(&record, at).map(u64::from_le_bytes).ok_or_else(wrong);
    Ok(Some(List { count: number(32)?, bytes: number(40)?, offset: number(48)? }))
}

/// The first member of a list, without its place; where its own record is; and the rest.
fn listed(list: &[u8]) -> Result<(Member, u64, &[u8])> {
    let cut = || damaged("is cut off in its list");
    let short = |at| field(list, at).map(u16::from_le_bytes).ok_or_else(cut);
    let long = |at| field(list, at).map(u32::from_le_bytes).ok_or_else(cut);
    if field(list, 0) != Some(LISTED) {
        return Err(damaged("has something else in its list of members"));
    }
    let (flags, method) = (short(8)?, short(10)?);
    let lengths = [short(28)?, short(30)?, short(32)?].map(usize::from);
    let [name, extra, comment] = lengths;
    let texts = list.get(LISTED_BYTES..).ok_or_else(cut)?;
    let (name, texts) = texts.split_at_checked(name).ok_or_else(cut)?;
    let (extra, texts) = texts.split_at_checked(extra).ok_or_else(cut)?;
    let (_, rest) = texts.split_at_checked(comment).ok_or_else(cut)?;
    let name = std::str::from_utf8(name)
        .map_err(|_| damaged("has a member whose name is no UTF-8"))?
        .to_owned();
    if flags & 1 != 0 {
        return Err(damaged(&format!("has member `{name}` encrypted: save it without a password")));
    }
    let method = match method {
        0 => Method::Stored,
        8 => Method::Deflated,
        other => {
            return Err(damaged(&format!(
                "has member `{name}` compressed by method {other}: stored (0) and deflated (8) \
                 are known"
            )));
        }
    };
    let small = [long(24)?, long(20)?, long(42)?];
    let [size, packed, local] = large_numbers(small, extra)?;
    let member = Member { name, method, crc: long(16)?, packed, offset: 0, size };
    Ok((member, local, rest))
}

/// Numbers that did not fit 32 bits are in an extra, in this order.
fn large_numbers(small: [u32; 3], extra: &[u8]) -> Result<[u64; 3]> {
    let wrong = || damaged("has a member with sizes that are not there");
    let mut extra = extra;
    let mut large: &[u8] = &[];
    while let (Some(kind), Some(length)) = (field(extra, 0), field(extra, 2)) {
        let length = usize::from(u16::from_le_bytes(length));
        let after = extra.get(4..).ok_or_else(wrong)?;
        let (body, rest) = after.split_at_checked(length).ok_or_else(wrong)?;
        if u16::from_le_bytes(kind) == EXTRA_64 {
            large = body;
        }
        extra = rest;
    }
    let mut numbers = small.map(u64::from);
    for number in &mut numbers {
        if *number == u64::from(u32::MAX) {
            let (first, rest) = large.split_first_chunk().ok_or_else(wrong)?;
            (*number, large) = (u64::from_le_bytes(*first), rest);
        }
    }
    Ok(numbers)
}

/// A member with the place of its bytes, which its own record says.
fn locate(
    source: &(impl Source + ?Sized),
    member: Member,
    local: u64,
    list: u64,
) -> Result<Member> {
    let name = &member.name;
    let wrong = |what: &str| damaged(&format!("has member `{name}` {what}"));
    let record = source::bytes(source, local, LOCAL_BYTES as u64)?;
    let record = record.ok_or_else(|| wrong("beyond its end"))?;
    let short = |at| field(&record, at).map(u16::from_le_bytes).unwrap_or_default();
    if field(&record, 0) != Some(LOCAL) {
        return Err(wrong("where none is"));
    }
    let before = LOCAL_BYTES as u64 + u64::from(short(26)) + u64::from(short(28));
    let offset = local.checked_add(before);
    let end = offset.and_then(|offset| offset.checked_add(member.packed));
    let (Some(offset), Some(_)) = (offset, end.filter(|end| *end <= list)) else {
        return Err(wrong("beyond its list"));
    };
    let possible = match member.method {
        Method::Stored => member.size == member.packed,
        Method::Deflated => member.size / MOST_DEFLATED <= member.packed,
    };
    if !possible {
        let Member { size, packed, .. } = member;
        return Err(wrong(&format!("with {size} bytes in {packed}, which is not possible")));
    }
    Ok(Member { offset, ..member })
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
