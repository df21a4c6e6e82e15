//! What a tensor shows, as a plain list: the place of every element in its allocation, in the order
//! of indices. Views of it are other lists, made without strides.

use std::collections::HashSet;
use std::ops::Range;

use crate::elements::indices;

/// The elements of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// Bytes of an element.
    pub size: usize,
    pub shape: Vec<usize>,
    /// Where each element starts in the allocation, in bytes.
    pub places: Vec<usize>,
}

impl Shown {
    /// Elements that follow each other from `start` on.
    pub fn contiguous(size: usize, shape: &[usize], start: usize) -> Shown {
        let count: usize = shape.iter().product();
        let places = (0..count).map(|at| start + at * size).collect();
        Shown { size, shape: shape.to_vec(), places }
    }

    /// From the first to one past the last byte; empty without elements.
    pub fn span(&self) -> Range<usize> {
        match (self.places.iter().min(), self.places.iter().max()) {
            (Some(low), Some(high)) => *low..high + self.size,
            _ => 0..0,
        }
    }

    /// Whether memory order is index order.
    pub fn is_rising(&self) -> bool {
        self.places.windows(2).all(|pair| pair[0] < pair[1])
    }

    /// Whether elements follow each other without gaps.
    pub fn is_packed(&self) -> bool {
        self.places.windows(2).all(|pair| pair[0] + self.size == pair[1])
    }

    /// Whether one place is shown twice.
    pub fn repeats(&self) -> bool {
        let mut seen = HashSet::new();
        !self.places.iter().all(|place| seen.insert(*place))
    }

    /// Whether some byte is shown by both.
    pub fn meets(&self, other: &Shown) -> bool {
        let bytes = |shown: &Shown| -> HashSet<usize> {
            shown.places.iter().flat_map(|place| *place..place + shown.size).collect()
        };
        !bytes(self).is_disjoint(&bytes(other))
    }

    /// Another shape, every element of which is one of this.
    fn gathered(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Shown {
        let place = |index: Vec<usize>| {
            let flat = from(&index).iter().zip(&self.shape).fold(0, |flat, (at, len)| {
                assert!(at < len);
                flat * len + at
            });
            self.places[flat]
        };
        let places = indices(&shape).map(place).collect();
        Shown { size: self.size, shape, places }
    }

    pub fn slice(&self, axis: usize, start: usize, end: usize, step: usize) -> Option<Shown> {
        let len = *self.shape.get(axis)?;
        if start > end || end > len || step == 0 {
            return None;
        }
        let mut shape = self.shape.clone();
        shape[axis] = (start..end).step_by(step).count();
        Some(self.gathered(shape, |index| {
            let mut index = index.to_vec();
            index[axis] = start + index[axis] * step;
            index
        }))
    }

    pub fn index(&self, axis: usize, at: usize) -> Option<Shown> {
        if at >= *self.shape.get(axis)? {
            return None;
        }
        let mut shape = self.shape.clone();
        shape.remove(axis);
        Some(self.gathered(shape, |index| {
            let mut index = index.to_vec();
            index.insert(axis, at);
            index
        }))
    }

    pub fn permute(&self, axes: &[usize]) -> Option<Shown> {
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.shape.len()) {
            return None;
        }
        let shape = axes.iter().map(|axis| self.shape[*axis]).collect();
        Some(self.gathered(shape, |index| {
            let mut own = vec![0; index.len()];
            axes.iter().zip(index).for_each(|(axis, at)| own[*axis] = *at);
            own
        }))
    }

    pub fn broadcast_to(&self, shape: &[usize]) -> Option<Shown> {
        let added = shape.len().checked_sub(self.shape.len())?;
        let fits = self.shape.iter().zip(&shape[added..]).all(|(own, to)| own == to || *own == 1);
        fits.then(|| {
            self.gathered(shape.to_vec(), |index| {
                let own = index[added..].iter().zip(&self.shape);
                own.map(|(at, len)| if *len == 1 { 0 } else { *at }).collect()
            })
        })
    }

    /// The same elements in another shape of as many.
    pub fn reshape(&self, shape: &[usize]) -> Option<Shown> {
        let same = shape.iter().product::<usize>() == self.places.len();
        same.then(|| Shown { shape: shape.to_vec(), ..self.clone() })
    }

    /// The bytes of the elements, one after the other.
    pub fn gather(&self, bytes: &[u8]) -> Vec<u8> {
        self.places.iter().flat_map(|place| &bytes[*place..place + self.size]).copied().collect()
    }

    /// Writes the bytes of the elements, one after the other.
    pub fn scatter(&self, bytes: &mut [u8], values: &[u8]) {
        for (place, value) in self.places.iter().zip(values.chunks(self.size)) {
            bytes[*place..place + self.size].copy_from_slice(value);
        }
    }
}
