//! Dumb buffers of graphics cards, exported as DMA-BUF: `/dev/dri/card*`.

use std::fs::{self, OpenOptions};
use std::os::fd::{AsFd, OwnedFd};

use super::request::dumb_allocate;
use super::{Source, SourceRefusal, advice, refused};

const FOLDER: &str = "/dev/dri";

/// Every card. Render nodes do not make dumb buffers.
pub(super) fn list(refusals: &mut Vec<SourceRefusal>) -> Vec<Source> {
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(error) => {
            refusals.push(advice(FOLDER, &error));
            return vec![];
        }
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with("card"))
        .collect();
    names.sort();
    names.into_iter().map(Source::Card).collect()
}

/// A buffer of one card.
pub(super) fn make(name: &str, bytes: usize) -> Result<OwnedFd, SourceRefusal> {
    let path = format!("{FOLDER}/{name}");
    let card = OpenOptions::new().read(true).write(true).open(&path);
    let card = card.map_err(|error| advice(&path, &error))?;
    dumb_allocate(card.as_fd(), bytes).map_err(|errno| refused(&path, bytes, errno))
}
