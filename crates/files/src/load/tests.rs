//! Plans of what is read where to.
#![expect(clippy::indexing_slicing, reason = "a wrong index is a failed test")]

use proptest::prelude::*;
use tenure_tensor::DType;

use super::plan::How;
use super::*;
use crate::Elements;

fn entry(offset: u64, bytes: usize, shard: usize) -> Entry {
    let elements = Elements::Plain(DType::U8);
    let mut entry = Entry::new(format!("{shard}:{offset}"), elements, vec![bytes], offset).unwrap();
    entry.shard = shard;
    entry
}

#[test]
fn neighbours_are_read_together() {
    let entries = [entry(5000, 100, 0), entry(5100, 0, 0), entry(6000, 5000, 0)];
    let plan = Plan::new(&entries.iter().collect::<Vec<_>>()[..1], 1).unwrap();
    assert_eq!((plan.bytes, &plan.places[..]), (4096, &[904][..]));
    assert_eq!(plan.pieces[0].need, 904..1004);
    let plan = Plan::new(&[&entries[0], &entries[2]], 1).unwrap();
    assert_eq!((plan.bytes, &plan.places[..], plan.pieces.len()), (8192, &[904, 1904][..], 1));
    let far = entry(50_000_000, 1, 0);
    let plan = Plan::new(&[&entries[0], &far], 1).unwrap();
    assert_eq!((plan.bytes, plan.pieces.len()), (8192, 2));
    let large = entry(1, 3 * PIECE, 0);
    let plan = Plan::new(&[&large], 1).unwrap();
    assert_eq!((plan.bytes, plan.pieces.len()), (3 * PIECE + BLOCK, 4));
    // Pieces end where those of the whole file do.
    let large = entry(3 * BLOCK as u64, 2 * PIECE, 0);
    let ends = Plan::new(&[&large], 1).unwrap().pieces.into_iter().map(|piece| piece.window.end);
    let first = PIECE - 3 * BLOCK;
    assert_eq!(ends.collect::<Vec<_>>(), [first, first + PIECE, 2 * PIECE]);
}

#[test]
fn what_is_not_aligned_lies_by_itself() {
    let floats = Elements::Plain(DType::F32);
    let odd = Entry::new("odd".to_owned(), floats, vec![10], 4099).unwrap();
    let plan = Plan::new(&[&odd], 1).unwrap();
    assert_eq!((plan.places[0], plan.pieces[0].how), (0, How::Shifted));
    let bytes = entry(4100, 64, 0);
    assert_eq!(Plan::new(&[&bytes], 4).unwrap().pieces[0].how, How::Blocks);
    assert_eq!(Plan::new(&[&bytes], 64).unwrap().pieces[0].how, How::Shifted);
}

proptest! {
    /// Every byte of every tensor is read exactly once, into its place, and windows are apart,
    /// aligned as their file is, and inside the destination.
    #[test]
    fn plans_are_whole(
        sizes in prop::collection::vec((0u64..200_000, 0usize..20_000_000, 0usize..2), 0..8),
        align in prop::sample::select(vec![1usize, 64, 4096]),
    ) {
        let (mut at, mut shard, mut entries) = (0, 0, vec![]);
        for (gap, bytes, next) in sizes {
            if next > 0 {
                (shard, at) = (shard + 1, 0);
            }
            entries.push(entry(at + gap, bytes, shard));
            at += gap + bytes as u64;
        }
        let entries: Vec<&Entry> = entries.iter().collect();
        let plan = Plan::new(&entries, align).unwrap();
        prop_assert_eq!(plan.places.len(), entries.len());
        let mut end = 0;
        for piece in &plan.pieces {
            prop_assert!(piece.window.start >= end && piece.need.end <= piece.window.len());
            end = piece.window.end;
            if piece.how == How::Blocks {
                prop_assert!(piece.at.is_multiple_of(BLOCK as u64));
                prop_assert!(piece.window.start.is_multiple_of(BLOCK));
                prop_assert!(piece.window.len().is_multiple_of(BLOCK));
            }
        }
        prop_assert!(end <= plan.bytes);
        for (entry, &place) in entries.iter().zip(&plan.places) {
            prop_assert!(place.is_multiple_of(align));
            let mut found = 0;
            for piece in &plan.pieces {
                let need = piece.window.start + piece.need.start..piece.window.start + piece.need.end;
                let from = need.start.max(place);
                let to = need.end.min(place + entry.bytes());
                if from < to {
                    prop_assert_eq!(piece.shard, entry.shard);
                    let file = piece.at + (from - piece.window.start) as u64;
                    prop_assert_eq!(file, entry.offset + (from - place) as u64);
                    found += to - from;
                }
            }
            prop_assert_eq!(found, entry.bytes());
        }
    }
}

#[test]
fn more_bytes_than_can_be_counted_have_no_plan() {
    let half = isize::MAX as usize / 2 + 1;
    for (offset, align) in [(0, 1), (1, 64)] {
        let entries = [entry(offset, half, 0), entry(0, half, 1)];
        assert_eq!(Plan::new(&entries.iter().collect::<Vec<_>>(), align), None);
    }
    // A last byte that no file has.
    assert_eq!(Plan::new(&[&entry(u64::MAX - 4095, 4096, 0)], 1), None);
}

#[test]
fn compressed_tensors_are_compared_with_the_memory_that_there_is() {
    use crate::npz::tests::{array, zipped};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.npz");
    let part = |deflate| ("a.npy", array(&[0.0; 100_000]), deflate);
    std::fs::write(&path, zipped(&[part(true)], false)).unwrap();
    let file = crate::open(&path).unwrap();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size < 4000, "{size}");
    let refused = file.load().inflated_limit(399_999).run().unwrap_err();
    assert_eq!(refused.kind(), tenure_layout::ErrorKind::OutOfMemory);
    let words = refused.to_string();
    for said in ["400000", &size.to_string(), "399999"] {
        assert!(words.contains(said), "{words}");
    }
    assert_eq!(file.load().inflated_limit(400_000).run().unwrap().bytes(), 400_000);
    assert_eq!(file.load().run().unwrap().bytes(), 400_000);
    // What lies in the file is no claim.
    std::fs::write(&path, zipped(&[part(false)], false)).unwrap();
    let file = crate::open(&path).unwrap();
    assert_eq!(file.load().inflated_limit(1).run().unwrap().bytes(), 400_000);
}

/// As much as the machine has available, and not more than it has at all: the heap gives it.
#[test]
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
fn a_small_file_that_claims_all_available_memory_is_refused() {
    use std::io::{Seek, SeekFrom, Write};

    use crate::npz::tests::zipped;
    let available = tenure_memory::available_memory().unwrap();
    let elements = available / 4;
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({elements},), }}");
    let head = format!("{head:<117}\n");
    let mut array = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    array.extend(head.bytes());
    // The member of a small array, whose sizes are then those of a large one. What is between its
    // compressed bytes and the list is a hole of the file.
    let small = zipped(&[("a.npy", array.clone(), true)], true);
    let (bytes, packed) = (array.len() as u64 + elements * 4, available / 1000);
    let list = small.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
    let sizes = [bytes.to_le_bytes(), packed.to_le_bytes()].concat();
    let mut file = small;
    let name = 30 + "a.npy".len();
    file[name + 4..][..16].copy_from_slice(&sizes);
    let in_list = list + 46 + "a.npy".len() + 4;
    file[in_list..][..16].copy_from_slice(&sizes);
    let local_end = (name + 20) as u64;
    let place = local_end + packed;
    let end = file.windows(4).position(|four| four == b"PK\x06\x06").unwrap();
    file[end + 48..][..8].copy_from_slice(&place.to_le_bytes());
    let locator = end + 56;
    let moved = place + (end - list) as u64;
    file[locator + 8..][..8].copy_from_slice(&moved.to_le_bytes());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.npz");
    let mut out = std::fs::File::create(&path).unwrap();
    out.write_all(&file[..list]).unwrap();
    out.seek(SeekFrom::Start(place)).unwrap();
    out.write_all(&file[list..]).unwrap();
    drop(out);
    let file = crate::open(&path).unwrap();
    assert_eq!(file.entry("a").unwrap().bytes() as u64, elements * 4);
    let refused = file.load().memory(TensorMemory::Mem).run().unwrap_err();
    assert!(matches!(refused.cause(), Error::Inflated(_)), "{refused}");
}
