//! An ONNX file without its weights: what is read of a file that is too large to be read whole.
//!
//! Walks the messages from field to field and notes the content of tensors as holes, which are
//! never read; everything else is. Positions stay those of the file, so messages name the right
//! byte. What is malformed is kept: saying what is wrong with it is the reader's work.

use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

use super::wire::Hole;

/// Content of at most this many bytes is read: all numbers that shapes can depend on are shorter.
pub(crate) const SMALL: u64 = 64 << 10;
/// Bytes that are read at a time on the way from field to field.
const WINDOW: u64 = 4096;
/// Messages inside messages are looked into this deep; the reader goes less far.
const MAX_DEPTH: usize = 80;

/// A file without the content of its tensors.
#[derive(Debug)]
pub(crate) struct Skeleton {
    /// What is between the holes.
    pub(crate) bytes: Vec<u8>,
    /// Where bytes were left out, in the order of the file.
    pub(crate) holes: Vec<Hole>,
    /// Bytes of the whole file.
    pub(crate) len: u64,
}

/// Which message is walked, as far as the content of tensors can be in it.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Function,
    Tensor,
    Sparse,
}

impl Kind {
    /// What a field holds, if that is looked into.
    fn child(self, field: u64) -> Option<Kind> {
        Some(match (self, field) {
            (Kind::Model, 7) | (Kind::Attribute, 6 | 11) => Kind::Graph,
            (Kind::Model, 25) => Kind::Function,
            (Kind::Graph, 1) | (Kind::Function, 7) => Kind::Node,
            (Kind::Node, 5) => Kind::Attribute,
            (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::Sparse, 1 | 2) => Kind::Tensor,
            (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => Kind::Sparse,
            _ => return None,
        })
    }

    /// Whether a field is the content of a tensor.
    fn is_content(self, field: u64) -> bool {
        matches!((self, field), (Kind::Tensor, 4..=7 | 9..=11))
    }
}

/// Reads a file of `len` bytes without what tensors hold beyond `small` bytes; `None` if the rest
/// alone has more than `most` bytes.
pub(crate) fn skim<F: Read + Seek>(
    file: F,
    len: u64,
    small: u64,
    most: u64,
) -> io::Result<Option<Skeleton>> {
    let (window, holes) = (Vec::new(), Vec::new());
    let mut walk = Walk { file, small, most, window, start: 0, holes };
    walk.message(Kind::Model, 0..len, 0)?;
    let left_out = walk.left_out();
    if len - left_out > most {
        return Ok(None);
    }
    let Walk { mut file, holes, .. } = walk;
    let mut bytes = Vec::new();
    let mut from = 0;
    let end = Hole { offset: len, len: 0, before: left_out };
    for hole in holes.iter().chain([&end]) {
        file.seek(SeekFrom::Start(from))?;
        let wanted = hole.offset - from;
        if file.by_ref().take(wanted).read_to_end(&mut bytes)? as u64 != wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        from = hole.offset + hole.len;
    }
    Ok(Some(Skeleton { bytes, holes, len }))
}

struct Walk<F> {
    file: F,
    small: u64,
    most: u64,
    /// Some bytes of the file.
    window: Vec<u8>,
    /// Where in the file they begin.
    start: u64,
    holes: Vec<Hole>,
}

impl<F: Read + Seek> Walk<F> {
    fn left_out(&self) -> u64 {
        self.holes.last().map_or(0, |last| last.before + last.len)
    }

    /// Notes the holes of one message, up to the first thing that makes no sense.
    fn message(&mut self, kind: Kind, mut range: Range<u64>, depth: usize) -> io::Result<()> {
        while !range.is_empty() {
            if range.start - self.left_out() > self.most {
                return Ok(());
            }
            let Some(tag) = self.varint(&mut range)? else { return Ok(()) };
            if tag >> 3 == 0 {
                // Of no field: the end of a sparse file, say, which may be long.
                return Ok(());
            }
            let len = match tag & 7 {
                0 if self.varint(&mut range)?.is_some() => 0,
                1 => 8,
                5 => 4,
                2 => match self.varint(&mut range)? {
                    Some(len) => len,
                    None => return Ok(()),
                },
                _ => return Ok(()),
            };
            // What is cut off is looked into as far as it goes, and is the last.
            let content = range.start..range.start.saturating_add(len).min(range.end);
            let len = content.end - content.start;
            range.start = content.end;
            match kind.child(tag >> 3) {
                Some(child) if tag & 7 == 2 && depth < MAX_DEPTH => {
                    self.message(child, content, depth + 1)?;
                }
                _ if kind.is_content(tag >> 3) && len > self.small => {
                    let before = self.left_out();
                    self.holes.push(Hole { offset: content.start, len, before });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The number that a range begins with, which is taken off; `None` if there is none.
    fn varint(&mut self, range: &mut Range<u64>) -> io::Result<Option<u64>> {
        let mut value = 0;
        for index in 0..10 {
            let at = range.start + index;
            if at >= range.end {
                return Ok(None);
            }
            let byte = self.byte(at)?;
            value |= u64::from(byte & 0x7f).checked_shl(7 * index as u32).unwrap_or(0);
            if byte < 0x80 {
                range.start = at + 1;
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn byte(&mut self, at: u64) -> io::Result<u8> {
        let there = |walk: &Self| {
            let index = usize::try_from(at.checked_sub(walk.start)?).ok()?;
            walk.window.get(index).copied()
        };
        if let Some(byte) = there(self) {
            return Ok(byte);
        }
        self.window.clear();
        self.start = at;
        self.file.seek(SeekFrom::Start(at))?;
        self.file.by_ref().take(WINDOW).read_to_end(&mut self.window)?;
        there(self).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "a test that panics has failed")]
mod tests {
    use std::collections::BTreeMap;
    use std::io::Cursor;
    use std::path::Path;

    use super::*;
    use crate::onnx::{read, read_skeleton};

    fn skimmed(bytes: &[u8], small: u64) -> Skeleton {
        skim(Cursor::new(bytes), bytes.len() as u64, small, u64::MAX).unwrap().unwrap()
    }

    fn models() -> Vec<Vec<u8>> {
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
        let paths = std::fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
        let onnx = paths.filter(|path| path.extension().is_some_and(|kind| kind == "onnx"));
        onnx.map(|path| std::fs::read(path).unwrap()).collect()
    }

    #[test]
    fn a_skeleton_has_the_same_graph() {
        let dims = [BTreeMap::new(), BTreeMap::from([("batch".to_owned(), 2)])];
        let mut holes = 0;
        for (bytes, dims) in models().iter().flat_map(|bytes| dims.iter().map(move |d| (bytes, d)))
        {
            // The shapes that are computed in these models depend on no more than 64 bytes.
            let skeleton = skimmed(bytes, 64);
            holes += skeleton.holes.len();
            let words = |answer: crate::Result<crate::Graph>| format!("{answer:?}");
            assert_eq!(words(read(bytes, dims)), words(read_skeleton(&skeleton, dims)));
        }
        assert!(holes > 0);
    }

    #[test]
    fn broken_files_are_refused_alike_or_read() {
        let dims = BTreeMap::from([("batch".to_owned(), 2)]);
        for bytes in models() {
            for at in 0..bytes.len() {
                let mut broken = bytes.clone();
                broken[at] = broken[at].wrapping_add(at as u8 | 1);
                for bytes in [&broken[..], &bytes[..at]] {
                    let skeleton = skimmed(bytes, 64);
                    let kept = skeleton.bytes.len() as u64;
                    let left_out: u64 = skeleton.holes.iter().map(|hole| hole.len).sum();
                    assert_eq!(kept + left_out, bytes.len() as u64);
                    let _ = read_skeleton(&skeleton, &dims);
                    // With nothing left out, it is the file.
                    assert_eq!(skimmed(bytes, u64::MAX).bytes, bytes);
                }
            }
        }
    }

    #[test]
    fn what_is_no_weight_is_counted() {
        let bytes = vec![0x0a; 1000];
        assert!(skim(Cursor::new(&bytes), 1000, SMALL, 999).unwrap().is_none());
        assert!(skim(Cursor::new(&bytes), 1000, SMALL, 1000).unwrap().is_some());
        assert!(skim(Cursor::new(&bytes), 1001, SMALL, u64::MAX).is_err());
    }
}
