//! The ledger against a slow model: a list of everything held, searched in full.

use proptest::prelude::*;

use super::*;

const ALL: [Access; 7] = Access::ALL;

#[test]
fn what_excludes_what() {
    for a in ALL {
        for b in ALL {
            assert_eq!(a.excludes(b), b.excludes(a), "{a:?} {b:?}");
            let reference = |x| matches!(x, Access::Read | Access::Write);
            let export = |x| matches!(x, Access::ExportRead | Access::ExportWrite);
            // Nothing may write beside a reference, nothing at all beside a mutable one.
            if reference(a) && (b.writes() || a == Access::Write) {
                assert!(a.excludes(b), "{a:?} {b:?}");
            }
            // What is published does not change, whoever would write it.
            if a == Access::Publish {
                assert_eq!(a.excludes(b), b.writes(), "{a:?} {b:?}");
            }
            // Foreign code never stands in the way of foreign code or of kernels.
            if export(a) && !reference(b) && b != Access::Publish {
                assert!(!a.excludes(b), "{a:?} {b:?}");
            }
            if !a.writes() && !b.writes() {
                assert!(!a.excludes(b), "{a:?} {b:?}");
            }
        }
    }
}

#[test]
fn accesses_are_numbered_in_order() {
    for (number, access) in ALL.into_iter().enumerate() {
        assert_eq!(access as usize, number);
        for number in [0, 1, Loan::QUICK - 1] {
            let loan = Loan::new(access, number);
            assert_eq!((loan.access(), loan.number()), (access, Some(number)));
        }
        assert_eq!(Loan::new(access, Loan::QUICK).number(), None);
    }
}

#[test]
fn a_wait_ends_when_the_entry_is_struck_or_time_is_up() {
    let ledger = Ledger::new();
    let first = ledger.enter(Access::Write, 0..10).unwrap();
    let soon = Some(Duration::from_millis(5));
    assert_eq!(ledger.enter_wait(Access::Read, &Rows::from(9..11), soon).unwrap_err().range, 0..10);
    // What stands against nothing waits for nothing.
    let other = ledger.enter_wait(Access::Write, &Rows::from(10..20), None).unwrap();
    std::thread::scope(|scope| {
        let waiting =
            scope.spawn(|| ledger.enter_wait(Access::KernelWrite, &Rows::from(0..20), None));
        ledger.release(first);
        ledger.release(other);
        ledger.release(waiting.join().unwrap().unwrap());
    });
    // The book is closed again: the next entry is the quick one.
    assert_eq!(ledger.held(), 0);
    assert!(ledger.enter_quick(Access::Read, &(0..1)).is_some());
}

#[test]
fn disjoint_ranges_do_not_meet() {
    let ledger = Ledger::new();
    let left = ledger.enter(Access::Write, 0..10).unwrap();
    let right = ledger.enter(Access::Write, 10..20).unwrap();
    let against = ledger.enter(Access::Read, 9..11).unwrap_err();
    assert_eq!(against, Entry { access: Access::Write, range: 0..10 });
    let nothing = ledger.enter(Access::Write, 5..5).unwrap();
    let none = Rows::new(0, 0, 5, 4).unwrap();
    let none = ledger.enter_rows(Access::Write, &none).unwrap();
    for loan in [left, right, nothing, none] {
        ledger.release(loan);
    }
    assert_eq!(ledger.held(), 0);
}

/// Tasks of many threads write disjoint tiles of one tensor, in any order.
#[test]
fn many_entries_are_found_again() {
    const COUNT: usize = if cfg!(miri) { 200 } else { 20_000 };
    let ledger = Ledger::new();
    // Every place once, in an order without a pattern.
    let place = |index: usize| index * 7919 % COUNT;
    let mut loans: Vec<Loan> = (0..COUNT)
        .map(|index| {
            let start = place(index) * 10;
            ledger.enter(Access::Write, start..start + 10).unwrap()
        })
        .collect();
    assert_eq!(ledger.held(), COUNT);
    for index in 0..COUNT {
        let start = place(index) * 10;
        let held = ledger.enter(Access::Read, start + 3..start + 4).unwrap_err();
        assert_eq!(held.range, start..start + 10);
    }
    // A freed place can be taken, and no other.
    let freed = loans.swap_remove(COUNT / 2);
    ledger.release(freed);
    let start = place(COUNT / 2) * 10;
    assert!(ledger.enter(Access::Write, start..start + 11).is_err() || start + 10 == COUNT * 10);
    loans.push(ledger.enter(Access::Write, start..start + 10).unwrap());
    loans.into_iter().for_each(|loan| ledger.release(loan));
    assert_eq!(ledger.held(), 0);
}

/// Tasks of many threads write the tiles of one image.
#[test]
fn tiles_of_an_image_are_held_apart() {
    const SIDE: usize = if cfg!(miri) { 6 } else { 40 };
    let ledger = Ledger::new();
    let tile = |x: usize, y: usize| Rows::new(y * 8 * SIDE * 16 + x * 16, 16, SIDE * 16, 8);
    let tiles = || (0..SIDE).flat_map(|y| (0..SIDE).map(move |x| (x, y)));
    let enter = |(x, y)| ledger.enter_rows(Access::Write, &tile(x, y).unwrap());
    let mut loans: Vec<Loan> = tiles().map(|at| enter(at).unwrap()).collect();
    for (x, y) in tiles() {
        let held = enter((x, y)).unwrap_err();
        assert_eq!(held.range, tile(x, y).unwrap().span());
    }
    assert!(ledger.enter(Access::Read, 15..16).is_err());
    let middle = loans.remove(SIDE + 1);
    ledger.release(middle);
    loans.push(enter((1, 1)).unwrap());
    loans.into_iter().for_each(|loan| ledger.release(loan));
    assert_eq!(ledger.held(), 0);
    assert!(ledger.enter_quick(Access::Write, &(0..1)).is_some());
}

#[derive(Debug, Clone)]
enum Step {
    Enter(Access, Rows),
    Release(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let rows = (0usize..40, 0usize..12, 1usize..5, prop::sample::select(&[1, 7, 8][..]));
    let rows = rows.prop_map(|(start, len, count, stride)| {
        let len = if count > 1 { len.min(stride) } else { len };
        Rows::new(start, len, stride, count).unwrap()
    });
    let enter =
        (prop::sample::select(&ALL[..]), rows).prop_map(|(access, rows)| Step::Enter(access, rows));
    let release = (0usize..64).prop_map(Step::Release);
    prop::collection::vec(prop_oneof![2 => enter, 1 => release], 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1000 }))]

    #[test]
    fn agrees_with_the_slow_model(steps in steps()) {
        let ledger = Ledger::new();
        let mut model: Vec<(Loan, Access, Rows)> = vec![];
        for step in steps {
            match step {
                Step::Enter(access, rows) => {
                    let free = model.iter().all(|(_, held, other)| {
                        !access.excludes(*held) || !rows.overlaps(other)
                    });
                    let answer = ledger.enter_rows(access, &rows);
                    prop_assert_eq!(answer.is_ok(), free);
                    if let Ok(loan) = answer {
                        model.push((loan, access, rows));
                    }
                }
                Step::Release(which) if !model.is_empty() => {
                    let (loan, ..) = model.swap_remove(which % model.len());
                    ledger.release(loan);
                }
                Step::Release(_) => {}
            }
            prop_assert_eq!(ledger.held(), model.len());
        }
    }
}
