//! What a subscriber is polled by: one descriptor that stays the same, whatever is to be waited for.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;

use rustix::event::epoll;
use rustix::io::Errno;

/// Made when it is first asked for: whoever waits for frames in [`super::Subscriber::next`] needs
/// none. `None` if there was no descriptor for it.
#[derive(Debug, Default)]
pub(super) struct Watch {
    epoll: OnceLock<Option<OwnedFd>>,
}

impl Watch {
    /// The descriptor, readable when `awaited` is.
    pub(super) fn descriptor<'a>(&'a self, awaited: BorrowedFd<'a>) -> BorrowedFd<'a> {
        self.epoll.get_or_init(|| make(awaited).ok()).as_ref().map_or(awaited, OwnedFd::as_fd)
    }

    /// From now on waits for something else.
    pub(super) fn turn(&self, from: BorrowedFd<'_>, to: BorrowedFd<'_>) {
        let Some(epoll) = self.epoll.get().and_then(Option::as_ref) else { return };
        // Without room for one more, being woken for nothing is better than not being woken.
        if add(epoll, to).is_ok() {
            let _ = epoll::delete(epoll, from);
        }
    }
}

fn make(awaited: BorrowedFd<'_>) -> Result<OwnedFd, Errno> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    add(&epoll, awaited)?;
    Ok(epoll)
}

fn add(epoll: &OwnedFd, awaited: BorrowedFd<'_>) -> Result<(), Errno> {
    epoll::add(epoll, awaited, epoll::EventData::new_u64(0), epoll::EventFlags::IN)
}
