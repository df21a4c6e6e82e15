//! What errors carry that would be too large to be returned in every `Result`: one struct for each
//! such variant of [`Error`].

use std::path::PathBuf;

use tenure_layout::Remedy;
use tenure_tensor::DType;

use crate::Error;

macro_rules! boxed {
    ($($name:ident),* $(,)?) => {$(
        impl From<$name> for Error {
            #[cold]
            fn from(detail: $name) -> Error {
                Error::$name(Box::new(detail))
            }
        }
    )*};
}

boxed!(Damaged, In, Inflated, NoSuchTensor, NoSuchType, NoTensor, NotAView, ReservedName);

/// The format has no such element type.
#[derive(Debug, thiserror::Error)]
#[error("{format} files have no element type {dtype}: {instead}")]
pub struct NoSuchType {
    /// The format: `npy`.
    pub format: &'static str,
    /// The element type.
    pub dtype: DType,
    /// What would do.
    pub instead: &'static str,
}

/// A file that is not what its format asks for.
#[derive(Debug, thiserror::Error)]
#[error("the {format} file {what}")]
pub struct Damaged {
    /// The format: `npy`.
    pub format: &'static str,
    /// What is wrong with it.
    pub what: String,
}

/// Something went wrong with one file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", path.display())]
pub struct In {
    /// The file.
    pub path: PathBuf,
    /// What; part of the text, so no source besides.
    pub cause: Error,
}

/// Compressed tensors that are more than there is memory for.
#[derive(Debug, thiserror::Error)]
#[error(
    "the tensors are compressed: of {stored} bytes of files come {bytes}, and at most {limit} bytes \
     can be loaded now"
)]
pub struct Inflated {
    /// Bytes of memory that they would take.
    pub bytes: usize,
    /// Bytes of the files that they are in.
    pub stored: u64,
    /// As many bytes as may be loaded.
    pub limit: u64,
}

/// A name that no tensor of the file has.
#[derive(Debug, thiserror::Error)]
#[error("there is no tensor `{name}` among {count}{}", near_words(near))]
pub struct NoSuchTensor {
    /// The name.
    pub name: String,
    /// How many tensors there are.
    pub count: usize,
    /// A name that there is and that is nearly the same.
    pub near: Option<String>,
}

/// The name of a member that no tensor can be made of: see [`crate::TensorFile::refused`].
#[derive(Debug, thiserror::Error)]
#[error("no tensor can be made of `{name}`: {why}")]
pub struct NoTensor {
    /// The name.
    pub name: String,
    /// Why not.
    pub why: String,
}

/// A tensor that cannot be used where it lies in the file.
#[derive(Debug, thiserror::Error)]
#[error("tensor `{name}` is no view of its file: {why}{}", Remedy::LoadTensor.clause())]
pub struct NotAView {
    /// The tensor.
    pub name: String,
    /// Why not.
    pub why: &'static str,
}

/// A name that says something else in this format.
#[derive(Debug, thiserror::Error)]
#[error("no tensor of a {format} file can have the name `{name}`")]
pub struct ReservedName {
    /// The format.
    pub format: &'static str,
    /// The name.
    pub name: String,
}

fn near_words(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; there is `{near}`"))
}
