//! A recording: a folder with the frames one after the other in `frames.bin`, and a line of JSON for
//! each in `index.jsonl`. Both only grow, so that what was recorded can be read whatever ended it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tenure::layout::{Quantization, ZeroPoints};
use tenure::stream::{Frame, Slot, Spec};
use tenure::{Colour, TensorDyn};

use super::{Problem, fill};
use crate::convert::{MatrixWord, RangeWord};

const FRAMES: &str = "frames.bin";
const INDEX: &str = "index.jsonl";

/// A line of the index: where a frame is, and what it was. Fields are added, never renamed or
/// removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) sequence: u64,
    /// Nanoseconds of the clock `CLOCK_MONOTONIC`.
    pub(super) taken: Option<u64>,
    pub(super) published: u64,
    /// Bytes of `frames.bin`: the elements without gaps, planes one after the other.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) dtype: String,
    pub(super) shape: Vec<usize>,
    pub(super) image: Option<Image>,
    pub(super) quantization: Option<Scales>,
    /// The producer's own bytes.
    pub(super) blob: Vec<u8>,
}

/// What makes a tensor a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Image {
    format: String,
    width: usize,
    height: usize,
    matrix: Option<String>,
    range: Option<String>,
}

/// A quantisation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Scales {
    scales: Vec<f32>,
    zero_points: Vec<i32>,
    axis: Option<usize>,
}

/// A recording that is being made.
pub(super) struct Recorder {
    folder: PathBuf,
    frames: BufWriter<File>,
    index: BufWriter<File>,
    offset: u64,
    flat: Vec<u8>,
}

fn unwritten(path: PathBuf) -> impl FnOnce(std::io::Error) -> Problem {
    move |cause| Problem::Write { path, cause: cause.into() }
}

impl Recorder {
    /// A folder that is not there yet.
    pub(super) fn new(folder: &Path) -> Result<Recorder, Problem> {
        match fs::create_dir(folder) {
            Err(cause) if cause.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(Problem::Exists(folder.to_owned()));
            }
            made => made.map_err(unwritten(folder.to_owned()))?,
        }
        let open = |name| {
            let path = folder.join(name);
            File::create(&path).map(BufWriter::new).map_err(unwritten(path))
        };
        let (frames, index) = (open(FRAMES)?, open(INDEX)?);
        Ok(Recorder { folder: folder.to_owned(), frames, index, offset: 0, flat: vec![] })
    }

    /// Adds a frame; its elements first, so that whoever knows of a frame has all of it.
    pub(super) fn add(&mut self, frame: &Frame) -> Result<u64, Problem> {
        let bytes = frame.flat_bytes();
        self.flat.resize(bytes, 0);
        frame.copy_to_flat(&mut self.flat)?;
        let path = |name: &str| self.folder.join(name);
        self.frames
            .write_all(&self.flat)
            .and_then(|()| self.frames.flush())
            .map_err(unwritten(path(FRAMES)))?;
        let mut line = serde_json::to_vec(&Line::new(frame, self.offset))
            .map_err(|cause| Problem::Write { path: path(INDEX), cause: cause.into() })?;
        line.push(b'\n');
        self.index
            .write_all(&line)
            .and_then(|()| self.index.flush())
            .map_err(unwritten(path(INDEX)))?;
        self.offset += bytes as u64;
        Ok(bytes as u64)
    }
}

impl Line {
    fn new(frame: &Frame, offset: u64) -> Line {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let tensor: &TensorDyn = frame.tensor();
        let word = |value: Option<clap::builder::PossibleValue>| {
            value.map(|value| value.get_name().to_owned())
        };
        let colour = tensor.colour();
        let single = |layout: &tenure::ImageLayout| {
            layout.tensor_layout().is_ok_and(|one| one.rank() == tensor.rank())
        };
        let image = tensor.image_layout().filter(|layout| single(layout)).map(|layout| Image {
            format: layout.format().to_string(),
            width: layout.width(),
            height: layout.height(),
            matrix: word(
                colour.and_then(|colour| MatrixWord::of(colour.matrix).to_possible_value()),
            ),
            range: word(colour.and_then(|colour| RangeWord::of(colour.range).to_possible_value())),
        });
        let quantization = tensor.quantization().map(|quantization| Scales {
            scales: quantization.scales().to_vec(),
            zero_points: match quantization.zero_points() {
                ZeroPoints::Symmetric => vec![],
                ZeroPoints::Each(all) => all.to_vec(),
            },
            axis: quantization.axis(),
        });
        Line {
            sequence: frame.sequence(),
            taken: frame.timestamp().map(nanoseconds),
            published: nanoseconds(frame.published()),
            offset,
            bytes: tensor.flat_bytes() as u64,
            dtype: tensor.dtype().to_string(),
            shape: tensor.shape().to_vec(),
            image,
            quantization,
            blob: frame.blob().to_vec(),
        }
    }

    /// The slots that such frames need; what is wrong otherwise.
    fn spec(&self) -> Result<Spec, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let dtype = self.dtype.parse().map_err(|error: tenure::layout::Error| said(&error))?;
        let mut spec = match &self.image {
            None => Spec::tensor(dtype, &self.shape).map_err(|error| said(&error))?,
            Some(Image { format, width, height, matrix, range }) => {
                let format = format.parse().map_err(|error: tenure::layout::Error| said(&error))?;
                let spec = Spec::image_of(format, dtype, *width, *height, None);
                let spec = spec.map_err(|error| said(&error))?;
                match (matrix, range) {
                    (Some(matrix), Some(range)) => spec.with_colour(Colour {
                        matrix: MatrixWord::from_str(matrix, false)?.matrix(),
                        range: RangeWord::from_str(range, false)?.range(),
                    }),
                    _ => spec,
                }
            }
        };
        if let Some(Scales { scales, zero_points, axis }) = &self.quantization {
            let quantization = match (axis, &scales[..]) {
                (Some(axis), _) => {
                    Quantization::per_axis(scales.clone(), zero_points.clone(), *axis)
                }
                (None, [scale, ..]) => {
                    Quantization::per_tensor(*scale, zero_points.first().copied().unwrap_or(0))
                }
                (None, []) => return Err("a quantisation has no scale".to_owned()),
            };
            spec = spec.with_quantization(quantization.map_err(|error| said(&error))?);
        }
        if spec.flat_bytes() as u64 != self.bytes {
            return Err(format!(
                "{} bytes do not make {} {:?}",
                self.bytes, self.dtype, self.shape
            ));
        }
        Ok(spec)
    }
}

/// A recording that is read.
pub(super) struct Recording {
    pub(super) lines: Vec<(Line, Spec)>,
    path: PathBuf,
    frames: File,
}

impl Recording {
    /// Reads and checks the index.
    pub(super) fn open(folder: &Path) -> Result<Recording, Problem> {
        let (index, path) = (folder.join(INDEX), folder.join(FRAMES));
        let unread = |path: &Path| {
            let path = path.to_owned();
            move |cause| Problem::Read { path, cause }
        };
        let frames = File::open(&path).map_err(unread(&path))?;
        let have = frames.metadata().map_err(unread(&path))?.len();
        let mut lines = vec![];
        let mut reader = BufReader::new(File::open(&index).map_err(unread(&index))?);
        let mut text = vec![];
        for number in 0.. {
            text.clear();
            if reader.read_until(b'\n', &mut text).map_err(unread(&index))? == 0 {
                break;
            }
            let refuse = |reason: String| {
                let reason = format!("line {}: {reason}", number + 1);
                Problem::Recording { path: index.clone(), reason }
            };
            let line: Line = match serde_json::from_slice(&text) {
                Ok(line) => line,
                // Whatever ended the recording ended it there.
                Err(_) if number > 0 && !text.ends_with(b"\n") => break,
                Err(cause) => {
                    return Err(refuse(format!("it is no line of a recording: {cause}")));
                }
            };
            let spec = line.spec().map_err(refuse)?;
            if line.offset.checked_add(line.bytes).is_none_or(|end| end > have) {
                let (offset, bytes) = (line.offset, line.bytes);
                return Err(refuse(format!(
                    "{bytes} bytes from {offset} on are beyond the {have} of {FRAMES}"
                )));
            }
            lines.push((line, spec));
        }
        if lines.is_empty() {
            let reason = "there is no frame in it".to_owned();
            return Err(Problem::Recording { path: index, reason });
        }
        Ok(Recording { lines, path, frames })
    }

    /// Brings a frame into its slot.
    pub(super) fn read(&mut self, line: &Line, slot: &Slot) -> Result<(), Problem> {
        let failed = |reason: String| Problem::Recording { path: self.path.clone(), reason };
        self.frames
            .seek(SeekFrom::Start(line.offset))
            .map_err(|cause| failed(cause.to_string()))?;
        fill(slot.tensor(), &mut self.frames).map_err(|cause| failed(cause.to_string()))
    }
}
