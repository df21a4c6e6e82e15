//! What a conversion of images does: a description that is made once and used for many pictures.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::mem;
use tenure::Region;
use tenure::image::{Convert, Filter, Fit, Normalize, Rotation, Siting};

use crate::codes::{self, MatrixCode, RangeCode, unknown};
use crate::failure::Outcome;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow_mut, give, list, out, take};
use crate::status::Status;

/// How a picture is fitted: one of `TENURE_FIT_…`.
pub type FitCode = i32;
/// How samples are taken: one of `TENURE_FILTER_…`.
pub type FilterCode = i32;
/// Where chroma samples lie: one of `TENURE_SITING_…`.
pub type SitingCode = i32;

/// Over the whole rectangle, whatever becomes of the proportions.
pub const TENURE_FIT_STRETCH: FitCode = 0;
/// As large as fits, centred; the rest is filled.
pub const TENURE_FIT_LETTERBOX: FitCode = 1;
/// As small as covers the rectangle, centred; what stands out is cut off.
pub const TENURE_FIT_COVER: FitCode = 2;

/// The nearest sample.
pub const TENURE_FILTER_NEAREST: FilterCode = 0;
/// Between the two nearest samples of each axis: OpenCV's INTER_LINEAR.
pub const TENURE_FILTER_BILINEAR: FilterCode = 1;
/// A triangle as wide as the reduction asks: Pillow's bilinear. What is used if none is set.
pub const TENURE_FILTER_ANTIALIASED: FilterCode = 2;
/// The mean over the area of an output pixel: OpenCV's INTER_AREA.
pub const TENURE_FILTER_AREA: FilterCode = 3;
/// Cubic (Catmull-Rom), as wide as the reduction asks.
pub const TENURE_FILTER_BICUBIC: FilterCode = 4;
/// Lanczos with three lobes, as wide as the reduction asks.
pub const TENURE_FILTER_LANCZOS3: FilterCode = 5;

/// As usual for the range of the source.
pub const TENURE_SITING_USUAL: SitingCode = -1;
/// In the middle of the luma samples they belong to: JPEG, MPEG-1.
pub const TENURE_SITING_CENTRE: SitingCode = 0;
/// Across on the left one of them, down in the middle: MPEG-2, H.264, H.265.
pub const TENURE_SITING_LEFT: SitingCode = 1;

/// What happens between source and destination: the source is cropped, turned, mirrored, resized
/// to its place in the destination, converted in colour, normalised and stored.
pub struct ConvertHandle(pub(crate) Convert);

impl Handle for ConvertHandle {}

/// Changes a description.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
unsafe fn change(
    convert: *mut ConvertHandle,
    change: impl FnOnce(&mut Convert) -> Outcome,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        change(&mut unsafe { borrow_mut(convert, "convert")? }.0)
    })
}

/// The whole source stretched over the whole destination; the other functions change that.
///
/// # Safety
/// `convert` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_new(convert: *mut *mut ConvertHandle) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        give(unsafe { out(convert, "convert")? }, ConvertHandle(Convert::new()));
        Ok(())
    })
}

/// Gives a description back; null is fine.
///
/// # Safety
/// `convert` is null or a description that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_free(convert: *mut ConvertHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(convert, "convert") });
}

/// Takes only this part of the source.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_crop(
    convert: *mut ConvertHandle,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
) -> Status {
    let crop = |convert: &mut Convert| {
        *convert = mem::take(convert).crop(Region::new(x, y, width, height));
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, crop) }
}

/// Writes only this part of the destination.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_into(
    convert: *mut ConvertHandle,
    x: usize,
    y: usize,
    width: usize,
    height: usize,
) -> Status {
    let into = |convert: &mut Convert| {
        *convert = mem::take(convert).into(Region::new(x, y, width, height));
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, into) }
}

/// Fits a picture of another shape so. `fill` has red, green, blue and alpha of what a letterbox
/// leaves, before normalisation; null for opaque black.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile; `fill` is null or has four
/// bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_fit(
    convert: *mut ConvertHandle,
    fit: FitCode,
    fill: *const u8,
) -> Status {
    let set = |convert: &mut Convert| {
        // SAFETY: by the caller's promise.
        let fill = unsafe { list(fill, if fill.is_null() { 0 } else { 4 }, "fill")? };
        let fit = match fit {
            TENURE_FIT_STRETCH => Fit::Stretch,
            TENURE_FIT_LETTERBOX => {
                Fit::Letterbox { fill: fill.try_into().unwrap_or([0, 0, 0, 255]) }
            }
            TENURE_FIT_COVER => Fit::Cover,
            other => return Err(unknown("fit", other, "0 stretch, 1 letterbox, 2 cover")),
        };
        *convert = mem::take(convert).fit(fit);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, set) }
}

/// Turns the picture clockwise by 0, 90, 180 or 270 degrees, then mirrors it.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_turn(
    convert: *mut ConvertHandle,
    degrees: u32,
    flip_horizontal: bool,
    flip_vertical: bool,
) -> Status {
    let set = |convert: &mut Convert| {
        let rotation = Rotation::from_degrees(degrees)?;
        *convert = mem::take(convert).rotation(rotation).flips(flip_horizontal, flip_vertical);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, set) }
}

/// Takes samples so.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_filter(
    convert: *mut ConvertHandle,
    filter: FilterCode,
) -> Status {
    let set = |convert: &mut Convert| {
        let filter = match filter {
            TENURE_FILTER_NEAREST => Filter::Nearest,
            TENURE_FILTER_BILINEAR => Filter::Bilinear,
            TENURE_FILTER_ANTIALIASED => Filter::Antialiased,
            TENURE_FILTER_AREA => Filter::Area,
            TENURE_FILTER_BICUBIC => Filter::Bicubic,
            TENURE_FILTER_LANCZOS3 => Filter::Lanczos3,
            other => {
                let known = "0 nearest, 1 bilinear, 2 antialiased, 3 area, 4 bicubic, 5 lanczos3";
                return Err(unknown("filter", other, known));
            }
        };
        *convert = mem::take(convert).filter(filter);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, set) }
}

/// Reads the source with these colours, whatever it says itself, and takes its chroma samples to
/// lie here.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_colour(
    convert: *mut ConvertHandle,
    matrix: MatrixCode,
    range: RangeCode,
    siting: SitingCode,
) -> Status {
    let set = |convert: &mut Convert| {
        let siting = match siting {
            TENURE_SITING_USUAL => None,
            TENURE_SITING_CENTRE => Some(Siting::Centre),
            TENURE_SITING_LEFT => Some(Siting::Left),
            other => return Err(unknown("siting", other, "-1 usual, 0 centre, 1 left")),
        };
        let colour = codes::colour(matrix, range)?;
        *convert = mem::take(convert).colour(colour).siting(siting);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, set) }
}

/// Stores `(value * scale - mean) / std` of values from 0 to 255, in red, green and blue. Null is
/// a mean of 0 and a deviation of 1.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile; `mean` and `std` are null
/// or have three numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_normalize(
    convert: *mut ConvertHandle,
    scale: f32,
    mean: *const f32,
    std: *const f32,
) -> Status {
    let count = |numbers: *const f32| if numbers.is_null() { 0 } else { 3 };
    let set = |convert: &mut Convert| {
        // SAFETY: by the caller's promise.
        let mean = unsafe { list(mean, count(mean), "mean")? };
        // SAFETY: by the caller's promise.
        let std = unsafe { list(std, count(std), "std")? };
        let (mean, std) = (mean.try_into().unwrap_or([0.0; 3]), std.try_into().unwrap_or([1.0; 3]));
        let quantize = convert.get_normalize().quantize;
        let normalize = Normalize { quantize, ..Normalize::mean_std(scale, mean, std) };
        *convert = mem::take(convert).normalize(normalize);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, set) }
}

/// Stores integers with this scale and zero point, instead of those of the destination.
///
/// # Safety
/// `convert` is null or a description that nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_convert_set_quantize(
    convert: *mut ConvertHandle,
    scale: f32,
    zero_point: i32,
) -> Status {
    let set = |convert: &mut Convert| {
        let normalize = convert.get_normalize().quantized(scale, zero_point);
        *convert = mem::take(convert).normalize(normalize);
        Ok(())
    };
    // SAFETY: by the caller's promise.
    unsafe { change(convert, set) }
}
