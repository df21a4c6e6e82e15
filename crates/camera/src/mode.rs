//! What camera and program agreed on.

use std::fmt;
use std::os::fd::AsFd;

use smallvec::SmallVec;
use tenure_layout::{Colour, DType, ImageLayout, PixelFormat};

use rustix::io::Errno;

use crate::colour::Described;
use crate::device::Device;
use crate::formats::{formats, sizes};
use crate::kernel::structures::{FIELD_NONE, Format, Picture, StreamParameters, TIME_PER_FRAME};
use crate::wanted::Ask;
use crate::{Error, FourCc, Result, Wanted, fourcc, kernel};

/// One buffer of a frame, as the driver says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaneSize {
    /// Bytes from one row to the next; zero for compressed frames.
    pub row_stride: usize,
    /// Bytes of the buffer.
    pub bytes: usize,
}

/// The frames that a camera will give.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mode {
    /// The code of the format.
    pub fourcc: FourCc,
    /// What it means; `None` if frames come as bytes.
    pub pixels: Option<PixelFormat>,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
    /// The buffers of a frame: one, or one for each plane.
    pub planes: SmallVec<[PlaneSize; 2]>,
    /// How numbers mean colours; `None` if the driver says something that has no name with us.
    pub colour: Option<Colour>,
    /// Frames per second, if the driver says.
    pub fps: Option<f64>,
    /// Whether lines come as two half pictures.
    pub interlaced: bool,
}

impl Mode {
    /// The type of a frame's elements.
    pub fn dtype(&self) -> DType {
        self.pixels.map_or(DType::U8, fourcc::dtype)
    }

    /// What the camera is set to.
    pub(crate) fn current(device: &Device) -> Result<Mode> {
        let mut format = Format::new(device.kind);
        kernel::get_format(device.as_fd(), &mut format)
            .map_err(device.failed("asking for the format"))?;
        Mode::from_picture(device, &format.picture(), rate(device))
    }

    fn from_picture(device: &Device, picture: &Picture, fps: Option<f64>) -> Result<Mode> {
        let fourcc = FourCc(picture.fourcc);
        let count = picture.count;
        // A picture in more buffers than it has planes is none that we know.
        let whole = |format: &PixelFormat| count == 1 || count == format.planes().len();
        let pixels = fourcc.pixels().filter(whole);
        let described = Described {
            colorspace: picture.colorspace,
            encoding: picture.encoding,
            quantization: picture.quantization,
        };
        let plane = |&(stride, bytes): &(u32, u32)| PlaneSize {
            row_stride: stride as usize,
            bytes: bytes as usize,
        };
        let mode = Mode {
            fourcc,
            pixels,
            width: picture.width,
            height: picture.height,
            planes: picture.planes.iter().take(count).map(plane).collect(),
            colour: described.colour(pixels),
            fps,
            interlaced: picture.field > FIELD_NONE,
        };
        mode.check(device)?;
        Ok(mode)
    }

    /// Whether rows and planes fit the buffers that the driver makes for them.
    fn check(&self, device: &Device) -> Result<()> {
        let Some(layout) = self.layout(&[0; 8])? else { return Ok(()) };
        let several = self.planes.len() > 1;
        let one = self.planes.first().map_or(0, |plane| plane.bytes);
        for (index, plane) in layout.planes().iter().enumerate() {
            let bytes = self.planes.get(index).map_or(one, |plane| plane.bytes);
            if plane.span().end > if several { bytes } else { one } {
                let what = "fitting the picture into the driver's buffer size";
                return Err(device.failed(what)(Errno::OVERFLOW));
            }
        }
        Ok(())
    }

    /// Where rows and planes lie when data starts at `offsets` of the buffers; `None` for bytes.
    pub(crate) fn layout(&self, offsets: &[usize]) -> Result<Option<ImageLayout>> {
        let Some(format) = self.pixels else { return Ok(None) };
        let places = self.places(offsets);
        let (width, height) = (self.width as usize, self.height as usize);
        let layout = match places.as_slice() {
            [(offset, stride)] => ImageLayout::new(width, height, format, self.dtype(), *stride)?
                .shifted(isize::try_from(*offset).unwrap_or(isize::MAX))?,
            several => ImageLayout::from_planes(format, self.dtype(), width, height, several)?,
        };
        Ok(Some(layout))
    }

    /// Offset and row stride of each buffer.
    pub(crate) fn places(&self, offsets: &[usize]) -> SmallVec<[(usize, Option<usize>); 2]> {
        let stride = |plane: &PlaneSize| Some(plane.row_stride).filter(|stride| *stride > 0);
        let offset = |index| offsets.get(index).copied().unwrap_or(0);
        let planes = self.planes.iter().enumerate();
        planes.map(|(index, plane)| (offset(index), stride(plane))).collect()
    }

    /// Sets the camera to what is wanted.
    pub(crate) fn negotiate(device: &Device, wanted: &Wanted) -> Result<Mode> {
        let now = Mode::current(device)?;
        let code = choose(device, wanted, &now)?;
        let (width, height) = wanted.size.unwrap_or((now.width, now.height));
        // Tried first, so that a camera that cannot do it stays as it is.
        let mut trial = Format::wish(device.kind, code.0, width, height);
        match kernel::try_format(device.as_fd(), &mut trial) {
            Ok(()) => accept(device, wanted, code, &trial.picture())?,
            Err(Errno::NOTTY | Errno::INVAL) => {}
            Err(errno) => return Err(device.failed("trying a format")(errno)),
        }
        let mut format = Format::wish(device.kind, code.0, width, height);
        kernel::set_format(device.as_fd(), &mut format)
            .map_err(device.failed("setting the format"))?;
        let picture = format.picture();
        accept(device, wanted, code, &picture)?;
        if let Some(fps) = wanted.fps {
            set_rate(device, fps)?;
        }
        Mode::from_picture(device, &picture, rate(device))
    }
}

/// The code to ask the driver for.
fn choose(device: &Device, wanted: &Wanted, now: &Mode) -> Result<FourCc> {
    let Some(main) = wanted.code() else {
        return match wanted.ask {
            Ask::Pixels(_) => refuse(device, FourCc(0)),
            _ => Ok(now.fourcc),
        };
    };
    // A code that does not mean these pixels on this machine.
    if matches!(wanted.ask, Ask::Pixels(format) if main.pixels() != Some(format)) {
        return refuse(device, main);
    }
    let all = formats(device)?;
    if all.is_empty() || all.iter().any(|entry| entry.fourcc == main) {
        return Ok(main);
    }
    // The same pixels with planes in several buffers, or with padding in place of alpha.
    let same = match wanted.ask {
        Ask::Pixels(format) => all.iter().find(|entry| entry.fourcc.pixels() == Some(format)),
        _ => None,
    };
    same.map_or_else(|| refuse(device, main), |entry| Ok(entry.fourcc))
}

fn refuse<T>(device: &Device, wanted: FourCc) -> Result<T> {
    let has = formats(device)?.into_iter().map(|entry| entry.fourcc).collect();
    Err(Error::from(crate::detail::NoFormat { path: device.path.clone(), wanted, has }))
}

/// Whether what the driver makes of the wish is what was wished.
fn accept(device: &Device, wanted: &Wanted, code: FourCc, got: &Picture) -> Result<()> {
    if got.fourcc != code.0 {
        return refuse(device, code);
    }
    match wanted.size {
        Some(size) if !wanted.nearest && size != (got.width, got.height) => {
            Err(Error::from(crate::detail::NoSize {
                path: device.path.clone(),
                format: code,
                wanted: size,
                nearest: (got.width, got.height),
                has: sizes(device, code)?,
            }))
        }
        _ => Ok(()),
    }
}

/// Frames per second now; `None` if the driver does not say.
fn rate(device: &Device) -> Option<f64> {
    let mut parameters = StreamParameters::new(device.kind);
    kernel::get_parameters(device.as_fd(), &mut parameters).ok()?;
    let (numerator, denominator) = (parameters.numerator, parameters.denominator);
    (numerator > 0 && denominator > 0).then(|| f64::from(denominator) / f64::from(numerator))
}

/// Asks for a frame rate. A camera without a choice keeps its own.
fn set_rate(device: &Device, fps: f64) -> Result<()> {
    let mut parameters = StreamParameters::new(device.kind);
    if kernel::get_parameters(device.as_fd(), &mut parameters).is_err()
        || parameters.capability & TIME_PER_FRAME == 0
    {
        return Ok(());
    }
    // In thousandths: 29.97 is a rate.
    let thousandths = (fps * 1000.0).round().clamp(1.0, f64::from(u32::MAX));
    (parameters.numerator, parameters.denominator) = (1000, thousandths as u32);
    kernel::set_parameters(device.as_fd(), &mut parameters)
        .map_err(device.failed("setting the frame rate"))
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}x{}", self.fourcc, self.width, self.height)?;
        if let Some(fps) = self.fps {
            write!(f, " at {fps:.2} fps")?;
        }
        if let Some(colour) = self.colour {
            write!(f, ", {colour}")?;
        }
        if self.interlaced { f.write_str(", interlaced") } else { Ok(()) }
    }
}
