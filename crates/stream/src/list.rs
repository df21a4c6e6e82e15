//! The streams that there are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use crate::directory::{self, Place};
use crate::patience::Patience;
use crate::socket;
use crate::subscriber::ask;
use crate::wire::{Answer, Fault, LONGEST_REPORT, Request};
use crate::{Error, Result, StreamReport};

/// How long a producer has to answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// A stream that has a socket.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// Its socket.
    pub path: PathBuf,
    /// Whether somebody listens there; a producer that was killed leaves its socket behind.
    pub alive: bool,
}

/// The streams in [`crate::directory`], in order of their names.
///
/// ```
/// for stream in tenure_stream::list()? {
///     println!("{} {}", stream.name, if stream.alive { "" } else { "(dead)" });
/// }
/// # Ok::<(), tenure_stream::Error>(())
/// ```
///
/// # Errors
/// If the directory cannot be read; one that does not exist has no streams.
pub fn list() -> Result<Vec<Listed>> {
    list_in(directory::directory())
}

/// The streams in a directory.
///
/// # Errors
/// As [`list`].
pub fn list_in(directory: impl AsRef<Path>) -> Result<Vec<Listed>> {
    let directory = directory.as_ref();
    let mut found = vec![];
    for name in directory::names(directory)? {
        let Ok(path) = Place::new(&name, Some(directory)).and_then(|place| place.socket()) else {
            continue;
        };
        let answer = socket::connect_to(&path, Duration::from_millis(1));
        let refused = matches!(answer, Err(rustix::io::Errno::CONNREFUSED));
        found.push(Listed { name, path, alive: !refused });
    }
    Ok(found)
}

/// Asks a stream about itself.
///
/// # Errors
/// [`Error::NoStream`] if nobody publishes it, [`Error::NoAnswer`], [`Error::Refused`] if this
/// user may not know.
pub fn stat(name: &str) -> Result<StreamReport> {
    stat_in(directory::directory(), name)
}

/// The same, for whoever does not want to wait two seconds for a producer that does not answer.
///
/// # Errors
/// As [`stat`].
pub fn stat_within(name: &str, timeout: Duration) -> Result<StreamReport> {
    ask_about(&Place::new(name, None)?, timeout)
}

/// Asks a stream of a directory about itself.
///
/// # Errors
/// As [`stat`].
pub fn stat_in(directory: impl AsRef<Path>, name: &str) -> Result<StreamReport> {
    ask_about(&Place::new(name, Some(directory.as_ref()))?, PATIENCE)
}

fn ask_about(place: &Place, timeout: Duration) -> Result<StreamReport> {
    let connection = ask(place, Request::Report, timeout, None)?;
    let mut packet = Vec::new();
    packet
        .try_reserve_exact(LONGEST_REPORT)
        .map_err(|_| Error::system("making room for the report", Errno::NOMEM))?;
    packet.resize(LONGEST_REPORT, 0);
    let name = || place.name.clone();
    let received = connection.receive(&mut packet, &mut Patience::new(timeout))?;
    let Some(received) = received else {
        return Err(Error::from(crate::detail::NoAnswer { name: name(), after: timeout }));
    };
    if received.len == 0 {
        return Err(Error::from(crate::detail::Ended { name: name(), dead: true }));
    }
    let refuse = |fault| Err(Error::from(crate::detail::Packet { name: name(), fault }));
    if let Some(fault) = received.fault {
        return refuse(fault);
    }
    match Answer::decode(packet.get(..received.len).unwrap_or_default()) {
        Ok((Answer::Report, text)) => {
            let report: serde_json::Result<StreamReport> = serde_json::from_slice(text);
            let report = report
                .map_err(|cause| Error::from(crate::detail::Report { name: name(), cause }))?;
            Ok(report.harmless())
        }
        Ok((Answer::Refused { reason }, _)) => {
            Err(Error::from(crate::detail::Refused { name: name(), reason }))
        }
        Ok(_) => refuse(Fault::Unknown { what: "answer to a report", found: 0 }),
        Err(fault) => refuse(fault),
    }
}
