//! The door: finds an engine for a conversion and has it done.

use std::{env, fmt};

use tenure_layout::{DType, ImageLayout, PixelFormat};
#[cfg(linux_like)]
use tenure_memory::Fence;
use tenure_memory::TensorMemory;
use tenure_tensor::{self as tensor, DynTensor, ElementKind, Tensor, TensorDyn};

use crate::engine::cpu::Cpu;
#[cfg(opengl)]
use crate::engine::gl::OpenGl;
use crate::engine::reference::Reference;
use crate::engine::{Engine, EngineKind};
use crate::job::Job;
use crate::{Convert, Error, Placement, Result};

/// The environment variable that names the engines to use, in order.
const ENGINES: &str = "TENURE_IMAGE_ENGINE";

/// Which engines a processor has, and how they work: from [`ImageProcessor::builder`].
///
/// ```
/// use tenure_image::{EngineKind, ImageProcessor};
/// let processor = ImageProcessor::builder().engines(vec![EngineKind::Cpu]).threads(1).build()?;
/// assert!(processor.engines().eq([EngineKind::Cpu]));
/// # Ok::<(), tenure_image::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[must_use = "a builder makes nothing until build() is called"]
pub struct ImageProcessorBuilder {
    engines: Option<Vec<EngineKind>>,
    threads: Option<usize>,
}

impl ImageProcessorBuilder {
    /// The engines to try, in this order: each conversion is done by the first that can do all of
    /// it, and by no other. If `None`, those that the environment variable `TENURE_IMAGE_ENGINE`
    /// names (separated by commas), or `cpu` and then, where it is built in, `gl`: the CPU is
    /// the fastest wherever it reaches the memory, and OpenGL, whose context is made when it is
    /// first needed, takes DMA-BUFs that are not mapped for the CPU. With `gl` alone nothing
    /// falls back to the CPU: what OpenGL cannot do is an error that says why.
    pub fn engines(self, engines: impl Into<Option<Vec<EngineKind>>>) -> Self {
        ImageProcessorBuilder { engines: engines.into(), ..self }
    }

    /// Threads of the CPU engine, which uses the best instructions that the processor has, or those
    /// that the environment variable `TENURE_IMAGE_KERNELS` names: 1 for the calling thread alone,
    /// more for threads of its own. If `None`, as many as the processor has cores, shared by all
    /// processors of the program.
    pub fn threads(self, threads: impl Into<Option<usize>>) -> Self {
        ImageProcessorBuilder { threads: threads.into(), ..self }
    }

    /// Makes the processor.
    ///
    /// # Errors
    /// As [`ImageProcessor::new`], and if threads cannot be started.
    pub fn build(self) -> Result<ImageProcessor> {
        let kinds = match (self.engines, env::var_os(ENGINES)) {
            (Some(engines), _) => engines,
            (None, Some(words)) if !words.is_empty() => {
                let words = words.to_string_lossy();
                words.split(',').map(|word| word.trim().parse()).collect::<Result<_>>()?
            }
            (None, _) => EngineKind::usual().to_vec(),
        };
        let mut engines: Vec<Box<dyn Engine>> = vec![];
        for kind in kinds {
            engines.push(match kind {
                EngineKind::Cpu => Box::new(Cpu::new(self.threads)?),
                #[cfg(opengl)]
                EngineKind::Gl => Box::new(OpenGl::new()),
                EngineKind::Reference => Box::new(Reference),
            });
        }
        Ok(ImageProcessor { engines })
    }
}

/// Turns any supported image tensor into any other.
///
/// Made once and used for many pictures, from any thread: tables and scratch memory are kept.
pub struct ImageProcessor {
    engines: Vec<Box<dyn Engine>>,
}

impl fmt::Debug for ImageProcessor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engines: Vec<EngineKind> = self.engines.iter().map(|engine| engine.kind()).collect();
        f.debug_struct("ImageProcessor").field("engines", &engines).finish()
    }
}

/// What one engine says about a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The engine.
    pub engine: EngineKind,
    /// What it would do, or why it cannot.
    pub verdict: Result<String, String>,
}

/// An image, and why it is in the memory that it is in.
#[derive(Debug)]
#[non_exhaustive]
pub struct ChosenImage {
    /// The image.
    pub image: TensorDyn,
    /// The engine that would convert it; `None` if none of the processor's does.
    pub engine: Option<EngineKind>,
    /// Why this memory, and why not those that were tried before.
    pub reason: String,
}

impl ChosenImage {
    fn new(image: TensorDyn, engine: Option<&dyn Engine>, refusals: &str) -> ChosenImage {
        let memory = image.memory();
        let engine = engine.map(Engine::kind);
        let why = match engine {
            Some(engine) => format!("the engine {engine} does the work and takes memory {memory}"),
            None => format!("no engine converts such pictures; memory {memory} was there"),
        };
        ChosenImage { image, engine, reason: format!("{why}{refusals}") }
    }
}

/// Pixels of a picture that engines are asked about, across and down.
const SMALL: usize = 16;

impl ImageProcessor {
    /// A processor with the usual engines, or those that `TENURE_IMAGE_ENGINE` names:
    /// [`ImageProcessorBuilder::engines`] tells which and in which order.
    ///
    /// # Errors
    /// If `TENURE_IMAGE_ENGINE` names an engine that is not known, or `TENURE_IMAGE_KERNELS`
    /// instructions that this processor does not have.
    pub fn new() -> Result<ImageProcessor> {
        ImageProcessor::builder().build()
    }

    /// A processor with engines and settings of its own.
    pub fn builder() -> ImageProcessorBuilder {
        ImageProcessorBuilder::default()
    }

    /// The engines of this processor, in the order of trying.
    pub fn engines(&self) -> impl Iterator<Item = EngineKind> {
        self.engines.iter().map(|engine| engine.kind())
    }

    /// Converts `source` into `destination`, and says where the picture lies in it. Both are any
    /// tensors that are images, and whatever dereferences to one: a region, an element of a batch, a
    /// camera's frame, a slot of a stream.
    ///
    /// Luma and chroma are read in the colour that the source carries (or [`Convert::colour`]), and
    /// written in the colour that the destination carries. A tensor that carries none is written as
    /// it is read: as JPEG has it, BT.601 of full range, and so is grey. Whoever wants the samples
    /// of a camera's NV12 in another NV12 as they are gives that the colour of the frame.
    ///
    /// ```
    /// use tenure_image::{Convert, ImageProcessor};
    /// use tenure_tensor::{Colour, PixelFormat, Tensor};
    ///
    /// let frame = Tensor::<u8>::image(64, 48, PixelFormat::Nv12, None, None)?.with_colour(Colour::HD);
    /// let small = Tensor::<u8>::image(32, 24, PixelFormat::Nv12, None, None)?.with_colour(Colour::HD);
    /// ImageProcessor::new()?.convert(&frame, &small, &Convert::new())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a side is no image or cannot be converted, a region leaves its image, or somebody holds
    /// bytes that this would touch. Nothing is written then.
    pub fn convert<S: ElementKind, D: ElementKind>(
        &self,
        source: &Tensor<S>,
        destination: &Tensor<D>,
        convert: &Convert,
    ) -> Result<Placement> {
        self.run(&Job::new(source, destination, convert)?)
    }

    /// As [`ImageProcessor::convert`], perhaps done later: the fence is done when the picture is,
    /// and nobody can touch either side until then. A fence that fails tells that the destination
    /// is not written.
    ///
    /// # Errors
    /// As [`ImageProcessor::convert`].
    #[cfg(linux_like)]
    pub fn convert_later<S: ElementKind, D: ElementKind>(
        &self,
        source: &Tensor<S>,
        destination: &Tensor<D>,
        convert: &Convert,
    ) -> Result<(Placement, Fence)> {
        let job = Job::new(source, destination, convert)?;
        let fence = self.engine_for(&job)?.start(&job)?;
        Ok((job.recipe.geometry.placement(), fence))
    }

    /// Converts each source into one element of `batch`, a tensor with a leading dimension more
    /// than an image.
    ///
    /// # Errors
    /// As [`ImageProcessor::convert`], and if there are more or fewer sources than elements.
    /// Elements before the one that failed are written.
    pub fn convert_batch<S: ElementKind, D: ElementKind>(
        &self,
        sources: &[&Tensor<S>],
        batch: &Tensor<D>,
        convert: &Convert,
    ) -> Result<Vec<Placement>> {
        let (sources_len, elements) = (sources.len(), batch.shape().first().copied().unwrap_or(0));
        if sources_len != elements {
            return Err(Error::BatchLength { sources: sources_len, elements });
        }
        // All are checked before the first is written.
        let jobs: Vec<Job> = sources
            .iter()
            .enumerate()
            .map(|(index, source)| Job::new(source, &batch.batch(index)?, convert))
            .collect::<Result<_>>()?;
        jobs.iter().map(|job| self.run(job)).collect()
    }

    /// An image in the memory named, or in the one that suits the engine that would do the work:
    /// [`ImageProcessor::choose_image`] tells which and why.
    ///
    /// In DMA-BUF that an engine imports, rows lie as far apart as GPUs ask for
    /// ([`ImageLayout::importable_stride`]), and [`Tensor::row_stride`] says so; in all other
    /// memory there is no padding. An image without padding in such memory is converted too, only
    /// that its bytes may have to be carried to the GPU.
    ///
    /// # Errors
    /// If the size or the element type is not the format's, or no memory serves.
    pub fn create_image(
        &self,
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        memory: Option<TensorMemory>,
    ) -> Result<TensorDyn> {
        match memory {
            Some(_) => self.image_in(width, height, format, dtype, memory),
            None => Ok(self.choose_image(width, height, format, dtype)?.image),
        }
    }

    /// An image in the memory that suits the engine that would do the work, and why it is there.
    ///
    /// The engine is the first of this processor's that converts pictures of the format. The CPU
    /// works in whatever memory is chosen automatically. OpenGL takes, in this order, a DMA-BUF and
    /// shared memory where its driver imports them, and else a pixel buffer of its own: so that is
    /// what there is where OpenGL does the work and DMA-BUF is missing.
    ///
    /// ```
    /// use tenure_image::{EngineKind, ImageProcessor};
    /// use tenure_tensor::{DType, PixelFormat};
    /// let processor = ImageProcessor::builder().engines(vec![EngineKind::Cpu]).build()?;
    /// let chosen = processor.choose_image(640, 480, PixelFormat::Rgb, DType::U8)?;
    /// assert_eq!(chosen.engine, Some(EngineKind::Cpu));
    /// println!("{}: {}", chosen.image.memory(), chosen.reason);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`ImageProcessor::create_image`].
    pub fn choose_image(
        &self,
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
    ) -> Result<ChosenImage> {
        let engine = self.worker(width, height, format, dtype)?;
        let mut refusals = String::new();
        for memory in engine.map_or(vec![], Engine::memories) {
            match self.image_in(width, height, format, dtype, Some(memory)) {
                Ok(image) => return Ok(ChosenImage::new(image, engine, &refusals)),
                Err(error) => refusals += &format!("; {memory}: {error}"),
            }
        }
        let image = self.image_in(width, height, format, dtype, None)?;
        for refusal in image.refusals() {
            refusals += &format!("; {}: {}", refusal.memory, refusal.error);
        }
        Ok(ChosenImage::new(image, engine, &refusals))
    }

    /// The engine that would convert pictures of this kind: asked with a small one, as a source and a
    /// destination, and where it cannot be a destination, as a source of RGB.
    fn worker(
        &self,
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
    ) -> Result<Option<&dyn Engine>> {
        let memory = Some(TensorMemory::Mem);
        let (width, height) = (width.min(SMALL), height.min(SMALL));
        let source = self.image_in(width, height, format, dtype, memory)?;
        let rgb = (PixelFormat::Rgb, DType::U8);
        for (format, dtype) in [(format, dtype), rgb] {
            let destination = self.image_in(width, height, format, dtype, memory)?;
            let job = Job::new(&source, &destination, &Convert::new());
            if let Ok(engine) = job.and_then(|job| self.engine_for(&job)) {
                return Ok(Some(engine));
            }
        }
        Ok(None)
    }

    fn image_in(
        &self,
        width: usize,
        height: usize,
        format: PixelFormat,
        dtype: DType,
        memory: Option<TensorMemory>,
    ) -> Result<TensorDyn> {
        let own =
            memory.and_then(|memory| self.engines.iter().find_map(|own| own.allocator(memory)));
        let imported =
            memory == Some(TensorMemory::Dma) && self.engines.iter().any(|engine| engine.imports());
        let stride = if imported { stride_for_import(format, dtype, width, height)? } else { None };
        let image = TensorDyn::image_builder(width, height, format, dtype).row_stride(stride);
        Ok(match own {
            Some(own) => image.allocator(own).build()?,
            None => image.memory(memory).build()?,
        })
    }

    /// The engine that would do a conversion: the first that can.
    ///
    /// # Errors
    /// As [`ImageProcessor::convert`].
    pub fn engine<S: ElementKind, D: ElementKind>(
        &self,
        source: &Tensor<S>,
        destination: &Tensor<D>,
        convert: &Convert,
    ) -> Result<EngineKind> {
        Ok(self.engine_for(&Job::new(source, destination, convert)?)?.kind())
    }

    /// What each engine would do with a conversion, or why it cannot, in the order of trying.
    ///
    /// # Errors
    /// If no engine could do it, because the request itself is wrong.
    pub fn explain<S: ElementKind, D: ElementKind>(
        &self,
        source: &Tensor<S>,
        destination: &Tensor<D>,
        convert: &Convert,
    ) -> Result<Vec<Explanation>> {
        let job = Job::new(source, destination, convert)?;
        let explain = |engine: &dyn Engine| Explanation {
            engine: engine.kind(),
            verdict: match engine.check(&job) {
                Ok(()) => Ok(engine.explain(&job)),
                Err(error) => Err(tenure_layout::Language::Plain.say(&error)),
            },
        };
        Ok(self.engines.iter().map(|engine| explain(engine.as_ref())).collect())
    }

    fn run(&self, job: &Job) -> Result<Placement> {
        self.engine_for(job)?.run(job)?;
        Ok(job.recipe.geometry.placement())
    }

    /// The first engine that can.
    fn engine_for(&self, job: &Job) -> Result<&dyn Engine> {
        let mut reasons = vec![];
        for engine in &self.engines {
            match engine.check(job) {
                Ok(()) => return Ok(engine.as_ref()),
                Err(error) => {
                    reasons.push((engine.kind().name(), tenure_layout::Language::Plain.say(&error)))
                }
            }
        }
        Err(Error::NoEngine { reasons })
    }
}

/// The row stride that an engine needs to import an image, if it is not the smallest anyway.
fn stride_for_import(
    format: PixelFormat,
    dtype: DType,
    width: usize,
    height: usize,
) -> Result<Option<usize>> {
    let layout =
        ImageLayout::new(width, height, format, dtype, None).map_err(tensor::Error::from)?;
    let stride = layout.importable_stride().map_err(tensor::Error::from)?;
    Ok(Some(stride).filter(|stride| *stride != layout.row_stride()))
}
