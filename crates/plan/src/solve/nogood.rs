//! Memory of what was refuted: sets of items with the lowest offsets they could have had.
//!
//! Whether the rest of a group of sections can be packed depends on nothing else, however the
//! search came there. A state is kept as 128 well-mixed bits; among the few million that are
//! kept, that two different ones ever share them is far less likely than a broken machine.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

use super::core::Core;
use super::state::{PLACED, State};

/// States kept at most: 16 bytes each and some room.
const MOST: usize = 1 << 21;

/// The states of a core and a capacity that are refuted.
#[derive(Debug, Default)]
pub(crate) struct Nogoods {
    seen: HashSet<u128, BuildHasherDefault<Folded>>,
}

impl Nogoods {
    /// The state of the sections `from..to`.
    pub(crate) fn key(state: &State<'_>, from: usize, to: usize) -> u128 {
        let core: &Core = state.core;
        let (mut one, mut two) = (0u64, 0u64);
        for item in core.starting(from, to) {
            let low = state.low[item];
            if low != PLACED {
                let (a, b) = mix(item as u64, low);
                one = one.wrapping_add(a);
                two = two.wrapping_add(b);
            }
        }
        u128::from(one) << 64 | u128::from(two)
    }

    /// Whether a state is refuted.
    pub(crate) fn has(&self, key: u128) -> bool {
        self.seen.contains(&key)
    }

    /// Remembers that a state is refuted.
    pub(crate) fn add(&mut self, key: u128) {
        if self.seen.len() < MOST {
            self.seen.insert(key);
        }
    }
}

/// Two independent numbers for an item and an offset.
fn mix(item: u64, low: u64) -> (u64, u64) {
    let a = scramble(low ^ item.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let b = scramble(
        low.wrapping_add(item.wrapping_mul(0xD1B5_4A32_D192_ED03)) ^ 0xA5A5_5A5A_0F0F_F0F0,
    );
    (a, b)
}

/// The finisher of SplitMix64, a bijection.
fn scramble(mut x: u64) -> u64 {
    x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Keys are mixed already.
#[derive(Debug, Default)]
struct Folded(u64);

impl Hasher for Folded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = (key >> 64) as u64 ^ key as u64;
    }
}
