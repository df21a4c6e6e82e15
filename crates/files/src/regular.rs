//! Files, and nothing else that has a name: devices are not touched, pipes are not waited for.

use std::path::Path;

use tenure_memory::regular::{self, NotRegular};

use crate::source::OpenFile;
use crate::{Error, Result};

/// Opens a regular file for reading.
pub(crate) fn open(path: &Path) -> Result<OpenFile> {
    let (file, size) = regular::open(path).map_err(|error| match error.downcast() {
        Ok(NotRegular { found }) => Error::NotAFile { found },
        Err(error) => Error::Open(error),
    })?;
    Ok(OpenFile { file, size })
}
