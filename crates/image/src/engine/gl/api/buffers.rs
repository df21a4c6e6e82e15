//! Pixel buffers, and waiting for the GPU.
#![expect(unsafe_code, reason = "calls OpenGL, which is loaded at run time")]

use std::ptr::NonNull;

use glow::{Buffer, HasContext};

use super::{Gl, Refused};

// SAFETY of the blocks below: as in `api.rs`.
impl Gl {
    /// A pixel buffer of so many zeros.
    pub(in super::super) fn zeroed_buffer(&self, bytes: usize) -> Result<Buffer, Refused> {
        i32::try_from(bytes).map_err(|_| "pixel buffers end at 2 GiB".to_owned())?;
        let mut zeros = vec![];
        zeros.try_reserve_exact(bytes).map_err(|_| "there is no memory left".to_owned())?;
        zeros.resize(bytes, 0);
        // SAFETY: see above.
        let buffer = unsafe {
            let buffer = self.raw.create_buffer()?;
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, Some(buffer));
            self.raw.buffer_data_u8_slice(glow::PIXEL_PACK_BUFFER, &zeros, glow::DYNAMIC_READ);
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, None);
            buffer
        };
        self.check("making a pixel buffer").inspect_err(|_| self.delete_buffer(buffer))?;
        Ok(buffer)
    }

    pub(in super::super) fn delete_buffer(&self, buffer: Buffer) {
        // SAFETY: see above.
        unsafe { self.raw.delete_buffer(buffer) }
    }

    /// The address of a buffer's first byte, until [`Gl::unmap`].
    pub(in super::super) fn map(
        &self,
        buffer: Buffer,
        bytes: usize,
    ) -> Result<NonNull<u8>, Refused> {
        let access = glow::MAP_READ_BIT | glow::MAP_WRITE_BIT;
        // SAFETY: see above.
        let address = unsafe {
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, Some(buffer));
            let target = glow::PIXEL_PACK_BUFFER;
            let address = self.raw.map_buffer_range(target, 0, bytes as i32, access);
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, None);
            address
        };
        self.check("mapping a pixel buffer")?;
        NonNull::new(address).ok_or_else(|| "mapping a pixel buffer: no address".to_owned())
    }

    /// Ends [`Gl::map`]; says whether the bytes survived.
    pub(in super::super) fn unmap(&self, buffer: Buffer) -> bool {
        // SAFETY: see above.
        unsafe {
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, Some(buffer));
            let kept = (self.unmap)(glow::PIXEL_PACK_BUFFER);
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, None);
            kept != 0
        }
    }

    /// Waits until everything is done.
    pub(in super::super) fn finish(&self) {
        // SAFETY: see above.
        unsafe { self.raw.finish() }
    }

    /// Gives everything to the GPU.
    pub(in super::super) fn flush(&self) {
        // SAFETY: see above.
        unsafe { self.raw.flush() }
    }
}
