//! The OpenGL calls of this engine, safe to make: the only way to get a [`Gl`] is on the thread
//! where its context is current, and it cannot leave that thread.
#![expect(unsafe_code, reason = "calls OpenGL, which is loaded at run time")]

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use glow::{Buffer, Framebuffer, HasContext, Texture};

use super::display::{Display, Image};

type TexSubImage = unsafe extern "system" fn(u32, i32, i32, i32, i32, i32, u32, u32, *const c_void);
type ReadPixels = unsafe extern "system" fn(i32, i32, i32, i32, u32, u32, *mut c_void);
type ImageTarget = unsafe extern "system" fn(u32, *mut c_void);
type ResetStatus = unsafe extern "system" fn() -> u32;
type Unmap = unsafe extern "system" fn(u32) -> u8;

/// The functions, and what they can do here.
pub(super) struct Gl {
    raw: glow::Context,
    tex_sub_image: TexSubImage,
    read_pixels: ReadPixels,
    unmap: Unmap,
    image_target: Option<ImageTarget>,
    reset_status: Option<ResetStatus>,
    /// The longest side of a texture or a render target.
    pub(super) longest: usize,
    /// Whether floats can be rendered.
    pub(super) floats: bool,
    /// Who draws, in the driver's words.
    pub(super) renderer: String,
    /// Contexts belong to one thread.
    thread: PhantomData<*const ()>,
}

/// What a texture holds in a texel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Texels {
    /// Four bytes.
    Words,
    /// Four half floats.
    Halves,
    /// Four floats.
    Floats,
    /// Four words: what is packed before it is copied out.
    Quads,
}

/// A rectangle of texels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: i32,
    pub(super) y: i32,
    pub(super) width: i32,
    pub(super) height: i32,
}

/// Why a call was refused.
pub(super) type Refused = String;

// SAFETY of the blocks below, unless they say more: the context is current on this thread for as
// long as `self` exists (see `Gl::new`), so the functions may be called; names that do not exist
// and numbers out of range are errors of OpenGL, not undefined.
impl Gl {
    /// The functions of a display's context, which is current on this thread. The caller keeps
    /// the display for as long as the result.
    pub(super) fn new(display: &Display) -> Result<Gl, Refused> {
        // SAFETY: the display gives the addresses of the functions asked for, or none.
        let raw = unsafe { glow::Context::from_loader_function(|name| display.function(name)) };
        let need = |name: &'static str| {
            NonNull::new(display.function(name).cast_mut()).ok_or(format!("there is no {name}"))
        };
        // SAFETY: these are the types that OpenGL ES gives the functions of these names.
        let (tex_sub_image, read_pixels, unmap, image_target, reset_status) = unsafe {
            (
                std::mem::transmute::<NonNull<c_void>, TexSubImage>(need("glTexSubImage2D")?),
                std::mem::transmute::<NonNull<c_void>, ReadPixels>(need("glReadPixels")?),
                std::mem::transmute::<NonNull<c_void>, Unmap>(need("glUnmapBuffer")?),
                std::mem::transmute::<*const c_void, Option<ImageTarget>>(
                    display.function("glEGLImageTargetTexture2DOES"),
                ),
                std::mem::transmute::<*const c_void, Option<ResetStatus>>(
                    display.function("glGetGraphicsResetStatus"),
                ),
            )
        };
        let version = raw.version();
        let extensions = raw.supported_extensions();
        let has = |name: &str| extensions.contains(name);
        let newest = (version.major, version.minor) >= (3, 2);
        let floats =
            newest || has("GL_EXT_color_buffer_float") || has("GL_EXT_color_buffer_half_float");
        let image_target = image_target.filter(|_| has("GL_OES_EGL_image"));
        let reset_status = reset_status.filter(|_| newest || has("GL_KHR_robustness"));
        // SAFETY: as said above.
        let (longest, renderer) = unsafe {
            let vertices = raw.create_vertex_array()?;
            raw.bind_vertex_array(Some(vertices));
            raw.disable(glow::DITHER);
            raw.enable(glow::SCISSOR_TEST);
            let sides = [glow::MAX_TEXTURE_SIZE, glow::MAX_RENDERBUFFER_SIZE];
            let longest = sides.map(|name| raw.get_parameter_i32(name)).into_iter().min();
            (longest.unwrap_or(0), raw.get_parameter_string(glow::RENDERER))
        };
        Ok(Gl {
            raw,
            tex_sub_image,
            read_pixels,
            unmap,
            image_target,
            reset_status,
            longest: usize::try_from(longest).unwrap_or(0),
            floats,
            renderer,
            thread: PhantomData,
        })
    }

    /// Whether images of EGL can be textures.
    pub(super) fn takes_images(&self) -> bool {
        self.image_target.is_some()
    }

    /// Whether everything since the last check went well, and the context is still there.
    ///
    /// # Errors
    /// What did not.
    pub(super) fn check(&self, what: &str) -> Result<(), Refused> {
        // SAFETY: see the head of this impl.
        let (error, reset) =
            unsafe { (self.raw.get_error(), self.reset_status.map_or(0, |status| status())) };
        match (error, reset) {
            (glow::NO_ERROR, glow::NO_ERROR) => Ok(()),
            (_, reset) if reset != 0 || error == glow::CONTEXT_LOST => {
                Err(format!("{what}: {LOST}"))
            }
            (glow::OUT_OF_MEMORY, _) => Err(format!("{what}: the GPU is out of memory")),
            (error, _) => Err(format!("{what}: OpenGL error {error:#06x}")),
        }
    }

    /// A texture without content.
    pub(super) fn texture(
        &self,
        texels: Texels,
        (width, height): (usize, usize),
    ) -> Result<Texture, Refused> {
        let format = match texels {
            Texels::Words => glow::RGBA8,
            Texels::Halves => glow::RGBA16F,
            Texels::Floats => glow::RGBA32F,
            Texels::Quads => glow::RGBA32UI,
        };
        // SAFETY: see the head of this impl.
        let texture = unsafe {
            let texture = self.raw.create_texture()?;
            self.bind(texture);
            self.raw.tex_storage_2d(glow::TEXTURE_2D, 1, format, width as i32, height as i32);
            texture
        };
        self.check("making a texture").inspect_err(|_| self.delete_texture(texture))?;
        Ok(texture)
    }

    fn bind(&self, texture: Texture) {
        // SAFETY: see the head of this impl.
        unsafe {
            self.raw.active_texture(glow::TEXTURE0);
            self.raw.bind_texture(glow::TEXTURE_2D, Some(texture));
            for (what, value) in [
                (glow::TEXTURE_MIN_FILTER, glow::NEAREST),
                (glow::TEXTURE_MAG_FILTER, glow::NEAREST),
                (glow::TEXTURE_WRAP_S, glow::CLAMP_TO_EDGE),
                (glow::TEXTURE_WRAP_T, glow::CLAMP_TO_EDGE),
            ] {
                self.raw.tex_parameter_i32(glow::TEXTURE_2D, what, value as i32);
            }
        }
    }

    /// A texture that is an imported picture.
    pub(super) fn image_texture(&self, image: &Image) -> Result<Texture, Refused> {
        let Some(target) = self.image_target else {
            return Err("the driver has no GL_OES_EGL_image".to_owned());
        };
        // SAFETY: the image exists; the texture keeps it alive.
        let texture = unsafe {
            let texture = self.raw.create_texture()?;
            self.bind(texture);
            target(glow::TEXTURE_2D, image.as_ptr());
            texture
        };
        self.check("sampling an image").inspect_err(|_| self.delete_texture(texture))?;
        Ok(texture)
    }

    pub(super) fn delete_texture(&self, texture: Texture) {
        // SAFETY: see the head of this impl.
        unsafe { self.raw.delete_texture(texture) }
    }

    /// Floats as texels of a texture of [`Texels::Floats`].
    pub(super) fn fill_floats(&self, texture: Texture, width: usize, values: &[f32]) {
        let height = values.len() / 4 / width.max(1);
        self.bind(texture);
        // SAFETY: `values` has as many texels as are read, without gaps.
        unsafe {
            self.raw.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
            self.raw.pixel_store_i32(glow::UNPACK_ROW_LENGTH, 0);
            let (width, height) = (width as i32, height as i32);
            let data = values.as_ptr().cast();
            (self.tex_sub_image)(
                glow::TEXTURE_2D,
                0,
                0,
                0,
                width,
                height,
                glow::RGBA,
                glow::FLOAT,
                data,
            );
        }
    }

    /// Words from memory into a texture of [`Texels::Words`].
    ///
    /// # Safety
    /// The rows of `area`, `row_words` words apart from `address`, must be valid for reads.
    pub(super) unsafe fn upload(
        &self,
        texture: Texture,
        area: Area,
        row_words: usize,
        address: *const u8,
    ) {
        // SAFETY: by the caller's promise.
        unsafe { self.sub_image(texture, None, area, row_words, address.cast()) }
    }

    /// Words from a pixel buffer, `offset` bytes into it.
    pub(super) fn upload_from(
        &self,
        texture: Texture,
        area: Area,
        row_words: usize,
        (buffer, offset): (Buffer, usize),
    ) {
        let offset = std::ptr::without_provenance(offset);
        // SAFETY: with a buffer bound the address is an offset, which OpenGL checks.
        unsafe { self.sub_image(texture, Some(buffer), area, row_words, offset) }
    }

    /// # Safety
    /// Without a buffer, as [`Gl::upload`].
    unsafe fn sub_image(
        &self,
        texture: Texture,
        buffer: Option<Buffer>,
        area: Area,
        row_words: usize,
        data: *const c_void,
    ) {
        self.bind(texture);
        let Area { x, y, width, height } = area;
        // SAFETY: by the caller's promise.
        unsafe {
            self.raw.bind_buffer(glow::PIXEL_UNPACK_BUFFER, buffer);
            self.raw.pixel_store_i32(glow::UNPACK_ALIGNMENT, 1);
            self.raw.pixel_store_i32(glow::UNPACK_ROW_LENGTH, row_words as i32);
            let (format, kind) = (glow::RGBA, glow::UNSIGNED_BYTE);
            (self.tex_sub_image)(glow::TEXTURE_2D, 0, x, y, width, height, format, kind, data);
            self.raw.bind_buffer(glow::PIXEL_UNPACK_BUFFER, None);
        }
    }

    /// A target to draw into a texture.
    pub(super) fn framebuffer(&self, texture: Texture) -> Result<Framebuffer, Refused> {
        // SAFETY: see the head of this impl.
        unsafe {
            let framebuffer = self.raw.create_framebuffer()?;
            self.raw.bind_framebuffer(glow::FRAMEBUFFER, Some(framebuffer));
            let (point, kind) = (glow::COLOR_ATTACHMENT0, glow::TEXTURE_2D);
            self.raw.framebuffer_texture_2d(glow::FRAMEBUFFER, point, kind, Some(texture), 0);
            let status = self.raw.check_framebuffer_status(glow::FRAMEBUFFER);
            if status == glow::FRAMEBUFFER_COMPLETE {
                return Ok(framebuffer);
            }
            self.raw.delete_framebuffer(framebuffer);
            Err(format!("the texture cannot be drawn into (status {status:#06x})"))
        }
    }

    pub(super) fn delete_framebuffer(&self, framebuffer: Framebuffer) {
        // SAFETY: see the head of this impl.
        unsafe { self.raw.delete_framebuffer(framebuffer) }
    }

    /// Colours an area; only the bytes of the mask.
    pub(super) fn clear(&self, to: Framebuffer, area: Area, colour: [f32; 4], mask: [bool; 4]) {
        self.aim(to, area, mask);
        let [red, green, blue, alpha] = colour;
        // SAFETY: see the head of this impl.
        unsafe {
            self.raw.clear_color(red, green, blue, alpha);
            self.raw.clear(glow::COLOR_BUFFER_BIT);
        }
    }

    /// Fills an area of a target of [`Texels::Quads`] with one word.
    pub(super) fn clear_quads(&self, to: Framebuffer, area: Area, word: u32) {
        self.aim(to, area, [true; 4]);
        // SAFETY: see the head of this impl.
        unsafe { self.raw.clear_buffer_u32_slice(glow::COLOR, 0, &[word; 4]) }
    }

    /// Draws over an area; only the bytes of the mask.
    pub(super) fn draw(&self, to: Framebuffer, area: Area, mask: [bool; 4]) {
        self.aim(to, area, mask);
        // SAFETY: see the head of this impl; the vertices are made by the shader.
        unsafe { self.raw.draw_arrays(glow::TRIANGLES, 0, 3) }
    }

    fn aim(&self, to: Framebuffer, area: Area, [red, green, blue, alpha]: [bool; 4]) {
        let Area { x, y, width, height } = area;
        // SAFETY: see the head of this impl.
        unsafe {
            self.raw.bind_framebuffer(glow::FRAMEBUFFER, Some(to));
            self.raw.viewport(x, y, width, height);
            self.raw.scissor(x, y, width, height);
            self.raw.color_mask(red, green, blue, alpha);
        }
    }

    /// Texels of a target into memory.
    ///
    /// # Safety
    /// The rows of `area`, `row_texels` texels apart from `address`, must be valid for writes.
    pub(super) unsafe fn read(
        &self,
        from: (Framebuffer, Texels),
        area: Area,
        row_texels: usize,
        address: *mut u8,
    ) {
        // SAFETY: by the caller's promise.
        unsafe { self.read_to(from, None, area, row_texels, address.cast()) }
    }

    /// Texels of a target into a pixel buffer, `offset` bytes into it.
    pub(super) fn read_into(
        &self,
        from: (Framebuffer, Texels),
        area: Area,
        row_texels: usize,
        (buffer, offset): (Buffer, usize),
    ) {
        let offset = std::ptr::without_provenance_mut(offset);
        // SAFETY: with a buffer bound the address is an offset, which OpenGL checks.
        unsafe { self.read_to(from, Some(buffer), area, row_texels, offset) }
    }

    /// # Safety
    /// Without a buffer, as [`Gl::read`].
    unsafe fn read_to(
        &self,
        (from, texels): (Framebuffer, Texels),
        buffer: Option<Buffer>,
        area: Area,
        row_texels: usize,
        data: *mut c_void,
    ) {
        let Area { x, y, width, height } = area;
        let (format, kind) = match texels {
            Texels::Quads => (glow::RGBA_INTEGER, glow::UNSIGNED_INT),
            _ => (glow::RGBA, glow::UNSIGNED_BYTE),
        };
        // SAFETY: by the caller's promise.
        unsafe {
            self.raw.bind_framebuffer(glow::FRAMEBUFFER, Some(from));
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, buffer);
            self.raw.pixel_store_i32(glow::PACK_ALIGNMENT, 1);
            self.raw.pixel_store_i32(glow::PACK_ROW_LENGTH, row_texels as i32);
            (self.read_pixels)(x, y, width, height, format, kind, data);
            self.raw.bind_buffer(glow::PIXEL_PACK_BUFFER, None);
        }
    }
}

/// How a lost context is told from other errors.
pub(super) const LOST: &str = "the OpenGL context was lost, and the pixel buffers with it; the next conversion makes a new one";

#[cfg(test)]
impl Gl {
    /// From now on the driver says what drivers say after a reset.
    pub(super) fn lose_context(&mut self) {
        extern "system" fn guilty() -> u32 {
            const GUILTY_CONTEXT_RESET: u32 = 0x8253;
            GUILTY_CONTEXT_RESET
        }
        self.reset_status = Some(guilty);
    }
}

mod buffers;
mod programs;

pub(super) use programs::Value;
