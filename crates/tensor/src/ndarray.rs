//! Tensors as `ndarray` arrays, and arrays as tensors.
#![expect(unsafe_code, reason = "arrays over elements that lie apart are made of an address")]

use std::ptr::NonNull;

use crate::Element;
use ::ndarray::{ArrayView, ArrayViewD, ArrayViewMutD, Axis, Dimension, IxDyn, ShapeBuilder};
use bytemuck::Pod;
use tenure_layout::Layout;
use tenure_memory::TensorMemory;

use crate::{Result, StridedMap, StridedRead, Tensor, TensorMap, TensorRead};

/// Steps forwards, and the axes that run backwards: an array view is made from these at the lowest
/// element, then turned. `None` for strides that cross themselves, which `ndarray` cannot express.
fn steps(layout: &Layout) -> Option<(Vec<usize>, Vec<usize>)> {
    let (mut steps, mut backwards, mut once) = (vec![], vec![], layout.clone());
    for (axis, (&len, &stride)) in layout.shape().iter().zip(layout.strides()).enumerate().rev() {
        // A dimension that is never stepped along may have any stride; arrays check them all.
        let steps_along = len > 1 && layout.elements() > 0;
        steps.push(if steps_along { stride.unsigned_abs() } else { 0 });
        if steps_along && stride < 0 {
            backwards.push(axis);
        }
        if steps_along && stride == 0 {
            once = once.index(axis, 0).ok()?;
        }
    }
    steps.reverse();
    // What is repeated is expressible, what crosses is not.
    (!once.may_self_overlap()).then_some((steps, backwards))
}

impl<T: Element> StridedRead<T> {
    /// The elements as an array, whatever their strides. `None` for strides that cross
    /// themselves, which `ndarray` cannot express.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let t = Tensor::from_slice(&[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
    /// let turned = t.permute(&[1, 0])?;
    /// let map = turned.map_strided_read()?;
    /// let array = map.array().expect("a permutation is expressible");
    /// assert_eq!(array[[2, 1]], 6.0);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn array(&self) -> Option<ArrayViewD<'_, T::Stored>> {
        let (layout, address) = (self.layout(), self.address());
        // SAFETY: the guard holds the elements of `layout`, which start at `address`, and is
        // borrowed for as long as the array.
        unsafe { view(layout, address) }
    }
}

impl<T: Element> StridedMap<T> {
    /// The elements as an array to read.
    pub fn array(&self) -> Option<ArrayViewD<'_, T::Stored>> {
        let (layout, address) = (self.layout(), self.address());
        // SAFETY: the guard holds the elements of `layout`, which start at `address`, and is
        // borrowed for as long as the array.
        unsafe { view(layout, address) }
    }

    /// The elements as an array to write. `None` for strides that `ndarray` cannot express.
    pub fn array_mut(&mut self) -> Option<ArrayViewMutD<'_, T::Stored>> {
        let layout = self.layout().clone();
        // SAFETY: the guard holds the elements of `layout`, which start at the address, and share no
        // byte, for itself, and is borrowed mutably for as long as the array.
        unsafe { view_mut(&layout, self.address()) }
    }
}

impl<T: Element> TensorRead<T> {
    /// The elements as an array.
    pub fn array(&self) -> Option<ArrayViewD<'_, T::Stored>> {
        ArrayViewD::from_shape(IxDyn(self.shape()), self.as_slice()).ok()
    }
}

impl<T: Element> TensorMap<T> {
    /// The elements as an array to read.
    pub fn array(&self) -> Option<ArrayViewD<'_, T::Stored>> {
        ArrayViewD::from_shape(IxDyn(self.shape()), self.as_slice()).ok()
    }

    /// The elements as an array to write.
    pub fn array_mut(&mut self) -> Option<ArrayViewMutD<'_, T::Stored>> {
        let shape = IxDyn(self.shape());
        ArrayViewMutD::from_shape(shape, self.as_mut_slice()).ok()
    }
}

/// The elements of a layout whose lowest is at `address`.
///
/// # Safety
/// They must be there to read, aligned, for all of `'a`.
unsafe fn view<'a, S: Pod>(layout: &Layout, address: NonNull<u8>) -> Option<ArrayViewD<'a, S>> {
    if layout.elements() == 0 {
        return ArrayViewD::from_shape(IxDyn(layout.shape()), &[]).ok();
    }
    let (steps, backwards) = steps(layout)?;
    let (shape, lowest) = (IxDyn(layout.shape()).strides(IxDyn(&steps)), address.as_ptr().cast());
    // SAFETY: by the caller the elements are there, at steps that are not negative from the lowest;
    // a `Layout` has checked that their number and the bytes to the last one fit an `isize`, and
    // strides that lead nowhere are zero.
    let mut array = unsafe { ArrayViewD::from_shape_ptr(shape, lowest) };
    backwards.into_iter().for_each(|axis| array.invert_axis(Axis(axis)));
    Some(array)
}

/// As [`view`], to write.
///
/// # Safety
/// As [`view`], and nobody else may touch the elements, which must share no byte.
unsafe fn view_mut<'a, S: Pod>(
    layout: &Layout,
    address: NonNull<u8>,
) -> Option<ArrayViewMutD<'a, S>> {
    if layout.elements() == 0 {
        return ArrayViewMutD::from_shape(IxDyn(layout.shape()), &mut []).ok();
    }
    let (steps, backwards) = steps(layout)?;
    let (shape, lowest) = (IxDyn(layout.shape()).strides(IxDyn(&steps)), address.as_ptr().cast());
    // SAFETY: as in `view`; by the caller they are this array's alone, and at different places.
    let mut array = unsafe { ArrayViewMutD::from_shape_ptr(shape, lowest) };
    backwards.into_iter().for_each(|axis| array.invert_axis(Axis(axis)));
    Some(array)
}

impl<T: Element> Tensor<T> {
    /// A copy of an array, in the memory named or chosen by itself.
    ///
    /// # Errors
    /// As [`Tensor::new`].
    pub fn from_array<D: Dimension>(
        array: &ArrayView<'_, T, D>,
        memory: Option<TensorMemory>,
    ) -> Result<Self> {
        let tensor = Self::new(array.shape(), memory, None)?;
        let mut map = tensor.map()?;
        for (to, &from) in map.as_mut_slice().iter_mut().zip(array.iter()) {
            *to = from;
        }
        drop(map);
        Ok(tensor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_of_every_kind_are_arrays() {
        let values: Vec<i32> = (0..24).collect();
        let t = Tensor::from_slice(&values, &[2, 3, 4]).unwrap();
        let views = [
            t.clone(),
            t.permute(&[2, 0, 1]).unwrap(),
            t.slice_step(2, 0..4, 2).unwrap(),
            t.slice(1, 2..3).unwrap().broadcast_to(&[2, 5, 4]).unwrap(),
            t.slice(0, 1..1).unwrap(),
        ];
        for view in views {
            let map = view.map_strided_read().unwrap();
            let array = map.array().unwrap();
            assert_eq!(array.shape(), view.shape());
            for (index, value) in array.indexed_iter() {
                assert_eq!(map.get(index.slice()), Some(value));
            }
        }
    }

    #[test]
    fn arrays_are_written_through() {
        let t = Tensor::<u8>::new(&[2, 3], Some(TensorMemory::Mem), None).unwrap();
        let turned = t.permute(&[1, 0]).unwrap();
        turned.map_strided().unwrap().array_mut().unwrap()[[2, 1]] = 7;
        assert_eq!(t.map_read().unwrap().as_slice(), &[0, 0, 0, 0, 0, 7]);
        t.map().unwrap().array_mut().unwrap().fill(1);
        assert_eq!(t.map_read().unwrap().array().unwrap().sum(), 6);
    }

    #[test]
    fn arrays_become_tensors() {
        let array = ::ndarray::arr2(&[[1.0f32, 2.0], [3.0, 4.0]]);
        let t = Tensor::from_array(&array.t(), Some(TensorMemory::Mem)).unwrap();
        assert_eq!(t.map_read().unwrap().as_slice(), &[1.0, 3.0, 2.0, 4.0]);
    }
}
