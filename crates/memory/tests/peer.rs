//! Who is at the other end of a socket, also where process ids mean nothing.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "goes into a process id namespace of its own")]

use std::os::unix::net::UnixStream;

use tenure_memory::share::peer;

#[path = "common/child.rs"]
mod child;
#[path = "common/fork.rs"]
mod fork;

#[test]
fn the_peer_of_a_pair_is_who_made_it() {
    let (here, there) = UnixStream::pair().unwrap();
    for end in [&here, &there] {
        assert_eq!(peer(end).unwrap().pid, std::process::id());
        assert_eq!(peer(end).unwrap().uid, rustix::process::geteuid().as_raw());
    }
}

#[test]
fn a_peer_outside_the_container_has_no_process_id() {
    child::alone("a_peer_outside_the_container_has_no_process_id", || {
        let (here, _there) = UnixStream::pair().unwrap();
        let status = fork::fork(|| {
            // SAFETY: changes where the children of this copy live, and nothing else.
            let apart = unsafe {
                libc::unshare(libc::CLONE_NEWPID) == 0
                    || libc::unshare(libc::CLONE_NEWPID | libc::CLONE_NEWUSER) == 0
            };
            assert!(apart, "{}", std::io::Error::last_os_error());
            let inside = fork::fork(|| {
                assert_eq!(std::process::id(), 1);
                // Made by a process that does not exist in here.
                let peer = peer(&here).unwrap();
                assert_eq!(peer.pid, 0);
                0
            });
            i32::from(!inside.success())
        });
        assert!(status.success(), "{status}");
    });
}
