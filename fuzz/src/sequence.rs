//! A random sequence of operations on tensors, pools and streams, beside a shadow model that knows
//! every byte, every guard and every credit. After each operation the library's answer must be the
//! model's.

mod guards;
mod ops;
mod sharing;
mod streams;
mod tensors;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tenure::memory::{Access, Buffer, Pool};
use tenure::{DType, TensorDyn, TensorMemory};

use crate::shadow::{Shadow, Taken};
use crate::shown::Shown;
use guards::{Export, Guard};
pub use ops::{Op, Operations};
use sharing::Descriptor;
use streams::Stream;

/// As many of each kind are kept; what comes later replaces one of them.
const TENSORS: usize = 12;
const GUARDS: usize = 8;
const EXPORTS: usize = 6;
/// The most elements of a tensor.
const ELEMENTS: usize = 512;

/// Element types of every size.
const TYPES: [DType; 4] = [DType::U8, DType::U16, DType::F32, DType::I64];

/// Counts something for as long as it exists: a frame that is held, a slot that is filled.
#[derive(Debug)]
pub(crate) struct Lease(RefCell<Vec<Rc<Cell<usize>>>>);

impl Lease {
    fn new(counters: &[&Rc<Cell<usize>>]) -> Rc<Lease> {
        counters.iter().for_each(|counter| counter.set(counter.get() + 1));
        let counters = counters.iter().map(|counter| Rc::clone(counter)).collect();
        Rc::new(Lease(RefCell::new(counters)))
    }

    /// Counts no more, whoever still has it.
    fn end(&self) {
        self.0.take().iter().for_each(|counter| counter.set(counter.get() - 1));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the model expects of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Ok,
    Refused,
    /// Memory that was lent to a stream: the publisher may or may not have noticed that consumers
    /// are done with it.
    Either,
}

impl Expected {
    /// The same, if something else allows it too.
    fn and(self, allowed: bool) -> Expected {
        if allowed { self } else { Expected::Refused }
    }

    /// Compares with the library's answer.
    fn check<T, E: std::fmt::Debug>(self, answer: &std::result::Result<T, E>) {
        match (self, answer) {
            (Expected::Ok, Err(error)) => panic!("refused what the model allows: {error:?}"),
            (Expected::Refused, Ok(_)) => panic!("allowed what the model refuses"),
            _ => {}
        }
    }
}

/// A tensor, and what the model knows of it. The real one is dropped first.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) tensor: TensorDyn,
    pub(crate) shown: Shown,
    pub(crate) writable: bool,
    pub(crate) shadow: Rc<Shadow>,
    pub(crate) lease: Option<Rc<Lease>>,
    /// The mapping that a pool gave, if it is that.
    pub(crate) taken: Option<Rc<Taken>>,
    /// Whether it came back from an export that was read-only, and the memory is not: a window
    /// without a descriptor, as that could be written.
    pub(crate) reader: bool,
}

#[derive(Debug)]
struct PoolModel {
    pool: Pool,
    limits: tenure::memory::PoolLimits,
}

/// Everything that exists.
#[derive(Debug, Default)]
pub struct World {
    guards: Vec<Guard>,
    exports: Vec<Export>,
    tensors: Vec<Held>,
    descriptors: Vec<Descriptor>,
    pools: Vec<Option<PoolModel>>,
    stream: Option<Stream>,
    /// Whether there may be a stream: sequences with one take a hundred times as long.
    streams: bool,
    /// Allocations by their number.
    live: HashMap<u64, Weak<Shadow>>,
    /// Allocations whose descriptor somebody was given: no pool may hand them out again.
    given: HashSet<u64>,
}

impl World {
    /// Nothing yet.
    pub fn new(streams: bool) -> World {
        World { streams, ..World::default() }
    }

    /// Applies one operation and compares.
    pub fn apply(&mut self, op: &Op) {
        self.act(op);
        self.check_pools();
    }

    /// Looks at everything once more, and drops it in an order that `seed` chooses.
    pub fn finish(mut self, seed: u8) {
        for held in &self.tensors {
            held.check();
        }
        for guard in &self.guards {
            guard.check();
        }
        for step in 0..3u8 {
            match (seed % 3 + step) % 3 {
                0 => self.tensors.clear(),
                1 => self.guards.clear(),
                _ => self.exports.clear(),
            }
            self.check_pools();
        }
        if let Some(stream) = self.stream.take() {
            stream.end();
        }
        self.check_pools();
        let alive = self.live.values().filter(|shadow| shadow.strong_count() > 0).count();
        assert_eq!(alive, 0, "the model keeps nothing");
    }

    /// What the model knows of an allocation that it has met.
    fn known(&self, allocation: u64) -> Option<Rc<Shadow>> {
        self.live.get(&allocation).and_then(Weak::upgrade)
    }

    /// A new allocation, which must not be one that somebody has.
    fn meet(&mut self, tensor: &TensorDyn, pool: Option<usize>, fresh: bool) -> Rc<Shadow> {
        let raw = tensor.buffer().raw().expect("it exists");
        let allocation = raw.identity().id();
        assert!(self.known(allocation).is_none(), "allocation {allocation} was handed out twice");
        assert!(pool.is_none() || !self.given.contains(&allocation), "others have its descriptor");
        assert_eq!(raw.held(), 0, "somebody holds bytes of new memory");
        // All of it: a lazy buffer is as large as was asked for, not as what was given.
        let whole = Buffer::from_shared(Arc::clone(raw));
        let bytes = whole.read().expect("nobody has it").as_bytes().to_vec();
        assert!(!fresh || bytes.iter().all(|byte| *byte == 0), "fresh memory is not zero");
        let shadow = Shadow::new(allocation, bytes, pool);
        self.live.insert(allocation, Rc::downgrade(&shadow));
        shadow
    }

    /// What is kept of a slot goes on as a private copy: another allocation with the same bytes.
    fn part(&mut self, shadow: &Rc<Shadow>) {
        shadow.parted.set(true);
        if let Some(before) = shadow.allocation.take() {
            self.live.remove(&before);
        }
        let kept = self.tensors.iter().filter(|held| Rc::ptr_eq(&held.shadow, shadow));
        let number = kept.map(|held| held.tensor.buffer().place().expect("it exists").allocation);
        if let Some(number) = number.last() {
            self.learn(shadow, number);
        }
    }

    /// The number of an allocation that had none since it was parted.
    fn learn(&mut self, shadow: &Rc<Shadow>, number: u64) {
        assert!(!self.live.contains_key(&number), "a private copy is in shared memory");
        assert!(!self.given.contains(&number), "others have a descriptor of a private copy");
        shadow.allocation.set(Some(number));
        self.live.insert(number, Rc::downgrade(shadow));
    }

    fn keep(&mut self, held: Held) {
        if held.shadow.allocation.get().is_none() {
            let number = held.tensor.buffer().place().expect("it exists").allocation;
            self.learn(&held.shadow, number);
        }
        held.shadow.reaches(held.tensor.buffer().raw().expect("it exists").size());
        held.check_layout();
        if self.tensors.len() >= TENSORS {
            self.tensors.remove(0);
        }
        self.tensors.push(held);
    }

    fn keep_guard(&mut self, guard: Guard) {
        if self.guards.len() >= GUARDS {
            self.guards.remove(0);
        }
        self.guards.push(guard);
    }

    /// The tensor that a number stands for.
    fn tensor(&self, number: u8) -> Option<&Held> {
        let count = self.tensors.len();
        (count > 0).then(|| &self.tensors[usize::from(number) % count])
    }

    fn check_pools(&self) {
        for (number, model) in self.pools.iter().enumerate() {
            let Some(PoolModel { pool, limits }) = model else { continue };
            let report = pool.report();
            assert!(report.kept <= limits.buffers && report.kept_bytes <= limits.kept_bytes);
            assert!(report.used_bytes + report.kept_bytes <= limits.bytes);
            let used = self.live.values().filter_map(Weak::upgrade);
            let mine = |shadow: &Rc<Shadow>| shadow.pool == Some(number) && shadow.is_taken();
            let used: Vec<_> = used.filter(mine).collect();
            assert_eq!(report.used, used.len(), "buffers of the pool in use");
            let bytes: usize = used.iter().map(|shadow| shadow.size).sum();
            assert_eq!(report.used_bytes, bytes, "bytes of the pool in use");
        }
    }
}

impl Held {
    /// Another handle to the same allocation.
    fn beside(&self, tensor: TensorDyn, shown: Shown) -> Held {
        let (shadow, lease) = (Rc::clone(&self.shadow), self.lease.clone());
        let (writable, taken, reader) = (self.writable, self.taken.clone(), self.reader);
        Held { tensor, shown, writable, shadow, lease, taken, reader }
    }

    /// A tensor of memory that is nobody else's yet, or of another mapping.
    fn alone(tensor: TensorDyn, shown: Shown, writable: bool, shadow: Rc<Shadow>) -> Held {
        Held { tensor, shown, writable, shadow, lease: None, taken: None, reader: false }
    }

    /// Whether others can be given the memory.
    fn has_descriptor(&self) -> bool {
        self.tensor.memory() == TensorMemory::Shm && !self.shadow.parted.get() && !self.reader
    }

    /// Whether the model allows this now.
    fn allows(&self, access: Access) -> Expected {
        self.allows_range(access, &self.shown.span())
    }

    fn allows_range(&self, access: Access, range: &Range<usize>) -> Expected {
        let expected = self.shadow.expects(access, range);
        expected.and(self.writable || !access.writes())
    }

    /// The library's layout shows the elements that the model shows.
    fn check_layout(&self) {
        let (tensor, shown) = (&self.tensor, &self.shown);
        assert_eq!(tensor.shape(), shown.shape);
        assert_eq!(tensor.len(), shown.places.len());
        let layout = tensor.layout();
        let start = tensor.buffer().start() as i128 + layout.offset() as i128;
        let places = crate::elements::indices(tensor.shape()).map(|index| {
            let steps = index.iter().zip(layout.strides());
            let steps: i128 = steps.map(|(at, step)| *at as i128 * *step as i128).sum();
            start + steps * shown.size as i128
        });
        assert!(places.eq(shown.places.iter().map(|place| *place as i128)), "other elements");
        assert_eq!(layout.is_row_major(), shown.is_rising());
        assert_eq!(layout.is_contiguous(), shown.is_packed());
        assert!(!shown.repeats() || layout.may_self_overlap());
        if let Some(place) = tensor.buffer().place() {
            assert_eq!(Some(place.allocation), self.shadow.allocation.get());
        }
    }

    /// The bytes are those of the model, if they can be read now.
    fn check(&self) {
        let mut flat = vec![0xee; self.tensor.flat_bytes()];
        let answer = self.tensor.copy_to_flat(&mut flat);
        self.allows(Access::KernelRead).check(&answer);
        if answer.is_ok() {
            assert!(flat == self.shown.gather(&self.shadow.bytes.borrow()), "other bytes");
        }
        let raw = self.tensor.buffer().raw().expect("it exists");
        if !self.shadow.lent.get() {
            assert_eq!(raw.held(), self.shadow.held(), "guards that the model does not know");
        }
    }
}
