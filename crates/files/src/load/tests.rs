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
    let plan = Plan::new(&entries.iter().collect::<Vec<_>>()[..1], 1);
    assert_eq!((plan.bytes, &plan.places[..]), (4096, &[904][..]));
    assert_eq!(plan.pieces[0].need, 904..1004);
    let plan = Plan::new(&[&entries[0], &entries[2]], 1);
    assert_eq!((plan.bytes, &plan.places[..], plan.pieces.len()), (8192, &[904, 1904][..], 1));
    let far = entry(50_000_000, 1, 0);
    let plan = Plan::new(&[&entries[0], &far], 1);
    assert_eq!((plan.bytes, plan.pieces.len()), (8192, 2));
    let large = entry(1, 3 * PIECE, 0);
    let plan = Plan::new(&[&large], 1);
    assert_eq!((plan.bytes, plan.pieces.len()), (3 * PIECE + BLOCK, 4));
    // Pieces end where those of the whole file do.
    let large = entry(3 * BLOCK as u64, 2 * PIECE, 0);
    let ends = Plan::new(&[&large], 1).pieces.into_iter().map(|piece| piece.window.end);
    let first = PIECE - 3 * BLOCK;
    assert_eq!(ends.collect::<Vec<_>>(), [first, first + PIECE, 2 * PIECE]);
}

#[test]
fn what_is_not_aligned_lies_by_itself() {
    let floats = Elements::Plain(DType::F32);
    let odd = Entry::new("odd".to_owned(), floats, vec![10], 4099).unwrap();
    let plan = Plan::new(&[&odd], 1);
    assert_eq!((plan.places[0], plan.pieces[0].how), (0, How::Shifted));
    let bytes = entry(4100, 64, 0);
    assert_eq!(Plan::new(&[&bytes], 4).pieces[0].how, How::Blocks);
    assert_eq!(Plan::new(&[&bytes], 64).pieces[0].how, How::Shifted);
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
        let plan = Plan::new(&entries, align);
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
