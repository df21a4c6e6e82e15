//! The first row by OpenGL, beside the OpenGL of edgefirst-image: with a driver in software on most
//! machines that measure it, so time is that of the processor, of all threads of the program.

use tenure::image::{Convert, EngineKind, Filter, Fit, ImageProcessor};
use tenure::{Colour, TensorDyn, TensorMemory};
use tenure_benches::{Bench, Error, Program, Unit, note, program_nanoseconds};

use crate::Task;
use crate::frames::tasks;

/// Pictures of one measurement.
const PICTURES: u32 = 8;

/// Whose memory pictures are in: that which the engine likes best, or everybody's.
const MEMORIES: [(&str, &str, Option<TensorMemory>); 2] =
    [("its own memory", "own", None), ("plain memory", "plain", Some(TensorMemory::Mem))];

struct Ours {
    processor: ImageProcessor,
    source: TensorDyn,
    target: TensorDyn,
    convert: Convert,
}

impl Ours {
    fn new(task: &Task, memory: Option<TensorMemory>) -> Result<Ours, Error> {
        // No other engine takes over.
        let engines = Some(vec![EngineKind::Gl]);
        let processor = ImageProcessor::builder().engines(engines).threads(1).build()?;
        let image = |(width, height), format| {
            processor.create_image(width, height, format, task.dtype, memory)
        };
        let (source, target) = (image(task.size, task.source)?, image(task.to, task.target)?);
        source.map()?.as_mut_slice().copy_from_slice(&task.frame());
        let convert =
            Convert::new().fit(Fit::letterbox(114)).filter(task.filter).colour(Colour::HD);
        let mut ours = Ours { processor, source, target, convert };
        // Where there is no OpenGL, this says so.
        ours.measure()?;
        Ok(ours)
    }

    /// Nanoseconds for one picture of several.
    fn measure(&mut self) -> Result<f64, Error> {
        let before = program_nanoseconds();
        for _ in 0..PICTURES {
            self.processor.convert(&self.source, &self.target, &self.convert)?;
        }
        Ok((program_nanoseconds() - before) / f64::from(PICTURES))
    }
}

pub(crate) fn rows(bench: &mut Bench, edgefirst: Option<&Program>) -> Result<(), Error> {
    // The rival has said why it is not there.
    let Some(edgefirst) = edgefirst else { return Ok(()) };
    let Some(task) = tasks().into_iter().find(|task| task.filter == Filter::Bilinear) else {
        return Ok(());
    };
    for (whose, word, memory) in MEMORIES {
        let name = format!("OpenGL: {}, in {whose}", task.name);
        let Some(row) = bench.row(&name, Unit::Nanoseconds) else { continue };
        let mut ours = match Ours::new(&task, memory) {
            Ok(ours) => ours,
            Err(error) => {
                note(&format!("{name}: {error}"));
                continue;
            }
        };
        let question = format!("gl {word} {}", task.question());
        row.ours(|| ours.measure().unwrap_or(f64::NAN))
            .rival("edgefirst-image", || edgefirst.ask(&question))
            .measure();
    }
    Ok(())
}
