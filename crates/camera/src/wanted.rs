//! What a program wants from a camera.

use std::fmt;
use std::sync::Arc;

use tenure_layout::PixelFormat;
use tenure_memory::Allocator;

use crate::FourCc;

/// What a program wants from a camera. What it does not say is left as the camera has it.
///
/// ```
/// use tenure_camera::{FourCc, FrameMemory, Wanted};
/// use tenure_tensor::PixelFormat;
/// let raw = Wanted::pixels(PixelFormat::Nv12).size(1920, 1080).fps(30.0).buffers(6);
/// let small = Wanted::fourcc(FourCc::MJPG).size(640, 480).nearest_size();
/// let copyable = Wanted::any().memory(FrameMemory::Mapped);
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a camera has to be asked for it"]
pub struct Wanted {
    pub(crate) ask: Ask,
    pub(crate) size: Option<(u32, u32)>,
    pub(crate) nearest: bool,
    pub(crate) fps: Option<f64>,
    pub(crate) memory: FrameMemory,
    pub(crate) buffers: Option<usize>,
    pub(crate) read_only: bool,
}

/// Which format is asked for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Ask {
    #[default]
    Any,
    Pixels(PixelFormat),
    Code(FourCc),
}

/// Where frames are put.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum FrameMemory {
    /// The driver's buffers as DMA-BUF; mapped only, if the driver cannot export them.
    #[default]
    Automatic,
    /// The driver's buffers as DMA-BUF.
    Exported,
    /// The driver's buffers, mapped into this process and of no use to other devices.
    Mapped,
    /// DMA memory from an allocator: one source of it by name, say.
    Allocated(Arc<dyn Allocator>),
}

impl fmt::Debug for FrameMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FrameMemory::Automatic => "Automatic",
            FrameMemory::Exported => "Exported",
            FrameMemory::Mapped => "Mapped",
            FrameMemory::Allocated(_) => "Allocated",
        })
    }
}

impl Wanted {
    /// Whatever the camera is set to.
    pub fn any() -> Wanted {
        Wanted::default()
    }

    /// Frames in this pixel format, with planes in one buffer where the camera can do that.
    pub fn pixels(format: PixelFormat) -> Wanted {
        Wanted { ask: Ask::Pixels(format), ..Wanted::default() }
    }

    /// Frames with exactly this code. What is no pixel format of ours comes as bytes.
    pub fn fourcc(code: FourCc) -> Wanted {
        Wanted { ask: Ask::Code(code), ..Wanted::default() }
    }

    /// Frames of this size.
    pub fn size(self, width: u32, height: u32) -> Wanted {
        Wanted { size: Some((width, height)), ..self }
    }

    /// The nearest size will do.
    pub fn nearest_size(self) -> Wanted {
        Wanted { nearest: true, ..self }
    }

    /// So many frames per second, or the nearest rate that the camera has.
    pub fn fps(self, fps: f64) -> Wanted {
        Wanted { fps: Some(fps), ..self }
    }

    /// Where frames are put.
    pub fn memory(self, memory: FrameMemory) -> Wanted {
        Wanted { memory, ..self }
    }

    /// How many buffers (4 unless said): as many frames less one can be held while the camera
    /// goes on. The driver may need more.
    pub fn buffers(self, buffers: usize) -> Wanted {
        Wanted { buffers: Some(buffers), ..self }
    }

    /// Frames are only read: the driver's buffers are exported so that nobody who gets their
    /// descriptors can map them for writing. For frames that others get, through a stream say.
    /// Memory from an allocator is as it is.
    pub fn read_only(self) -> Wanted {
        Wanted { read_only: true, ..self }
    }

    /// The code asked for, in words for a message.
    pub(crate) fn code(&self) -> Option<FourCc> {
        match self.ask {
            Ask::Any => None,
            Ask::Pixels(format) => format.v4l2_fourcc().map(FourCc),
            Ask::Code(code) => Some(code),
        }
    }
}
