//! Files opened a second time, for reads that go past the system's cache.

use std::fs::File;

/// The same file, if the system has such reads for it.
#[cfg(linux_like)]
pub(super) fn reopen(file: &File) -> Option<File> {
    use std::fs::OpenOptions;
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::OpenOptionsExt;
    // By descriptor and not by name, which may be another file's by now.
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path).ok()
}

#[cfg(not(linux_like))]
pub(super) fn reopen(_file: &File) -> Option<File> {
    None
}
