//! Something to look at of a frame: a JPEG file of a picture, a heat map of anything else, and what
//! is told beside it.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use tenure::image::{Convert, Filter, ImageProcessor, codec};
use tenure::stream::Frame;
use tenure::{DType, DynTensor, PixelFormat, TensorDyn, TensorMemory};

use super::elements::{Elements, Values};
use crate::{clock, copied};

/// The largest picture that is sent.
const WIDEST: usize = 960;
const HIGHEST: usize = 720;
/// Cells of a heat map, across and down.
const CELLS: usize = 192;
const QUALITY: u8 = 80;
/// Frames with more bytes are painted one after the other.
const LARGE: usize = 64 << 20;

/// What the page gets.
pub(super) struct Shown {
    pub(super) kind: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) about: About,
}

/// What is told about a frame.
#[derive(Debug, Serialize)]
pub(super) struct About {
    sequence: u64,
    /// As text: numbers of JavaScript are too short for it.
    incarnation: String,
    dtype: String,
    shape: Vec<usize>,
    strides: Vec<isize>,
    format: Option<String>,
    colour: Option<String>,
    memory: &'static str,
    guarded: String,
    slot: usize,
    generation: u32,
    bytes: usize,
    blob: usize,
    /// Seconds since it was taken, or published.
    age: f64,
    values: Values,
    /// One for each channel: red, green and blue, or one for all.
    histograms: Vec<Vec<u32>>,
    /// Cells of a heat map; zero for pictures.
    columns: usize,
    rows: usize,
}

/// Pixels of three bytes.
struct Picture {
    tensor: TensorDyn,
    values: Values,
    histograms: Vec<Vec<u32>>,
}

/// Makes pictures of frames.
pub(super) struct Painter {
    processor: ImageProcessor,
    /// Held while a large frame is painted.
    turn: Mutex<()>,
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Painter {
    /// With one thread: looking is not to disturb those who work.
    pub(super) fn new() -> Result<Painter, String> {
        let config = ImageProcessor::builder().threads(1);
        let processor = config.build().map_err(said)?;
        Ok(Painter { processor, turn: Mutex::new(()) })
    }

    /// Something to look at, or why there is nothing.
    pub(super) fn show(&self, frame: &Frame) -> Result<Shown, String> {
        let tensor = frame.tensor();
        // What is not copied is not read either: every page of it would take memory.
        copied::check(tensor).map_err(said)?;
        // One large frame at a time: each may take as much memory as a copy of it.
        let large = tensor.flat_bytes() > LARGE;
        let _turn = large.then(|| self.turn.lock().unwrap_or_else(PoisonError::into_inner));
        let Some(picture) = self.picture(tensor)? else { return heat(frame) };
        let mut bytes = vec![];
        codec::encode_jpeg(&picture.tensor, QUALITY, &mut bytes).map_err(said)?;
        let about = About::new(frame, picture.values, picture.histograms, (0, 0));
        Ok(Shown { kind: "image/jpeg", bytes, about })
    }

    /// The frame as a picture, if it is one.
    fn picture(&self, tensor: &TensorDyn) -> Result<Option<Picture>, String> {
        let Some(layout) = tensor.image_layout() else { return Ok(None) };
        if layout.tensor_layout().map_err(said)?.rank() != tensor.rank() {
            return Ok(None);
        }
        let (width, height) = fitting(layout.width(), layout.height());
        let heap = Some(TensorMemory::Mem);
        let rgb = PixelFormat::Rgb;
        let target = TensorDyn::image(width, height, rgb, DType::U8, heap, None).map_err(said)?;
        let bytes = matches!(tensor.dtype(), DType::U8)
            || (tensor.dtype() == DType::U16 && layout.format() == PixelFormat::P010);
        let values = if bytes {
            let convert = Convert::new().filter(Filter::Area);
            self.processor.convert(tensor, &target, &convert).map_err(said)?;
            let pixels = target.map_read().map_err(said)?;
            Values::of(pixels.as_slice().iter().map(|byte| f64::from(*byte)))
        } else {
            match paint(tensor, layout.format(), (width, height), &target)? {
                Some(values) => values,
                None => return Ok(None),
            }
        };
        let pixels = target.map_read().map_err(said)?;
        let channel = |which: usize| {
            let samples = pixels.as_slice().iter().skip(which).step_by(3);
            let all = Values { low: Some(0.0), high: Some(255.0), mean: None, odd: 0 };
            all.histogram(samples.map(|byte| f64::from(*byte)))
        };
        let histograms = (0..3).map(channel).collect();
        drop(pixels);
        Ok(Some(Picture { tensor: target, values, histograms }))
    }
}

/// A size that is not too large, of the same shape.
fn fitting(width: usize, height: usize) -> (usize, usize) {
    let shrink = (width as f64 / WIDEST as f64).max(height as f64 / HIGHEST as f64).max(1.0);
    let less = |length: usize| ((length as f64 / shrink).round() as usize).max(1);
    (less(width), less(height))
}

/// Paints a picture whose elements are no bytes. Values from 0 to 1 and from 0 to 255 are what they
/// are; others are spread from the smallest to the largest. `None` if there is no such picture.
fn paint(
    tensor: &TensorDyn,
    format: PixelFormat,
    (width, height): (usize, usize),
    target: &TensorDyn,
) -> Result<Option<Values>, String> {
    use PixelFormat::{Bgr, Bgra, Grey, PlanarRgb, PlanarRgba, Rgb, Rgba};
    let (channels, planar, order) = match format {
        Grey => (1, false, [0, 0, 0]),
        Rgb => (3, false, [0, 1, 2]),
        Bgr => (3, false, [2, 1, 0]),
        Rgba => (4, false, [0, 1, 2]),
        Bgra => (4, false, [2, 1, 0]),
        PlanarRgb | PlanarRgba => (1, true, [0, 1, 2]),
        _ => return Ok(None),
    };
    let (across, down) = (tensor.width().unwrap_or(1), tensor.height().unwrap_or(1));
    let elements = Elements::of(tensor)?;
    let values = Values::of(elements.iter());
    let (low, high) = match (values.low.unwrap_or(0.0), values.high.unwrap_or(0.0)) {
        (low, high) if low >= 0.0 && high <= 1.0 => (0.0, 1.0),
        (low, high) if low >= 0.0 && high <= 255.0 => (0.0, 255.0),
        (low, high) => (low, high),
    };
    let spread = Values { low: Some(low), high: Some(high), ..values.clone() };
    let mut pixels = target.map().map_err(said)?;
    for (y, row) in pixels.as_mut_slice().chunks_exact_mut(3 * width).enumerate() {
        let from_y = y * down / height;
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let at = from_y * across + x * across / width;
            for (channel, byte) in order.iter().zip(pixel) {
                let index =
                    if planar { channel * across * down + at } else { at * channels + channel };
                *byte = (spread.place(elements.at(index)) * 255.0).round() as u8;
            }
        }
    }
    Ok(Some(values))
}

/// Any tensor as a heat map: the last dimension across, all others down.
fn heat(frame: &Frame) -> Result<Shown, String> {
    let tensor = frame.tensor();
    let elements = Elements::of(tensor)?;
    let values = Values::of(elements.iter());
    let histogram = values.histogram(elements.iter());
    let (cells, columns, rows) = cells(&elements, tensor.shape());
    let bytes = cells.iter().map(|cell| (values.place(*cell) * 255.0).round() as u8).collect();
    let about = About::new(frame, values, vec![histogram], (columns, rows));
    Ok(Shown { kind: "application/octet-stream", bytes, about })
}

/// Means over cells, and how many there are across and down.
fn cells(elements: &Elements, shape: &[usize]) -> (Vec<f64>, usize, usize) {
    let count = elements.len();
    let across = match shape {
        [.., _, last] => (*last).max(1),
        _ => ((count as f64).sqrt().ceil() as usize).max(1),
    };
    let down = count.div_ceil(across);
    let (columns, rows) = (across.min(CELLS), down.min(CELLS));
    let mut sums = vec![(0.0, 0u32); columns * rows];
    for (index, number) in elements.iter().enumerate().filter(|(_, number)| number.is_finite()) {
        let (x, y) = (index % across * columns / across, index / across * rows / down);
        if let Some((sum, count)) = sums.get_mut(y * columns + x) {
            *sum += number;
            *count += 1;
        }
    }
    let mean = |(sum, count): &(f64, u32)| sum / f64::from((*count).max(1));
    (sums.iter().map(mean).collect(), columns, rows)
}

impl About {
    fn new(
        frame: &Frame,
        values: Values,
        histograms: Vec<Vec<u32>>,
        (columns, rows): (usize, usize),
    ) -> About {
        let taken = frame.timestamp().unwrap_or(frame.published());
        About {
            sequence: frame.sequence(),
            incarnation: frame.incarnation().to_string(),
            dtype: frame.dtype().to_string(),
            shape: frame.shape().to_vec(),
            strides: frame.strides().to_vec(),
            format: frame.format().map(|format| format.to_string()),
            colour: frame.colour().map(|colour| colour.to_string()),
            memory: frame.memory().name(),
            guarded: format!("{:?}", frame.guarded()).to_lowercase(),
            slot: frame.slot(),
            generation: frame.generation(),
            bytes: frame.flat_bytes(),
            blob: frame.blob().len(),
            age: clock::now().saturating_sub(taken).as_secs_f64(),
            values,
            histograms,
            columns,
            rows,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure::Tensor;

    #[test]
    fn pictures_fit() {
        assert_eq!(fitting(640, 480), (640, 480));
        assert_eq!(fitting(1920, 1080), (960, 540));
        assert_eq!(fitting(1, 100_000), (1, 720));
    }

    #[test]
    fn floats_are_painted() {
        let (width, height) = (4, 2);
        let picture =
            Tensor::<f32>::image(width, height, PixelFormat::PlanarRgb, None, None).unwrap();
        picture.map().unwrap().as_mut_slice()[..8].fill(1.0);
        let painter = Painter::new().unwrap();
        let shown = painter.picture(&picture.to_dyn()).unwrap().unwrap();
        let pixels = shown.tensor.map_read().unwrap();
        assert!(pixels.as_slice().chunks(3).all(|pixel| pixel == [255, 0, 0]));
        assert_eq!((shown.values.low, shown.values.high), (Some(0.0), Some(1.0)));
        assert_eq!(shown.histograms[0].last(), Some(&8));
    }

    #[test]
    fn heat_maps_have_means() {
        let tensor = Tensor::<i32>::new(&[2, 400], None, None).unwrap();
        for (index, element) in tensor.map().unwrap().as_mut_slice().iter_mut().enumerate() {
            *element = if index < 400 { 10 } else { 20 };
        }
        let elements = Elements::of(&tensor.to_dyn()).unwrap();
        let (cells, columns, rows) = cells(&elements, tensor.shape());
        assert_eq!((columns, rows), (CELLS, 2));
        assert!(cells[..CELLS].iter().all(|mean| *mean == 10.0));
        assert!(cells[CELLS..].iter().all(|mean| *mean == 20.0));
    }
}
