//! The solver against trying everything, on thousands of small problems.

use proptest::prelude::*;
use tenure_plan::{Fit, Item, Options, Packer, Problem, check, fit, lower_bound, minimise};

/// Whether the items from `index` on can be placed below `capacity`, given the others' offsets.
/// Tries every offset of every item.
fn fits(items: &[Item], offsets: &mut Vec<u64>, capacity: u64) -> bool {
    let Some(item) = items.get(offsets.len()) else { return true };
    let mut offset = 0;
    while offset + item.size <= capacity {
        let clear = items.iter().zip(offsets.iter()).all(|(other, &at)| {
            let apart_in_time = other.upper <= item.lower || item.upper <= other.lower;
            let apart_in_space = at + other.size <= offset || offset + item.size <= at;
            apart_in_time || apart_in_space
        });
        if clear {
            offsets.push(offset);
            if fits(items, offsets, capacity) {
                return true;
            }
            offsets.pop();
        }
        offset += item.align;
    }
    false
}

/// The smallest capacity, by trying them all from the largest sum of what is alive at a time.
fn minimum(items: &[Item]) -> u64 {
    let alive = |time| items.iter().filter(move |item| item.lower <= time && time < item.upper);
    let peak = (0..16).map(|time| alive(time).map(|item| item.size).sum()).max().unwrap();
    (peak..).find(|&capacity| fits(items, &mut Vec::new(), capacity)).unwrap()
}

fn problems(items: usize, aligns: u32) -> impl Strategy<Value = Vec<Item>> {
    let item = (0u64..7, 1u64..5, 0u64..7, 0..=aligns).prop_map(|(lower, life, size, align)| {
        Item { lower, upper: lower + life, size, align: 1 << align }
    });
    proptest::collection::vec(item, 0..items)
}

fn verify(items: Vec<Item>) -> Result<(), TestCaseError> {
    let minimum = minimum(&items);
    let problem = Problem::new(items).unwrap();
    prop_assert!(lower_bound(&problem) <= minimum);
    for seed in 0..2 {
        let options = Options { seed, ..Options::default() };
        let packing = minimise(&problem, &options);
        prop_assert_eq!(check(&problem, &packing), Ok(()));
        prop_assert_eq!((packing.bytes, packing.optimal), (minimum, true));
        let Fit::Fits(packing) = fit(&problem, minimum, &options) else {
            return Err(TestCaseError::fail("the minimum fits"));
        };
        prop_assert_eq!(check(&problem, &packing), Ok(()));
        prop_assert!(packing.bytes <= minimum);
        for capacity in [minimum.checked_sub(1), minimum.checked_sub(4)].into_iter().flatten() {
            let Fit::Impossible(obstacle) = fit(&problem, capacity, &options) else {
                return Err(TestCaseError::fail("less than the minimum does not fit"));
            };
            prop_assert!(obstacle.bytes > capacity && obstacle.bytes <= obstacle.least);
            prop_assert!(obstacle.least <= minimum);
            let some = |without: Option<usize>| -> Vec<Item> {
                let kept = obstacle.items.iter().filter(|&&index| Some(index) != without);
                kept.map(|&index| problem.items()[index]).collect()
            };
            prop_assert!(self::minimum(&some(None)) >= obstacle.bytes);
            // With alignment, the proof that is the easier to see is preferred to the smaller set.
            let plain = problem.items().iter().all(|item| item.align == 1);
            for &index in obstacle.items.iter().filter(|_| plain || !obstacle.at_once) {
                prop_assert!(self::minimum(&some(Some(index))) <= capacity, "{:?}", obstacle);
            }
        }
    }
    for packer in Packer::ALL {
        let packing = packer.pack(&problem, &Options::default());
        prop_assert_eq!(check(&problem, &packing), Ok(()));
        prop_assert!(packing.bytes >= minimum);
        prop_assert!(!packing.optimal || packing.bytes == minimum);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3000) })]

    #[test]
    fn plain(items in problems(9, 0)) {
        verify(items)?;
    }

    #[test]
    fn aligned(items in problems(8, 3)) {
        verify(items)?;
    }
}
