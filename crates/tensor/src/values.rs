//! Tensors of values and values of tensors: `Vec` both ways, iterators.

use crate::Element;
use tenure_layout::Layout;
use tenure_memory::{Buffer, TensorMemory};

use crate::meta::{Meta, adopted};
use crate::{Result, Tensor};

impl<T: Element> From<Vec<T>> for Tensor<T> {
    /// The values as they lie, in one dimension: nothing is copied.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let tensor = Tensor::from(vec![1.0f32, 2.0, 3.0, 4.0]);
    /// assert_eq!(tensor.reshape(&[2, 2])?.shape(), &[2, 2]);
    /// assert_eq!(tensor.into_vec()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    fn from(values: Vec<T>) -> Tensor<T> {
        let layout = Layout::contiguous(T::DTYPE, &[values.len()]);
        match (layout, adopted(values)) {
            (Ok(layout), Ok(raw)) => Tensor::assemble(Buffer::from_raw(raw), Meta::new(layout)),
            _ => unreachable!("the bytes of a Vec can be addressed"),
        }
    }
}

impl<T: Element> FromIterator<T> for Tensor<T> {
    /// ```
    /// use tenure_tensor::Tensor;
    /// let squares: Tensor<u32> = (0..4).map(|i| i * i).collect();
    /// assert_eq!(squares.map_read()?.as_slice(), &[0, 1, 4, 9]);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Tensor<T> {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Element> Tensor<T> {
    /// The elements in the order of the shape; of an image, rows and planes one after the other
    /// without gaps. Nothing is copied where this is the only handle to a tensor that came
    /// [from a `Vec`](Tensor::from), however it was reshaped.
    ///
    /// # Errors
    /// If the elements have to be copied, and somebody writes them or there is no memory.
    pub fn into_vec(self) -> Result<Vec<T>> {
        let own = self.layout().is_contiguous() && !self.is_multi_buffer();
        let whole = own && self.layout().span() == (0..self.capacity_bytes());
        let tensor = match std::sync::Arc::try_unwrap(self.parts) {
            Ok(parts) if whole => match parts.buffer.into_owner::<Vec<T>>() {
                Ok(values) => return Ok(values),
                Err(buffer) => Tensor::assemble(buffer, parts.meta),
            },
            Ok(parts) => {
                Tensor { parts: std::sync::Arc::new(parts), element: std::marker::PhantomData }
            }
            Err(parts) => Tensor { parts, element: std::marker::PhantomData },
        };
        tensor.to_vec()
    }

    /// A copy of the elements, as [`Tensor::into_vec`] gives them.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let tensor = Tensor::from_slice(&[1u8, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(tensor.permute(&[1, 0])?.to_vec()?, [1, 4, 2, 5, 3, 6]);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If somebody writes the elements or there is no memory.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let bytes = self.flat_bytes();
        let (mut values, elements) = (vec![], bytes / size_of::<T>());
        values.try_reserve_exact(elements).map_err(|_| {
            tenure_memory::Error::from(tenure_memory::detail::OutOfMemory {
                memory: TensorMemory::Mem,
                bytes,
                available: None,
                source: None,
            })
        })?;
        values.resize(elements, T::zeroed());
        self.copy_to_flat(bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vec_comes_back_as_it_went() {
        let values: Vec<f32> = (0_u8..24).map(f32::from).collect();
        let (address, expected) = (values.as_ptr(), values.clone());
        let tensor = Tensor::from(values).reshape(&[2, 3, 4]).unwrap();
        assert_eq!(tensor.map_read().unwrap().as_slice().as_ptr(), address);
        let back = tensor.into_vec().unwrap();
        assert_eq!((back.as_ptr(), back), (address, expected));
    }

    #[test]
    fn what_others_have_is_copied() {
        let tensor = Tensor::from(vec![1_u16, 2, 3]);
        let other = tensor.clone();
        assert_eq!(tensor.into_vec().unwrap(), [1, 2, 3]);
        let part = other.slice(0, 1..3).unwrap();
        assert_eq!(part.into_vec().unwrap(), [2, 3]);
        let guard = other.map().unwrap();
        assert!(other.clone().into_vec().is_err());
        drop(guard);
        // Other elements than the Vec's, and memory that was no Vec.
        assert_eq!(other.view_as::<u8>().unwrap().into_vec().unwrap().len(), 6);
        let heap = Tensor::<u16>::new(&[3], Some(TensorMemory::Mem), None).unwrap();
        assert_eq!(heap.into_vec().unwrap(), [0; 3]);
        assert!(Tensor::<u8>::from(vec![]).into_vec().unwrap().is_empty());
    }
}
