//! Picture files: JPEG and PNG into image tensors and back.
#![expect(unsafe_code, reason = "C passes pointers and callbacks")]

use std::ffi::{c_char, c_void};
use std::io::{self, Write};
use std::path::Path;

use tenure::image::codec;

use crate::codes::{self, FormatCode, MemoryCode, unknown};
use crate::guarded::guarded;
use crate::pointers::{borrow, borrow_mut, give, list, out, text};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// A format of picture files: one of `TENURE_PICTURE_…`.
pub type PictureCode = i32;

/// JPEG.
pub const TENURE_PICTURE_JPEG: PictureCode = 0;
/// PNG.
pub const TENURE_PICTURE_PNG: PictureCode = 1;

/// Is given the next bytes of an encoded picture, on the thread that encodes; false ends it. It
/// must return, not throw or jump away.
pub type Taker =
    Option<unsafe extern "C" fn(context: *mut c_void, bytes: *const u8, count: usize) -> bool>;

/// What a JPEG or PNG file says about its picture, without decoding it: its size, and the format
/// that `tenure_picture_decode` makes of it.
///
/// # Safety
/// `bytes` is null or has `count` of them; the others are null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_picture_inspect(
    bytes: *const u8,
    count: usize,
    width: *mut usize,
    height: *mut usize,
    format: *mut FormatCode,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (bytes, width) = unsafe { (list(bytes, count, "bytes")?, out(width, "width")?) };
        // SAFETY: by the caller's promise.
        let (height, format) = unsafe { (out(height, "height")?, out(format, "format")?) };
        let head = codec::inspect(bytes)?;
        width.write(head.width);
        height.write(head.height);
        format.write(head.format as FormatCode);
        Ok(())
    })
}

/// Decodes a JPEG or PNG file into a new tensor: grey, rgb or rgba, as the file has it, in 8 bits.
///
/// # Safety
/// `bytes` is null or has `count` of them; `tensor` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_picture_decode(
    bytes: *const u8,
    count: usize,
    memory: MemoryCode,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (bytes, tensor) = unsafe { (list(bytes, count, "bytes")?, out(tensor, "tensor")?) };
        give(tensor, codec::decode(bytes, codes::memory(memory)?)?.into());
        Ok(())
    })
}

/// Decodes a JPEG or PNG file into an image tensor of its size, of any format that a processor
/// writes. What the tensor contains after damage in the middle of the file is not defined.
///
/// # Safety
/// `bytes` is null or has `count` of them; `tensor` is null or a handle that nobody else uses
/// meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_picture_decode_into(
    bytes: *const u8,
    count: usize,
    tensor: *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (bytes, tensor) =
            unsafe { (list(bytes, count, "bytes")?, borrow_mut(tensor, "tensor")?) };
        Ok(codec::decode_into(bytes, &mut tensor.tensor)?)
    })
}

/// Decodes a JPEG or PNG file on the disk, whatever its name; otherwise as
/// `tenure_picture_decode`.
///
/// # Safety
/// `path` is null or a text that ends with a zero; `tensor` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_picture_read(
    path: *const c_char,
    memory: MemoryCode,
    tensor: *mut *mut TensorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (path, tensor) = unsafe { (text(path, "path")?, out(tensor, "tensor")?) };
        give(tensor, codec::open_in(Path::new(path), codes::memory(memory)?)?.into());
        Ok(())
    })
}

/// Writes an image of 8 bits as PNG or JPEG, as the name of the file says: a whole file, or what
/// was there before.
///
/// # Safety
/// `tensor` is null or a handle; `path` is null or a text that ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_picture_save(
    tensor: *const TensorHandle,
    path: *const c_char,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (tensor, path) = unsafe { (borrow(tensor, "tensor")?, text(path, "path")?) };
        codec::save(Path::new(path), &tensor.tensor)?;
        Ok(())
    })
}

/// Encodes an image of 8 bits: `taker` gets the bytes of the file one after the other, and
/// `context` with them. `quality` is that of JPEG, 1 to 100.
///
/// # Safety
/// `tensor` is null or a handle; `taker` may be called with `context` until this returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_picture_encode(
    tensor: *const TensorHandle,
    picture: PictureCode,
    quality: u8,
    taker: Taker,
    context: *mut c_void,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let tensor = unsafe { borrow(tensor, "tensor")? };
        let taker = taker.ok_or_else(|| crate::failure::Failure::null("taker"))?;
        let writer = Taking { taker, context };
        match picture {
            TENURE_PICTURE_JPEG => codec::encode_jpeg(&tensor.tensor, quality, writer)?,
            TENURE_PICTURE_PNG => codec::encode_png(&tensor.tensor, writer)?,
            other => return Err(unknown("picture format", other, "0 jpeg, 1 png")),
        }
        Ok(())
    })
}

/// Writes by calling C.
struct Taking {
    taker: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> bool,
    context: *mut c_void,
}

impl Write for Taking {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // SAFETY: the caller of the encoder promised that this may be called until it returns.
        match unsafe { (self.taker)(self.context, bytes.as_ptr(), bytes.len()) } {
            true => Ok(bytes.len()),
            false => Err(io::Error::other("the program takes no more")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
