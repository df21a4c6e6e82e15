//! What can be wrong with a TFLite file, and with a plan that shall go into one.

/// What is wrong with the bytes of a flatbuffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlatFault {
    /// Something lies outside the file.
    #[error("{len} bytes from here are outside the file; is it cut off?")]
    Outside {
        /// How many bytes were to be read.
        len: u64,
    },
    /// A list longer than the file.
    #[error("a list of {len} entries is longer than the file; is it cut off?")]
    Length {
        /// What the file says.
        len: u64,
    },
    /// A table whose list of fields makes no sense.
    #[error("a table without a readable list of fields")]
    Fields,
    /// A field that must be there.
    #[error("field {field} is missing")]
    Missing {
        /// Name of the field.
        field: &'static str,
    },
    /// A name that is not UTF-8.
    #[error("a name that is not UTF-8")]
    NotUtf8,
    /// An index into a list that is too short.
    #[error("{what} {index} of {len}")]
    Index {
        /// Of what.
        what: &'static str,
        /// The index.
        index: i64,
        /// How many there are.
        len: u64,
    },
    /// A negative dimension.
    #[error("dimension {dim}; a file for a fixed size is needed")]
    NegativeDim {
        /// What the file says.
        dim: i32,
    },
    /// An element type that is not known.
    #[error("element type {code} is not known")]
    ElementType {
        /// What the file says.
        code: u8,
    },
    /// A tensor of more axes than anything that makes sense.
    #[error("a tensor of {axes} axes")]
    Axes {
        /// How many.
        axes: u64,
    },
    /// A field of the root table that is newer than this code.
    #[error("field number {field} of the model is not known, so it could not be kept")]
    NewField {
        /// Its number.
        field: u16,
    },
}

/// Why an offline plan is not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanFault {
    /// One offset per tensor of every subgraph is needed.
    #[error("{offsets} offsets for {tensors} tensors")]
    Count {
        /// Offsets given.
        offsets: usize,
        /// Tensors in the file.
        tensors: usize,
    },
    /// TensorFlow Lite Micro aligns to 16 bytes.
    #[error("tensor {index} ({name}) at {offset}, which is not a multiple of 16")]
    Align {
        /// Index of the tensor.
        index: usize,
        /// Its name.
        name: String,
        /// Its offset.
        offset: u64,
    },
    /// Offsets are 32-bit numbers with a sign.
    #[error("tensor {index} ({name}) at {offset} with {bytes} bytes ends above 2^31 - 1")]
    TooFar {
        /// Index of the tensor.
        index: usize,
        /// Its name.
        name: String,
        /// Its offset.
        offset: u64,
        /// Its size.
        bytes: u64,
    },
    /// Weights, variables and empty tensors have no place in the arena.
    #[error("tensor {index} ({name}) is {what} and must not have an offset")]
    NotPlanned {
        /// Index of the tensor.
        index: usize,
        /// Its name.
        name: String,
        /// What it is.
        what: &'static str,
    },
    /// Two tensors that are alive together share bytes.
    #[error("tensors {left} and {right} are alive together and share bytes")]
    Overlap {
        /// One of them.
        left: String,
        /// The other.
        right: String,
    },
    /// Parts of the file overlap, so that moving one would change another.
    #[error("parts of the file overlap, and moving data would change them")]
    Overlapping,
    /// Flatbuffers end at 2^31 bytes.
    #[error("the file would have {bytes} bytes, over the 2^31 of the format")]
    FileSize {
        /// How many.
        bytes: u64,
    },
}

impl FlatFault {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Damaged
    }
}

impl PlanFault {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
