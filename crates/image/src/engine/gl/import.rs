//! Memory that the driver imported, as textures: kept by the identity of the allocation, and let
//! go of when that is gone.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use glow::{Framebuffer, Texture};
use tenure_memory::{RawBuffer, Request, TensorMemory, WeakIdentity, allocate};

use super::api::{Gl, Refused};
use super::display::Display;
use super::obstacle::descriptor;
use super::side::{Bytes, Plane, importable};
use super::state::State;

/// Imports kept at most: more than any camera has buffers.
const KEPT: usize = 128;

/// What of an allocation is imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    allocation: u64,
    start: usize,
    pitch: usize,
    words: usize,
    rows: usize,
}

struct Known {
    key: Key,
    alive: WeakIdentity,
    texture: Texture,
    framebuffer: Option<Framebuffer>,
}

/// The imports of one context.
pub(super) struct Imports {
    state: Arc<State>,
    /// Most recently used last.
    known: Vec<Known>,
    /// Allocations that the driver refused.
    refused: Vec<(u64, WeakIdentity)>,
}

impl Imports {
    pub(super) fn new(state: Arc<State>) -> Imports {
        Imports { state, known: vec![], refused: vec![] }
    }

    /// The plane as a texture to sample, if it can be imported.
    pub(super) fn sampled(&mut self, display: &Display, gl: &Gl, plane: &Plane) -> Option<Texture> {
        let at = self.find(display, gl, plane, false)?;
        Some(self.known[at].texture)
    }

    /// The plane as a target to draw into, if it can be imported.
    pub(super) fn drawn(
        &mut self,
        display: &Display,
        gl: &Gl,
        plane: &Plane,
    ) -> Option<Framebuffer> {
        let at = self.find(display, gl, plane, true)?;
        if let Some(framebuffer) = self.known[at].framebuffer {
            return Some(framebuffer);
        }
        match gl.framebuffer(self.known[at].texture) {
            Ok(framebuffer) => {
                self.known[at].framebuffer = Some(framebuffer);
                Some(framebuffer)
            }
            Err(reason) => {
                if let Bytes::Memory { raw, .. } = &plane.bytes {
                    self.refuse(raw, &reason);
                }
                None
            }
        }
    }

    /// Whether shared memory can be imported and drawn into: drivers that work on the CPU may.
    pub(super) fn takes_shared(&mut self, display: &Display, gl: &Gl) -> bool {
        const SIDE: usize = 64;
        let size = (SIDE, SIDE);
        let tried = Request::new(SIDE * SIDE * 4)
            .and_then(|request| allocate(Some(TensorMemory::Shm), &request))
            .map_err(|error| tenure_layout::Language::Plain.say(&error))
            .and_then(|raw| {
                let fd =
                    raw.descriptor().map_err(|error| tenure_layout::Language::Plain.say(&error))?;
                let image = display.import(fd, (0, SIDE * 4), size)?;
                let texture = gl.image_texture(&image);
                display.forget(image);
                let texture = texture?;
                let framebuffer = gl.framebuffer(texture);
                let drawn = framebuffer.map(|framebuffer| gl.delete_framebuffer(framebuffer));
                gl.delete_texture(texture);
                drawn
            });
        if let Err(reason) = &tried {
            self.state.refuse(TensorMemory::Shm, reason);
            tracing::info!("the driver does not import shared memory, which is copied: {reason}");
        }
        tried.is_ok()
    }

    /// Lets go of what is gone.
    pub(super) fn tidy(&mut self, gl: &Gl) {
        self.refused.retain(|(_, alive)| alive.upgrade().is_some());
        let gone = |known: &mut Known| known.alive.upgrade().is_none();
        for known in self.known.extract_if(.., gone) {
            known.delete(gl);
        }
    }

    /// Whether there is anything to let go of.
    pub(super) fn any(&self) -> bool {
        !self.known.is_empty() || !self.refused.is_empty()
    }

    /// How many imports there are.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    fn find(&mut self, display: &Display, gl: &Gl, plane: &Plane, draw: bool) -> Option<usize> {
        let Bytes::Memory { raw, start, .. } = &plane.bytes else { return None };
        if !display.imports || !gl.takes_images() || !importable(raw.memory()) {
            return None;
        }
        let layout = &plane.layout;
        let allocation = raw.identity().id();
        let words = layout.row_bytes.div_ceil(4);
        let (pitch, rows) = (layout.row_stride, layout.rows);
        let key = Key { allocation, start: *start, pitch, words, rows };
        if let Some(at) = self.known.iter().position(|known| known.key == key) {
            self.known[at..].rotate_left(1);
            return Some(self.known.len() - 1);
        }
        // Of shared memory all is alike.
        let memory = raw.memory();
        let shared = memory == TensorMemory::Shm && self.state.refusal(memory).is_some();
        if shared || self.refused.iter().any(|(refused, _)| *refused == allocation) {
            return None;
        }
        let fd = match descriptor(raw, layout, *start, draw, gl.longest) {
            Ok(fd) => fd,
            Err(obstacle) => {
                self.state.tell(memory, obstacle);
                return None;
            }
        };
        let made = match self.state.rejects() {
            false => import(display, gl, fd, &key),
            true => Err("told to reject it".to_owned()),
        };
        let texture = made.map_err(|reason| self.refuse(raw, &reason)).ok()?;
        if self.known.len() >= KEPT {
            self.known.remove(0).delete(gl);
        }
        let alive = raw.identity().weak();
        self.known.push(Known { key, alive, texture, framebuffer: None });
        Some(self.known.len() - 1)
    }

    fn refuse(&mut self, raw: &RawBuffer, reason: &str) {
        self.refused.push((raw.identity().id(), raw.identity().weak()));
        let memory = raw.memory();
        if self.state.refuse(memory, reason) {
            tracing::warn!("the driver does not import {memory} memory, which is copied: {reason}");
        }
    }
}

impl Known {
    fn delete(self, gl: &Gl) {
        if let Some(framebuffer) = self.framebuffer {
            gl.delete_framebuffer(framebuffer);
        }
        gl.delete_texture(self.texture);
    }
}

fn import(display: &Display, gl: &Gl, fd: BorrowedFd<'_>, key: &Key) -> Result<Texture, Refused> {
    let image = display.import(fd, (key.start, key.pitch), (key.words, key.rows))?;
    let texture = gl.image_texture(&image);
    // The texture keeps what it needs of it.
    display.forget(image);
    texture
}
