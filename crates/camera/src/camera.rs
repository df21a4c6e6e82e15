//! A camera: what it offers, what it is set to, and streams of its frames.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;

use tenure_tensor::TensorDyn;

use crate::device::Device;
use crate::session::Session;
use crate::{
    Control, FormatInfo, FourCc, FrameInterval, FrameMemory, FrameSizes, Identity, Mode, Result,
    Stream, Wanted, control, formats,
};

/// Buffers of a stream unless asked otherwise: one with the driver, one on its way, two in use.
const BUFFERS: usize = 4;

/// An open camera.
///
/// ```no_run
/// use tenure_camera::Camera;
/// let camera = Camera::open("/dev/video0")?;
/// println!("{}", camera.identity().name);
/// for format in camera.formats()? {
///     println!("{} {}", format.fourcc, format.description);
///     for size in camera.sizes(format.fourcc)? {
///         println!("  {size}");
///     }
/// }
/// # Ok::<(), tenure_camera::Error>(())
/// ```
#[derive(Debug)]
pub struct Camera {
    device: Arc<Device>,
    memory: FrameMemory,
    buffers: usize,
    read_only: bool,
}

impl Camera {
    /// Opens a device node.
    ///
    /// # Errors
    /// If it cannot be opened, or is no camera.
    pub fn open(path: impl AsRef<Path>) -> Result<Camera> {
        let device = Arc::new(Device::open(path.as_ref())?);
        let memory = FrameMemory::default();
        Ok(Camera { device, memory, buffers: BUFFERS, read_only: false })
    }

    /// Who it is.
    pub fn identity(&self) -> &Identity {
        &self.device.identity
    }

    /// The path it was opened with.
    pub fn path(&self) -> &Path {
        &self.device.path
    }

    /// The formats it lists.
    ///
    /// # Errors
    /// If it is gone.
    pub fn formats(&self) -> Result<Vec<FormatInfo>> {
        formats::formats(&self.device)
    }

    /// The sizes it lists for a format; none if it does not list them.
    ///
    /// # Errors
    /// If it is gone.
    pub fn sizes(&self, format: FourCc) -> Result<Vec<FrameSizes>> {
        formats::sizes(&self.device, format)
    }

    /// The frame rates it lists for a format and size; none if it does not list them.
    ///
    /// # Errors
    /// If it is gone.
    pub fn intervals(&self, format: FourCc, width: u32, height: u32) -> Result<Vec<FrameInterval>> {
        formats::intervals(&self.device, format, width, height)
    }

    /// What it is set to.
    ///
    /// # Errors
    /// If it is gone, or what it is set to makes no sense.
    pub fn mode(&self) -> Result<Mode> {
        Mode::current(&self.device)
    }

    /// Sets it to what is wanted, and says what that is in full.
    ///
    /// # Errors
    /// [`crate::Error::NoFormat`] and [`crate::Error::NoSize`] with what it has instead;
    /// [`crate::Error::Busy`] while it streams for somebody.
    pub fn negotiate(&mut self, wanted: impl Borrow<Wanted>) -> Result<Mode> {
        let wanted = wanted.borrow();
        let mode = Mode::negotiate(&self.device, wanted)?;
        self.memory = wanted.memory.clone();
        self.buffers = wanted.buffers.unwrap_or(BUFFERS).max(1);
        self.read_only = wanted.read_only;
        Ok(mode)
    }

    /// Starts streaming in the mode and memory negotiated.
    ///
    /// # Errors
    /// [`crate::Error::Busy`] if somebody streams already (this program, maybe), and whatever
    /// keeps the memory from being had.
    pub fn stream(&self) -> Result<Stream> {
        let mode = self.mode()?;
        let Camera { device, memory, buffers, read_only } = self;
        let session = Session::open(device, &mode, memory, *buffers, *read_only)?;
        Stream::start(session, mode)
    }

    /// Starts streaming into tensors that exist: DMA memory, from its first byte, with planes
    /// where the camera puts them. A tensor is held (by a device, for writing) while the driver
    /// has it, so that mapping it says [`tenure_memory::Error::Busy`].
    ///
    /// ```no_run
    /// use tenure_camera::{Camera, Wanted};
    /// use tenure_tensor::{DType, PixelFormat, DynTensor, TensorDyn, TensorMemory};
    /// let mut camera = Camera::open("/dev/video0")?;
    /// let mode = camera.negotiate(&Wanted::pixels(PixelFormat::Yuyv))?;
    /// let ours: Result<Vec<_>, _> = (0..4)
    ///     .map(|_| {
    ///         let bytes = mode.planes[0].bytes;
    ///         TensorDyn::new(&[bytes], DType::U8, Some(TensorMemory::Dma), None)
    ///     })
    ///     .collect();
    /// let stream = camera.stream_into(&ours?)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a tensor is no such memory or too small, if the driver refuses it
    /// ([`crate::Error::BufferRefused`]), and as [`Camera::stream`].
    pub fn stream_into(&self, tensors: &[TensorDyn]) -> Result<Stream> {
        let mode = self.mode()?;
        let session = Session::open_with(&self.device, &mode, tensors)?;
        Stream::start(session, mode)
    }

    /// Its knobs.
    ///
    /// # Errors
    /// If it is gone.
    pub fn controls(&self) -> Result<Vec<Control>> {
        control::list(&self.device)
    }

    /// Where a knob stands.
    ///
    /// # Errors
    /// If there is none with this name, or the camera is gone.
    pub fn control(&self, name: &str) -> Result<i32> {
        control::get(&self.device, name)
    }

    /// Turns a knob.
    ///
    /// # Errors
    /// If there is none with this name, it does not take the value, or the camera is gone.
    pub fn set_control(&self, name: &str, value: i32) -> Result<()> {
        control::set(&self.device, name, value)
    }
}
