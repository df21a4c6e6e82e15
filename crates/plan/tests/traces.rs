//! The solver on the problems that others find hard, and on traces of real models.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_plan::{
    Fit, Item, Options, Packer, Problem, Progress, Table, check, check_offsets, fit, lower_bound,
    minimise,
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn read(name: &str) -> Problem {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    let items = text.lines().skip(1).map(|line| {
        let fields: Vec<u64> =
            line.split(',').skip(1).map(|field| field.parse().unwrap()).collect();
        Item { lower: fields[0], upper: fields[1], size: fields[2], align: 1 }
    });
    Problem::new(items.collect()).unwrap()
}

fn challenge(letter: char) -> Problem {
    read(&format!("{letter}.1048576.csv"))
}

#[test]
fn the_challenge_fits_its_capacity() {
    for letter in 'A'..='K' {
        let problem = challenge(letter);
        let Fit::Fits(packing) = fit(&problem, 1 << 20, &Options::default()) else {
            panic!("{letter} is known to fit");
        };
        assert_eq!(check(&problem, &packing), Ok(()), "{letter}");
        assert!(packing.bytes <= 1 << 20, "{letter}");
    }
}

#[test]
fn most_of_the_challenge_is_proven_minimal() {
    for letter in "ABCEFGH".chars() {
        let problem = challenge(letter);
        let packing = minimise(&problem, &Options::default());
        assert_eq!(check(&problem, &packing), Ok(()), "{letter}");
        assert_eq!((packing.bytes, packing.optimal), (lower_bound(&problem), true), "{letter}");
    }
}

/// What minimalloc gives up on, with the offsets that `examples/solve` has found for it: `--seed 1
/// --work 4000000000 --capacity bound`, 8 seconds for D and 276 for J.
#[test]
fn d_and_j_have_packings_at_their_lower_bounds() {
    for (letter, bytes) in [('D', 986_112), ('J', 989_184)] {
        let path = folder().join(format!("solved/{letter}.{bytes}.csv"));
        let solved = Table::from_csv(&std::fs::read_to_string(path).unwrap()).unwrap();
        let problem = challenge(letter);
        assert_eq!(solved.problem, problem, "{letter}");
        assert_eq!(lower_bound(&problem), bytes, "{letter}");
        let offsets = solved.offsets.unwrap();
        assert_eq!(check_offsets(&problem, &offsets, bytes), Ok(()), "{letter}");
        // Every pair by itself: the evidence does not rest on one sweep.
        let placed: Vec<(&Item, u64)> = problem.items().iter().zip(offsets).collect();
        for (index, &(item, at)) in placed.iter().enumerate() {
            assert!(at + item.size <= bytes, "{letter} {index}");
            for &(other, there) in &placed[..index] {
                let apart = at + item.size <= there || there + other.size <= at;
                assert!(apart || !item.meets(other), "{letter} {index}");
            }
        }
    }
}

#[test]
#[ignore = "takes ten seconds and more"]
fn d_fits_its_lower_bound() {
    let problem = challenge('D');
    let options = Options { seed: 1, work: 100_000_000, ..Options::default() };
    let Fit::Fits(packing) = fit(&problem, lower_bound(&problem), &options) else {
        panic!("it was solved before");
    };
    assert_eq!(check(&problem, &packing), Ok(()));
    assert_eq!(packing.bytes, 986_112);
}

#[test]
fn models_are_at_their_bound() {
    let mut count = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.contains("1048576") || !name.ends_with(".csv") {
            continue;
        }
        let problem = read(&name);
        let best = minimise(&problem, &Options::default());
        assert_eq!(check(&problem, &best), Ok(()), "{name}");
        assert_eq!((best.bytes, best.optimal), (lower_bound(&problem), true), "{name}");
        for packer in Packer::ALL {
            let packing = packer.pack(&problem, &Options::default());
            assert_eq!(check(&problem, &packing), Ok(()), "{name} {packer}");
            assert!(packing.bytes >= best.bytes, "{name} {packer}");
        }
        count += 1;
    }
    assert!(count > 15);
}

#[test]
fn best_is_never_worse_than_the_others_whatever_the_budget() {
    let problem = challenge('D');
    for work in [0, 1, 100, 10_000] {
        let best = minimise(&problem, &Options { work, ..Options::default() });
        assert_eq!(check(&problem, &best), Ok(()));
        for packer in [Packer::Tlsf, Packer::BestFit, Packer::GreedySize] {
            assert!(best.bytes <= packer.pack(&problem, &Options::default()).bytes, "{packer}");
        }
    }
}

#[test]
fn the_same_seed_and_work_give_the_same_packing() {
    for seed in [0, 7] {
        let options = Options { seed, work: 30_000, ..Options::default() };
        let problem = challenge('D');
        assert_eq!(minimise(&problem, &options), minimise(&problem, &options));
        assert_eq!(fit(&problem, 1 << 20, &options), fit(&problem, 1 << 20, &options));
    }
}

#[test]
fn threads_change_nothing_but_the_time() {
    let options = Options { work: 60_000, ..Options::default() };
    for letter in "BDI".chars() {
        let problem = challenge(letter);
        let (packing, fits) = (minimise(&problem, &options), fit(&problem, 1 << 20, &options));
        for threads in [0, 2, 3, 16] {
            let options = Options { threads, ..options };
            assert_eq!(minimise(&problem, &options), packing, "{letter} by {threads}");
            assert_eq!(fit(&problem, 1 << 20, &options), fits, "{letter} by {threads}");
        }
    }
}

#[test]
fn progress_only_gets_better_and_ends_with_the_result() {
    let seen = RefCell::new(Vec::new());
    let tell = |progress: Progress| seen.borrow_mut().push(progress);
    let options = Options { work: 50_000, progress: Some(&tell), ..Options::default() };
    let packing = minimise(&challenge('D'), &options);
    let seen = seen.borrow();
    for pair in seen.windows(2) {
        assert!(pair[1].bytes <= pair[0].bytes && pair[1].lower_bound >= pair[0].lower_bound);
        assert!(pair[1].work >= pair[0].work);
    }
    assert_eq!(seen.last().map(|last| last.bytes), Some(packing.bytes));
}

#[test]
fn a_flag_or_a_clock_ends_the_search() {
    let problem = challenge('J');
    let stop = AtomicBool::new(true);
    let endless = Options { work: u64::MAX, ..Options::default() };
    let stopped = minimise(&problem, &Options { stop: Some(&stop), ..endless });
    assert_eq!(check(&problem, &stopped), Ok(()));
    for threads in [1, 3] {
        let late = Options { time: Some(Duration::from_millis(50)), threads, ..endless };
        assert_eq!(check(&problem, &minimise(&problem, &late)), Ok(()));
        assert!(matches!(fit(&problem, lower_bound(&problem), &late), Fit::Unknown { .. }));
    }
    // A search that would take minutes ends when the flag is raised by another thread.
    stop.store(false, Ordering::Relaxed);
    let options = Options { stop: Some(&stop), threads: 3, ..endless };
    let packing = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            stop.store(true, Ordering::Relaxed);
        });
        minimise(&problem, &options)
    });
    assert_eq!(check(&problem, &packing), Ok(()));
}

#[test]
fn less_than_the_peak_is_refused_with_what_is_alive_there() {
    let problem = challenge('A');
    let bound = lower_bound(&problem);
    let Fit::Impossible(obstacle) = fit(&problem, bound - 1, &Options::default()) else {
        panic!("less than the bound");
    };
    let sum: u64 = obstacle.items.iter().map(|&item| problem.items()[item].size).sum();
    assert_eq!((sum, obstacle.bytes, obstacle.at_once), (bound, bound, true));
    // Half of the room is too little for a few of them.
    let Fit::Impossible(few) = fit(&problem, bound / 2, &Options::default()) else {
        panic!("less than the bound");
    };
    assert!(few.items.len() < obstacle.items.len() && few.bytes > bound / 2);
    assert_eq!(few.least, bound);
}
