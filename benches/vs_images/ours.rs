//! How we do it: one call.

use tenure::image::{Convert, EngineKind, Fit, ImageProcessor, Normalize};
use tenure::{Colour, DType, DynTensor, TensorDyn, TensorMemory};
use tenure_benches::Error;

use crate::Task;

pub(crate) struct Ours {
    processor: ImageProcessor,
    source: TensorDyn,
    target: TensorDyn,
    convert: Convert,
}

impl Ours {
    pub(crate) fn new(task: &Task, frame: &[u8], threads: usize) -> Result<Ours, Error> {
        let engines = Some(vec![EngineKind::Cpu]);
        let config = ImageProcessor::builder().engines(engines).threads(threads);
        let image = |(width, height), format, dtype| {
            TensorDyn::image(width, height, format, dtype, Some(TensorMemory::Mem), None)
        };
        let source = image(task.size, task.source, DType::U8)?;
        let mut map = source.map()?;
        map.as_mut_slice().copy_from_slice(frame);
        drop(map);
        let normalize = match task.dtype {
            DType::U8 => Normalize::NONE,
            _ if task.imagenet => Normalize::IMAGENET,
            _ => Normalize::scale(1.0 / 255.0),
        };
        let convert = Convert::new()
            .fit(Fit::letterbox(114))
            .filter(task.filter)
            .colour(Colour::HD)
            .normalize(normalize);
        Ok(Ours {
            processor: config.build()?,
            source,
            target: image(task.to, task.target, task.dtype)?,
            convert,
        })
    }

    pub(crate) fn run(&mut self) -> bool {
        self.processor.convert(&self.source, &self.target, &self.convert).is_ok()
    }
}
