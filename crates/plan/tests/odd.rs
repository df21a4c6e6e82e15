//! Problems at the edges: none, huge, many, and only for show.

use tenure_plan::{Fit, Item, MAX_TOTAL, Options, Packer, Problem, check, fit, minimise};

fn item(lower: u64, upper: u64, size: u64, align: u64) -> Item {
    Item { lower, upper, size, align }
}

fn pack_all(items: Vec<Item>) -> u64 {
    let problem = Problem::new(items).unwrap();
    let options = Options { work: 20_000, ..Options::default() };
    for packer in Packer::ALL {
        let packing = packer.pack(&problem, &options);
        assert_eq!(check(&problem, &packing), Ok(()), "{packer}");
    }
    minimise(&problem, &options).bytes
}

#[test]
fn nothing_takes_nothing() {
    assert_eq!(pack_all(vec![]), 0);
    assert_eq!(pack_all(vec![item(0, 1, 0, 1), item(0, u64::MAX, 0, 4096)]), 0);
    let empty = Problem::new(Vec::new()).unwrap();
    assert!(matches!(fit(&empty, 0, &Options::default()), Fit::Fits(_)));
}

#[test]
fn the_largest_that_can_be_counted() {
    assert_eq!(pack_all(vec![item(0, u64::MAX, MAX_TOTAL, 1)]), MAX_TOTAL);
    let half = MAX_TOTAL / 2;
    assert_eq!(pack_all(vec![item(0, 2, half, 1), item(1, 3, half, 1)]), 2 * half);
    let (size, align) = (MAX_TOTAL / 8, 1 << 59);
    let items = (0..3).map(|index| item(index, index + 2, size, align)).collect();
    assert_eq!(pack_all(items), size.next_multiple_of(align) + size);
}

#[test]
fn many_at_once_and_many_in_a_row() {
    assert_eq!(pack_all((0..20_000).map(|index| item(index, index + 1, 64, 1)).collect()), 64);
    assert_eq!(pack_all((0..3_000).map(|_| item(0, 1, 64, 64)).collect()), 3_000 * 64);
    // Nested like the calls of a program: in the order of time it is a stack.
    let nested = (0..3_000).map(|index| item(index, 6_000 - index, 1 + index % 7, 1));
    let sum = (0..3_000).map(|index| 1 + index % 7).sum::<u64>();
    assert_eq!(pack_all(nested.collect()), sum);
}

#[test]
fn packers_have_names() {
    for packer in Packer::ALL {
        assert_eq!(packer.to_string().parse(), Ok(packer));
    }
    let error = "worst".parse::<Packer>().unwrap_err();
    assert_eq!(error.to_string(), "no such packer; there are tlsf, best-fit, greedy-size and best");
    assert_eq!(Packer::default(), Packer::Best);
}
