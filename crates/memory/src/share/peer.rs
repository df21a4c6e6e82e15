//! Who is at the other end of a socket.
//!
//! Asked by hand: a peer in another process id namespace (outside a container, say) has the id
//! zero, which `rustix` takes for impossible.
#![expect(unsafe_code, reason = "asks for a socket option by address")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

use crate::{Error, Result};

/// As the kernel numbers it, except on three processors that this library does not run on.
const SO_PEERGROUPS: libc::c_int = 59;

/// Who is at the other end of a socket, as the kernel knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// Process id at the time of connecting; zero if it has none here, because it lives outside
    /// this process's namespace.
    pub pid: u32,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Who is at the other end.
///
/// # Errors
/// If the descriptor is no connected Unix socket.
pub fn peer(socket: impl AsFd) -> Result<Peer> {
    let mut answer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes to `answer`, which is plain numbers.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut answer).cast(),
            &raw mut len,
        )
    };
    if result != 0 {
        return Err(Error::system("asking who is at the other end", io::Error::last_os_error()));
    }
    if answer.uid == u32::MAX {
        // Nobody: the kernel's answer for sockets without a peer.
        return Err(Error::system("asking who is at the other end", Errno::NOTCONN));
    }
    Ok(Peer { pid: answer.pid.unsigned_abs(), uid: answer.uid, gid: answer.gid })
}

/// The groups that whoever is at the other end belongs to besides [`Peer::gid`], as the kernel knew
/// them at the time of connecting.
///
/// # Errors
/// If the descriptor is no connected Unix socket, or the kernel (before 4.13) cannot say.
pub fn peer_groups(socket: impl AsFd) -> Result<Vec<u32>> {
    let mut groups: Vec<libc::gid_t> = vec![0; 32];
    loop {
        let room = size_of_val(groups.as_slice());
        let mut len = libc::socklen_t::try_from(room).unwrap_or(libc::socklen_t::MAX);
        // SAFETY: the kernel writes at most `len` bytes to `groups`, which are plain numbers.
        let result = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::SOL_SOCKET,
                SO_PEERGROUPS,
                groups.as_mut_ptr().cast(),
                &raw mut len,
            )
        };
        let count = len as usize / size_of::<libc::gid_t>();
        match result {
            0 => {
                groups.truncate(count);
                return Ok(groups);
            }
            _ => match io::Error::last_os_error() {
                // It said how many there are.
                error if error.raw_os_error() == Some(libc::ERANGE) && count > groups.len() => {
                    groups.resize(count, 0);
                }
                error => {
                    return Err(Error::system("asking for the groups at the other end", error));
                }
            },
        }
    }
}
