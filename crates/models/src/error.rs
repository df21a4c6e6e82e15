//! Everything that can go wrong with a model file, with the values that were wrong.

use std::io;
use std::path::PathBuf;

use tenure_layout::{ErrorKind, Remedy};

use crate::onnx::{ShapeIssue, WireFault};
use crate::tflite::{FlatFault, PlanFault};

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no graph, or no file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read {}: {cause}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's answer; part of the text, so no source besides.
        cause: io::Error,
    },
    /// Neither ONNX nor TFLite.
    #[error("not a model file that is known: neither TFLite (\"TFL3\" at byte 4) nor ONNX")]
    UnknownFormat,
    /// The bytes are not an ONNX file.
    #[error("at byte {offset}: {fault}")]
    Wire {
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        fault: WireFault,
    },
    /// The bytes are not a TFLite file.
    #[error("at byte {offset}: {table}: {fault}")]
    Flat {
        /// Where in the file.
        offset: u64,
        /// The table that is being read.
        table: &'static str,
        /// What is wrong there.
        fault: FlatFault,
    },
    /// Dimensions without a value.
    #[error(
        "{} not set: {}{}", dimension(names), names.join(", "), Remedy::GiveDimensions.clause()
    )]
    DimsNotSet {
        /// Their names: a symbol of the file, or `input.axis` for one without a name.
        names: Vec<String>,
    },
    /// Dimensions that the model does not have.
    #[error("no {} {}; the model has {}", dimension(names), names.join(", "), list(has))]
    DimsUnknown {
        /// Names that were given.
        names: Vec<String>,
        /// Names that there are.
        has: Vec<String>,
    },
    /// A graph input without a type or a shape.
    #[error("input {input} has no shape in the file")]
    InputShape {
        /// Name of the input.
        input: String,
    },
    /// The outputs of a node cannot be computed.
    #[error("node {node} ({op}), tensor {tensor}: {issue}{}", advice(issue))]
    Shape {
        /// Name of the node.
        node: String,
        /// Its operator.
        op: String,
        /// Its first output.
        tensor: String,
        /// What is wrong.
        issue: Box<ShapeIssue>,
    },
    /// A tensor over `u64::MAX` bytes.
    #[error("tensor {tensor} of shape {shape:?} is over 2^64 bytes")]
    TooLarge {
        /// Name of the tensor.
        tensor: String,
        /// Its shape.
        shape: Vec<u64>,
    },
    /// A tensor that is read but never written.
    #[error("node {node} reads tensor {tensor}, which nothing writes before it")]
    MissingTensor {
        /// Name of the node.
        node: String,
        /// Name of the tensor.
        tensor: String,
    },
    /// A model output that is never written.
    #[error("output {tensor} is written by no node")]
    MissingOutput {
        /// Name of the output.
        tensor: String,
    },
    /// Two tensors with one name.
    #[error("tensor {tensor} is written twice, the second time by {node}")]
    Duplicate {
        /// Name of the tensor.
        tensor: String,
        /// The second writer.
        node: String,
    },
    /// Nodes that wait for each other.
    #[error("node {node} reads what comes from its own output: the nodes go in a circle")]
    Cycle {
        /// One of them.
        node: String,
    },
    /// A graph larger than is taken.
    #[error("more than {most} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The most that are taken.
        most: usize,
    },
    /// An offline plan that cannot be written.
    #[error("the plan cannot be written: {fault}")]
    Plan {
        /// Why.
        fault: PlanFault,
    },
}

impl Error {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { .. } => ErrorKind::System,
            Error::Wire { fault, .. } => fault.kind(),
            Error::Flat { fault, .. } => fault.kind(),
            Error::Shape { issue, .. } => issue.kind(),
            Error::Plan { fault } => fault.kind(),
            Error::UnknownFormat
            | Error::InputShape { .. }
            | Error::MissingTensor { .. }
            | Error::MissingOutput { .. }
            | Error::Duplicate { .. }
            | Error::Cycle { .. } => ErrorKind::Damaged,
            Error::DimsNotSet { .. }
            | Error::DimsUnknown { .. }
            | Error::TooLarge { .. }
            | Error::TooMany { .. } => ErrorKind::Invalid,
        }
    }

    /// What would help, where a call would.
    pub fn remedy(&self) -> Option<Remedy> {
        matches!(self, Error::DimsNotSet { .. }).then_some(Remedy::GiveDimensions)
    }

    /// The operating system's answer, if it is one. It is part of the text.
    pub fn os_error(&self) -> Option<&io::Error> {
        match self {
            Error::Io { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

fn dimension(names: &[String]) -> &'static str {
    if names.len() == 1 { "dimension" } else { "dimensions" }
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn advice(issue: &ShapeIssue) -> &'static str {
    if issue.may_use_declared() {
        "; a value_info with all dimensions for this tensor would help"
    } else {
        ""
    }
}
