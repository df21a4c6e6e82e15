//! What is measured: sources, destinations and the ratio that we promise.

use tenure::image::Filter;
use tenure::{DType, PixelFormat};

/// One conversion.
pub(crate) struct Task {
    pub(crate) name: &'static str,
    pub(crate) source: PixelFormat,
    pub(crate) size: (usize, usize),
    pub(crate) target: PixelFormat,
    pub(crate) dtype: DType,
    pub(crate) to: (usize, usize),
    pub(crate) filter: Filter,
    /// The largest ratio of our time to that of the best rival.
    pub(crate) target_ratio: f64,
}

const HD: (usize, usize) = (1920, 1080);
const UHD: (usize, usize) = (3840, 2160);
const MODEL: (usize, usize) = (640, 640);

use PixelFormat::{Nv12, PlanarRgb, Rgb, Rgba, Yuyv};

const fn task(
    name: &'static str,
    (source, size): (PixelFormat, (usize, usize)),
    (target, dtype, to): (PixelFormat, DType, (usize, usize)),
    target_ratio: f64,
) -> Task {
    let filter = Filter::Antialiased;
    Task { name, source, size, target, dtype, to, filter, target_ratio }
}

/// Every row.
pub(crate) fn tasks() -> Vec<Task> {
    // The rival repeats chroma samples; so do we where nothing is resized.
    let nearest = |task: Task| Task { filter: Filter::Nearest, ..task };
    // Two samples whatever the scale: what OpenCV does unless told otherwise.
    let plain = |task: Task| Task { filter: Filter::Bilinear, ..task };
    vec![
        task("NV12 1080p to 640 RGB u8", (Nv12, HD), (Rgb, DType::U8, MODEL), 1.0 / 4.0),
        task("NV12 1080p to 640 planar u8", (Nv12, HD), (PlanarRgb, DType::U8, MODEL), 1.0 / 5.0),
        task("NV12 1080p to 640 planar f32", (Nv12, HD), (PlanarRgb, DType::F32, MODEL), 1.0 / 3.5),
        task("NV12 1080p to 640 planar f16", (Nv12, HD), (PlanarRgb, DType::F16, MODEL), 1.0 / 3.5),
        task("NV12 1080p to 416 RGB u8", (Nv12, HD), (Rgb, DType::U8, (416, 416)), 1.0 / 4.0),
        task("NV12 720p to 640 RGB u8", (Nv12, (1280, 720)), (Rgb, DType::U8, MODEL), 1.0 / 4.0),
        task(
            "NV12 720p to 320 RGB u8",
            (Nv12, (1280, 720)),
            (Rgb, DType::U8, (320, 320)),
            1.0 / 4.0,
        ),
        task("NV12 1080p to 960 RGB u8", (Nv12, HD), (Rgb, DType::U8, (960, 960)), 1.0 / 4.0),
        task("NV12 4K to 640 RGB u8", (Nv12, UHD), (Rgb, DType::U8, MODEL), 1.0 / 4.0),
        task("YUYV 1080p to 640 RGB u8", (Yuyv, HD), (Rgb, DType::U8, MODEL), 1.0 / 4.0),
        task("RGBA 1080p to 640 RGB u8", (Rgba, HD), (Rgb, DType::U8, MODEL), 1.0 / 1.5),
        plain(task("NV12 1080p to 640 RGB, plain", (Nv12, HD), (Rgb, DType::U8, MODEL), 1.0 / 4.0)),
        plain(task("NV12 4K to 640 RGB, plain", (Nv12, UHD), (Rgb, DType::U8, MODEL), 1.0 / 4.0)),
        plain(task("RGBA 1080p to 640 RGB, plain", (Rgba, HD), (Rgb, DType::U8, MODEL), 1.0 / 1.5)),
        nearest(task("NV12 1080p to RGB u8", (Nv12, HD), (Rgb, DType::U8, HD), 1.0)),
        nearest(task("NV12 1080p to planar u8", (Nv12, HD), (PlanarRgb, DType::U8, HD), 1.0 / 5.0)),
    ]
}

impl Task {
    /// A frame's bytes: noise that no branch can guess.
    pub(crate) fn frame(&self) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        };
        (0..self.frame_bytes()).map(|_| next()).collect()
    }

    /// The picture's place in the destination: left, top, width, height.
    pub(crate) fn content(&self) -> (usize, usize, usize, usize) {
        let ((w, h), (to_w, to_h)) = (self.size, self.to);
        let scale = (to_w as f64 / w as f64).min(to_h as f64 / h as f64);
        let (width, height) =
            ((w as f64 * scale).round() as usize, (h as f64 * scale).round() as usize);
        ((to_w - width) / 2, (to_h - height) / 2, width, height)
    }

    /// The same for OpenCV, where it has the same filter; a line for `opencv.py`.
    pub(crate) fn for_opencv(&self) -> Option<String> {
        let format = match self.source {
            Nv12 => "nv12",
            Rgba => "rgba",
            _ => return None,
        };
        let (width, height) = self.size;
        let same = self.filter == Filter::Bilinear && self.dtype == DType::U8;
        same.then(|| format!("{format} {width} {height} {}", self.to.0))
    }

    /// Whether several threads are measured too.
    pub(crate) fn for_threads(&self) -> bool {
        self.filter == Filter::Antialiased && self.source == Nv12 && self.target == Rgb
    }

    /// Bytes that must be read and written.
    pub(crate) fn bytes_moved(&self) -> usize {
        let written = self.to.0 * self.to.1 * 3 * self.dtype.size().unwrap_or(1);
        self.frame_bytes() + written
    }

    fn frame_bytes(&self) -> usize {
        let pixels = self.size.0 * self.size.1;
        match self.source {
            Nv12 => pixels * 3 / 2,
            Yuyv => pixels * 2,
            _ => pixels * 4,
        }
    }
}
