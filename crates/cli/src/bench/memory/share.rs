//! Sharing a frame: sent over a socket pair, received, mapped, dropped.
//!
//! The receiver gets it read-only, which is a mapping of its own, as another process would have;
//! with a frame to write, this process would find the mapping that it has.

use std::rc::Rc;

use super::Key;
use super::cases::Possible;
use super::ring::Ring;
use crate::failure::Failure;

#[cfg(linux_like)]
pub(super) fn case(key: Key, ring: Rc<Ring>) -> Result<Possible, Failure> {
    use std::hint::black_box;
    use std::os::unix::net::UnixStream;

    use tenure::{Sharing, receive, send};

    use crate::bench::clock;
    use crate::bench::rounds::Case;
    use crate::info::reason;

    let Some(views) = ring.oldest() else { return Ok(Err("there is no frame".to_owned())) };
    if let Err(error) = views.frame.buffer().raw()?.descriptor() {
        return Ok(Err(reason(&error)));
    }
    // A frame that was shared read-only stays so, which is why it is none of the ring.
    let frame = views.frame.to(Some(ring.memory))?;
    let (here, there) = match UnixStream::pair() {
        Ok(pair) => pair,
        Err(error) => return Ok(Err(format!("no pair of sockets: {error}"))),
    };
    Ok(Ok(Case::new(key, move |batch| {
        clock::time(|| {
            for _ in 0..batch {
                send(&here, &frame, Sharing::ReadOnly)?;
                drop(black_box(receive(&there)?));
            }
            Ok(())
        })
    })))
}

#[cfg(not(linux_like))]
pub(super) fn case(_: Key, _: Rc<Ring>) -> Result<Possible, Failure> {
    Ok(Err("this operating system passes no memory between processes".to_owned()))
}
