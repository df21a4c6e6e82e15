//! The numbers that C programs use for memories, spaces, element types and formats. They are fixed:
//! they are the ones that the types of Rust have, which a test sees to.

use tenure::{
    Colour, ColourMatrix, ColourRange, DType, LogicalMemorySpace, PixelFormat, TensorMemory,
};

use crate::failure::{Failure, Outcome};

/// The mechanism that bytes are obtained with: one of `TENURE_MEMORY_…`.
pub type MemoryCode = i32;
/// Where bytes live: one of `TENURE_SPACE_…`.
pub type SpaceCode = i32;
/// What an element is: one of `TENURE_DTYPE_…`.
pub type DTypeCode = i32;
/// How pixels are stored: one of `TENURE_FORMAT_…`.
pub type FormatCode = i32;
/// The matrix between RGB and YCbCr: one of `TENURE_MATRIX_…`.
pub type MatrixCode = i32;
/// Which part of the code range carries the signal: one of `TENURE_RANGE_…`.
pub type RangeCode = i32;

/// The first that serves of DMA-BUF, shared memory and heap.
pub const TENURE_MEMORY_AUTO: MemoryCode = -1;
/// The heap of this process.
pub const TENURE_MEMORY_MEM: MemoryCode = 0;
/// DMA-BUF: memory that cameras, GPUs and NPUs share by file descriptor.
pub const TENURE_MEMORY_DMA: MemoryCode = 1;
/// Shared memory between processes: a sealed memory file.
pub const TENURE_MEMORY_SHM: MemoryCode = 2;
/// An OpenGL pixel buffer object.
pub const TENURE_MEMORY_PBO: MemoryCode = 3;
/// A mapped file, read-only.
pub const TENURE_MEMORY_FILE: MemoryCode = 4;
/// Page-locked main memory that a GPU reaches directly.
pub const TENURE_MEMORY_PINNED: MemoryCode = 5;
/// Memory of a device.
pub const TENURE_MEMORY_DEVICE: MemoryCode = 6;
/// Memory that moves between CPU and device by itself.
pub const TENURE_MEMORY_MANAGED: MemoryCode = 7;

/// Ordinary memory of the CPU.
pub const TENURE_SPACE_MAIN: SpaceCode = 0;
/// Main memory that a GPU can reach directly and that is never paged out.
pub const TENURE_SPACE_PINNED: SpaceCode = 1;
/// Memory of one GPU, or of another device that the CPU does not reach into.
pub const TENURE_SPACE_GPU: SpaceCode = 2;
/// Memory that moves between CPU and GPU by itself.
pub const TENURE_SPACE_MANAGED: SpaceCode = 3;

/// Unsigned 8-bit integer.
pub const TENURE_DTYPE_U8: DTypeCode = 0;
/// Signed 8-bit integer.
pub const TENURE_DTYPE_I8: DTypeCode = 1;
/// Unsigned 16-bit integer.
pub const TENURE_DTYPE_U16: DTypeCode = 2;
/// Signed 16-bit integer.
pub const TENURE_DTYPE_I16: DTypeCode = 3;
/// Unsigned 32-bit integer.
pub const TENURE_DTYPE_U32: DTypeCode = 4;
/// Signed 32-bit integer.
pub const TENURE_DTYPE_I32: DTypeCode = 5;
/// Unsigned 64-bit integer.
pub const TENURE_DTYPE_U64: DTypeCode = 6;
/// Signed 64-bit integer.
pub const TENURE_DTYPE_I64: DTypeCode = 7;
/// IEEE 754 half precision.
pub const TENURE_DTYPE_F16: DTypeCode = 8;
/// Brain floating point: the upper half of a float.
pub const TENURE_DTYPE_BF16: DTypeCode = 9;
/// IEEE 754 single precision.
pub const TENURE_DTYPE_F32: DTypeCode = 10;
/// IEEE 754 double precision.
pub const TENURE_DTYPE_F64: DTypeCode = 11;
/// A truth value in a byte.
pub const TENURE_DTYPE_BOOL: DTypeCode = 12;
/// 8-bit float with 4 exponent bits, finite.
pub const TENURE_DTYPE_F8_E4M3: DTypeCode = 13;
/// 8-bit float with 5 exponent bits.
pub const TENURE_DTYPE_F8_E5M2: DTypeCode = 14;
/// Unsigned 4-bit integer, two to a byte, the first in the low half.
pub const TENURE_DTYPE_U4: DTypeCode = 15;
/// Signed 4-bit integer, two to a byte, the first in the low half.
pub const TENURE_DTYPE_I4: DTypeCode = 16;
/// 4-bit float with 2 exponent bits, two to a byte.
pub const TENURE_DTYPE_F4_E2M1: DTypeCode = 17;
/// Complex number of two `float`, the real part first: `float _Complex`.
pub const TENURE_DTYPE_COMPLEX64: DTypeCode = 18;
/// Complex number of two `double`, the real part first: `double _Complex`.
pub const TENURE_DTYPE_COMPLEX128: DTypeCode = 19;

/// No image.
pub const TENURE_FORMAT_NONE: FormatCode = -1;
/// Red, green, blue.
pub const TENURE_FORMAT_RGB: FormatCode = 0;
/// Blue, green, red.
pub const TENURE_FORMAT_BGR: FormatCode = 1;
/// Red, green, blue, alpha.
pub const TENURE_FORMAT_RGBA: FormatCode = 2;
/// Blue, green, red, alpha.
pub const TENURE_FORMAT_BGRA: FormatCode = 3;
/// Luma only.
pub const TENURE_FORMAT_GREY: FormatCode = 4;
/// 4:2:2 in one plane: Y0 U Y1 V.
pub const TENURE_FORMAT_YUYV: FormatCode = 5;
/// 4:2:2 in one plane: U Y0 V Y1.
pub const TENURE_FORMAT_UYVY: FormatCode = 6;
/// 4:2:0: a plane of Y, a plane of U V pairs.
pub const TENURE_FORMAT_NV12: FormatCode = 7;
/// 4:2:0: a plane of Y, a plane of V U pairs.
pub const TENURE_FORMAT_NV21: FormatCode = 8;
/// 4:2:2: a plane of Y, a plane of U V pairs.
pub const TENURE_FORMAT_NV16: FormatCode = 9;
/// 4:4:4: a plane of Y, a plane of U V pairs.
pub const TENURE_FORMAT_NV24: FormatCode = 10;
/// 4:2:0: planes of Y, U and V.
pub const TENURE_FORMAT_I420: FormatCode = 11;
/// As NV12 with 10 bits in the upper part of 16.
pub const TENURE_FORMAT_P010: FormatCode = 12;
/// Planes of red, green and blue.
pub const TENURE_FORMAT_PLANAR_RGB: FormatCode = 13;
/// Planes of red, green, blue and alpha.
pub const TENURE_FORMAT_PLANAR_RGBA: FormatCode = 14;

/// Nothing is said of the colours.
pub const TENURE_MATRIX_NONE: MatrixCode = -1;
/// ITU-R BT.601: standard definition, JPEG, most webcams.
pub const TENURE_MATRIX_BT601: MatrixCode = 0;
/// ITU-R BT.709: high definition.
pub const TENURE_MATRIX_BT709: MatrixCode = 1;
/// ITU-R BT.2020, non-constant luminance: ultra high definition.
pub const TENURE_MATRIX_BT2020: MatrixCode = 2;

/// 16 to 235 for luma and 16 to 240 for chroma (of 8 bits).
pub const TENURE_RANGE_LIMITED: RangeCode = 0;
/// 0 to 255 (of 8 bits).
pub const TENURE_RANGE_FULL: RangeCode = 1;

/// The memory with this code, or none for automatic.
pub(crate) fn memory(code: MemoryCode) -> Outcome<Option<TensorMemory>> {
    if code == TENURE_MEMORY_AUTO {
        return Ok(None);
    }
    let found = u8::try_from(code).ok().and_then(TensorMemory::from_code);
    let known = || {
        let words = TensorMemory::all().map(|memory| format!("{} {memory}", memory.code()));
        format!("-1 automatic, {}", words.collect::<Vec<_>>().join(", "))
    };
    found.map(Some).ok_or_else(|| unknown("memory", code, &known()))
}

/// The element type with this code.
pub(crate) fn dtype(code: DTypeCode) -> Outcome<DType> {
    let found = u8::try_from(code).ok().and_then(DType::from_code);
    found.ok_or_else(|| {
        let words = DType::all().map(|dtype| format!("{} {dtype}", dtype.code()));
        unknown("element type", code, &words.collect::<Vec<_>>().join(", "))
    })
}

/// The pixel format with this code.
pub(crate) fn format(code: FormatCode) -> Outcome<PixelFormat> {
    let found = u8::try_from(code).ok().and_then(PixelFormat::from_code);
    found.ok_or_else(|| {
        let words = PixelFormat::all().map(|format| format!("{} {format}", format.code()));
        unknown("pixel format", code, &words.collect::<Vec<_>>().join(", "))
    })
}

/// The colour description with these codes.
pub(crate) fn colour(matrix: MatrixCode, range: RangeCode) -> Outcome<Option<Colour>> {
    let matrix = match matrix {
        TENURE_MATRIX_NONE => return Ok(None),
        TENURE_MATRIX_BT601 => ColourMatrix::Bt601,
        TENURE_MATRIX_BT709 => ColourMatrix::Bt709,
        TENURE_MATRIX_BT2020 => ColourMatrix::Bt2020,
        other => {
            let known = "-1 none, 0 bt601, 1 bt709, 2 bt2020";
            return Err(unknown("colour matrix", other, known));
        }
    };
    let range = match range {
        TENURE_RANGE_LIMITED => ColourRange::Limited,
        TENURE_RANGE_FULL => ColourRange::Full,
        other => return Err(unknown("colour range", other, "0 limited, 1 full")),
    };
    Ok(Some(Colour { matrix, range }))
}

/// The code of a space, and which device it is.
pub(crate) fn space(space: LogicalMemorySpace) -> (SpaceCode, u32) {
    match space {
        LogicalMemorySpace::MainMemory => (TENURE_SPACE_MAIN, 0),
        LogicalMemorySpace::PinnedMemory => (TENURE_SPACE_PINNED, 0),
        LogicalMemorySpace::GpuMemory { device_id } => {
            (TENURE_SPACE_GPU, u32::try_from(device_id).unwrap_or(u32::MAX))
        }
        LogicalMemorySpace::ManagedMemory => (TENURE_SPACE_MANAGED, 0),
    }
}

/// The space with this code, on this device.
pub(crate) fn space_of(code: SpaceCode, device_id: u32) -> Outcome<LogicalMemorySpace> {
    match code {
        TENURE_SPACE_MAIN => Ok(LogicalMemorySpace::MainMemory),
        TENURE_SPACE_PINNED => Ok(LogicalMemorySpace::PinnedMemory),
        TENURE_SPACE_GPU => Ok(LogicalMemorySpace::GpuMemory { device_id: device_id as usize }),
        TENURE_SPACE_MANAGED => Ok(LogicalMemorySpace::ManagedMemory),
        other => Err(unknown("space", other, "0 main, 1 pinned, 2 gpu, 3 managed")),
    }
}

/// A code that stands for nothing.
pub(crate) fn unknown(what: &str, code: i32, known: &str) -> Failure {
    Failure::invalid(format!("{code} is no {what}: there are {known}"))
}

#[cfg(test)]
mod tests;
