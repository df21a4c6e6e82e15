//! What is measured: sources, destinations and the ratio that we promise.

use tenure::image::Filter;
use tenure::{DType, PixelFormat};

/// One conversion.
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) source: PixelFormat,
    pub(crate) size: (usize, usize),
    pub(crate) target: PixelFormat,
    pub(crate) dtype: DType,
    pub(crate) to: (usize, usize),
    pub(crate) filter: Filter,
    /// Whether floats are what models trained on ImageNet want, not 0 to 1.
    pub(crate) imagenet: bool,
    /// Whether frame and destination are in no cache.
    pub(crate) cold: bool,
    /// The largest ratio of our time to that of the best rival.
    pub(crate) target_ratio: f64,
}

const HD: (usize, usize) = (1280, 720);
const FULL_HD: (usize, usize) = (1920, 1080);
const UHD: (usize, usize) = (3840, 2160);
const MODEL: (usize, usize) = (640, 640);

/// How many times faster we promise to be: what comes from YUV and is resized, the same to planes of
/// bytes and of floats, and what has its colours already.
const YUV: f64 = 4.0;
const PLANES: f64 = 5.0;
const FLOATS: f64 = 3.5;
const COLOURS: f64 = 1.5;
/// The same with a filter that overshoots, to bytes and to floats that bytes are not exact enough for.
const OVERSHOOTING: f64 = 2.0;
const EXACT: f64 = 1.5;

use PixelFormat::{Nv12, PlanarRgb, Rgb, Rgba, Yuyv};

fn task(
    name: &str,
    (source, size): (PixelFormat, (usize, usize)),
    (target, dtype, to): (PixelFormat, DType, (usize, usize)),
    faster: f64,
) -> Task {
    let (name, filter) = (name.to_owned(), Filter::Antialiased);
    let (imagenet, cold) = (false, false);
    let target_ratio = 1.0 / faster;
    Task { name, source, size, target, dtype, to, filter, imagenet, cold, target_ratio }
}

/// Every row of one thread.
pub(crate) fn tasks() -> Vec<Task> {
    // The rivals repeat chroma samples; so do we where nothing is resized.
    let nearest = |task: Task| Task { filter: Filter::Nearest, ..task };
    // Two samples whatever the scale: what OpenCV and edgefirst-image do.
    let plain = |task: Task| Task { filter: Filter::Bilinear, ..task };
    let lanczos = |task: Task| Task { filter: Filter::Lanczos3, ..task };
    let imagenet = |task: Task| Task { imagenet: true, ..task };
    // What a camera has just written.
    let cold = |task: Task| Task { cold: true, ..task };
    let (nv12, uhd) = ((Nv12, FULL_HD), (Nv12, UHD));
    let (yuyv, rgba) = ((Yuyv, FULL_HD), (Rgba, FULL_HD));
    let rgb = |side| (Rgb, DType::U8, (side, side));
    let planar = |dtype| (PlanarRgb, dtype, MODEL);
    let mut all = vec![
        task("NV12 1080p to 640 RGB u8", nv12, rgb(640), YUV),
        task("NV12 1080p to 640 planar u8", nv12, planar(DType::U8), PLANES),
        task("NV12 1080p to 640 planar f32", nv12, planar(DType::F32), FLOATS),
        task("NV12 1080p to 640 planar f16", nv12, planar(DType::F16), FLOATS),
        task("NV12 1080p to 416 RGB u8", nv12, rgb(416), YUV),
        task("NV12 720p to 640 RGB u8", (Nv12, HD), rgb(640), YUV),
        task("NV12 720p to 320 RGB u8", (Nv12, HD), rgb(320), YUV),
        task("NV12 1080p to 960 RGB u8", nv12, rgb(960), YUV),
        task("NV12 4K to 640 RGB u8", uhd, rgb(640), YUV),
        task("YUYV 1080p to 640 RGB u8", yuyv, rgb(640), YUV),
        task("RGBA 1080p to 640 RGB u8", rgba, rgb(640), COLOURS),
        plain(task("NV12 1080p to 640 RGB, plain", nv12, rgb(640), YUV)),
        plain(task("NV12 1080p to 640 planar u8, plain", nv12, planar(DType::U8), PLANES)),
        plain(task("NV12 1080p to 640 planar f32, plain", nv12, planar(DType::F32), FLOATS)),
        plain(task("NV12 1080p to 640 planar f16, plain", nv12, planar(DType::F16), FLOATS)),
        plain(task("NV12 4K to 640 RGB, plain", uhd, rgb(640), YUV)),
        plain(task("YUYV 1080p to 640 RGB, plain", yuyv, rgb(640), YUV)),
        plain(task("RGBA 1080p to 640 RGB, plain", rgba, rgb(640), COLOURS)),
        nearest(task("NV12 1080p to RGB u8", nv12, (Rgb, DType::U8, FULL_HD), 1.0)),
        nearest(task("NV12 1080p to planar u8", nv12, (PlanarRgb, DType::U8, FULL_HD), PLANES)),
        nearest(task("YUYV 1080p to RGB u8", yuyv, (Rgb, DType::U8, FULL_HD), 1.0)),
    ];
    let (f32, name) = (planar(DType::F32), "NV12 1080p to 640 planar f32, ImageNet");
    let name_lanczos = "NV12 1080p to 640 planar f32, ImageNet, Lanczos";
    all.extend([
        lanczos(task("NV12 1080p to 640 RGB u8, Lanczos", nv12, rgb(640), OVERSHOOTING)),
        imagenet(task(name, nv12, f32, FLOATS)),
        imagenet(lanczos(task(name_lanczos, nv12, f32, EXACT))),
        cold(task("NV12 1080p to 640 RGB u8, cold", nv12, rgb(640), YUV)),
        cold(task("NV12 720p to 640 RGB u8, cold", (Nv12, HD), rgb(640), YUV)),
        cold(task("NV12 1080p to 640 planar f32, cold", nv12, planar(DType::F32), FLOATS)),
        cold(nearest(task("NV12 1080p to RGB u8, cold", nv12, (Rgb, DType::U8, FULL_HD), 1.0))),
    ]);
    all.extend(any_sizes());
    all
}

/// What the names of these rows begin with, to choose them by.
const ANY_SIZE: &str = "any size";

/// Sizes in no simple ratio to the source, some of them larger than it.
fn any_sizes() -> impl Iterator<Item = Task> {
    // Rows of 848 bytes do not begin with a line of the cache.
    let sources: [(&str, &[usize]); 20] = [
        ("nv12:320x240:rgb", &[96, 150, 160, 224]),
        ("nv12:640x480:rgb", &[300, 320, 416, 500, 800, 1280]),
        ("nv12:848x480:rgb", &[300, 448]),
        ("nv12:1280x720:rgb", &[300, 416, 600, 800, 1080, 1600]),
        (
            "nv12:1920x1080:rgb",
            &[40, 60, 100, 224, 300, 800, 900, 950, 1024, 1080, 1500, 2400, 3000],
        ),
        ("nv12:2592x1944:rgb", &[320, 640, 1024, 2500]),
        ("nv12:3840x2160:rgb", &[96, 416, 1080, 1800]),
        ("nv12:640x480:planar-u8", &[224, 300, 1000]),
        ("nv12:1920x1080:planar-u8", &[300, 800, 1500]),
        ("nv12:3840x2160:planar-u8", &[1080, 1800]),
        ("nv12:640x480:planar-f32", &[224, 416]),
        ("nv12:1920x1080:planar-f32", &[800, 1080, 1500, 1800, 2400]),
        ("nv12:1280x720:planar-f16", &[224, 500, 1200]),
        ("yuyv:640x480:rgb", &[224, 300, 416, 800]),
        ("yuyv:1280x720:rgb", &[640, 1200, 3000]),
        ("yuyv:1920x1080:rgb", &[300, 800, 1280, 1800, 2000, 3000]),
        ("yuyv:3840x2160:rgb", &[640, 1500, 1900, 2400]),
        ("yuyv:3840x2160:planar-u8", &[1500, 1800]),
        ("yuyv:1920x1080:planar-f32", &[800, 1800, 2400]),
        ("rgba:1920x1080:rgb", &[224, 800, 1280]),
    ];
    let words = |(source, sides): (&'static str, &'static [usize])| {
        sides.iter().map(move |side| format!("{source}:{side}"))
    };
    sources.into_iter().flat_map(words).filter_map(|word| {
        let task = Task::asked(&word)?;
        Some(Task { name: format!("{ANY_SIZE}: {word}"), ..task })
    })
}

impl Task {
    /// A conversion that somebody asked for, such as `nv12:1920x1080:rgb:700`: a source, its size,
    /// a destination and its side; after that `:plain` takes two samples whatever the scale, `:nearest`
    /// one, `:bicubic` and `:lanczos` are other filters, `:imagenet` makes other floats, and `:cold` puts
    /// everything out of the caches first.
    pub(crate) fn asked(word: &str) -> Option<Task> {
        let parts: Vec<&str> = word.split(':').collect();
        let (&[source, size, target, side], options) = parts.split_first_chunk()?;
        let (mut filter, mut imagenet, mut cold) = (Filter::Antialiased, false, false);
        for option in options {
            match *option {
                "plain" => filter = Filter::Bilinear,
                "nearest" => filter = Filter::Nearest,
                "bicubic" => filter = Filter::Bicubic,
                "lanczos" => filter = Filter::Lanczos3,
                "imagenet" => imagenet = true,
                "cold" => cold = true,
                _ => return None,
            }
        }
        let source = match source {
            "nv12" => Nv12,
            "yuyv" => Yuyv,
            "rgba" => Rgba,
            _ => return None,
        };
        let (target, dtype, faster) = match target {
            "rgb" => (Rgb, DType::U8, YUV),
            "planar-u8" => (PlanarRgb, DType::U8, PLANES),
            "planar-f32" => (PlanarRgb, DType::F32, FLOATS),
            "planar-f16" => (PlanarRgb, DType::F16, FLOATS),
            _ => return None,
        };
        let faster = if source == Rgba { COLOURS } else { faster };
        let (width, height) = size.split_once('x')?;
        let (size, side) = ((width.parse().ok()?, height.parse().ok()?), side.parse().ok()?);
        Some(Task {
            filter,
            imagenet,
            cold,
            ..task(word, (source, size), (target, dtype, (side, side)), faster)
        })
    }

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

    /// A line for rivals that are programs of their own.
    pub(crate) fn question(&self) -> String {
        let name = |format| match format {
            Nv12 => "nv12",
            Yuyv => "yuyv",
            Rgba => "rgba",
            PlanarRgb => "planar",
            _ => "rgb",
        };
        let ((width, height), (to_width, to_height)) = (self.size, self.to);
        let (source, target, dtype) = (name(self.source), name(self.target), self.dtype);
        format!("{source} {width} {height} {target} {dtype} {to_width} {to_height}")
    }

    /// Whether OpenCV and edgefirst-image do the same: neither has filters that grow with the reduction.
    pub(crate) fn for_plain_rivals(&self) -> bool {
        matches!(self.filter, Filter::Nearest | Filter::Bilinear) && !self.imagenet && !self.cold
    }

    /// Whether OpenCV has the type.
    pub(crate) fn for_opencv(&self) -> bool {
        self.for_plain_rivals() && self.dtype != DType::F16
    }

    /// Whether several threads are measured too.
    pub(crate) fn for_threads(&self) -> bool {
        let usual = !self.cold && !self.name.starts_with(ANY_SIZE);
        let usual = usual && self.filter == Filter::Antialiased;
        usual && self.source == Nv12 && self.target == Rgb
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
