//! How the bytes of an image would get to the GPU and back, in words.

use tenure_memory::TensorMemory;
use tenure_tensor::{PlaneLayout, TensorDyn};

use super::Running;
use super::obstacle::{Obstacle, descriptor};
use super::side::below;
use crate::Result;

impl Running {
    /// Whether an image would be imported or copied, and why; `draw` if it is the destination.
    pub(super) fn way(&self, image: &TensorDyn, draw: bool) -> String {
        let memory = image.memory();
        let refusal = self.worker.state.refusal(memory);
        if memory == TensorMemory::Pbo && self.pixels.find(image).is_some() {
            return "pixel buffer".to_owned();
        }
        if !self.worker.abilities.import(memory) {
            return refusal.map_or("copied".to_owned(), |reason| {
                format!("copied, as it is not imported: {reason}")
            });
        }
        let planes = image.image_layout().map_or(&[][..], |layout| layout.planes());
        let obstacles = planes.iter().enumerate().filter_map(|(index, plane)| {
            let obstacle = self.obstacle(image, (index, plane), draw).ok().flatten();
            obstacle.map(|obstacle| (index, obstacle))
        });
        match (obstacles.into_iter().next(), refusal) {
            // A destination is drawn as a whole, or copied as a whole.
            (Some((_, obstacle)), _) if draw || planes.len() == 1 => {
                format!("copied: {obstacle}")
            }
            (Some((index, obstacle)), _) => format!("plane {index} copied: {obstacle}"),
            (None, Some(reason)) => {
                format!("imported, or copied as one before that was not imported: {reason}")
            }
            (None, None) => "imported".to_owned(),
        }
    }

    /// What keeps a plane from being imported; what is not allocated yet will lie well.
    fn obstacle(
        &self,
        image: &TensorDyn,
        (index, plane): (usize, &PlaneLayout),
        draw: bool,
    ) -> Result<Option<Obstacle>> {
        let buffer = image.plane_buffer(index)?;
        let Some(raw) = buffer.raw_if_placed() else { return Ok(None) };
        let start = buffer.range_in_raw(plane.span())?.start;
        let longest = self.worker.abilities.longest;
        if let Err(obstacle) = descriptor(raw, plane, start, draw, longest) {
            return Ok(Some(obstacle));
        }
        let own = !draw || below(buffer, plane, start, raw)?.is_some();
        Ok((!own).then_some(Obstacle::Neighbours))
    }
}
