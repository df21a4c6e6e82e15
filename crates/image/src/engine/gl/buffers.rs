//! The pixel buffers that the worker keeps: which are mapped, where, and how often.

use std::ptr::NonNull;

use glow::Buffer;

use super::api::{Gl, Refused};

#[derive(Default)]
pub(super) struct Buffers {
    all: Vec<Known>,
}

struct Known {
    buffer: Buffer,
    /// Bytes of all of it.
    bytes: usize,
    /// Where it is mapped, and for how many.
    mapped: Option<(NonNull<u8>, usize)>,
    /// Whether the driver lost what was written while it was mapped.
    lost: bool,
}

impl Buffers {
    /// A buffer of zeros with room for `bytes` bytes from an aligned one on, and for a word more;
    /// and where the aligned one is.
    pub(super) fn allocate(
        &mut self,
        gl: &Gl,
        bytes: usize,
        align: usize,
    ) -> Result<(Buffer, usize), Refused> {
        let whole = bytes.checked_add(align).and_then(|more| more.checked_add(4));
        let whole = whole.ok_or_else(|| {
            format!("{bytes} bytes aligned to {align} are more than can be addressed")
        })?;
        let buffer = gl.zeroed_buffer(whole)?;
        let address = gl.map(buffer, whole).inspect_err(|_| gl.delete_buffer(buffer))?;
        let shift = address.addr().get().next_multiple_of(align) - address.addr().get();
        gl.unmap(buffer);
        self.all.push(Known { buffer, bytes: whole, mapped: None, lost: false });
        Ok((buffer, shift))
    }

    pub(super) fn map(&mut self, gl: &Gl, buffer: Buffer) -> Result<NonNull<u8>, Refused> {
        let Some(known) = self.all.iter_mut().find(|known| known.buffer == buffer) else {
            return Err("there is no such pixel buffer".to_owned());
        };
        if known.lost {
            return Err("the driver lost the bytes of this pixel buffer".to_owned());
        }
        let (address, users) = match known.mapped {
            Some(mapped) => mapped,
            None => (gl.map(buffer, known.bytes)?, 0),
        };
        known.mapped = Some((address, users + 1));
        Ok(address)
    }

    pub(super) fn unmap(&mut self, gl: &Gl, buffer: Buffer) {
        let Some(known) = self.all.iter_mut().find(|known| known.buffer == buffer) else { return };
        known.mapped = match known.mapped.take() {
            Some((address, users)) if users > 1 => Some((address, users - 1)),
            Some(_) => {
                known.lost = !gl.unmap(buffer);
                None
            }
            None => None,
        };
    }

    pub(super) fn free(&mut self, gl: &Gl, buffer: Buffer) {
        self.all.retain(|known| known.buffer != buffer);
        gl.delete_buffer(buffer);
    }

    pub(super) fn any_mapped(&self) -> bool {
        self.all.iter().any(|known| known.mapped.is_some())
    }

    /// Where a buffer is mapped, if it is.
    pub(super) fn mapped(&self, buffer: Buffer) -> Option<NonNull<u8>> {
        self.all.iter().find(|known| known.buffer == buffer)?.mapped.map(|(address, _)| address)
    }
}
