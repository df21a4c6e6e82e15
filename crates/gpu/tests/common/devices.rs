//! What the tests of devices share.
#![allow(dead_code, reason = "every test program uses what it needs")]

use std::time::Duration;

use tenure_gpu::Gpu;
use tenure_gpu::testing::{Settings, TestDevice};
use tenure_tensor::Tensor;

/// A test device, to be stopped and lost, and the same opened.
pub(crate) fn device(settings: Settings) -> (TestDevice, Gpu) {
    let device = TestDevice::with(settings);
    (device.clone(), Gpu::over(device).unwrap())
}

/// A quick one.
pub(crate) fn quick() -> (TestDevice, Gpu) {
    device(Settings { delay: Duration::ZERO, ..Settings::default() })
}

/// Values that differ from their neighbours.
pub(crate) fn numbers(shape: &[usize]) -> Tensor<u16> {
    let count: usize = shape.iter().product();
    let values: Vec<u16> = (0..count).map(|n| (n * 7 + 3) as u16).collect();
    Tensor::from_slice(&values, shape).unwrap()
}

/// All elements in index order, wherever they are.
pub(crate) fn values(tensor: &Tensor<u16>) -> Vec<u16> {
    let mut bytes = vec![0; tensor.flat_bytes()];
    tensor.copy_to_flat(&mut bytes).unwrap();
    bytes.chunks(2).map(|pair| u16::from_ne_bytes([pair[0], pair[1]])).collect()
}

/// Part of a tensor: a range of each dimension.
pub(crate) fn part<E: tenure_tensor::ElementKind>(
    tensor: &Tensor<E>,
    ranges: &[std::ops::Range<usize>],
) -> Tensor<E> {
    ranges
        .iter()
        .enumerate()
        .fold(tensor.clone(), |part, (axis, range)| part.slice(axis, range.clone()).unwrap())
}
