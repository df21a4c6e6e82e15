//! How much memory planning takes: bytes of heap for each buffer, at the peak.
#![expect(unsafe_code, reason = "counts the bytes of the heap")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenure_plan::{
    BufferSpec, Item, Options, Packer, PlannerMode, Problem, Schedule, Step, Table, capacity, plan,
    replan, verify,
};

struct Counting;

/// Bytes in use, and the most there were since the last [`peak`].
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the layout is the one that the caller of this function vouches for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: as for `alloc`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the address came from this allocator, which is the system's.
        unsafe { System.dealloc(address, layout) }
    }

    unsafe fn realloc(&self, address: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Whether the block moves is the system's choice: counted is what there is afterwards.
        if size >= layout.size() {
            grown(size - layout.size());
        } else {
            LIVE.fetch_sub(layout.size() - size, Ordering::Relaxed);
        }
        // SAFETY: as for `dealloc`.
        unsafe { System.realloc(address, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What planning may take for each buffer, beside the schedule itself. The plan is in it.
const MOST: usize = 250;

const BUFFERS: usize = 80_000;

/// The most bytes per buffer that `work` had at one time, beyond what was there before.
fn peak<T>(work: impl FnOnce() -> T) -> usize {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let made = work();
    let peak = PEAK.load(Ordering::Relaxed) - before;
    drop(made);
    peak / BUFFERS
}

/// Numbers that look random, the same in every run.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Layers one after the other, every fifth with a connection to one long before it.
fn layers(sized: impl Fn(u64) -> u64, in_place: bool, levels: bool) -> Schedule {
    let mut schedule = Schedule::default();
    let mut state = 7;
    for index in 0..BUFFERS {
        let bytes = sized(random(&mut state));
        let mut buffer = BufferSpec::new(format!("b{index}"), bytes);
        if in_place && index > 0 && index % 3 == 0 {
            buffer.bytes = schedule.buffers[index - 1].bytes;
            buffer.in_place = vec![index - 1];
        }
        schedule.buffers.push(buffer);
        let mut reads: Vec<usize> = index.checked_sub(1).into_iter().collect();
        if index % 5 == 0 {
            reads.extend(index.checked_sub(2 + (random(&mut state) % 200) as usize));
        }
        let level = levels.then_some(index as u32);
        schedule.steps.push(Step { level, ..Step::new("", reads, [index]) });
    }
    schedule
}

fn kilobytes(random: u64) -> u64 {
    64 * (1 + random % 4096)
}

/// Lifetimes in no order, with thousands alive at once.
fn crowd() -> Vec<Item> {
    let mut state = 3;
    let item = |_| {
        let lower = random(&mut state) % (BUFFERS as u64 / 4);
        let upper = lower + 1 + random(&mut state) % 500;
        Item { lower, upper, size: kilobytes(random(&mut state)), align: 64 }
    };
    (0..BUFFERS).map(item).collect()
}

fn options() -> Options<'static> {
    Options { work: 20_000, ..Options::default() }
}

/// One test, since the count is the whole program's.
#[test]
fn planning_takes_little_memory() {
    let mut taken: Vec<(String, usize)> = Vec::new();
    let options = options();
    for (name, schedule) in [
        ("layers", layers(kilobytes, false, false)),
        ("in place", layers(kilobytes, true, false)),
        ("levels", layers(kilobytes, false, true)),
        // Offsets that do not fit into four bytes, whatever they are counted in.
        ("large", layers(|random| (random << 9) | 257, false, false)),
    ] {
        for mode in PlannerMode::ALL {
            for packer in Packer::ALL {
                let all = name == "layers" && mode == PlannerMode::Arena;
                if all || packer == Packer::default() {
                    let work = || plan(&schedule, mode, packer, &options).unwrap();
                    taken.push((format!("{name}: {mode}, {packer}"), peak(work)));
                }
            }
        }
        if name == "large" {
            continue;
        }
        let made = plan(&schedule, PlannerMode::Arena, Packer::Tlsf, &options).unwrap();
        taken.push((format!("{name}: verify"), peak(|| verify(&schedule, &made))));
        taken.push((format!("{name}: replan"), peak(|| replan(&schedule, &made, 0.0, &options))));
        let room = made.bytes;
        taken.push((format!("{name}: capacity"), peak(|| capacity(&schedule, room, &options))));
    }
    let items = crowd();
    for packer in Packer::ALL {
        let work = || packer.pack(&Problem::new(items.clone()).unwrap(), &options);
        taken.push((format!("crowd: {packer}"), peak(work)));
    }
    let mut csv = String::from("id,lower,upper,size\n");
    for (index, item) in items.iter().enumerate() {
        let _ = writeln!(csv, "buffer{index},{},{},{}", item.lower, item.upper, item.size);
    }
    taken.push(("csv".into(), peak(|| Table::from_csv(&csv).unwrap())));
    let too_much: Vec<_> = taken.iter().filter(|(_, bytes)| *bytes > MOST).collect();
    for (name, bytes) in &taken {
        println!("{name}: {bytes} B");
    }
    assert!(too_much.is_empty(), "bytes per buffer, at most {MOST}: {too_much:?}");
}
