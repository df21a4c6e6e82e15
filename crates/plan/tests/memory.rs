//! How much memory planning takes: bytes of heap for each buffer, at the peak. It is what the
//! planner takes itself, with the answer and without the schedule it is asked about.
#![expect(unsafe_code, reason = "counts the bytes of the heap")]
#![allow(unreachable_pub, reason = "the parts are modules of this test")]

use std::fmt::Write as _;

use tenure_plan::{
    MemoryPool, Options, Packer, PlannerMode, Problem, Reorder, Schedule, Table, capacity, explain,
    plan, pools, reorder, replan, verify,
};

#[path = "common/heap.rs"]
mod heap;
#[path = "common/large.rs"]
mod large;

/// What planning may take for each buffer.
const MOST: usize = 250;

/// So many that they are very many to the packers as well.
const BUFFERS: usize = 70_000;

/// What was asked, and the bytes that it took.
#[derive(Default)]
struct Taken(Vec<(String, usize)>);

impl Taken {
    fn add<T>(&mut self, name: String, work: impl FnOnce() -> T) {
        self.0.push((name, heap::peak(work) / BUFFERS));
    }

    /// Everything that can be asked about a schedule.
    fn ask(&mut self, name: &str, schedule: &Schedule, options: &Options<'_>) {
        let all = name == "layers";
        for mode in PlannerMode::ALL {
            for packer in Packer::ALL {
                if all && mode == PlannerMode::Arena || packer == Packer::default() {
                    let work = || plan(schedule, mode, packer, options).unwrap();
                    self.add(format!("{name}: {mode}, {packer}"), work);
                }
            }
        }
        let made = plan(schedule, PlannerMode::Arena, Packer::Tlsf, options).unwrap();
        self.add(format!("{name}: verify"), || verify(schedule, &made).unwrap());
        self.add(format!("{name}: replan"), || replan(schedule, &made, 0.0, options).unwrap());
        let room = made.bytes;
        self.add(format!("{name}: capacity"), || capacity(schedule, room, options).unwrap());
        self.add(format!("{name}: explain"), || explain(schedule).unwrap());
        // Of the fast memory there is enough for nobody, for a few, for nearly all, for all.
        let parts: &[u64] = match name {
            "layers" => &[0, 4, 15, 16],
            "large" => &[0, 16],
            _ => &[4],
        };
        for part in parts {
            let pool = |name: &str, device, bytes| MemoryPool { name: name.into(), device, bytes };
            let memory: Vec<MemoryPool> = (0..2)
                .flat_map(|device| {
                    [pool("SRAM", device, Some(room / 16 * part)), pool("DRAM", device, None)]
                })
                .collect();
            let name = format!("{name}: pools, {part} of 16 parts");
            self.add(name, || pools(schedule, &memory, options).unwrap());
        }
        for keep_lanes in [false, true] {
            let how = Reorder { keep_lanes, ..Reorder::default() };
            // What comes back has the schedule in it, for which there is room as well.
            let name = format!("{name}: reorder, lanes kept {keep_lanes}");
            self.add(name, || reorder(schedule, how, options).unwrap());
        }
    }
}

/// One test, since the count is the whole program's.
#[test]
fn planning_takes_little_memory() {
    let options = Options { work: 1000, ..Options::default() };
    let mut taken = Taken::default();
    for (name, schedule) in [
        ("layers", large::layers(BUFFERS, large::kilobytes)),
        ("large", large::layers(BUFFERS, large::gigabytes)),
        ("in place", large::in_place(BUFFERS)),
        ("levels", large::levels(BUFFERS)),
        ("copies", large::copies(BUFFERS)),
        ("views", large::views(BUFFERS, 0)),
        ("many views", large::views(BUFFERS, BUFFERS / 2)),
        ("rows", large::rows(BUFFERS)),
    ] {
        taken.ask(name, &schedule, &options);
    }
    let items = large::crowd(BUFFERS);
    for packer in Packer::ALL {
        let work = || packer.pack(&Problem::new(items.clone()).unwrap(), &options);
        taken.add(format!("crowd: {packer}"), work);
    }
    let mut csv = String::from("id,lower,upper,size\n");
    for (index, item) in items.iter().enumerate() {
        let _ = writeln!(csv, "buffer{index},{},{},{}", item.lower, item.upper, item.size);
    }
    taken.add("csv".into(), || Table::from_csv(&csv).unwrap());
    for (name, bytes) in &taken.0 {
        println!("{name}: {bytes} B");
    }
    let too_much: Vec<_> = taken.0.iter().filter(|(_, bytes)| *bytes > MOST).collect();
    assert!(too_much.is_empty(), "bytes per buffer, at most {MOST}: {too_much:?}");
}
