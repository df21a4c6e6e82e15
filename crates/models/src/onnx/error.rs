//! What can be wrong with an ONNX file: with its bytes, and with the shapes in it.

/// What is wrong with the bytes of a protocol buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireFault {
    /// The bytes end inside a field.
    #[error("the bytes end inside a field; is the file cut off?")]
    Truncated,
    /// A field says it is longer than what is left.
    #[error("a field of {len} bytes, but {left} are left; is the file cut off?")]
    Length {
        /// What the field says.
        len: u64,
        /// What there is.
        left: u64,
    },
    /// A base-128 number does not end.
    #[error("a number of more than 64 bits")]
    Varint,
    /// Fields are numbered from 1.
    #[error("a field with number 0; is this an ONNX file?")]
    FieldZero,
    /// A wire type that ONNX does not use.
    #[error("wire type {wire}, which ONNX does not use; is this an ONNX file?")]
    Type {
        /// The type.
        wire: u64,
    },
    /// A known field with content of another type.
    #[error("field {field} holds another type than ONNX gives it; is this an ONNX file?")]
    Content {
        /// Number of the field.
        field: u64,
    },
    /// Names are UTF-8.
    #[error("a name that is not UTF-8")]
    NotUtf8,
    /// A list is longer than anything that makes sense.
    #[error("field {field} has more than {most} entries")]
    TooMany {
        /// Number of the field.
        field: u64,
        /// The most that are read.
        most: usize,
    },
    /// Graphs inside graphs, too deep.
    #[error("graphs inside graphs, more than {most} deep")]
    Depth {
        /// The most that are read.
        most: usize,
    },
    /// An element type that is not known.
    #[error("element type {code} is not one of ONNX's 1 to 26")]
    ElementType {
        /// What the file says.
        code: u64,
    },
    /// A tensor with a negative dimension.
    #[error("a tensor with dimension {dim}")]
    NegativeDim {
        /// What the file says.
        dim: i64,
    },
    /// The file has no graph.
    #[error("no graph; is this an ONNX file?")]
    NoGraph,
}

/// Why the outputs of a node could not be computed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeIssue {
    /// The operator is not known.
    #[error("the operator is not known")]
    Operator,
    /// The shape depends on numbers that are known only when the model runs.
    #[error("the shape depends on the numbers in input {input}, known only in a run")]
    Values {
        /// Position of the input.
        input: usize,
    },
    /// The shape depends on numbers that are known only when the model runs.
    #[error("the shape depends on {what}, known only in a run")]
    Unknown {
        /// What it depends on.
        what: &'static str,
    },
    /// An input that must be there.
    #[error("input {input} is missing")]
    MissingInput {
        /// Position of the input.
        input: usize,
    },
    /// An attribute that must be there.
    #[error("attribute {name} is missing")]
    MissingAttribute {
        /// Its name.
        name: &'static str,
    },
    /// An attribute with a value that makes no sense.
    #[error("attribute {name} is {found}, must be {wanted}")]
    Attribute {
        /// Its name.
        name: &'static str,
        /// What the file says.
        found: i64,
        /// What would be right.
        wanted: &'static str,
    },
    /// A word that is not known, or a text that cannot be read.
    #[error("attribute {name} cannot be read: {found:?}")]
    Word {
        /// Its name.
        name: &'static str,
        /// What the file says.
        found: String,
    },
    /// An input of the wrong rank.
    #[error("input {input} has shape {shape:?}, must have {wanted}")]
    Rank {
        /// Position of the input.
        input: usize,
        /// Its shape.
        shape: Vec<u64>,
        /// What would be right.
        wanted: &'static str,
    },
    /// An axis that the tensor does not have.
    #[error("axis {axis} of a tensor of rank {rank}")]
    Axis {
        /// What the file says.
        axis: i64,
        /// Axes there are.
        rank: usize,
    },
    /// Shapes that cannot be broadcast to each other.
    #[error("shapes {left:?} and {right:?} do not broadcast")]
    Broadcast {
        /// One shape.
        left: Vec<u64>,
        /// The other.
        right: Vec<u64>,
    },
    /// Two lengths that must be equal.
    #[error("{what}: {left} and {right} must be equal")]
    Mismatch {
        /// Which lengths.
        what: &'static str,
        /// One of them.
        left: u64,
        /// The other.
        right: u64,
    },
    /// A length that makes no sense.
    #[error("{what} is {value}")]
    Length {
        /// Which length.
        what: &'static str,
        /// Its value.
        value: i128,
    },
    /// A tensor that has more axes than anything that makes sense.
    #[error("rank {rank} is over {most}")]
    TooManyAxes {
        /// Axes.
        rank: usize,
        /// The most that are taken.
        most: usize,
    },
    /// The operator makes fewer outputs than the node names.
    #[error("output {output} is more than the operator makes")]
    Output {
        /// Position of the output.
        output: usize,
    },
    /// An attribute whose bytes are wrong.
    #[error("at byte {offset}: {fault}")]
    Wire {
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        fault: WireFault,
    },
}

impl ShapeIssue {
    /// Whether a shape that the file declares may be used instead.
    pub(crate) fn may_use_declared(&self) -> bool {
        matches!(
            self,
            ShapeIssue::Operator | ShapeIssue::Values { .. } | ShapeIssue::Unknown { .. }
        )
    }
}

impl WireFault {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Damaged
    }
}

impl ShapeIssue {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        use tenure_layout::ErrorKind;
        match self {
            ShapeIssue::Operator | ShapeIssue::Values { .. } | ShapeIssue::Unknown { .. } => {
                ErrorKind::Unsupported
            }
            ShapeIssue::MissingInput { .. }
            | ShapeIssue::MissingAttribute { .. }
            | ShapeIssue::Attribute { .. }
            | ShapeIssue::Word { .. }
            | ShapeIssue::Rank { .. }
            | ShapeIssue::Axis { .. }
            | ShapeIssue::Broadcast { .. }
            | ShapeIssue::Mismatch { .. }
            | ShapeIssue::Length { .. }
            | ShapeIssue::TooManyAxes { .. }
            | ShapeIssue::Output { .. }
            | ShapeIssue::Wire { .. } => ErrorKind::Damaged,
        }
    }
}
