//! Strided copies beside ndarray's assignment; `memcpy` of the same bytes is the limit.

use std::hint::black_box;

use ndarray::{ArrayD, IxDyn};
use tenure::{Tensor, TensorMemory};
use tenure_benches::{Bench, Error, Unit, per_call, touched};

pub(crate) fn rows(bench: &mut Bench) -> Result<(), Error> {
    turned::<u8>(bench, "copy: 1080p RGB to planes", &[1080, 1920, 3], &[2, 0, 1], 1)?;
    turned::<u8>(bench, "copy: planes to 1080p RGB", &[3, 1080, 1920], &[1, 2, 0], 1)?;
    turned::<f32>(bench, "copy: transpose 1200x1600 f32", &[1200, 1600], &[1, 0], 2)?;
    turned::<f32>(bench, "copy: transpose 4096x4096 f32", &[4096, 4096], &[1, 0], 2)?;
    turned::<f32>(bench, "copy: transpose 3001x5003 f32", &[3001, 5003], &[1, 0], 2)?;
    turned::<u8>(bench, "copy: transpose 1920x1080 u8", &[1920, 1080], &[1, 0], 3)?;
    Ok(())
}

/// A permuted view copied into a contiguous tensor.
fn turned<T>(
    bench: &mut Bench,
    name: &str,
    shape: &[usize],
    axes: &[usize],
    value: u8,
) -> Result<(), Error>
where
    T: tenure::Element<Stored = T> + From<u8>,
{
    let Some(row) = bench.row(name, Unit::Nanoseconds) else { return Ok(()) };
    let mem = Some(TensorMemory::Mem);
    let from = Tensor::<T>::new(shape, mem, None)?;
    from.fill(T::from(value))?;
    let view = from.permute(axes)?;
    let to = Tensor::<T>::new(view.shape(), mem, None)?;
    to.fill(T::from(0))?;
    let array = ArrayD::<T>::from_elem(IxDyn(shape), T::from(value));
    let mut target = ArrayD::<T>::from_elem(IxDyn(view.shape()), T::from(0));
    let bytes = from.size_bytes();
    let (source, mut plain) = (touched(bytes), touched(bytes));
    row.ours(per_call(|| drop(black_box(to.copy_from(&view)))))
        .rival(
            "ndarray",
            per_call(|| target.assign(&black_box(&array).view().permuted_axes(IxDyn(axes)))),
        )
        .limit(per_call(|| black_box(&mut plain).copy_from_slice(black_box(&source))))
        .measure();
    Ok(())
}
