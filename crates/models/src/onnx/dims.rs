//! Symbolic dimensions: which there are, and the values that the caller gives them.

use std::collections::{BTreeMap, BTreeSet};

use super::fact::Fact;
use super::proto::{Dim, GraphProto, ValueInfo};
use crate::{Error, Result};

/// Values of symbolic dimensions, checked against the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dims<'d> {
    given: &'d BTreeMap<String, u64>,
}

impl<'d> Dims<'d> {
    /// Every name that was given exists, and every dimension of an input has a value.
    pub(crate) fn check(
        given: &'d BTreeMap<String, u64>,
        graph: &GraphProto<'_>,
    ) -> Result<Dims<'d>> {
        let constants: BTreeSet<&str> =
            graph.initializers.iter().map(|tensor| tensor.name).collect();
        let mut has = BTreeSet::new();
        let mut unset = BTreeSet::new();
        for input in graph.inputs.iter().filter(|input| !constants.contains(input.name)) {
            for name in open_dims(input) {
                if !given.contains_key(&name) {
                    unset.insert(name.clone());
                }
                has.insert(name);
            }
        }
        for info in graph.outputs.iter().chain(&graph.value_info) {
            for dim in info.shape.iter().flatten() {
                if let Dim::Symbol(symbol) = dim {
                    has.insert((*symbol).to_owned());
                }
            }
        }
        let names: Vec<String> =
            given.keys().filter(|name| !has.contains(*name)).cloned().collect();
        if !names.is_empty() {
            return Err(Error::DimsUnknown { names, has: has.into_iter().take(64).collect() });
        }
        if !unset.is_empty() {
            return Err(Error::DimsNotSet { names: unset.into_iter().take(64).collect() });
        }
        Ok(Dims { given })
    }

    /// The declared type and shape, if every dimension is known.
    pub(crate) fn concrete(&self, info: &ValueInfo<'_>) -> Option<Fact> {
        let shape = info.shape.as_ref()?.iter().enumerate().map(|(axis, dim)| match dim {
            Dim::Known(dim) => Some(*dim),
            Dim::Symbol(symbol) => self.given.get(*symbol).copied(),
            Dim::Unknown => self.given.get(&nameless(info.name, axis)).copied(),
        });
        Some(Fact::new(info.dtype?, shape.collect::<Option<_>>()?))
    }
}

/// What a dimension without a name is called.
fn nameless(tensor: &str, axis: usize) -> String {
    format!("{tensor}.{axis}")
}

fn open_dims(info: &ValueInfo<'_>) -> Vec<String> {
    let shape = info.shape.iter().flatten().enumerate();
    shape
        .filter_map(|(axis, dim)| match dim {
            Dim::Known(_) => None,
            Dim::Symbol(symbol) => Some((*symbol).to_owned()),
            Dim::Unknown => Some(nameless(info.name, axis)),
        })
        .collect()
}
