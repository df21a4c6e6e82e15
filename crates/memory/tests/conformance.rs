//! One suite for every memory: each row of the table that can allocate here, the same in pools,
//! named shared memory, and memory that somebody else made.

use kinds::{Adopting, table};
use suite::variant::Variant;

#[path = "common/child.rs"]
mod child;
#[path = "conformance/kinds.rs"]
mod kinds;
#[path = "common/resources.rs"]
mod resources;
#[path = "conformance/suite.rs"]
mod suite;

fn with_variants(work: impl FnOnce(&[Variant])) {
    let mut all = table();
    let adopting = Variant::new("foreign", Adopting);
    all.extend([adopting.pooled(), adopting]);
    #[cfg(all(linux_like, not(miri)))]
    all.push(Variant::new("named shm", kinds::Named));
    work(&all);
}

#[test]
fn every_row_of_the_table_serves_or_says_why_not() {
    use tenure_memory::{Error, TensorMemory, kind};
    let known = |kind: &&kind::Kind| !cfg!(miri) || kind.memory == TensorMemory::Mem;
    for kind in kind::ALL.iter().filter(known) {
        match kind.allocator() {
            Ok(allocator) => assert_eq!(allocator.memory(), kind.memory),
            Err(error @ Error::Unavailable { .. }) => {
                let words = error.to_string();
                let start = format!("memory {} is not available: ", kind.memory);
                assert!(words.starts_with(&start) && words.len() > start.len() + 10, "{words}");
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    with_variants(|variants| {
        let has = |name: &str| variants.iter().any(|variant| variant.name == name);
        assert!(has("mem") && has("pool of mem") && has("foreign"));
        #[cfg(all(linux_like, not(miri)))]
        assert!(has("shm") && has("pool of shm") && has("named shm"));
    });
}

#[test]
#[cfg(target_pointer_width = "64")]
#[cfg_attr(miri, ignore = "Miri backs every byte")]
fn five_gibibytes_cost_what_is_touched() {
    use tenure_memory::{Buffer, Request, TensorMemory, kind};
    let bytes = (5 << 30) + 7;
    let request = Request::new(bytes).unwrap();
    let mem = kind::allocator(TensorMemory::Mem).unwrap();
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        text.split_whitespace().nth(1).map_or(0, |pages| pages.parse::<usize>().unwrap() * 4096)
    };
    let before = resident();
    let raw = match mem.allocate(&request) {
        Ok(raw) => raw,
        // A small machine says so.
        Err(tenure_memory::Error::OutOfMemory(full)) => {
            assert!(full.available.unwrap() < bytes as u64);
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let buffer = Buffer::from_raw(raw);
    let places = [0, 1 << 30, (4 << 30) - 1, 4 << 30, (4 << 30) + 1, bytes - 1];
    let mut guard = buffer.write().unwrap();
    for (n, &at) in places.iter().enumerate() {
        assert_eq!(guard.as_bytes()[at], 0);
        guard.as_bytes_mut()[at] = n as u8 + 1;
    }
    drop(guard);
    let last = buffer.slice(bytes - 1..bytes).unwrap();
    assert_eq!(last.read().unwrap().as_bytes(), [6]);
    assert_eq!(last.place().unwrap().range, bytes - 1..bytes);
    for (n, &at) in places.iter().enumerate() {
        assert_eq!(buffer.read_range(at..at + 1).unwrap().as_bytes(), [n as u8 + 1]);
    }
    // At most a huge page for each place touched; other tests of this process may hold some too.
    assert!(resident() < before + (1 << 30), "{} {before}", resident());
}
