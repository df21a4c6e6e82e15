//! From a graph to a schedule that can be planned.

use std::collections::HashSet;

use tenure_layout::DType;
use tenure_plan::{BufferSpec, DEFAULT_ALIGN, Schedule, Step, View};

use crate::{ElementType, Graph, Kind};

/// What TensorFlow Lite Micro aligns tensors to.
const MICRO_ALIGN: u64 = 16;

impl Graph {
    /// The schedule of a run: buffers are the tensors, in order; inputs and outputs are the
    /// caller's, weights are in the file and variables stay where they are.
    pub fn schedule(&self) -> Schedule {
        let mut schedule = self.plain(DEFAULT_ALIGN);
        for &input in &self.inputs {
            if let Some(spec) = schedule.buffers.get_mut(input) {
                spec.input = true;
            }
        }
        for &output in &self.outputs {
            if let Some(spec) = schedule.buffers.get_mut(output) {
                spec.output = true;
            }
        }
        schedule
    }

    /// The schedule of a run in one arena that holds inputs and outputs too, as TensorFlow Lite
    /// Micro does it: a first step writes the inputs and a last one reads the outputs.
    pub fn arena_schedule(&self) -> Schedule {
        let mut schedule = self.plain(MICRO_ALIGN);
        let planned = |list: &[usize]| -> Vec<usize> {
            let unique: HashSet<usize> = list.iter().copied().collect();
            let mut unique: Vec<usize> = unique.into_iter().collect();
            unique.retain(|&tensor| self.is_planned(tensor));
            unique.sort_unstable();
            unique
        };
        schedule.steps.insert(0, Step::new("inputs", [], planned(&self.inputs)));
        schedule.steps.push(Step::new("outputs", planned(&self.outputs), []));
        schedule
    }

    fn is_planned(&self, tensor: usize) -> bool {
        let planned = |info: &crate::TensorInfo| info.kind == Kind::Activation && info.bytes > 0;
        self.tensors.get(tensor).is_some_and(planned)
    }

    fn plain(&self, align: u64) -> Schedule {
        let mut names = HashSet::new();
        let mut buffers: Vec<BufferSpec> = Vec::with_capacity(self.tensors.len());
        for (index, info) in self.tensors.iter().enumerate() {
            let mut name = info.name.clone();
            while name.is_empty() || !names.insert(name.clone()) {
                name = format!("{name}#{index}");
            }
            let bytes = if info.kind == Kind::Constant { 0 } else { info.bytes };
            buffers.push(BufferSpec {
                align,
                dtype: dtype(info.dtype),
                disk: info.kind == Kind::Constant,
                // Text and sequences have memory of their own; what is empty needs none.
                allocated: info.kind == Kind::Variable
                    || (info.kind == Kind::Activation && info.bytes == 0),
                ..BufferSpec::new(name, bytes)
            });
        }
        let mut steps = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            for &(output, input) in &node.alias {
                if let Some(spec) = buffers.get_mut(output) {
                    spec.view_of = Some(View { buffer: input, offset: 0 });
                }
            }
            for &(output, input) in &node.in_place {
                if let Some(spec) = buffers.get_mut(output) {
                    spec.in_place.push(input);
                }
            }
            let mut reads: Vec<usize> = node.inputs.iter().flatten().copied().collect();
            let mut writes: Vec<usize> = node.outputs.iter().flatten().copied().collect();
            // A view has what its base has, and the file has the weights.
            writes.retain(|&output| {
                let view = node.alias.iter().any(|&(view, _)| view == output);
                let constant =
                    self.tensors.get(output).is_some_and(|info| info.kind == Kind::Constant);
                !view && !constant
            });
            for list in [&mut reads, &mut writes] {
                list.sort_unstable();
                list.dedup();
            }
            steps.push(Step::new(node.name.clone(), reads, writes));
        }
        Schedule { buffers, steps }
    }
}

/// The nearest of the types that buffers have; only buffers of one type are remapped.
fn dtype(element: ElementType) -> DType {
    match element {
        ElementType::F32 => DType::F32,
        ElementType::F16 => DType::F16,
        ElementType::Bf16 => DType::Bf16,
        ElementType::F64 => DType::F64,
        ElementType::F8E4M3 | ElementType::F8E4M3Fnuz => DType::F8E4M3,
        ElementType::F8E5M2 | ElementType::F8E5M2Fnuz => DType::F8E5M2,
        ElementType::F4E2M1 => DType::F4E2M1,
        ElementType::I64 => DType::I64,
        ElementType::I32 => DType::I32,
        ElementType::I16 => DType::I16,
        ElementType::I8 => DType::I8,
        ElementType::I4 => DType::I4,
        ElementType::U64 => DType::U64,
        ElementType::Complex64 => DType::Complex64,
        ElementType::Complex128 => DType::Complex128,
        ElementType::U32 => DType::U32,
        ElementType::U16 => DType::U16,
        ElementType::U4 => DType::U4,
        ElementType::Bool => DType::Bool,
        _ => DType::U8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complex_elements_stay_complex() {
        for (element, expected) in [
            (ElementType::Complex64, DType::Complex64),
            (ElementType::Complex128, DType::Complex128),
        ] {
            assert_eq!(dtype(element), expected);
            assert_eq!(element.bits(), expected.bits() as u64);
        }
        assert_eq!(dtype(ElementType::U64), DType::U64);
    }
}
