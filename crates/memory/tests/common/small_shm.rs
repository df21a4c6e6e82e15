//! A `/dev/shm` of one mebibyte, for tests that say what they do without room.
#![allow(dead_code, reason = "every test program uses what it needs")]
#![expect(unsafe_code, reason = "mounts a small /dev/shm")]

use std::ffi::CString;
use std::fs;

use crate::{child, fork};

fn mount(source: &str, target: &str, kind: &str, flags: libc::c_ulong, data: &str) {
    let [source, target, kind, data] =
        [source, target, kind, data].map(|s| CString::new(s).unwrap());
    // SAFETY: strings that live as long as the call.
    let answer = unsafe {
        libc::mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), flags, data.as_ptr().cast())
    };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
}

/// Gives this process mounts of its own. An ordinary user becomes root of a world where it may
/// mount, and where only its own id means something.
fn apart() {
    let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
    // SAFETY: changes what this process sees, and nobody else.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } == 0 {
        return;
    }
    // SAFETY: as above.
    let answer = unsafe { libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUSER) };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    fs::write("/proc/self/setgroups", "deny").unwrap();
    fs::write("/proc/self/uid_map", format!("0 {user} 1")).unwrap();
    fs::write("/proc/self/gid_map", format!("0 {group} 1")).unwrap();
}

/// Runs `work` where `/dev/shm` has a mebibyte, in a copy of this process with mounts of its own.
pub(crate) fn with_small_shm(test: &str, work: impl FnOnce()) {
    child::alone(test, || {
        let status = fork::fork(|| {
            apart();
            mount("none", "/", "", libc::MS_REC | libc::MS_PRIVATE, "");
            mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1M");
            work();
            0
        });
        assert!(status.success(), "{status}");
    });
}
