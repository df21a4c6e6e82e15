//! Tensors and file descriptors: giving memory to other processes, taking theirs.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::{Dyn, DynTensor, ElementKind};
use tenure_layout::{DType, PixelFormat};
use tenure_memory::{PlaneDescriptor, Protection, TensorMemory, import};

use crate::{Result, Tensor};

impl<E: ElementKind> Tensor<E> {
    /// A new descriptor for the tensor's memory, to pass to another process or library. It stands
    /// for the whole allocation; a view's bytes start at [`tenure_memory::Buffer::start`].
    ///
    /// ```
    /// use tenure_tensor::{Tensor, TensorMemory};
    /// let t = Tensor::<u8>::new(&[64], Some(TensorMemory::Shm), None)?;
    /// let fd = t.clone_fd()?;
    /// let same = Tensor::<u8>::from_fd(&fd, &[64], None)?;
    /// assert!(same.aliases(&t));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the memory has no descriptor (the heap, say; any memory of a Unix that has no sealed
    /// memory files) or this process has none left.
    pub fn clone_fd(&self) -> Result<OwnedFd> {
        self.check_one_buffer()?;
        Ok(self.parts.buffer.clone_descriptor()?)
    }

    /// The DMA-BUF that the tensor is in.
    ///
    /// # Errors
    /// If its memory is not [`TensorMemory::Dma`].
    pub fn dmabuf(&self) -> Result<BorrowedFd<'_>> {
        self.check_dma()?;
        #[cfg(linux_like)]
        return Ok(self.parts.buffer.raw()?.descriptor()?);
        #[cfg(not(linux_like))]
        Err(tenure_memory::Error::NoDescriptor { memory: TensorMemory::Dma }.into())
    }

    /// A new descriptor for the DMA-BUF that the tensor is in.
    ///
    /// # Errors
    /// If its memory is not [`TensorMemory::Dma`].
    pub fn dmabuf_clone(&self) -> Result<OwnedFd> {
        self.check_dma()?;
        self.clone_fd()
    }

    fn check_dma(&self) -> Result<()> {
        match self.memory() {
            TensorMemory::Dma => Ok(()),
            memory => Err(tenure_memory::Error::NotDma { memory }.into()),
        }
    }
}

impl<T: crate::Element> Tensor<T> {
    /// A tensor over somebody's memory, from its first byte. Written where descriptor and seals
    /// allow it.
    ///
    /// # Errors
    /// If the descriptor is closed, not memory, too short, or its memory can be taken away; on a Unix
    /// that cannot keep others from taking it, always
    /// ([`Unavailable`](tenure_memory::Error::Unavailable)).
    pub fn from_fd(fd: impl AsFd, shape: &[usize], name: Option<&str>) -> Result<Self> {
        <Tensor<Dyn> as DynTensor>::from_fd(fd, shape, T::DTYPE, name)?.typed()
    }
}

impl Tensor<Dyn> {
    /// An image in somebody's memory: one descriptor for all planes, or one for each.
    ///
    /// ```
    /// use tenure_tensor::{DType, PixelFormat, PlaneDescriptor, Tensor, TensorDyn, TensorMemory};
    /// let theirs = Tensor::<u8>::new(&[2048 * 1620], Some(TensorMemory::Shm), None)?;
    /// let plane = PlaneDescriptor::new(theirs.clone_fd()?)?.with_stride(2048).with_offset(0);
    /// let frame = TensorDyn::from_planes(&[plane], 1920, 1080, PixelFormat::Nv12, DType::U8)?;
    /// assert_eq!(frame.row_stride(), Some(2048));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::from_fd`], and if the planes do not fit.
    pub fn from_planes(
        planes: &[PlaneDescriptor],
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
    ) -> Result<Self> {
        let mut buffers = vec![];
        let mut places = vec![];
        for plane in planes {
            buffers.push(import(plane.fd(), 0, Protection::AsAllowed, None)?);
            places.push((plane.offset().unwrap_or(0), plane.stride()));
        }
        // Several descriptors of one memory are one buffer.
        let one = |at: &tenure_memory::Buffer| at.place().map(|place| place.allocation);
        if buffers.windows(2).all(|pair| one(&pair[0]) == one(&pair[1])) {
            buffers.truncate(1);
        }
        Tensor::from_plane_buffers(&buffers, &places, width, height, format, dtype)
    }
}
