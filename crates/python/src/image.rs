//! `ImageProcessor`: any picture to any other.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tenure::Region;
use tenure::image::{self, EngineKind};

use crate::fail::Answer;
use crate::fence::Fence;
use crate::list::List;
use crate::tensor::Tensor;
use crate::{gate, how};

/// Where a picture lies in the destination of a conversion.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct Placement(image::Placement);

#[pymethods]
impl Placement {
    /// The destination pixels that the picture covers: x, y, width, height.
    #[getter]
    fn content(&self) -> (usize, usize, usize, usize) {
        let Region { x, y, width, height } = self.0.content();
        (x, y, width, height)
    }

    /// The source point that a destination point shows.
    fn to_source(&self, x: f64, y: f64) -> (f64, f64) {
        self.0.to_source(x, y)
    }

    /// The destination point that shows a source point.
    fn to_destination(&self, x: f64, y: f64) -> (f64, f64) {
        self.0.to_destination(x, y)
    }

    fn __repr__(&self) -> String {
        format!("<tenure.Placement {}>", self.0.content())
    }
}

/// Converts pictures between tensors: format, size, place, values, in one pass.
///
/// Made once and used for many pictures, from any thread.
///
/// engines: words, in the order of trying; None takes the usual ones.
/// threads: of the CPU engine; None takes one for each core.
#[pyclass(module = "tenure", frozen)]
pub(crate) struct ImageProcessor(image::ImageProcessor);

#[pymethods]
impl ImageProcessor {
    #[new]
    #[pyo3(signature = (engines=None, threads=None))]
    fn make(py: Python<'_>, engines: Option<List<String>>, threads: Option<usize>) -> Answer<Self> {
        let engines = engines
            .map(|List(words)| words.iter().map(|word| word.parse()).collect())
            .transpose()?
            .map(|kinds: Vec<EngineKind>| kinds);
        let config = image::ImageProcessor::builder().engines(engines).threads(threads);
        Ok(ImageProcessor(gate::detach(py, || config.build())?))
    }

    /// Converts a picture into another, and says where it lies there.
    ///
    /// crop, into: the part of the source to take and of the destination to write, each
    /// (x, y, width, height) in pixels; all of it if None.
    /// fit: "stretch", "letterbox" or "cover".
    /// fill: red, green, blue and alpha around a letterbox.
    /// rotation: degrees clockwise: 0, 90, 180 or 270.
    /// filter: "nearest", "bilinear", "antialiased", "area", "bicubic" or "lanczos3".
    /// colour: matrix and range of the source, ("bt709", "limited") say, whatever it carries. How
    /// luma and chroma are written is what the destination carries (`Tensor.with_colour`).
    /// siting: where chroma samples lie, "centre" or "left"; as usual for the source's range if
    /// None.
    /// scale, mean, std: stored is (value * scale - mean) / std, for values of 0 to 255.
    /// quantize: scale and zero point of integers.
    ///
    /// A tensor without a colour is BT.601 of full range, as JPEG has it.
    #[pyo3(signature = (source, destination, **how))]
    #[pyo3(
        text_signature = "(self, source, destination, *, crop=None, into=None, fit='stretch', fill=(114, 114, 114, 255), rotation=0, flip_horizontal=False, flip_vertical=False, filter='antialiased', colour=None, siting=None, scale=1.0, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0), quantize=None)"
    )]
    fn convert(
        &self,
        py: Python<'_>,
        source: &Bound<'_, Tensor>,
        destination: &Bound<'_, Tensor>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Answer<Placement> {
        let how = how::convert(how)?;
        let source = &source.get().tensor;
        let destination = &destination.get().tensor;
        Ok(Placement(gate::detach(py, || self.0.convert(source, destination, &how))?))
    }

    /// The engines, in the order of trying.
    #[getter]
    fn engines(&self) -> Vec<&'static str> {
        self.0.engines().map(EngineKind::name).collect()
    }

    /// The engine that would do a conversion: the first that can. The words are those of `convert`.
    #[pyo3(signature = (source, destination, **how))]
    fn engine(
        &self,
        py: Python<'_>,
        source: &Bound<'_, Tensor>,
        destination: &Bound<'_, Tensor>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Answer<&'static str> {
        let how = how::convert(how)?;
        let (from, to) = (&source.get().tensor, &destination.get().tensor);
        Ok(gate::detach(py, || self.0.engine(from, to, &how))?.name())
    }

    /// What each engine would do with a conversion, in the order of trying: its name, whether it
    /// can, and how it would do it or why it cannot. Nothing is converted. The words are those of
    /// `convert`.
    #[pyo3(signature = (source, destination, **how))]
    fn explain(
        &self,
        py: Python<'_>,
        source: &Bound<'_, Tensor>,
        destination: &Bound<'_, Tensor>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Answer<Vec<(&'static str, bool, String)>> {
        let how = how::convert(how)?;
        let (from, to) = (&source.get().tensor, &destination.get().tensor);
        let all = gate::detach(py, || self.0.explain(from, to, &how))?;
        let told = |one: image::Explanation| match one.verdict {
            Ok(what) => (one.engine.name(), true, what),
            Err(why) => (one.engine.name(), false, why),
        };
        Ok(all.into_iter().map(told).collect())
    }

    /// As `convert`, perhaps done later: also a `Fence` that is done when the picture is. Views of
    /// both tensors that are made meanwhile wait for that; those made before must be left alone.
    #[pyo3(signature = (source, destination, **how))]
    fn convert_later(
        &self,
        py: Python<'_>,
        source: &Bound<'_, Tensor>,
        destination: &Bound<'_, Tensor>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Answer<(Placement, Fence)> {
        let how = how::convert(how)?;
        let (from, to) = (&source.get().tensor, &destination.get().tensor);
        let (placement, fence) = gate::detach(py, || self.0.convert_later(from, to, &how))?;
        Ok((Placement(placement), Fence::of_copies(&[(to.clone(), from.clone())], fence)?))
    }

    /// Converts each picture of a list into one of a batch, a tensor whose first dimension counts
    /// pictures, and says where each lies. The words are those of `convert`.
    ///
    /// All are checked before the first is written.
    #[pyo3(signature = (sources, batch, **how))]
    fn convert_batch(
        &self,
        py: Python<'_>,
        sources: List<Bound<'_, Tensor>>,
        batch: &Bound<'_, Tensor>,
        how: Option<&Bound<'_, PyDict>>,
    ) -> Answer<Vec<Placement>> {
        let how = how::convert(how)?;
        let sources: Vec<_> = sources.0.iter().map(|one| one.get().tensor.clone()).collect();
        let batch = &batch.get().tensor;
        let placements = gate::detach(py, || {
            let sources: Vec<_> = sources.iter().collect();
            self.0.convert_batch(&sources, batch, &how)
        })?;
        Ok(placements.into_iter().map(Placement).collect())
    }
}
