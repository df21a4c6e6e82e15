//! The processor: one image tensor into another.
#![expect(unsafe_code, reason = "C passes pointers")]

use std::ffi::c_char;

use tenure::image::{Convert, ImageProcessor, Placement};

use crate::convert::ConvertHandle;
use crate::failure::Outcome;
use crate::guarded::{guarded, guarded_free};
use crate::handles::Handle;
use crate::pointers::{borrow, give, list, optional, optional_text, out, take};
use crate::status::Status;
use crate::tensor::TensorHandle;

/// Turns image tensors into others. Made once and used for many pictures, from any thread.
pub struct ProcessorHandle(pub(crate) ImageProcessor);

impl Handle for ProcessorHandle {}

/// Where a converted picture lies in its destination, and the way back for detections.
#[repr(C)]
pub struct PlacementFigures {
    /// The destination pixels that the picture covers: leftmost column.
    pub x: usize,
    /// Topmost row.
    pub y: usize,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// From a point of the destination to the source: `x' = m[0] * x + m[1] * y + m[2]`,
    /// `y' = m[3] * x + m[4] * y + m[5]`.
    pub to_source: [f64; 6],
    /// From a point of the source to the destination.
    pub to_destination: [f64; 6],
}

pub(crate) fn figures(placement: &Placement) -> PlacementFigures {
    let content = placement.content();
    PlacementFigures {
        x: content.x,
        y: content.y,
        width: content.width,
        height: content.height,
        to_source: placement.to_source_matrix(),
        to_destination: placement.to_destination_matrix(),
    }
}

/// A processor. `engines` are words with commas between them, in the order of trying ("cpu",
/// "gl,cpu"); null for the usual ones. `threads` are those of the CPU engine; 0 for as many as the
/// machine has cores.
///
/// # Safety
/// Pointers are null or valid; `engines` ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_processor_new(
    engines: *const c_char,
    threads: usize,
    processor: *mut *mut ProcessorHandle,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (engines, processor) =
            unsafe { (optional_text(engines, "engines")?, out(processor, "processor")?) };
        let parse = |words: &str| -> Outcome<Vec<_>> {
            words.split(',').map(|word| Ok(word.trim().parse()?)).collect()
        };
        let config = ImageProcessor::builder()
            .engines(engines.map(parse).transpose()?)
            .threads((threads != 0).then_some(threads));
        give(processor, ProcessorHandle(config.build()?));
        Ok(())
    })
}

/// Converts `source` into `destination`, as `convert` says (null: the whole of it, stretched), and
/// puts out where the picture lies in it (`placement` may be null). If it answers anything but
/// `TENURE_STATUS_OK`, nothing is written.
///
/// # Safety
/// Handles are null or valid; `placement` is null or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_processor_convert(
    processor: *const ProcessorHandle,
    source: *const TensorHandle,
    destination: *const TensorHandle,
    convert: *const ConvertHandle,
    placement: *mut PlacementFigures,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (processor, source) =
            unsafe { (borrow(processor, "processor")?, borrow(source, "source")?) };
        // SAFETY: by the caller's promise.
        let (destination, convert) =
            unsafe { (borrow(destination, "destination")?, optional(convert, "convert")?) };
        let usual = Convert::new();
        let convert = convert.map_or(&usual, |convert| &convert.0);
        let destination = destination.tensor.clone();
        let done = processor.0.convert(&source.tensor, &destination, convert)?;
        if !placement.is_null() {
            // SAFETY: by the caller's promise.
            unsafe { out(placement, "placement")? }.write(figures(&done));
        }
        Ok(())
    })
}

/// Converts each source into one element of `batch`, a tensor with a leading dimension more than
/// an image. `placements` is null or has room for `count`.
///
/// # Safety
/// Handles are null or valid; `sources` has `count` handles; `placements` is null or has room.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_processor_convert_batch(
    processor: *const ProcessorHandle,
    sources: *const *mut TensorHandle,
    count: usize,
    batch: *const TensorHandle,
    convert: *const ConvertHandle,
    placements: *mut PlacementFigures,
) -> Status {
    guarded(|| {
        // SAFETY: by the caller's promise.
        let (processor, sources) =
            unsafe { (borrow(processor, "processor")?, list(sources, count, "sources")?) };
        // SAFETY: by the caller's promise.
        let (batch, convert) = unsafe { (borrow(batch, "batch")?, optional(convert, "convert")?) };
        let usual = Convert::new();
        let convert = convert.map_or(&usual, |convert| &convert.0);
        let mut tensors = vec![];
        for &source in sources {
            // SAFETY: by the caller's promise.
            tensors.push(&unsafe { borrow(source, "one of the sources")? }.tensor);
        }
        let done = processor.0.convert_batch(&tensors, &batch.tensor.clone(), convert)?;
        if !placements.is_null() {
            for (index, one) in done.iter().enumerate() {
                // SAFETY: there is room for `count`, and there are as many.
                unsafe { out(placements.add(index), "placements")? }.write(figures(one));
            }
        }
        Ok(())
    })
}

/// Gives a processor back; null is fine.
///
/// # Safety
/// `processor` is null or a processor that nobody uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tenure_processor_free(processor: *mut ProcessorHandle) {
    // SAFETY: by the caller's promise.
    guarded_free(|| unsafe { take(processor, "processor") });
}
