//! A descriptor that came through a window (lent bytes, as publishers lend their slots) is kept
//! after everything is given back to a pool. The next owner must get other memory.
#![forbid(unsafe_code)]

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use tenure::memory::{Allocator, kind};
use tenure::{Buffer, Pool, RawBuffer, Request, Tensor, TensorMemory};

fn main() {
    let pool = Pool::new(kind::allocator(TensorMemory::Shm).expect("shared memory"));
    let request = Request::new(4096).expect("a page");
    // Each way to a descriptor that a window has.
    let ways: [fn(&Buffer) -> File; 3] = [
        |lent| lent.clone_descriptor().expect("it has one").into(),
        |lent| duplicate(lent.lend_descriptor().expect("it has one")),
        |lent| duplicate(lent.raw().expect("placed").descriptor().expect("it has one")),
    ];
    for way in ways {
        let home = Arc::new(pool.allocate(&request).expect("a page"));
        let gone = home.identity().weak();
        let lent = RawBuffer::lent(home, ());
        // A window over a window.
        let lent = Buffer::from_raw(RawBuffer::lent(Arc::new(lent), ()));
        lent.write().expect("free").as_bytes_mut().fill(1);
        let kept = way(&lent);
        drop(lent);
        assert!(gone.upgrade().is_none(), "the pool must not keep what others hold");

        let secret = Tensor::<u8>::builder(&[4096]).allocator(&pool).build().expect("a page");
        secret.fill(7).expect("free");
        let mut seen = [0; 4096];
        kept.read_exact_at(&mut seen, 0).expect("the memory still exists");
        assert!(seen == [1; 4096], "the old holder reads the new owner's bytes");
    }
    // What nobody else has seen is reused.
    drop(Tensor::<u8>::builder(&[4096]).allocator(&pool).build().expect("a page"));
    assert!(pool.report().hits > 0);
}

fn duplicate(fd: std::os::fd::BorrowedFd<'_>) -> File {
    fd.try_clone_to_owned().expect("there are descriptors left").into()
}
