//! Asking who is at the other end of a socket that has no other end: the kernel answers with
//! process 0, which must not be taken for a process.
#![forbid(unsafe_code)]

use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};

use tenure::memory::Error;
use tenure::memory::share::peer;
use tenure_attacks::refused;

fn main() {
    let (here, _there) = UnixStream::pair().expect("a pair of sockets");
    assert_eq!(peer(&here).expect("connected").pid, std::process::id());

    let alone = UnixDatagram::unbound().expect("a socket");
    refused!(peer(&alone), Error::System(failed) if failed.cause.raw_os_error() == Some(107));
    let folder = tempfile::tempdir().expect("a folder");
    let listener = UnixListener::bind(folder.path().join("socket")).expect("a socket");
    if let Ok(peer) = peer(&listener) {
        assert_eq!(peer.pid, std::process::id(), "a listener is its own peer");
    }
    let file = std::fs::File::open("/proc/self/exe").expect("this program");
    refused!(peer(&file), Error::System { .. });
}
