//! The door: finds an engine for a conversion and has it done.

use std::env;

use tenure_layout::{DType, PixelFormat};
#[cfg(linux_like)]
use tenure_memory::Fence;
use tenure_memory::TensorMemory;
use tenure_tensor::{ElementKind, Tensor, TensorDyn};

use crate::engine::cpu::Cpu;
#[cfg(opengl)]
use crate::engine::gl::OpenGl;
use crate::engine::reference::Reference;
use crate::engine::{Engine, EngineKind};
use crate::job::Job;
use crate::{Convert, Error, Placement, Result};

/// The environment variable that names the engines to use, in order.
const ENGINES: &str = "TENURE_IMAGE_ENGINE";

/// Which engines a processor has, and how they work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageProcessorConfig {
    /// The engines to try, in this order: each conversion is done by the first that can do all of
    /// it, and by no other. If `None`, those that the environment variable `TENURE_IMAGE_ENGINE`
    /// names (separated by commas), or `cpu` and then, where it is built in, `gl`: the CPU is
    /// the fastest wherever it reaches the memory, and OpenGL, whose context is made when it is
    /// first needed, takes DMA-BUFs that are not mapped for the CPU. With `gl` alone nothing
    /// falls back to the CPU: what OpenGL cannot do is an error that says why.
    pub engines: Option<Vec<EngineKind>>,
    /// Threads of the CPU engine, which uses the best instructions that the processor has, or those
    /// that the environment variable `TENURE_IMAGE_KERNELS` names: 1 for the calling thread alone, more for threads of its own.
    /// If `None`, as many as the processor has cores, shared by all processors of the program.
    pub threads: Option<usize>,
}

/// Turns any supported image tensor into any other.
///
/// Made once and used for many pictures, from any thread: tables and scratch memory are kept.
pub struct ImageProcessor {
    engines: Vec<Box<dyn Engine>>,
}

/// What one engine says about a conversion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The engine.
    pub engine: EngineKind,
    /// What it would do, or why it cannot.
    pub verdict: Result<String, String>,
}

impl ImageProcessor {
    /// A processor with the usual engines, or those that `TENURE_IMAGE_ENGINE` names:
    /// [`ImageProcessorConfig::engines`] tells which and in which order.
    ///
    /// # Errors
    /// If `TENURE_IMAGE_ENGINE` names an engine that is not known, or `TENURE_IMAGE_KERNELS`
    /// instructions that this processor does not have.
    pub fn new() -> Result<ImageProcessor> {
        ImageProcessor::with_config(&ImageProcessorConfig::default())
    }

    /// A processor with these engines and settings.
    ///
    /// # Errors
    /// As [`ImageProcessor::new`], and if threads cannot be started.
    pub fn with_config(config: &ImageProcessorConfig) -> Result<ImageProcessor> {
        let kinds = match (&config.engines, env::var_os(ENGINES)) {
            (Some(engines), _) => engines.clone(),
            (None, Some(words)) if !words.is_empty() => {
                let words = words.to_string_lossy();
                words.split(',').map(|word| word.trim().parse()).collect::<Result<_>>()?
            }
            (None, _) => EngineKind::usual().to_vec(),
        };
        let mut engines: Vec<Box<dyn Engine>> = vec![];
        for kind in kinds {
            engines.push(match kind {
                EngineKind::Cpu => Box::new(Cpu::new(config.threads)?),
                #[cfg(opengl)]
                EngineKind::Gl => Box::new(OpenGl::new()),
                EngineKind::Reference => Box::new(Reference),
            });
        }
        Ok(ImageProcessor { engines })
    }

    /// The engines of this processor, in the order of trying.
    pub fn engines(&self) -> impl Iterator<Item = EngineKind> {
        self.engines.iter().map(|engine| engine.kind())
    }

    /// Converts `source` into `destination`, and says where the picture lies in it.
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
    /// let mut small = Tensor::<u8>::image(32, 24, PixelFormat::Nv12, None, None)?;
    /// small.set_colour(frame.colour());
    /// ImageProcessor::new()?.convert(&frame, &mut small, &Convert::new())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a side is no image or cannot be converted, a region leaves its image, or somebody holds
    /// bytes that this would touch. Nothing is written then.
    pub fn convert<S: ElementKind, D: ElementKind>(
        &self,
        source: &Tensor<S>,
        destination: &mut Tensor<D>,
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
    pub fn convert_async<S: ElementKind, D: ElementKind>(
        &self,
        source: &Tensor<S>,
        destination: &mut Tensor<D>,
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
        batch: &mut Tensor<D>,
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

    /// An image in the memory that the first engine likes best, or in the memory named.
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
        let make = |memory: Option<TensorMemory>| -> Result<TensorDyn> {
            let own =
                memory.and_then(|memory| self.engines.iter().find_map(|own| own.allocator(memory)));
            Ok(match own {
                Some(own) => TensorDyn::image_in(own, width, height, format, dtype, None, None)?,
                None => TensorDyn::image(width, height, format, dtype, None, memory, None)?,
            })
        };
        if memory.is_some() {
            return make(memory);
        }
        let liked = self.engines.first().map_or(vec![], |engine| engine.memories());
        liked.into_iter().find_map(|memory| make(Some(memory)).ok()).map_or_else(|| make(None), Ok)
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
