//! One frame of a camera, as it sends them.

use std::path::Path;

use tenure::TensorDyn;

use super::Problem;

/// Whether a path is a camera's.
#[cfg(linux_like)]
pub(super) fn is_one(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    name.is_some_and(|name| name.starts_with("video"))
        && path.metadata().is_ok_and(|found| found.file_type().is_char_device())
}

/// The next frame, in memory of our own.
#[cfg(linux_like)]
pub(super) fn frame(path: &Path) -> Result<TensorDyn, Problem> {
    use std::time::Duration;
    use tenure::camera::{Camera, Error, Wanted};

    use crate::capture;
    const WITHIN: Duration = Duration::from_secs(5);
    let taken = || -> Result<TensorDyn, capture::Problem> {
        let mut camera = Camera::open(path)?;
        camera.negotiate(Wanted::any())?;
        let mut stream = camera.stream()?;
        let frame = stream.next(WITHIN)?.ok_or(capture::Problem::NoFrame { within: WITHIN })?;
        Ok(frame.to(Some(tenure::TensorMemory::Mem)).map_err(Error::from)?)
    };
    Ok(taken()?)
}

/// Whether a path is a camera's: there are none that we can use.
#[cfg(not(linux_like))]
pub(super) fn is_one(_path: &Path) -> bool {
    false
}

/// The frame of a camera: there are none that we can use.
#[cfg(not(linux_like))]
pub(super) fn frame(path: &Path) -> Result<TensorDyn, Problem> {
    Err(crate::capture::Problem::NotHere(path.to_owned()).into())
}
