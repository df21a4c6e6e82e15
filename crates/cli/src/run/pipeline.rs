//! One camera: each frame from its source into its streams.

use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::TensorDyn;
use tenure::image::{ImageProcessor, Placement};
use tenure::stream::{Meta, Publisher, Slot, Spec};

use super::figures::{Figures, Published};
use super::source::{self, Taken, Tensor};
use super::{Camera, Problem};
use crate::clock;
use crate::convert::{Recipe, Wanted};
use crate::stop::Stop;

/// How often streams are asked about themselves.
const LOOK: Duration = Duration::from_millis(200);

/// Runs a camera until it is over, or so many frames are published.
pub(super) fn run(
    camera: &Camera,
    stop: &Stop,
    figures: &Figures,
    limit: Option<u64>,
) -> Result<(), Problem> {
    let how = camera.how.clone().for_models();
    let recipe = Recipe::new(&how)?;
    let mut source = source::open(camera, stop)?;
    let mut frames = publisher(camera, "frame", source.lends())?;
    let mut inputs = match camera.no_input {
        true => None,
        false => Some(Inputs::new(camera, &recipe)?),
    };
    figures.begin(source.about());
    let mut looked: Option<Instant> = None;
    let mut done = 0;
    while limit.is_none_or(|limit| done < limit) && !stop.is_over() {
        let Some(taken) = source.next(&mut frames, stop)? else { break };
        figures.count(publish(camera, taken, &mut frames, inputs.as_mut())?);
        done += 1;
        if looked.is_none_or(|looked| looked.elapsed() >= LOOK) {
            looked = Some(Instant::now());
            look(figures, &frames, inputs.as_ref());
        }
    }
    look(figures, &frames, inputs.as_ref());
    Ok(())
}

fn look(figures: &Figures, frames: &Publisher, inputs: Option<&Inputs<'_>>) {
    let inputs = inputs.map(|inputs| inputs.publisher.stats());
    figures.set_streams([Some(frames.stats()), inputs].into_iter().flatten().collect());
}

/// A stream of the camera; `lends` if its slots are those of somebody else.
fn publisher(camera: &Camera, what: &str, lends: Option<usize>) -> Result<Publisher, Problem> {
    let mut builder = Publisher::builder(&format!("{}/{what}", camera.name)).memory(camera.memory);
    if let Some(credits) = camera.credits {
        builder = builder.credits(credits.into());
    }
    if let Some(lends) = lends {
        // Of the few buffers that a driver has nobody gets all.
        let all = camera.credits.map_or(lends, |credits| lends.min(credits.into()));
        builder = builder.credits(all).credits_each(all.div_ceil(3));
    }
    if let Some(patience) = camera.evict {
        builder = builder.evict_after(patience);
    }
    Ok(builder.open()?)
}

/// Publishes one frame in both streams.
fn publish(
    camera: &Camera,
    taken: Taken,
    frames: &mut Publisher,
    inputs: Option<&mut Inputs<'_>>,
) -> Result<Published, Problem> {
    let Taken { tensor, timestamp, missed } = taken;
    let meta = Meta::new().timestamp(timestamp);
    let (memory, copied, sequence, converted);
    match tensor {
        // Before anybody else has it; afterwards it cannot be touched.
        Tensor::Filled(slot) => {
            converted = convert(camera, inputs, &slot)?;
            (memory, copied) = (slot.memory(), false);
            sequence = slot.publish(meta)?.sequence;
        }
        Tensor::Brought(tensor) if can_be_shared(&tensor) => {
            (memory, copied) = (tensor.memory(), false);
            sequence = frames.publish_tensor(&tensor, meta)?.sequence;
            converted = convert(camera, inputs, &tensor)?;
        }
        Tensor::Brought(tensor) => {
            (memory, copied) = (camera.memory, true);
            sequence = frames.publish_copy(&tensor, meta)?.sequence;
            converted = convert(camera, inputs, &tensor)?;
        }
    }
    if let Some((slot, placement)) = converted {
        let origin = Origin { frame: sequence, to_source: matrix(&placement) };
        let blob = serde_json::to_vec(&origin).unwrap_or_default();
        slot.publish(meta.blob(&blob))?;
    }
    let latency = clock::now().saturating_sub(timestamp);
    Ok(Published { latency, copied, memory: memory.name(), missed })
}

/// Whether a tensor's memory has a descriptor to send.
fn can_be_shared(tensor: &TensorDyn) -> bool {
    use tenure::TensorMemory::{Dma, Shm};
    matches!(tensor.memory(), Dma | Shm)
}

fn convert(
    camera: &Camera,
    inputs: Option<&mut Inputs<'_>>,
    picture: &TensorDyn,
) -> Result<Option<(Slot, Placement)>, Problem> {
    let Some(inputs) = inputs else { return Ok(None) };
    if picture.format().is_none() {
        return Err(Problem::NoPixels(camera.source.clone()));
    }
    inputs.convert(picture).map(Some)
}

/// What travels with every frame of `NAME/input`, as JSON: which frame it was made of, and where its
/// pixels come from there: `x = a x + b y + c`, `y = d x + e y + f`.
#[derive(Debug, Serialize)]
struct Origin {
    frame: u64,
    to_source: [f64; 6],
}

/// The way back, with no zero below zero.
fn matrix(placement: &Placement) -> [f64; 6] {
    placement.to_source_matrix().map(|number| number + 0.0)
}

/// The stream of converted frames.
struct Inputs<'a> {
    publisher: Publisher,
    recipe: &'a Recipe<'a>,
    processor: ImageProcessor,
    /// What frames like the last one become.
    known: Option<(Spec, Wanted, Spec)>,
}

impl<'a> Inputs<'a> {
    fn new(camera: &Camera, recipe: &'a Recipe<'a>) -> Result<Inputs<'a>, Problem> {
        let publisher = publisher(camera, "input", None)?;
        Ok(Inputs { publisher, recipe, processor: recipe.usual_processor()?, known: None })
    }

    /// A claimed slot with the converted picture.
    fn convert(&mut self, picture: &TensorDyn) -> Result<(Slot, Placement), Problem> {
        let like = Spec::like(picture)?;
        let (_, wanted, spec) = match &mut self.known {
            Some(known) if known.0 == like => known,
            other => {
                let wanted = self.recipe.wanted(picture, true);
                let Wanted { format, dtype, width, height, colour, .. } = wanted;
                let mut spec = Spec::image_of(width, height, format, dtype, None)?;
                if let Some(colour) = colour {
                    spec = spec.with_colour(colour);
                }
                other.insert((like, wanted, spec))
            }
        };
        let slot = self.publisher.claim_as(spec)?;
        let target = slot.tensor().clone();
        let placement = self.processor.convert(picture, &target, &wanted.convert)?;
        drop(target);
        Ok((slot, placement))
    }
}
