//! One suite for every memory: each row of the table that can allocate here, the same in pools,
//! named shared memory, and memory that somebody else made.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use suite::variant::{Adopting, Variant, table};

#[path = "conformance/suite.rs"]
mod suite;

fn with_variants(work: impl FnOnce(&[Variant])) {
    let mut all = table();
    let adopting = Variant::new("foreign", Adopting);
    all.extend([adopting.pooled(), adopting]);
    #[cfg(all(linux_like, not(miri)))]
    all.push(Variant::new("named shm", suite::variant::Named));
    work(&all);
}
