//! One frame: a tensor over the driver's buffer, and when it was taken.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use smallvec::SmallVec;
use tenure_layout::{DType, Layout};
use tenure_memory::Buffer;
use tenure_tensor::{Tensor, TensorDyn};

use crate::kernel::structures::BufferArgument;
use crate::session::{Lease, Session};
use crate::{Mode, Result};

/// A frame. It is a tensor: an image with the driver's format, strides and colours, or the bytes
/// of a compressed picture.
///
/// The buffer goes back to the driver when the last handle to the tensor is gone: the frame,
/// tensors shared or viewed from it, their guards, what was imported from its descriptor.
///
/// ```no_run
/// # let mut stream = tenure_camera::Camera::open("/dev/video0")?.stream()?;
/// let frame = stream.next(std::time::Duration::from_secs(1))?.ok_or("no frame came")?;
/// let luma = frame.plane(0)?;
/// drop(frame);
/// // Still there: the view keeps the buffer from the driver.
/// let rows = luma.map_rows_read()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Frame {
    tensor: TensorDyn,
    slot: usize,
    sequence: u64,
    timestamp: Option<Duration>,
    dropped: u64,
    damaged: bool,
}

impl Frame {
    pub(crate) fn new(
        session: &Session,
        mode: &Mode,
        name: &str,
        buffer: &BufferArgument,
        lease: &Arc<Lease>,
    ) -> Result<Frame> {
        let planes = session.planes(buffer.index());
        let buffers: SmallVec<[Buffer; 2]> =
            planes.iter().map(|plane| plane.lend(lease, name)).collect();
        let offsets: SmallVec<[usize; 2]> =
            (0..planes.len()).map(|plane| buffer.data_offset(plane)).collect();
        let mut damaged = buffer.damaged();
        let mut tensor = match mode.pixels {
            Some(format) => {
                let (width, height) = (mode.width as usize, mode.height as usize);
                let places = mode.places(&offsets);
                let tensor = TensorDyn::from_plane_buffers(
                    &buffers,
                    &places,
                    width,
                    height,
                    format,
                    mode.dtype(),
                )?;
                damaged |= is_short(&tensor, buffer);
                tensor
            }
            None => bytes(&buffers, buffer)?,
        };
        tensor.set_colour(mode.colour);
        Ok(Frame {
            tensor,
            slot: buffer.index(),
            sequence: buffer.sequence().into(),
            timestamp: buffer.timestamp(),
            dropped: 0,
            damaged,
        })
    }

    /// The frame as a tensor.
    pub fn tensor(&self) -> &TensorDyn {
        &self.tensor
    }

    /// The tensor alone. It keeps the buffer just as the frame does.
    pub fn into_tensor(self) -> TensorDyn {
        self.tensor
    }

    /// The number of the frame: the driver's, counted on where its 32 bits end. After
    /// [`Stream::pause`](crate::Stream::pause) it is as the driver begins anew.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// When it was taken, by the clock `CLOCK_MONOTONIC`; `None` if the driver uses another.
    pub fn timestamp(&self) -> Option<Duration> {
        self.timestamp
    }

    /// Frames lost between the one before and this one.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Whether the driver says that the picture is damaged or not complete.
    pub fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// Which of the stream's buffers it is in.
    pub fn slot(&self) -> usize {
        self.slot
    }

    /// What its stream counted.
    pub(crate) fn set_counted(&mut self, (sequence, dropped): (u64, u64)) {
        (self.sequence, self.dropped) = (sequence, dropped);
    }
}

impl Deref for Frame {
    type Target = TensorDyn;

    fn deref(&self) -> &TensorDyn {
        &self.tensor
    }
}

/// Whether the driver filled less than the picture.
fn is_short(tensor: &TensorDyn, buffer: &BufferArgument) -> bool {
    let Some(layout) = tensor.image_layout() else { return false };
    if tensor.is_multi_buffer() {
        let mut planes = layout.planes().iter().enumerate();
        planes.any(|(index, plane)| buffer.bytes_used(index) < plane.span().end)
    } else {
        buffer.bytes_used(0) < layout.span().end
    }
}

/// The bytes that the driver filled.
fn bytes(buffers: &[Buffer], buffer: &BufferArgument) -> Result<TensorDyn> {
    let whole =
        buffers.first().cloned().ok_or(tenure_memory::Error::NotMemory { found: "none" })?;
    let (start, end) = (buffer.data_offset(0), buffer.bytes_used(0));
    let used = whole.slice(start.min(end)..end)?;
    let layout = Layout::contiguous(DType::U8, &[used.len()])?;
    Ok(Tensor::from_buffer(used, layout)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_and_streams_go_between_threads() {
        fn check<T: Send + Sync>() {}
        check::<Frame>();
        check::<crate::Stream>();
        check::<crate::Camera>();
    }
}
