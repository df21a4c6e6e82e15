//! Handles to the same elements: another one, with the element type known in another way, as bytes
//! of another type.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Dyn, Element, ElementKind};
use tenure_layout::Layout;

use crate::create::address_alignment;
use crate::meta::{Meta, untyped};
use crate::{Error, Result, Tensor, TensorDyn};

/// Another handle to the same elements. Nothing is copied; the ledger of the allocation keeps the
/// uses of all handles apart. For a copy of the elements, see [`Tensor::to`].
///
/// ```
/// use tenure_tensor::Tensor;
/// let tensor = Tensor::from_slice(&[1u8, 2, 3], &[3])?;
/// let other = tensor.clone();
/// other.map()?.as_mut_slice()[0] = 9;
/// assert_eq!(tensor.map_read()?.as_slice(), &[9, 2, 3]);
/// # Ok::<(), tenure_tensor::Error>(())
/// ```
impl<E: ElementKind> Clone for Tensor<E> {
    fn clone(&self) -> Tensor<E> {
        self.retyped()
    }
}

impl<E: ElementKind> Tensor<E> {
    /// The same tensor with its element type known at run time only.
    ///
    /// ```
    /// use tenure_tensor::{Tensor, TensorDyn};
    /// let (floats, bytes) = (Tensor::<f32>::new(&[4], None, None)?, Tensor::<u8>::new(&[4], None, None)?);
    /// let both: [&TensorDyn; 2] = [floats.as_dyn(), bytes.as_dyn()];
    /// assert_eq!(both.map(|tensor| tensor.size_bytes()), [16, 4]);
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    #[inline]
    pub fn as_dyn(&self) -> &TensorDyn {
        untyped(self)
    }

    /// The same tensor, as a handle of its own, with its element type known at run time only.
    pub fn to_dyn(&self) -> TensorDyn {
        self.retyped()
    }

    /// The same tensor as one of `T`, which must be its element type.
    ///
    /// ```
    /// use tenure_tensor::{DType, DynTensor, TensorDyn};
    /// let t = TensorDyn::new(&[4], DType::F32, None, None)?;
    /// t.typed::<f32>()?.map()?.as_mut_slice()[0] = 1.5;
    /// assert!(t.typed::<u8>().is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongElement`] if it is not.
    pub fn typed<T: Element>(&self) -> Result<Tensor<T>> {
        let (have, asked) = (self.dtype(), T::DTYPE);
        if have == asked {
            return Ok(self.retyped());
        }
        Err(Error::WrongElement { tensor: self.which(), have, asked })
    }

    /// The same bytes as elements of `T`: the last dimension has as many more or fewer of them as
    /// they are smaller or larger. It is no image any more, and has no quantisation.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let floats = Tensor::from_slice(&[1.0f32, -2.0], &[1, 2])?;
    /// let bits = floats.view_as::<u32>()?;
    /// assert_eq!(bits.map_read()?.as_slice(), &[0x3f80_0000, 0xc000_0000]);
    /// assert_eq!(floats.view_as::<u8>()?.shape(), &[1, 8]);
    /// let odd = Tensor::<u8>::new(&[6], None, None)?;
    /// assert!(odd.view_as::<u32>().is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::NotReinterpretable`] if elements do not follow each other without gaps, their bytes
    /// are no whole number of elements of `T` in each row, or the first is off their alignment.
    /// [`Error::SeveralBuffers`] if planes are apart.
    pub fn view_as<T: Element>(&self) -> Result<Tensor<T>> {
        self.check_one_buffer()?;
        let (own, asked) = (self.layout(), T::DTYPE);
        let refused = || {
            let (tensor, have) = (self.which(), own.dtype());
            let (shape, strides) = (own.shape().into(), own.strides().into());
            Error::from(crate::detail::NotReinterpretable { tensor, have, asked, shape, strides })
        };
        let span = own.span();
        // Types that share bytes have rows of whole bytes only if the layout says so.
        if !own.is_contiguous() || span.len() != own.packed_bytes() {
            return Err(refused());
        }
        let mut shape = own.shape().to_vec();
        match (shape.last_mut(), own.dtype().size()) {
            (Some(last), Some(size)) => {
                let bytes = last.checked_mul(size).ok_or_else(refused)?;
                if !bytes.is_multiple_of(size_of::<T>()) {
                    return Err(refused());
                }
                *last = bytes / size_of::<T>();
            }
            (None, Some(size)) if size == size_of::<T>() => {}
            _ => return Err(refused()),
        }
        let buffer = self.buffer().slice(span)?;
        let layout = Layout::contiguous(asked, &shape)?;
        // Of nothing there is no first.
        if layout.elements() > 0 && !buffer.is_aligned(0, address_alignment(asked)) {
            return Err(refused());
        }
        layout.check_fits(buffer.len())?;
        Ok(Tensor::assemble(buffer, Meta::new(layout)))
    }

    /// Which view of the bytes this is, beside [which bytes](Tensor::buffer_identity): a number
    /// that clones of this tensor have too, and no other tensor or view of this process ever has.
    /// For schedulers that know their operands by handle and their hazards by bytes.
    ///
    /// ```
    /// use tenure_tensor::Tensor;
    /// let tensor = Tensor::<u8>::new(&[8], None, None)?;
    /// let half = tensor.slice(0, 0..4)?;
    /// assert_eq!(half.buffer_identity(), tensor.buffer_identity());
    /// assert_ne!(half.view_id(), tensor.view_id());
    /// assert_eq!(half.clone().view_id(), half.view_id());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    pub fn view_id(&self) -> u64 {
        self.parts.view.get()
    }
}

/// A number that is given when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct ViewId(AtomicU64);

static NEXT: AtomicU64 = AtomicU64::new(1);

impl ViewId {
    fn get(&self) -> u64 {
        let known = self.0.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        let new = NEXT.fetch_add(1, Ordering::Relaxed);
        match self.0.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => new,
            Err(others) => others,
        }
    }
}

impl Clone for ViewId {
    /// Of a description that goes its own way: another view.
    fn clone(&self) -> ViewId {
        ViewId::default()
    }
}

impl<T: Element> From<Tensor<T>> for TensorDyn {
    fn from(tensor: Tensor<T>) -> TensorDyn {
        Tensor { parts: tensor.parts, element: std::marker::PhantomData }
    }
}

impl<T: Element> TryFrom<TensorDyn> for Tensor<T> {
    type Error = Error;

    /// ```
    /// use tenure_tensor::{Tensor, TensorDyn};
    /// let any = TensorDyn::from(Tensor::from_slice(&[1.0f32], &[1])?);
    /// let floats: Tensor<f32> = any.try_into()?;
    /// assert!(Tensor::<u8>::try_from(floats.to_dyn()).is_err());
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::WrongElement`] if the elements are of another type.
    fn try_from(tensor: TensorDyn) -> Result<Tensor<T>> {
        tensor.typed()
    }
}

impl<E: ElementKind> AsRef<Tensor<Dyn>> for Tensor<E> {
    fn as_ref(&self) -> &TensorDyn {
        self.as_dyn()
    }
}
