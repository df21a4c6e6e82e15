//! A model as plain data: tensors with sizes, and nodes in the order in which they run.

use crate::ElementType;

/// What a tensor is to a planner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A weight, or a view of one: in the file, not planned.
    Constant,
    /// State that outlives a run: not shared with anything.
    Variable,
    /// Made while the model runs (or given as an input): planned.
    Activation,
}

/// One tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name in the file; unique, except where a TFLite file repeats or omits names.
    pub name: String,
    /// Elements along each axis.
    pub shape: Vec<u64>,
    /// Type of the elements.
    pub dtype: ElementType,
    /// Bytes when packed without padding; 0 for text and sequences, which are not planned.
    pub bytes: u64,
    /// What it is to a planner.
    pub kind: Kind,
}

/// One step. All indices are of [`Graph::tensors`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name in the file, or one made from the operator and the position.
    pub name: String,
    /// Operator: `Conv`, `com.microsoft.FusedConv`, `CONV_2D`, or the name of a custom operator.
    pub op: String,
    /// What it reads; `None` where an optional input is left out.
    pub inputs: Vec<Option<usize>>,
    /// What it writes; `None` where an optional output is not wanted.
    pub outputs: Vec<Option<usize>>,
    /// `(output, input)`: the output has the bytes of the input in the same order.
    pub alias: Vec<(usize, usize)>,
    /// `(output, input)`: the output may be written over the input if nothing reads that later.
    pub in_place: Vec<(usize, usize)>,
}

/// A model: nodes in an order in which each reads only what was written before.
///
/// The bodies of `If`, `Loop` and `Scan` are part of `nodes`: each branch once, and every body
/// between a node that makes what it starts with and one that reads all it needs in the next
/// round, so that lifetimes in this order are lifetimes in every run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Graph {
    /// Every tensor.
    pub tensors: Vec<TensorInfo>,
    /// Every step, in order.
    pub nodes: Vec<Node>,
    /// Indices of what is given at the start of a run.
    pub inputs: Vec<usize>,
    /// Indices of what a run is for.
    pub outputs: Vec<usize>,
}
