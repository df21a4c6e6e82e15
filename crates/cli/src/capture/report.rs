//! What is told about a capture: the JSON, and the text that says the same.

use serde::Serialize;
use tenure::TensorMemory;
use tenure::camera::{Camera, Mode, Stream};

use super::folder::Folder;
use super::frames::Written;
use crate::page::{DIM, Mark, PLAIN, Page};
use crate::units;

/// Columns of the first word of a row.
const WHAT: usize = 8;

/// What `tenure capture --json` prints. Sizes are bytes, times seconds; `null` means that the
/// driver does not tell it. Fields are added, never renamed or removed.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    /// The device node.
    device: String,
    /// The camera's name, its driver, and where it is plugged in.
    name: String,
    driver: String,
    bus: String,
    /// The frames that were agreed on.
    mode: Agreed,
    /// The memory that frames came in: `dma` is DMA-BUF, `mem` the driver's own pages.
    memory: Option<&'static str>,
    /// Buffers of the stream.
    buffers: usize,
    /// The frames, by order of capture.
    frames: Vec<Entry>,
    /// Frames that were lost between these.
    dropped: u64,
    /// Frames that the driver says are not complete.
    damaged: usize,
    /// Frames written a second, by their own times.
    fps: Option<f64>,
    /// Where the files are.
    folder: String,
    /// Bytes of all files.
    bytes: u64,
}

/// The frames that were agreed on.
#[derive(Debug, Serialize)]
struct Agreed {
    /// The driver's code.
    code: String,
    /// Our word for it; `null` if frames come as bytes.
    format: Option<&'static str>,
    width: u32,
    height: u32,
    fps: Option<f64>,
    /// Matrix and range.
    colour: Option<String>,
    interlaced: bool,
}

/// One frame.
#[derive(Debug, Serialize)]
struct Entry {
    /// By order of capture.
    index: u32,
    /// The driver's number.
    sequence: u64,
    /// By the clock `CLOCK_MONOTONIC`.
    timestamp: Option<f64>,
    /// Frames lost before it.
    dropped: u64,
    /// Whether the driver says that it is not complete.
    damaged: bool,
    /// Names of its files in the folder.
    files: Vec<String>,
}

impl Report {
    pub(super) fn new(
        camera: &Camera,
        stream: &Stream,
        memory: Option<TensorMemory>,
        written: &[Written],
        folder: &Folder,
    ) -> Report {
        let (who, mode) = (camera.identity(), stream.mode());
        let entry = |one: &Written| Entry {
            index: one.about.index,
            sequence: one.about.sequence,
            timestamp: one.about.timestamp.map(|time| time.as_secs_f64()),
            dropped: one.about.dropped,
            damaged: one.about.damaged,
            files: one.files.clone(),
        };
        Report {
            device: camera.path().display().to_string(),
            name: who.name.clone(),
            driver: who.driver.clone(),
            bus: who.bus.clone(),
            mode: Agreed {
                // Short codes are filled up with spaces.
                code: mode.fourcc.to_string().replace(' ', ""),
                format: mode.pixels.map(tenure::PixelFormat::name),
                width: mode.width,
                height: mode.height,
                fps: mode.fps,
                colour: mode.colour.map(|colour| colour.to_string()),
                interlaced: mode.interlaced,
            },
            memory: memory.map(TensorMemory::name),
            buffers: stream.buffers(),
            frames: written.iter().map(entry).collect(),
            dropped: written.iter().map(|one| one.about.dropped).sum(),
            damaged: written.iter().filter(|one| one.about.damaged).count(),
            fps: rate(written),
            folder: folder.path().display().to_string(),
            bytes: written.iter().map(|one| one.bytes).sum(),
        }
    }

    /// How many files have this ending.
    fn count(&self, ending: &str) -> usize {
        let files = self.frames.iter().flat_map(|frame| &frame.files);
        files.filter(|name| name.ends_with(ending)).count()
    }
}

/// Frames a second, from the first frame to the last.
fn rate(written: &[Written]) -> Option<f64> {
    let [first, .., last] = written else { return None };
    let time = last.about.timestamp?.checked_sub(first.about.timestamp?)?.as_secs_f64();
    (time > 0.0).then(|| (written.len() - 1) as f64 / time)
}

/// What is known before the first frame.
pub(super) fn beginning(camera: &Camera, mode: &Mode, width: usize) -> String {
    let mut page = Page::new(width);
    let who = camera.identity();
    let title = format!("{}  {}", camera.path().display(), who.name);
    page.heading(&title, &format!("{}, {}", who.driver, who.bus));
    page.row(Mark::Blank, &[("mode", WHAT)], PLAIN, &mode.to_string());
    page.into_text()
}

/// What is known after the last one.
pub(super) fn ending(report: &Report, width: usize) -> String {
    let mut page = Page::new(width);
    let mut row = |what, style, text: &str| page.row(Mark::Blank, &[(what, WHAT)], style, text);
    let memory = match report.memory {
        Some("dma") => "DMA-BUF, the driver's buffers exported",
        _ => "no DMA-BUF: the driver's buffers, mapped into this process only",
    };
    row("memory", PLAIN, &format!("{memory} ({} buffers)", report.buffers));
    let mut words = vec![format!("{} written", report.frames.len())];
    words.push(match report.dropped {
        0 => "none dropped".to_owned(),
        dropped => format!("{dropped} dropped"),
    });
    if report.damaged > 0 {
        words.push(format!("{} damaged", report.damaged));
    }
    if let Some(fps) = report.fps {
        words.push(format!("{} a second", units::three_digits(fps)));
    }
    row("frames", PLAIN, &words.join(", "));
    let counts = ["png", "jpg", "npy"].map(|ending| (report.count(ending), ending));
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let mut words: Vec<_> = counts.map(|(count, ending)| format!("{count} {ending}")).collect();
    words.push(units::bytes(report.bytes));
    row("folder", PLAIN, &format!("{}: {}", report.folder, words.join(", ")));
    if report.dropped > 0 && report.count("png") > 0 {
        row(
            "",
            DIM,
            "Frames are lost when writing is slower than the camera: --only npy is quicker.",
        );
    }
    page.into_text()
}
