//! Copies and fills at any strides, as fast as memory allows.
//!
//! Copies are kernels: they work on raw pointers and enter the ledger as such, so that foreign
//! views of a destination (numpy, say) do not stand in the way. Where the CPU does not reach one
//! side, its device carries the bytes.

use std::fmt;
use std::sync::Arc;

use crate::{Element, ElementKind};
use tenure_layout::{ImageLayout, Layout, Walk, WalkPair};
use tenure_memory::{
    Access, Allocator, Buffer, Hold, LogicalMemorySpace, Pool, TensorMemory, allocator_in,
};

use crate::{Error, Result, Tensor, TensorBuilder};

mod carry;
mod kernel;
#[cfg(linux_like)]
mod later;
#[cfg(linux_like)]
pub use later::{copy_all, copy_all_later};

#[cfg(test)]
mod tests;

impl<E: ElementKind> Tensor<E> {
    /// Copies the elements of `source`, which must have the same shape and element type, into
    /// this tensor. Images of one format and size are copied plane by plane, whatever their
    /// strides. Either side may be memory of a device.
    ///
    /// ```
    /// use tenure_tensor::{Tensor, TensorMemory};
    /// let hwc = Tensor::<u8>::new(&[480, 640, 3], None, None)?;
    /// let chw = Tensor::<u8>::new(&[3, 480, 640], Some(TensorMemory::Mem), None)?;
    /// chw.copy_from(&hwc.permute(&[2, 0, 1])?)?;
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If shapes or element types differ, elements of this tensor share bytes with each other or
    /// with the source, or somebody holds either of them. Nothing is written then. If a device
    /// fails on the way, old and new bytes are left. [`tenure_memory::Error::Truncated`] if either
    /// is a mapped file that was cut off: zeros were copied for what is gone.
    pub fn copy_from<F: ElementKind>(&self, source: &Tensor<F>) -> Result<()> {
        self.copy_held(source)?;
        source.intact()?;
        self.intact()
    }

    /// Whether the bytes are still what was mapped. A mapped file that another process cuts off reads
    /// as zeros from then on; copies by this library are errors, and whoever reads the bytes himself
    /// asks here afterwards. No system call for other memory.
    ///
    /// ```
    /// let tensor = tenure_tensor::Tensor::from_slice(&[1u8, 2], &[2])?;
    /// assert_eq!(tensor.map_read()?.as_slice().iter().sum::<u8>(), 3);
    /// tensor.intact()?;
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`tenure_memory::Error::Truncated`].
    pub fn intact(&self) -> Result<()> {
        // Memory that does not exist yet has lost nothing.
        let mut placed = self.buffers().filter_map(Buffer::raw_if_placed);
        Ok(placed.try_for_each(|raw| raw.intact())?)
    }

    fn copy_held<F: ElementKind>(&self, source: &Tensor<F>) -> Result<()> {
        if self.must_be_carried(source) {
            let sides = self.sides(source)?;
            let mut all =
                sides.iter().map(|(to, from)| carry::prepare((to.0, &to.1), (from.0, &from.1)));
            // Planes that lie in between each other cannot be held side by side.
            return match self.planes_interleave()? {
                true => all.try_for_each(|one| one?.finish()),
                false => {
                    let all: Vec<_> = all.collect::<Result<_>>()?;
                    all.into_iter().try_for_each(carry::Prepared::finish)
                }
            };
        }
        if let (Some(to), Some(from)) = (&self.parts.meta.image, &source.parts.meta.image)
            && !self.parts.meta.batched()
            && !source.parts.meta.batched()
            && same_picture(&to.layout, &from.layout)
        {
            if self.planes_interleave()? {
                return self.copy_planes_together(source);
            }
            let mut work = vec![];
            for plane in 0..to.layout.planes().len() {
                let (to, from) = (to.layout.plane_layout(plane)?, from.layout.plane_layout(plane)?);
                let walk = WalkPair::new(&to, &from)?;
                let holds = Holds::new(
                    (self.plane_buffer(plane)?, &to),
                    (source.plane_buffer(plane)?, &from),
                )?;
                work.push((walk, holds));
            }
            work.iter().for_each(|(walk, holds)| holds.copy(walk));
            return Ok(());
        }
        self.check_one_buffer()?;
        source.check_one_buffer()?;
        self.check_writable_strides()?;
        let (to, from) = (&self.parts.meta.layout, &source.parts.meta.layout);
        let walk = WalkPair::new(to, from)?;
        Holds::new((&self.parts.buffer, to), (&source.parts.buffer, from))?.copy(&walk);
        Ok(())
    }

    /// Whether the CPU does not reach some part of either.
    fn must_be_carried<F: ElementKind>(&self, source: &Tensor<F>) -> bool {
        self.buffers().chain(source.buffers()).any(carry::is_far)
    }

    /// The buffers of all planes.
    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        std::iter::once(&self.parts.buffer).chain(&self.parts.other_planes)
    }

    /// What is copied where: planes for two images of one kind, otherwise all elements.
    fn sides<'a, F: ElementKind>(&'a self, source: &'a Tensor<F>) -> Result<Sides<'a>> {
        if let (Some(to), Some(from)) = (&self.parts.meta.image, &source.parts.meta.image)
            && !self.parts.meta.batched()
            && !source.parts.meta.batched()
            && same_picture(&to.layout, &from.layout)
        {
            let planes = 0..to.layout.planes().len();
            return planes
                .map(|plane| {
                    let to = (self.plane_buffer(plane)?, to.layout.plane_layout(plane)?);
                    Ok((to, (source.plane_buffer(plane)?, from.layout.plane_layout(plane)?)))
                })
                .collect();
        }
        self.check_one_buffer()?;
        source.check_one_buffer()?;
        self.check_writable_strides()?;
        let to = (&self.parts.buffer, self.parts.meta.layout.clone());
        Ok(vec![(to, (&source.parts.buffer, source.parts.meta.layout.clone()))])
    }

    /// As [`Tensor::copy_from`] between two images whose planes here are held together.
    fn copy_planes_together<F: ElementKind>(&self, source: &Tensor<F>) -> Result<()> {
        let (to, from) = (&self.one_image()?.layout, &source.one_image()?.layout);
        let mut work = vec![];
        for plane in 0..to.planes().len() {
            let (to, from) = (to.plane_layout(plane)?, from.plane_layout(plane)?);
            let hold = source.plane_buffer(plane)?.hold(Access::KernelRead, from.span())?;
            work.push((WalkPair::new(&to, &from)?, hold, from.span().start));
        }
        let all = self.parts.buffer.hold(Access::KernelWrite, to.span())?;
        for (walk, hold, start) in &work {
            kernel::copy(walk, (&all, to.span().start), (hold, *start));
        }
        Ok(())
    }

    /// A copy without gaps, with the same format, colour and quantisation, in a memory by its name
    /// (`None`: chosen by itself), in a [space](LogicalMemorySpace), or from an allocator: see
    /// [`To`].
    ///
    /// ```
    /// use tenure_tensor::{LogicalMemorySpace, Tensor, TensorMemory};
    /// let tensor = Tensor::from_slice(&[1.0f32, 2.0], &[2])?;
    /// assert_eq!(tensor.to(Some(TensorMemory::Mem))?.memory(), TensorMemory::Mem);
    /// assert_eq!(tensor.to(None)?.space(), LogicalMemorySpace::MainMemory);
    /// // Spaces of devices are there while the device is open.
    /// let gpu = LogicalMemorySpace::GpuMemory { device_id: 7 };
    /// assert!(tensor.to(gpu).unwrap_err().to_string().contains("open one"));
    /// # Ok::<(), tenure_tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// If no memory serves, or somebody writes this tensor.
    pub fn to<'a>(&self, place: impl Into<To<'a>>) -> Result<Tensor<E>> {
        let copy = self.like(place.into())?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// As [`Tensor::to`], in memory from any allocator: of a device, of a pool.
    ///
    /// # Errors
    /// As [`Tensor::to`].
    pub fn to_in(&self, allocator: &dyn Allocator) -> Result<Tensor<E>> {
        let copy = self.like(To::Allocator(allocator))?;
        copy.copy_from(self)?;
        Ok(copy)
    }

    /// A tensor without gaps that is like this one in everything but its bytes.
    fn like(&self, to: To<'_>) -> Result<Tensor<E>> {
        let image = self.parts.meta.image.as_ref().filter(|_| !self.parts.meta.batched());
        let (shape, dtype, name) = (self.shape(), self.dtype(), self.name());
        let picture = image.map(|image| {
            let image = &image.layout;
            (image.width(), image.height(), image.format())
        });
        let of_space;
        let to = match to {
            To::Space(space) if space != LogicalMemorySpace::MainMemory => {
                let near = self.parts.buffer.raw_if_placed().and_then(|raw| raw.carrier());
                of_space = allocator_in(space, near)?;
                To::Allocator(&of_space)
            }
            other => other,
        };
        let builder = match picture {
            Some((width, height, format)) => TensorBuilder::of_image(width, height, format, dtype),
            None => TensorBuilder::of_shape(shape, dtype),
        };
        let mut copy: Tensor<E> = builder.place(to).name(name).written_whole().build()?;
        if let (None, Some(format)) = (image, self.format()) {
            copy.set_format(format)?;
        }
        copy.set_colour(self.colour());
        copy.set_quantization(self.quantization().cloned())?;
        Ok(copy)
    }

    /// Writes the elements without gaps into `flat`: row padding is removed, planes follow each
    /// other.
    ///
    /// # Errors
    /// If `flat` has another length than the tensor has bytes without gaps, or somebody writes
    /// the tensor. [`tenure_memory::Error::Truncated`] if it is a mapped file that was cut off.
    pub fn copy_to_flat(&self, flat: &mut [u8]) -> Result<()> {
        if self.must_be_carried(self) {
            return self.to(Some(TensorMemory::Mem))?.copy_to_flat(flat);
        }
        let planes = match &self.parts.meta.image {
            Some(image) if !self.parts.meta.batched() => {
                let planes = 0..image.layout.planes().len();
                planes.map(|plane| image.layout.plane_layout(plane)).collect::<Result<_, _>>()?
            }
            _ => vec![self.parts.meta.layout.clone()],
        };
        let (given, expected) = (flat.len(), self.flat_bytes());
        if given != expected {
            return Err(Error::from(crate::detail::WrongLength { what: "bytes", given, expected }));
        }
        let mut work = vec![];
        for (plane, from) in planes.iter().enumerate() {
            let to = Layout::contiguous(from.dtype(), from.shape())?;
            let walk = WalkPair::new(&to, from)?;
            let hold = self.plane_buffer(plane)?.hold(Access::KernelRead, from.span())?;
            work.push((walk, hold, from.span().start, to.span().end));
        }
        let mut rest = flat;
        for (walk, hold, start, bytes) in work {
            let (part, after) = rest.split_at_mut(bytes);
            kernel::copy_to_slice(&walk, part, &hold, start);
            rest = after;
        }
        self.intact()
    }

    /// Bytes that [`Tensor::copy_to_flat`] writes.
    pub fn flat_bytes(&self) -> usize {
        match &self.parts.meta.image {
            Some(image) if !self.parts.meta.batched() => image.layout.packed_bytes(),
            _ => self.size_bytes(),
        }
    }
}

impl<T: Element> Tensor<T> {
    /// Sets every element (of every plane) to `value`; padding is left alone.
    ///
    /// # Errors
    /// If somebody holds bytes of the tensor, or its memory was cut off.
    pub fn fill(&self, value: T) -> Result<()> {
        self.fill_held(value)?;
        self.intact()
    }

    fn fill_held(&self, value: T) -> Result<()> {
        if self.must_be_carried(self) {
            return self.fill_far(value);
        }
        let mut work = vec![];
        match &self.parts.meta.image {
            Some(image) if !self.parts.meta.batched() && self.planes_interleave()? => {
                let span = image.layout.span();
                let hold = self.parts.buffer.hold(Access::KernelWrite, span.clone())?;
                for plane in 0..image.layout.planes().len() {
                    let walk = Walk::new(&image.layout.plane_layout(plane)?)?;
                    kernel::fill::<T::Stored>(&walk, &hold, span.start, value);
                }
                return Ok(());
            }
            Some(image) if !self.parts.meta.batched() => {
                for plane in 0..image.layout.planes().len() {
                    let layout = image.layout.plane_layout(plane)?;
                    let hold =
                        self.plane_buffer(plane)?.hold(Access::KernelWrite, layout.span())?;
                    work.push((Walk::new(&layout)?, hold, layout.span().start));
                }
            }
            _ => {
                let layout = &self.parts.meta.layout;
                let hold = self.parts.buffer.hold(Access::KernelWrite, layout.span())?;
                work.push((Walk::new(layout)?, hold, layout.span().start));
            }
        }
        for (walk, hold, start) in &work {
            kernel::fill::<T::Stored>(walk, hold, *start, value);
        }
        Ok(())
    }
}

impl<T: Element> Tensor<T> {
    /// As [`Tensor::fill`], where the CPU does not reach the elements.
    fn fill_far(&self, value: T) -> Result<()> {
        let pattern = carry::pattern(bytemuck::bytes_of(&value));
        if let Some(pattern) = pattern.filter(|_| self.is_contiguous() && self.plane_count() == 1) {
            let layout = &self.parts.meta.layout;
            return carry::fill((&self.parts.buffer, layout), pattern)?.finish();
        }
        let here = self.like(To::Memory(Some(TensorMemory::Mem)))?;
        here.fill(value)?;
        self.copy_from(&here)
    }
}

/// Where a copy is put. Whatever says so becomes one by itself: see [`Tensor::to`].
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum To<'a> {
    /// Memory by its name; `None` is chosen by itself.
    Memory(Option<TensorMemory>),
    /// A space: main memory, or that of a device that is open. Where several have it, it is the
    /// device that the tensor is on, and otherwise the one that was opened first.
    Space(LogicalMemorySpace),
    /// Memory from an allocator: of a device, of a pool.
    Allocator(&'a dyn Allocator),
}

impl From<Option<TensorMemory>> for To<'_> {
    fn from(memory: Option<TensorMemory>) -> Self {
        To::Memory(memory)
    }
}

impl From<TensorMemory> for To<'_> {
    fn from(memory: TensorMemory) -> Self {
        To::Memory(Some(memory))
    }
}

impl From<LogicalMemorySpace> for To<'_> {
    fn from(space: LogicalMemorySpace) -> Self {
        To::Space(space)
    }
}

impl<'a> From<&'a dyn Allocator> for To<'a> {
    fn from(allocator: &'a dyn Allocator) -> Self {
        To::Allocator(allocator)
    }
}

impl<'a> From<&'a Pool> for To<'a> {
    fn from(pool: &'a Pool) -> Self {
        To::Allocator(pool)
    }
}

impl<'a> From<&'a Arc<dyn Allocator>> for To<'a> {
    fn from(allocator: &'a Arc<dyn Allocator>) -> Self {
        To::Allocator(allocator)
    }
}

impl fmt::Debug for To<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            To::Memory(memory) => f.debug_tuple("Memory").field(memory).finish(),
            To::Space(space) => f.debug_tuple("Space").field(space).finish(),
            To::Allocator(allocator) => {
                f.debug_tuple("Allocator").field(&allocator.memory()).finish()
            }
        }
    }
}

/// Buffers with what is shown of them: written, read.
type Sides<'a> = Vec<((&'a Buffer, Layout), (&'a Buffer, Layout))>;

fn same_picture(a: &ImageLayout, b: &ImageLayout) -> bool {
    (a.format(), a.dtype(), a.width(), a.height()) == (b.format(), b.dtype(), b.width(), b.height())
}

/// Both sides of a copy, held.
enum Holds {
    /// Ranges that do not touch.
    Two { to: Hold, to_start: usize, from: Hold, from_start: usize },
    /// Interleaved ranges of one allocation whose elements share no bytes.
    One { both: Hold, to_start: isize, from_start: isize },
}

impl Holds {
    fn new(
        (to_buffer, to): (&Buffer, &Layout),
        (from_buffer, from): (&Buffer, &Layout),
    ) -> Result<Holds> {
        // Asking where lazy buffers are, and holding them there, must not be two moments.
        to_buffer.ensure()?;
        from_buffer.ensure()?;
        let (to_span, from_span) = (to.span(), from.span());
        if to_buffer.memory() == from_buffer.memory()
            && to_buffer.aliases(from_buffer)
            && let Some(both) = interleaved((to_buffer, to), (from_buffer, from))?
        {
            return Ok(both);
        }
        Ok(Holds::Two {
            from: from_buffer.hold(Access::KernelRead, from_span.clone())?,
            to: to_buffer.hold(Access::KernelWrite, to_span.clone())?,
            to_start: to_span.start,
            from_start: from_span.start,
        })
    }

    fn copy(&self, walk: &WalkPair) {
        match self {
            Holds::Two { to, to_start, from, from_start } => {
                kernel::copy(walk, (to, *to_start), (from, *from_start));
            }
            Holds::One { both, to_start, from_start } => {
                kernel::copy_inside(walk, both, *to_start, *from_start);
            }
        }
    }
}

/// One hold over both ranges, if they interleave in one allocation without sharing bytes.
fn interleaved(
    (to_buffer, to): (&Buffer, &Layout),
    (from_buffer, from): (&Buffer, &Layout),
) -> Result<Option<Holds>> {
    let (to_place, from_place) =
        (to.shifted(to_buffer.start())?, from.shifted(from_buffer.start())?);
    if to_place.shares_bytes(&from_place) {
        return Ok(None);
    }
    let (a, b) = (to_place.span(), from_place.span());
    let start = a.start.min(b.start);
    let both = to_buffer.hold_around(Access::KernelWrite, start..a.end.max(b.end))?;
    // Distance from each buffer's first byte to the first byte held; either may lie before it.
    let from_held = |buffer: &Buffer| start as isize - buffer.start() as isize;
    let (to_start, from_start) = (from_held(to_buffer), from_held(from_buffer));
    Ok(Some(Holds::One { both, to_start, from_start }))
}
