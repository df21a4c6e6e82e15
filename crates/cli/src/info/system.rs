//! The operating system.

use serde::Serialize;

/// The operating system.
#[derive(Debug, Serialize)]
pub(super) struct System {
    /// Its name: `linux`, `macos`, `windows` …
    pub(super) name: &'static str,
    /// The architecture this program was built for.
    pub(super) architecture: &'static str,
    /// Release of the kernel.
    pub(super) kernel: Option<String>,
}

pub(super) fn system() -> System {
    System { name: std::env::consts::OS, architecture: std::env::consts::ARCH, kernel: kernel() }
}

#[cfg(unix)]
fn kernel() -> Option<String> {
    Some(rustix::system::uname().release().to_string_lossy().into_owned())
}

#[cfg(not(unix))]
fn kernel() -> Option<String> {
    None
}
