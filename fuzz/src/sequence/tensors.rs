//! New tensors, views of them, copies and fills.

use std::rc::Rc;
use std::sync::Arc;

use tenure::memory::{Access, Allocator, Error as MemoryError, Pool, PoolLimits, kind};
use tenure::{DynTensor, TensorDyn, TensorMemory, tensor::Error, tensor::Result};

use super::ops::take;
use super::{ELEMENTS, Expected, Held, PoolModel, TYPES, World};
use crate::shown::Shown;

fn memory(number: u8) -> TensorMemory {
    // System calls are slow: mostly the heap.
    if number % 4 == 3 { TensorMemory::Shm } else { TensorMemory::Mem }
}

/// A shape of at most [`ELEMENTS`] elements, now and then without any.
fn shape(numbers: [u8; 3]) -> Vec<usize> {
    let rank = usize::from(numbers[0] / 64);
    numbers.iter().take(rank).map(|number| usize::from(number % 64) % 9).collect()
}

impl World {
    pub(super) fn create(&mut self, number: u8, dtype: u8, numbers: [u8; 3]) {
        let (dtype, shape) = (TYPES[usize::from(dtype) % TYPES.len()], shape(numbers));
        let tensor = TensorDyn::new(&shape, dtype, Some(memory(number)), None).expect("memory");
        let shadow = self.meet(&tensor, None, true);
        let shown = Shown::contiguous(dtype.size().unwrap_or(1), &shape, 0);
        self.keep(Held::alone(tensor, shown, true, shadow));
    }

    pub(super) fn create_in(&mut self, number: u8, dtype: u8, numbers: [u8; 3], lazy: bool) {
        let count = self.pools.len();
        let Some(at) = (count > 0).then(|| usize::from(number) % count) else { return };
        let Some(PoolModel { pool, limits }) = &self.pools[at] else { return };
        let (dtype, shape) = (TYPES[usize::from(dtype) % TYPES.len()], shape(numbers));
        let before = pool.report();
        let size = dtype.size().unwrap_or(1);
        // What is kept is given up for it.
        let bytes = shape.iter().product::<usize>() * size;
        let fits = before.used_bytes + bytes <= limits.bytes;
        let answer = match lazy {
            false => TensorDyn::builder(&shape, dtype).allocator(pool).build(),
            true => {
                let tensor = TensorDyn::builder(&shape, dtype)
                    .allocator(&Arc::new(pool.clone()))
                    .lazy()
                    .build();
                let tensor = tensor.expect("no memory yet");
                assert!(!tensor.buffer().is_placed() && pool.report() == before);
                // A view that is made before there is memory follows it there.
                let view = tensor.clone();
                let answer = tensor.buffer().ensure();
                assert_eq!(view.buffer().is_placed(), answer.is_ok());
                answer.map(|()| tensor).map_err(Error::from)
            }
        };
        Expected::Ok.and(fits).check(&answer);
        let tensor = match answer {
            Ok(tensor) => tensor,
            Err(error) => {
                let full = matches!(error, Error::Memory(MemoryError::PoolFull { .. }));
                assert!(full, "{error}");
                assert_eq!(pool.report().used_bytes, before.used_bytes);
                return;
            }
        };
        let reused = pool.report().hits > before.hits;
        assert_eq!(pool.report().misses > before.misses, !reused);
        let shadow = self.meet(&tensor, Some(at), !reused);
        let shown = Shown::contiguous(size, &shape, 0);
        let taken = Some(shadow.take(&tensor));
        self.keep(Held { taken, ..Held::alone(tensor, shown, true, shadow) });
    }

    pub(super) fn make_pool(&mut self, number: u8, kilobytes: u8, buffers: u8) {
        if self.pools.len() >= 4 {
            return;
        }
        let allocator: &'static dyn Allocator = kind::allocator(memory(number)).expect("it exists");
        let kept = usize::from(kilobytes) << 10;
        let mut limits = PoolLimits::new(kept, usize::from(buffers % 8));
        limits.bytes = match buffers >> 6 {
            0 | 1 => usize::MAX,
            2 => kept,
            // More may be kept than there may be.
            _ => kept / 8,
        };
        let pool = Pool::new(allocator).with_limits(limits);
        self.pools.push(Some(PoolModel { pool, limits }));
    }

    pub(super) fn trim_pool(&mut self, number: u8) {
        let count = self.pools.len();
        let Some(at) = (count > 0).then(|| usize::from(number) % count) else { return };
        if let Some(PoolModel { pool, .. }) = &self.pools[at] {
            pool.trim();
            assert_eq!((pool.report().kept, pool.report().kept_bytes), (0, 0));
        }
    }

    /// What it gave out lives on.
    pub(super) fn drop_pool(&mut self, number: u8) {
        let count = self.pools.len();
        if count > 0 {
            self.pools[usize::from(number) % count] = None;
        }
    }

    /// Compares the answer to a view with the model's, and keeps it.
    fn viewed(&mut self, number: u8, answer: Result<TensorDyn>, shown: Option<Shown>) {
        let Some(held) = self.tensor(number) else { return };
        match (answer, shown) {
            (Ok(tensor), Some(shown)) => {
                if shown.places.len() <= ELEMENTS {
                    let view = held.beside(tensor, shown);
                    self.keep(view);
                }
            }
            (Err(_), None) => {}
            (answer, shown) => panic!("the model says {shown:?}, the library {answer:?}"),
        }
    }

    pub(super) fn share(&mut self, number: u8) {
        let Some(held) = self.tensor(number) else { return };
        let (tensor, shown) = (held.tensor.clone(), held.shown.clone());
        self.viewed(number, Ok(tensor), Some(shown));
    }

    pub(super) fn slice(&mut self, number: u8, axis: u8, start: u8, end: u8, step: u8) {
        let Some(held) = self.tensor(number) else { return };
        let axis = usize::from(axis % 4);
        let len = held.shown.shape.get(axis).copied().unwrap_or(0);
        let (start, end) = (usize::from(start) % (len + 2), usize::from(end) % (len + 2));
        let step = usize::from(step % 4);
        let answer = held.tensor.slice_step(axis, start..end, step);
        let shown = held.shown.slice(axis, start, end, step);
        self.viewed(number, answer, shown);
    }

    pub(super) fn index(&mut self, number: u8, axis: u8, at: u8) {
        let Some(held) = self.tensor(number) else { return };
        let (axis, at) = (usize::from(axis % 4), usize::from(at % 9));
        let (answer, shown) = (held.tensor.index(axis, at), held.shown.index(axis, at));
        self.viewed(number, answer, shown);
    }

    pub(super) fn reshape(&mut self, number: u8, numbers: [u8; 3], rank: u8) {
        let Some(held) = self.tensor(number) else { return };
        let count = held.shown.places.len();
        let mut shape: Vec<usize> =
            numbers.iter().take(usize::from(rank % 4)).map(|n| usize::from(n % 9)).collect();
        // Mostly one that has as many elements.
        let product: usize = shape.iter().product();
        if rank & 0x80 == 0 && product > 0 && count.is_multiple_of(product) {
            shape.push(count / product);
        }
        let answer = held.tensor.reshape(&shape);
        let shown = held.shown.reshape(&shape);
        // Gaps may stand against it.
        let gaps = !held.shown.is_packed() && count > 0;
        if gaps && answer.is_err() {
            return;
        }
        self.viewed(number, answer, shown);
    }

    pub(super) fn permute(&mut self, number: u8, axes: [u8; 4]) {
        let Some(held) = self.tensor(number) else { return };
        let rank = held.shown.shape.len();
        let mut axes: Vec<usize> =
            axes.iter().take(rank).map(|axis| usize::from(axis % 5)).collect();
        if axes.iter().sum::<usize>() % 3 != 0 {
            // Mostly a permutation.
            let mut order: Vec<usize> = (0..axes.len()).collect();
            order.sort_by_key(|at| axes[*at]);
            axes = order;
        }
        let (answer, shown) = (held.tensor.permute(&axes), held.shown.permute(&axes));
        self.viewed(number, answer, shown);
    }

    pub(super) fn unsqueeze(&mut self, number: u8, axis: u8) {
        let Some(held) = self.tensor(number) else { return };
        let axis = usize::from(axis % 5);
        let shown = (axis <= held.shown.shape.len()).then(|| {
            let mut shown = held.shown.clone();
            shown.shape.insert(axis, 1);
            shown
        });
        if held.shown.shape.len() < 5 {
            let answer = held.tensor.unsqueeze(axis);
            self.viewed(number, answer, shown);
        }
    }

    pub(super) fn squeeze(&mut self, number: u8, axis: u8) {
        let Some(held) = self.tensor(number) else { return };
        let axis = usize::from(axis % 5);
        let shown = (held.shown.shape.get(axis) == Some(&1)).then(|| {
            let mut shown = held.shown.clone();
            shown.shape.remove(axis);
            shown
        });
        let answer = held.tensor.squeeze(axis);
        self.viewed(number, answer, shown);
    }

    pub(super) fn broadcast(&mut self, number: u8, numbers: [u8; 3]) {
        let Some(held) = self.tensor(number) else { return };
        let mut shape = held.shown.shape.clone();
        for (len, number) in shape.iter_mut().zip(numbers) {
            if *len == 1 || number > 250 {
                *len = usize::from(number % 5);
            }
        }
        if numbers[0] & 1 == 1 && shape.len() < 5 {
            shape.insert(0, usize::from(numbers[1] % 4));
        }
        let (answer, shown) = (held.tensor.broadcast_to(&shape), held.shown.broadcast_to(&shape));
        self.viewed(number, answer, shown);
    }

    pub(super) fn fill(&mut self, number: u8, value: u8) {
        let Some(held) = self.tensor(number) else { return };
        let tensor = &held.tensor;
        let word = u16::from_ne_bytes([value; 2]);
        let answer = match held.shown.size {
            1 => tensor.typed::<u8>().and_then(|bytes| bytes.fill(value)),
            2 => tensor.typed::<u16>().and_then(|words| words.fill(word)),
            4 => {
                tensor.typed::<f32>().and_then(|floats| floats.fill(f32::from_ne_bytes([value; 4])))
            }
            _ => tensor.typed::<i64>().and_then(|longs| longs.fill(i64::from_ne_bytes([value; 8]))),
        };
        held.allows(Access::KernelWrite).check(&answer);
        if answer.is_ok() {
            let values = vec![value; held.shown.places.len() * held.shown.size];
            held.shown.scatter(&mut held.shadow.bytes.borrow_mut(), &values);
        }
    }

    pub(super) fn copy(&mut self, to: u8, from: u8) {
        let (Some(to), Some(from)) = (self.tensor(to), self.tensor(from)) else { return };
        let answer = to.tensor.copy_from(&from.tensor);
        let alike = to.shown.shape == from.shown.shape && to.tensor.dtype() == from.tensor.dtype();
        let repeats = to.tensor.layout().may_self_overlap();
        assert!(repeats || !to.shown.repeats());
        // Where nothing is copied, nobody minds who holds it.
        if !(alike && to.shown.places.is_empty()) {
            may_copy(to, from).and(alike && !repeats).check(&answer);
        }
        if answer.is_ok() {
            let values = from.shown.gather(&from.shadow.bytes.borrow());
            to.shown.scatter(&mut to.shadow.bytes.borrow_mut(), &values);
        }
    }

    pub(super) fn copy_into(&mut self, number: u8, place: u8) {
        let Some(held) = self.tensor(number) else { return };
        let answer = held.tensor.to(Some(memory(place)));
        held.allows(Access::KernelRead).check(&answer);
        let Ok(tensor) = answer else { return };
        let shown = Shown::contiguous(held.shown.size, &held.shown.shape, 0);
        let values = held.shown.gather(&held.shadow.bytes.borrow());
        let shadow = self.meet(&tensor, None, false);
        assert!(shown.gather(&shadow.bytes.borrow()) == values, "the copy has other bytes");
        self.keep(Held::alone(tensor, shown, true, shadow));
    }

    pub(super) fn aliases(&mut self, one: u8, other: u8) {
        let (Some(one), Some(other)) = (self.tensor(one), self.tensor(other)) else { return };
        let same = Rc::ptr_eq(&one.shadow, &other.shadow);
        let expected = same && one.shown.meets(&other.shown);
        assert_eq!(one.tensor.aliases(&other.tensor), expected);
    }

    /// The model counts handles by whoever keeps the allocation.
    pub(super) fn only_handle(&mut self, number: u8) {
        let Some(mut held) = take(&mut self.tensors, number) else { return };
        let others = Rc::strong_count(&held.shadow) - 1;
        let number = held.shadow.allocation.get();
        let given = number.is_some_and(|number| self.given.contains(&number));
        // What came back to be read only is a window: who has the memory below is not asked.
        let imported = given || held.lease.is_some() || !held.writable;
        if !imported {
            assert_eq!(held.tensor.is_only_handle(), others == 0, "{others} others");
        }
        self.tensors.push(held);
    }
}

/// Whether a copy between tensors that are alike may go on now.
fn may_copy(to: &Held, from: &Held) -> Expected {
    let place = |held: &Held| held.tensor.buffer().place().expect("it exists");
    if place(to).overlaps(&place(from)) {
        assert!(Rc::ptr_eq(&to.shadow, &from.shadow), "places of one allocation");
        // Parts of one allocation are held together, with what lies between them.
        let (a, b) = (to.shown.span(), from.shown.span());
        let both = a.start.min(b.start)..a.end.max(b.end);
        return to.allows_range(Access::KernelWrite, &both).and(!to.shown.meets(&from.shown));
    }
    let readable = from.allows(Access::KernelRead) == Expected::Ok;
    to.allows(Access::KernelWrite).and(readable)
}
