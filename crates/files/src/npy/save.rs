//! An array as a file of its own.

use std::path::Path;

use tenure_tensor::{ElementKind, Tensor};

use crate::Result;
use crate::whole::{self, Existing};

/// Saves a tensor as a file, which is there when this returns, whole and on the disk, or is what it
/// was before. Says how many bytes it has.
///
/// ```
/// use tenure_files::{npy, open};
/// use tenure_tensor::Tensor;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.npy");
/// npy::save(&path, &Tensor::<f32>::from_slice(&[1.0, 2.0], &[2])?)?;
/// let back = open(&path)?.tensor("a")?.typed::<f32>()?;
/// assert_eq!(back.map_read()?.as_slice(), [1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`super::write`], and what the system says: no space, no such folder.
pub fn save<E: ElementKind>(path: impl AsRef<Path>, tensor: &Tensor<E>) -> Result<u64> {
    let path = path.as_ref();
    whole::write_durably(path, Existing::Replace, |out| super::write(out, tensor))
        .map_err(|error| error.at(path))
}
