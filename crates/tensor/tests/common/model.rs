//! The slowest possible tensor: every element knows which one it was at first.
#![allow(dead_code, reason = "every test program uses what it needs")]

use proptest::prelude::*;
use tenure_tensor::{ElementKind, Tensor};

/// A view as a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    pub(crate) shape: Vec<usize>,
    /// For every element, in the order of indices, its number in the whole tensor.
    pub(crate) origin: Vec<usize>,
}

/// One step to another view; numbers are taken modulo what is possible.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    Slice(usize, usize, usize, usize),
    Index(usize, usize),
    Permute(usize),
    Unsqueeze(usize),
    Squeeze(usize),
    Broadcast(usize, usize),
    Reshape(usize),
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    let n = || 0usize..1000;
    prop_oneof![
        4 => (n(), n(), n(), n()).prop_map(|(a, b, c, d)| Step::Slice(a, b, c, d)),
        2 => (n(), n()).prop_map(|(a, b)| Step::Index(a, b)),
        3 => n().prop_map(Step::Permute),
        1 => n().prop_map(Step::Unsqueeze),
        1 => n().prop_map(Step::Squeeze),
        1 => (n(), n()).prop_map(|(a, b)| Step::Broadcast(a, b)),
        2 => n().prop_map(Step::Reshape),
    ]
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..6)
}

/// All indices of a shape, in order.
pub(crate) fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |all, &dim| {
        let with = |index: Vec<usize>| (0..dim).map(move |n| [&index[..], &[n]].concat());
        all.into_iter().flat_map(with).collect()
    })
}

impl Model {
    pub(crate) fn whole(shape: &[usize]) -> Model {
        Model { shape: shape.to_vec(), origin: (0..shape.iter().product()).collect() }
    }

    pub(crate) fn at(&self, index: &[usize]) -> usize {
        let flat = index.iter().zip(&self.shape).fold(0, |flat, (&at, &dim)| flat * dim + at);
        self.origin[flat]
    }

    /// The view of another shape whose element at `index` is the one that `from` names here.
    fn remade(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Model {
        let origin = indices(&shape).iter().map(|index| self.at(&from(index))).collect();
        Model { shape, origin }
    }
}

/// Takes a step with the tensor and the model; steps that are impossible are left out.
pub(crate) fn take<E: ElementKind>(
    tensor: Tensor<E>,
    model: Model,
    step: Step,
) -> (Tensor<E>, Model) {
    let (rank, shape) = (model.shape.len(), model.shape.clone());
    let with = |axis: usize, dim: usize| {
        let mut shape = shape.clone();
        shape[axis] = dim;
        shape
    };
    match step {
        Step::Slice(axis, start, len, step) if rank > 0 => {
            let axis = axis % rank;
            let start = start % (shape[axis] + 1);
            let end = start + len % (shape[axis] - start + 1);
            let step = step % 3 + 1;
            let view = tensor.slice_step(axis, start..end, step).unwrap();
            let model = model.remade(with(axis, (end - start).div_ceil(step)), |index| {
                let mut from = index.to_vec();
                from[axis] = start + from[axis] * step;
                from
            });
            (view, model)
        }
        Step::Index(axis, at) if rank > 0 && shape[axis % rank] > 0 => {
            let axis = axis % rank;
            let at = at % shape[axis];
            let mut less = shape.clone();
            less.remove(axis);
            let model = model.remade(less, |index| {
                let mut from = index.to_vec();
                from.insert(axis, at);
                from
            });
            (tensor.index(axis, at).unwrap(), model)
        }
        Step::Permute(seed) => {
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.sort_by_key(|axis| (axis * 7919 + seed) % 31);
            let turned = axes.iter().map(|&axis| shape[axis]).collect();
            let model = model.remade(turned, |index| {
                let mut from = vec![0; rank];
                axes.iter().zip(index).for_each(|(&axis, &at)| from[axis] = at);
                from
            });
            (tensor.permute(&axes).unwrap(), model)
        }
        Step::Unsqueeze(axis) => {
            let axis = axis % (rank + 1);
            let mut more = shape.clone();
            more.insert(axis, 1);
            (tensor.unsqueeze(axis).unwrap(), Model { shape: more, ..model })
        }
        Step::Squeeze(axis) if rank > 0 && shape[axis % rank] == 1 => {
            let axis = axis % rank;
            let mut less = shape.clone();
            less.remove(axis);
            (tensor.squeeze(axis).unwrap(), Model { shape: less, ..model })
        }
        Step::Broadcast(axis, times) if rank > 0 && shape[axis % rank] == 1 => {
            let axis = axis % rank;
            let wide = with(axis, times % 4);
            let view = tensor.broadcast_to(&wide).unwrap();
            let model = model.remade(wide, |index| {
                let mut from = index.to_vec();
                from[axis] = 0;
                from
            });
            (view, model)
        }
        Step::Reshape(seed) => {
            let elements: usize = shape.iter().product();
            let parts: Vec<usize> =
                (1..=elements).filter(|n| elements.is_multiple_of(*n)).collect();
            let Some(&part) = parts.get(seed % parts.len().max(1)) else { return (tensor, model) };
            let other = vec![part, elements / part];
            // Gaps, turned axes and scales may stand against it; then it is refused.
            match tensor.reshape(&other) {
                Ok(view) => (view, Model { shape: other, ..model }),
                Err(_) => {
                    assert!(!tensor.is_contiguous() || tensor.quantization().is_some());
                    (tensor, model)
                }
            }
        }
        _ => (tensor, model),
    }
}

/// Takes all steps.
pub(crate) fn walk<E: ElementKind>(tensor: &Tensor<E>, steps: &[Step]) -> (Tensor<E>, Model) {
    let whole = (tensor.clone(), Model::whole(tensor.shape()));
    steps.iter().fold(whole, |(tensor, model), &step| take(tensor, model, step))
}
