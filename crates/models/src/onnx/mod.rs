//! ONNX: a graph with the type and shape of every tensor.
//!
//! The file is read where it lies, and the weights of a large one not at all. Shapes are inferred
//! for every node with the numbers of small integer tensors followed, since exporters compute
//! shapes in the graph; dimensions that the file leaves open are given by the caller.

mod budget;
mod build;
mod control;
mod dims;
mod error;
mod fact;
mod fold;
mod names;
mod op;
mod proto;
mod shapes;
mod skim;
mod wire;

use std::collections::BTreeMap;

pub use error::{ShapeIssue, WireFault};
pub(crate) use skim::{SMALL, Skeleton, skim};
use wire::Message;

use crate::{Graph, Result};

/// The graph of an ONNX file. `dims` gives each symbolic dimension of the inputs a value; one
/// without a name is called `input.axis`.
///
/// # Errors
///
/// What is wrong with the file or with `dims`, naming the offset, node or tensor.
pub fn read(bytes: &[u8], dims: &BTreeMap<String, u64>) -> Result<Graph> {
    let model = proto::Model::read(Message::new(bytes))?;
    build::build(&model, dims)
}

/// The graph of an ONNX file of which the content of the tensors was not read.
pub(crate) fn read_skeleton(skeleton: &Skeleton, dims: &BTreeMap<String, u64>) -> Result<Graph> {
    let model = proto::Model::read(Message::with_holes(skeleton))?;
    build::build(&model, dims)
}
