//! Rust to Rust: what exporting and importing costs before anybody looks at an element.
#![expect(unsafe_code, reason = "the rival's structures are taken over by pointer")]

use std::hint::black_box;
use std::sync::Arc;

use dlpark::metadata::Dynamic;
use dlpark::{ffi as theirs, versioned};
use tenure::{Tensor, TensorDyn, TensorMemory};
use tenure_benches::{Bench, Error, Unit, per_call};

use crate::producer;

const SHAPE: [usize; 4] = [1, 3, 224, 224];

/// What a round trip may cost, in nanoseconds.
const ROUND_TRIP: f64 = 150.0;

/// What it may cost to take over a tensor of torch, most of which torch itself needs.
const TAKE_OVER: f64 = 1000.0;

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    let shape = SHAPE.map(|len| len as i64);
    let memory: &'static [f32] = vec![0.0; SHAPE.iter().product()].leak();
    if let Some(row) = bench.row("dlpack: export, import, drop", Unit::Nanoseconds) {
        let ours = Tensor::<f32>::new(&SHAPE, Some(TensorMemory::Mem), None)?;
        row.ours(per_call(|| {
            ours.to_dlpack().and_then(|lent| Tensor::<f32>::from_dlpack(black_box(lent)))
        }))
        .rival("150 ns", || ROUND_TRIP)
        .limit(per_call(|| producer::owned(memory, shape)))
        .measure();
    }
    if let Some(row) = bench.row("dlpack: export, hand over, drop", Unit::Nanoseconds) {
        let ours = Tensor::<f32>::new(&SHAPE, Some(TensorMemory::Mem), None)?;
        let kept = Arc::new(memory.to_vec());
        row.target(3.0)
            .ours(per_call(|| ours.to_dlpack()))
            .rival("dlpark", per_call(|| dlpark_export(&kept, &shape)))
            .limit(per_call(|| producer::owned(memory, shape)))
            .measure();
    }
    if let Some(row) = bench.row("dlpack: import foreign memory, drop", Unit::Nanoseconds) {
        row.target(0.5)
            .ours(per_call(|| producer::owned(memory, shape).map(TensorDyn::from_dlpack)))
            .rival("1 µs", || TAKE_OVER)
            .limit(per_call(|| producer::owned(memory, shape)))
            .measure();
    }
    if let Some(row) = bench.row("dlpack: describe without owning", Unit::Nanoseconds) {
        let ours = Tensor::<f32>::new(&SHAPE, Some(TensorMemory::Mem), None)?;
        row.target(0.2)
            // SAFETY: nothing uses the memory meanwhile.
            .ours(per_call(|| unsafe { ours.to_dl_tensor() }))
            .rival("150 ns", || ROUND_TRIP)
            .measure();
    }
    Ok(())
}

/// The same with dlpark: an export that keeps its memory, handed over and checked.
fn dlpark_export(kept: &Arc<Vec<f32>>, shape: &[i64; 4]) -> Option<usize> {
    let [_, b, c, d] = *shape;
    let strides = [b * c * d, c * d, d, 1];
    let mut tensor = Dynamic::new(&shape[..], &strides[..]).initialize(Arc::clone(kept)).ok()?;
    tensor
        .set_data(kept.as_ptr().cast_mut().cast())
        .set_device(theirs::DLDevice { device_type: theirs::DLDeviceType(1), device_id: 0 })
        .set_dtype(theirs::DLDataType { code: theirs::DLDataTypeCode(2), bits: 32, lanes: 1 });
    // SAFETY: every field is filled in, and the memory is never freed.
    let tensor: versioned::Dlpack = unsafe { tensor.finish() };
    let pointer = tensor.into_raw();
    // SAFETY: just given out.
    let tensor = unsafe { versioned::Dlpack::from_raw(pointer) }.ok()?;
    Some(tensor.validate().ok()?.num_bytes())
}
