//! The cameras of this machine.

use std::fs;
use std::path::PathBuf;

use crate::device::{ask, identity, queue_kind};
use crate::{Error, Identity, Result};

/// A video device of this machine.
#[derive(Debug)]
pub struct Found {
    /// Its path.
    pub path: PathBuf,
    /// Who it is, if it could be asked.
    pub identity: Option<Identity>,
    /// Whether frames can be had from it, or why not.
    pub capture: Result<()>,
}

/// Every `/dev/video*`, by number: cameras, and what is none with the reason.
///
/// ```
/// for found in tenure_camera::cameras() {
///     let name = found.identity.map_or("?".to_owned(), |identity| identity.name);
///     match found.capture {
///         Ok(()) => println!("{} {name}", found.path.display()),
///         Err(why) => println!("{} {name}: {why}", found.path.display()),
///     }
/// }
/// ```
pub fn cameras() -> Vec<Found> {
    let mut numbers: Vec<u32> = fs::read_dir("/dev")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("video")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers.into_iter().map(look).collect()
}

fn look(number: u32) -> Found {
    let path = PathBuf::from(format!("/dev/video{number}"));
    match ask(&path) {
        Ok((_, capability)) => {
            let capture = queue_kind(&capability).map(|_| ()).map_err(|found| {
                Error::from(crate::detail::NotACamera { path: path.clone(), found })
            });
            Found { path, identity: Some(identity(&capability)), capture }
        }
        Err(why) => Found { path, identity: None, capture: Err(why) },
    }
}
