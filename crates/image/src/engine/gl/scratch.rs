//! Textures between the passes, kept for the next picture of the same size.

use glow::{Framebuffer, Texture};

use super::api::{Gl, Refused, Texels};

/// Textures kept at most.
const KEPT: usize = 24;

/// What a texture is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    /// A plane of a source that is not imported.
    Source(usize),
    /// What sampling leaves.
    Picture(usize),
    /// The destination's words, where it is not imported.
    Target,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    slot: Slot,
    texels: Texels,
    size: (usize, usize),
    texture: Texture,
    framebuffer: Option<Framebuffer>,
}

/// The textures of one context.
#[derive(Default)]
pub(super) struct Scratch {
    /// Most recently used last.
    kept: Vec<Kept>,
}

impl Scratch {
    /// A texture of this size, with whatever it holds.
    pub(super) fn texture(
        &mut self,
        gl: &Gl,
        slot: Slot,
        texels: Texels,
        size: (usize, usize),
    ) -> Result<Texture, Refused> {
        Ok(self.find(gl, slot, texels, size)?.texture)
    }

    /// The same, to draw into.
    pub(super) fn target(
        &mut self,
        gl: &Gl,
        slot: Slot,
        texels: Texels,
        size: (usize, usize),
    ) -> Result<(Texture, Framebuffer), Refused> {
        let kept = self.find(gl, slot, texels, size)?;
        let framebuffer = match kept.framebuffer {
            Some(framebuffer) => framebuffer,
            None => *kept.framebuffer.insert(gl.framebuffer(kept.texture)?),
        };
        Ok((kept.texture, framebuffer))
    }

    fn find(
        &mut self,
        gl: &Gl,
        slot: Slot,
        texels: Texels,
        size: (usize, usize),
    ) -> Result<&mut Kept, Refused> {
        let same = |own: &Kept| own.slot == slot && own.texels == texels && own.size == size;
        match self.kept.iter().position(same) {
            Some(at) => self.kept[at..].rotate_left(1),
            None => {
                if self.kept.len() >= KEPT {
                    let old = self.kept.remove(0);
                    if let Some(framebuffer) = old.framebuffer {
                        gl.delete_framebuffer(framebuffer);
                    }
                    gl.delete_texture(old.texture);
                }
                let texture = gl.texture(texels, size)?;
                self.kept.push(Kept { slot, texels, size, texture, framebuffer: None });
            }
        }
        self.kept.last_mut().ok_or_else(|| "there is no texture".to_owned())
    }
}
