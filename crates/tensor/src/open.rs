//! Files as tensors of bytes.

use std::path::Path;

use tenure_layout::{DType, Layout};
use tenure_memory::open_file;

use crate::{Dyn, Result, Tensor};

impl Tensor<Dyn> {
    /// A whole file as read-only bytes; nothing is read until it is touched.
    ///
    /// # Errors
    /// If it cannot be opened or is not a regular file, or this system has no mapped files
    /// ([`tenure_memory::Error::Unavailable`]).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let buffer = open_file(path)?;
        let layout = Layout::contiguous(DType::U8, &[buffer.len()])?;
        Tensor::from_buffer(buffer, layout)
    }
}
