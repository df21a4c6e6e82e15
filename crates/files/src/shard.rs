//! One file that is open: its descriptor, and all of its bytes as one buffer.

use std::path::{Path, PathBuf};

use tenure_tensor::Buffer;

use crate::source::OpenFile;
use crate::{Result, regular};

/// One file.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) path: PathBuf,
    pub(crate) source: OpenFile,
    pub(crate) buffer: Buffer,
}

impl Shard {
    /// Opens a file and maps it; nothing is read.
    pub(crate) fn open(path: &Path) -> Result<Shard> {
        let open = || {
            let source = regular::open(path)?;
            let name = path.file_name().and_then(|name| name.to_str());
            let buffer = map(&source, name)?;
            // The size that was mapped counts.
            let source = OpenFile { size: buffer.len() as u64, ..source };
            Ok(Shard { path: path.to_owned(), source, buffer })
        };
        open().map_err(|error: crate::Error| error.at(path))
    }
}

/// All bytes of the file, mapped.
#[cfg(linux_like)]
fn map(source: &OpenFile, name: Option<&str>) -> Result<Buffer> {
    Ok(tenure_memory::import(&source.file, 0, tenure_memory::Protection::ReadOnly, name)?)
}

/// All bytes of the file, read: this system's mapped files are not survived when they are cut off.
#[cfg(not(linux_like))]
fn map(source: &OpenFile, name: Option<&str>) -> Result<Buffer> {
    use tenure_tensor::{Request, TensorMemory};
    let too_large = |_| tenure_memory::Error::TooShort { have: 0, need: source.size };
    let size = usize::try_from(source.size).map_err(too_large)?;
    let request = Request::new(size)?.with_name(name);
    let raw = tenure_memory::allocate(Some(TensorMemory::Mem), &request)?;
    let buffer = Buffer::from_raw(raw);
    crate::source::read_exact(source, 0, buffer.write()?.as_bytes_mut())?;
    Ok(buffer)
}
