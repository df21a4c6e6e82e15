//! Capture from the kernel's test cameras (vivid): one with planes in one buffer and pages from
//! anywhere, one with planes in several buffers and contiguous pages only.
//!
//! Ignored by default because most machines have none; `tests/vm/test` runs them in a virtual
//! machine. They share the cameras, so one runs after the other.
#![cfg(target_os = "linux")]

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tenure_camera::{Camera, FourCc, Frame, Stream, cameras};

#[path = "../../../memory/tests/common/child.rs"]
mod child;
#[path = "../../../memory/tests/common/fork.rs"]
mod fork;
mod lifetime;
mod memory;
mod pictures;
mod trouble;

const SECOND: Duration = Duration::from_secs(5);

/// Keeps other tests from the cameras.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path of a test camera: of the one with planes in several buffers, or of the other.
fn path(several: bool) -> PathBuf {
    let ours = cameras().into_iter().filter(|found| found.capture.is_ok()).map(|found| found.path);
    let has = |path: &PathBuf| {
        let formats = Camera::open(path).unwrap().formats().unwrap();
        formats.iter().any(|format| format.fourcc == FourCc::new(b"NM12"))
    };
    let all: Vec<PathBuf> = ours.collect();
    all.iter().find(|path| has(path) == several).cloned().unwrap_or_else(|| panic!("{all:?}"))
}

/// A test camera whose picture does not change.
fn open(several: bool) -> Camera {
    let camera = Camera::open(path(several)).unwrap();
    camera.set_control("OSD Text Mode", 2).unwrap();
    camera
}

fn single() -> Camera {
    open(false)
}

fn take(stream: &mut Stream) -> Frame {
    stream.next(SECOND).unwrap().expect("a frame within the time")
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|line| line.contains("dmabuf") || line.contains("/dev/video")).count()
}

/// The eight bars, from left to right: white, yellow, cyan, green, magenta, red, blue, black.
const BARS: [[f64; 3]; 8] = [
    [1.0, 1.0, 1.0],
    [1.0, 1.0, 0.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, 0.0],
    [1.0, 0.0, 1.0],
    [1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0],
    [0.0, 0.0, 0.0],
];

/// Luma and chroma of a bar: 75 % of full signal, BT.601, limited range.
fn yuv(bar: usize) -> [f64; 3] {
    let [r, g, b] = BARS[bar].map(|part| part * 191.0 / 255.0);
    let y = 0.299 * r + 0.587 * g + 0.114 * b;
    [16.0 + 219.0 * y, 128.0 + 224.0 * (b - y) / 1.772, 128.0 + 224.0 * (r - y) / 1.402]
}

/// As near as the driver's arithmetic in whole numbers comes.
fn near(found: u8, expected: f64, what: &str) {
    assert!((f64::from(found) - expected).abs() <= 2.0, "{what}: {found}, not {expected:.1}");
}

/// The middle of a bar, in pixels, even.
fn middle(bar: usize, width: usize) -> usize {
    (width * (2 * bar + 1) / 16) & !1
}

/// Checks the bars in every row of a picture in YCbCr, from its planes.
fn check_planes(frame: &Frame) {
    let (luma, chroma) = (frame.plane(0).unwrap(), frame.plane(1).unwrap());
    let (luma, chroma) = (luma.typed::<u8>().unwrap(), chroma.typed::<u8>().unwrap());
    let (luma, chroma) = (luma.map_strided_read().unwrap(), chroma.map_strided_read().unwrap());
    let (width, height) = (frame.width().unwrap(), frame.height().unwrap());
    let rows = chroma.shape()[0];
    for bar in 0..8 {
        let (x, [y, u, v]) = (middle(bar, width), yuv(bar));
        for row in 0..height {
            near(luma[[row, x]], y, "luma");
            let below = row * rows / height;
            near(chroma[[below, x / 2, 0]], u, "blue");
            near(chroma[[below, x / 2, 1]], v, "red");
        }
    }
}
