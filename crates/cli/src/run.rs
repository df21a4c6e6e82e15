//! `tenure run`: from cameras to streams that other processes read, until it is stopped.
//!
//! `source/` is where frames come from, `pipeline` takes each of them to its streams, `figures`
//! counts, `status` shows while it runs, `report` when it is over; `config` is the file for several
//! cameras.

mod config;
mod figures;
mod pace;
mod pipeline;
mod problem;
mod report;
mod source;
mod status;

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tenure::TensorMemory;

use crate::capture::{Format, Size, rate, seconds};
use crate::convert::{Conversion, RawFrame};
use crate::failure::Failure;
use crate::output;
use crate::stop::Stop;
use crate::view::Viewer;
use figures::Figures;
pub(crate) use problem::Problem;

/// What `tenure run` is told.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    camera: Camera,

    /// Several cameras, from a TOML file (see below)
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_ONE)]
    config: Option<PathBuf>,

    /// End after so many frames of each camera
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    frames: Option<u64>,

    /// End after so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<Duration>,

    /// Show it on a page for browsers of this machine, on
    /// this port or on any that is free
    #[arg(
        long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0",
        require_equals = true, verbatim_doc_comment
    )]
    view: Option<u16>,

    /// Print one JSON object at the end
    #[arg(long)]
    json: bool,
}

/// The arguments of [`Camera`]: with a file of several, they are in the file.
const OF_ONE: [&str; 26] = [
    "source",
    "name",
    "from",
    "size",
    "fps",
    "capture",
    "once",
    "no_input",
    "memory",
    "credits",
    "evict",
    "to",
    "fit",
    "fill",
    "filter",
    "format",
    "dtype",
    "scale",
    "normalize",
    "matrix",
    "range",
    "crop",
    "rotate",
    "flip",
    "engine",
    "threads",
];

/// One camera: where frames come from, what becomes of them, and what they are called.
#[derive(Debug, Clone, clap::Args)]
#[command(mut_arg("to", |arg| arg.help("Pixels of NAME/input [default: 640x640]")))]
#[command(mut_arg("fit", |arg| arg.help("stretch, letterbox or cover [default: letterbox]")))]
#[command(mut_arg("format", |arg| arg.help("Pixels of NAME/input [default: planar-rgb]")))]
#[command(mut_arg("dtype", |arg| arg.help("u8, i8 (less 128), f16, bf16, f32 [default: f32]")))]
#[command(mut_arg("scale", |arg| arg.help("Multiply every value by this [default: 1/255]")))]
pub(crate) struct Camera {
    /// test, a camera like /dev/video0, a jpg or png file or a
    /// folder of them, a motion JPEG file, a raw video file
    /// with --from, a pipe of either (- is the standard
    /// input), or stream:NAME
    #[arg(value_name = "SOURCE", default_value = "test", verbatim_doc_comment)]
    source: String,

    /// Streams are NAME/frame and NAME/input
    #[arg(long, value_name = "NAME", default_value = "cam0")]
    name: String,

    /// Read SOURCE as raw frames, like nv12:1920x1080
    #[arg(long, value_name = "FORMAT:WxH")]
    from: Option<RawFrame>,

    /// Pixels of a camera [default: its own; test: 1280x720]
    #[arg(long, value_name = "WxH")]
    size: Option<Size>,

    /// Frames a second [default: the camera's; files: 30;
    /// pipes: as they come]
    #[arg(long, value_name = "RATE", value_parser = rate, verbatim_doc_comment)]
    fps: Option<f64>,

    /// Format of a camera, like nv12 [default: its own]
    #[arg(long, value_name = "FORMAT")]
    capture: Option<Format>,

    /// End after the last picture, instead of beginning anew
    #[arg(long)]
    once: bool,

    /// Publish NAME/frame only
    #[arg(long)]
    no_input: bool,

    /// Memory of the streams: shm or dma
    #[arg(long, value_name = "MEMORY", default_value = "shm", value_parser = memory)]
    memory: TensorMemory,

    /// Frames that consumers of a stream may hold together
    /// [default: 192, or what a camera can spare]
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=512),
        verbatim_doc_comment
    )]
    credits: Option<u16>,

    /// Put consumers out that hold all their frames so long
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    evict: Option<Duration>,

    #[command(flatten)]
    how: Conversion,
}

/// Memory that frames can be sent in.
fn memory(word: &str) -> Result<TensorMemory, &'static str> {
    match TensorMemory::try_from(word) {
        Ok(memory @ (TensorMemory::Shm | TensorMemory::Dma)) => Ok(memory),
        _ => Err("other processes can be sent shm (shared memory) and dma (DMA-BUF)"),
    }
}

/// What `tenure help run` begins with.
pub(crate) const ABOUT: &str = "\
Publish a camera: its frames as they are, and as a model wants them.

Every frame becomes two frames of two streams: NAME/frame, as the camera has it,
and NAME/input, converted (see: tenure help convert). Any process that wants
them gets them without a copy: with `tenure stream tap`, or with `Subscriber` of
the crate tenure. Without a SOURCE it is a test camera: bars that move, and a
number for each frame. It goes on until Ctrl-C, SIGTERM, --frames or --seconds
end it.";

const EXAMPLES: &str = "\
\x1b[1m\x1b[4mExamples:\x1b[0m
  tenure run --seconds 5
  tenure run /dev/video0 --name front --to 224x224 --normalize imagenet
  tenure run video.raw --from nv12:1920x1080 --fps 60 --view
  ffmpeg -i clip.mp4 -f mjpeg - | tenure run -
  tenure run --config cameras.toml

\x1b[1m\x1b[4mIn Python:\x1b[0m
  for frame in tenure.subscribe(\"cam0/input\"): print(frame.shape)

\x1b[1m\x1b[4mThe file of --config:\x1b[0m one table for each camera, with the words above
  [front]
  source = \"/dev/video0\"
  to = \"320x320\"
  [back]
  source = \"pictures/\"
  fps = 5
  no-input = true";

/// Runs the cameras, and tells.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let cameras = match &options.config {
        Some(file) => config::read(file)?,
        None => vec![options.camera.clone()],
    };
    let stop = Stop::new(options.seconds);
    let viewer = options.view.map(|port| Viewer::start(port, &stop)).transpose()?;
    let figures: Vec<_> = cameras.iter().map(|camera| Arc::new(Figures::new(camera))).collect();
    let results = thread::scope(|scope| {
        let mut running = vec![];
        for (camera, figures) in cameras.iter().zip(&figures) {
            let (stop, limit) = (&stop, options.frames);
            // It ends with the thread, however that ends, and if there never is one.
            let ending = figures.ending();
            let work = move || {
                let _ending = ending;
                pipeline::run(camera, stop, figures, limit)
            };
            let name = format!("run {}", camera.name);
            running.push(thread::Builder::new().name(name).spawn_scoped(scope, work));
        }
        let address = viewer.as_ref().map(Viewer::address);
        status::show(&figures, options.json, address);
        let end = |thread: std::io::Result<thread::ScopedJoinHandle<'_, _>>| match thread {
            Ok(thread) => thread.join().unwrap_or(Err(Problem::Panicked)),
            Err(cause) => Err(Problem::Threads(cause)),
        };
        running.into_iter().map(end).collect::<Vec<Result<(), Problem>>>()
    });
    stop.stop();
    let report = report::Report::new(&figures, &results);
    if options.json {
        output::json(&report)?;
    } else if report.any() {
        output::text(&report.text(output::width()))?;
    }
    problem::first(&cameras, results).map_or(Ok(()), |problem| Err(problem.into()))
}
