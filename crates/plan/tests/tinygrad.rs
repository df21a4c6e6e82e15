//! The packer `tlsf` beside the replay that tinygrad's planner does: never more bytes.
//!
//! The rival is written here anew, as plainly as can be, from what its planner does: requests are
//! rounded up to a block (256 bytes, 4096 in earlier versions), free blocks are in bins of 32 per
//! power of two, a request takes the oldest block of the first bin whose blocks are all large
//! enough, the rest and what is given back go to the end of their bins, neighbours merged. Events
//! are in the order of time, ends first, and otherwise in the order of first appearance.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use tenure_plan::{Item, Options, Packer, Table, check};

/// The size of its address space.
const SPACE: u64 = 1 << 44;

struct Rival {
    /// Size of each block by its start, and whether it is free.
    blocks: BTreeMap<u64, (u64, bool)>,
    /// Starts of the free blocks by bin, the oldest first.
    bins: BTreeMap<(u32, u64), VecDeque<u64>>,
}

/// The length of a size in bits, and which of 32 parts of that power of two it is in.
fn bin(size: u64) -> (u32, u64) {
    let bits = 64 - size.leading_zeros();
    (bits, (size - (1 << (bits - 1))) >> bits.saturating_sub(6))
}

impl Rival {
    fn new() -> Rival {
        let mut rival = Rival { blocks: BTreeMap::new(), bins: BTreeMap::new() };
        rival.keep(0, SPACE);
        rival
    }

    fn keep(&mut self, start: u64, size: u64) {
        self.blocks.insert(start, (size, true));
        self.bins.entry(bin(size)).or_default().push_back(start);
    }

    /// Takes a free block out of its bin and off the map.
    fn lift(&mut self, start: u64) -> u64 {
        let (size, free) = self.blocks.remove(&start).unwrap();
        assert!(free);
        let waiting = self.bins.get_mut(&bin(size)).unwrap();
        let place = waiting.iter().position(|&other| other == start).unwrap();
        waiting.remove(place);
        size
    }

    fn allocate(&mut self, size: u64) -> u64 {
        let wanted = size.next_multiple_of(1 << (64 - size.leading_zeros()).saturating_sub(6));
        let full = self.bins.range(bin(wanted)..).find(|(_, waiting)| !waiting.is_empty());
        let start = full.and_then(|(_, waiting)| waiting.front().copied()).unwrap();
        let whole = self.lift(start);
        if whole > size {
            self.keep(start + size, whole - size);
        }
        self.blocks.insert(start, (size, false));
        start
    }

    fn free(&mut self, start: u64) {
        let (mut start, mut size) = (start, self.blocks.remove(&start).unwrap().0);
        if let Some((&above, &(_, true))) = self.blocks.range(start + size..).next() {
            assert_eq!(above, start + size);
            size += self.lift(above);
        }
        if let Some((&below, &(_, true))) = self.blocks.range(..start).next_back() {
            size += self.lift(below);
            start = below;
        }
        self.keep(start, size);
    }
}

/// The bytes that the rival's arena has.
fn rival(items: &[Item], block: u64) -> u64 {
    let mut order: Vec<&Item> = items.iter().filter(|item| item.size > 0).collect();
    order.sort_by_key(|item| item.lower);
    let mut events: Vec<(u64, bool, usize)> = Vec::new();
    for (index, item) in order.iter().enumerate() {
        events.extend([(item.lower, true, index), (item.upper, false, index)]);
    }
    events.sort_unstable();
    let mut rival = Rival::new();
    let (mut starts, mut bytes) = (vec![0; order.len()], 0);
    for (_, begins, index) in events {
        if begins {
            starts[index] = rival.allocate(order[index].size.next_multiple_of(block));
            bytes = bytes.max(starts[index] + order[index].size);
        } else {
            rival.free(starts[index]);
        }
    }
    bytes
}

/// The CSV files in a folder and in those inside of it.
fn traces(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(traces(&path));
        } else if path.extension().is_some_and(|extension| extension == "csv") {
            found.push(path);
        }
    }
    found
}

/// Compares on all traces of a folder, of which there are at least so many.
fn compare(folder: &Path, least: usize) {
    let traces = traces(folder);
    assert!(traces.len() >= least, "{}", folder.display());
    for path in traces {
        let name = path.display();
        let table = Table::from_csv(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let ours = Packer::Tlsf.pack(&table.problem, &Options::default());
        assert_eq!(check(&table.problem, &ours), Ok(()), "{name}");
        for block in [256, 4096] {
            let theirs = rival(table.problem.items(), block);
            assert!(ours.bytes <= theirs, "{name}: {} and {theirs} by {block}", ours.bytes);
        }
    }
}

#[test]
fn no_more_bytes_on_any_trace() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    compare(&home.join("tests/data"), 30);
    compare(&home.join("../../benches/vs_planners/data"), 2);
}

#[test]
#[ignore = "needs TENURE_TRACES, a folder of CSV files"]
fn no_more_bytes_on_traces_from_elsewhere() {
    compare(Path::new(&std::env::var("TENURE_TRACES").unwrap()), 1);
}
