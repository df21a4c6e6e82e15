//! The conversions that are measured: what cameras give, and what models want.

use tenure::image::{Convert, Fit, Normalize};
use tenure::{DType, DynTensor, PixelFormat, TensorDyn, TensorMemory};

/// One conversion.
#[derive(Debug)]
pub(super) struct Work {
    /// Its word, in reports.
    pub(super) name: &'static str,
    pub(super) source: PixelFormat,
    pub(super) from: (usize, usize),
    pub(super) target: PixelFormat,
    pub(super) dtype: DType,
    pub(super) to: (usize, usize),
}

const FULL_HD: (usize, usize) = (1920, 1080);
const FOUR_K: (usize, usize) = (3840, 2160);
const MODEL: (usize, usize) = (640, 640);

const fn work(
    name: &'static str,
    source: PixelFormat,
    from: (usize, usize),
    target: PixelFormat,
    dtype: DType,
    to: (usize, usize),
) -> Work {
    Work { name, source, from, target, dtype, to }
}

use PixelFormat::{Nv12, PlanarRgb, Rgb, Rgba, Yuyv};

/// All of them, in the order in which they are shown.
pub(super) static ALL: [Work; 9] = [
    work("nv12-1080p-to-640-rgb", Nv12, FULL_HD, Rgb, DType::U8, MODEL),
    work("nv12-1080p-to-640-planar", Nv12, FULL_HD, PlanarRgb, DType::U8, MODEL),
    work("nv12-1080p-to-640-planar-f32", Nv12, FULL_HD, PlanarRgb, DType::F32, MODEL),
    work("nv12-1080p-to-640-planar-f16", Nv12, FULL_HD, PlanarRgb, DType::F16, MODEL),
    work("nv12-4k-to-640-rgb", Nv12, FOUR_K, Rgb, DType::U8, MODEL),
    work("yuyv-1080p-to-640-rgb", Yuyv, FULL_HD, Rgb, DType::U8, MODEL),
    work("rgba-1080p-to-640-rgb", Rgba, FULL_HD, Rgb, DType::U8, MODEL),
    work("nv12-1080p-to-1080p-rgb", Nv12, FULL_HD, Rgb, DType::U8, FULL_HD),
    work("nv12-1080p-to-1080p-planar", Nv12, FULL_HD, PlanarRgb, DType::U8, FULL_HD),
];

impl Work {
    /// A letterbox; floats from 0 to 1.
    pub(super) fn convert(&self) -> Convert {
        let convert = Convert::new().fit(Fit::letterbox(114));
        match self.dtype {
            DType::U8 => convert,
            _ => convert.normalize(Normalize::scale(1.0 / 255.0)),
        }
    }

    /// A frame with a picture in it: noise, which no branch predictor and no cache knows.
    pub(super) fn frame(&self, seed: u32) -> tenure::tensor::Result<TensorDyn> {
        let frame = image(self.from, self.source, DType::U8)?;
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        for byte in frame.map()?.as_mut_slice() {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            *byte = (state >> 24) as u8;
        }
        Ok(frame)
    }

    /// Where it goes.
    pub(super) fn input(&self) -> tenure::tensor::Result<TensorDyn> {
        image(self.to, self.target, self.dtype)
    }
}

fn image(
    (width, height): (usize, usize),
    format: PixelFormat,
    dtype: DType,
) -> tenure::tensor::Result<TensorDyn> {
    let heap = Some(TensorMemory::Mem);
    TensorDyn::image(width, height, format, dtype, heap, Some("tenure-bench"))
}
