//! A tensor sent over a socket and received by the same process: two handles to one memory,
//! whether the message allows writing or not.
#![forbid(unsafe_code)]

use std::os::unix::net::UnixStream;

use tenure::{Sharing, Tensor, TensorMemory, receive, send};
use tenure_attacks::{memory, refused};

fn main() {
    let (here, there) = UnixStream::pair().expect("a pair of sockets");
    for sharing in [Sharing::ReadWrite, Sharing::ReadOnly] {
        let tensor = Tensor::<u8>::new(&[64, 64], Some(TensorMemory::Shm), None).expect("a page");
        send(&here, &tensor, sharing).expect("sent");
        let same = receive(&there).expect("received");
        assert!(same.aliases(&tensor));

        let mut held = tensor.map().expect("free");
        refused!(same.map_read(), memory!(Busy { .. }));
        refused!(same.map(), memory!(Busy { .. } | ReadOnly { .. }));
        held.as_mut_slice()[5] = 5;
        drop(held);

        let seen = same.map_read().expect("free");
        refused!(tensor.map(), memory!(Busy { .. }));
        refused!(tensor.fill(1), memory!(Busy { .. }));
        assert_eq!(seen.as_slice()[5], 5);
        drop(seen);
        if sharing == Sharing::ReadOnly {
            refused!(same.map(), memory!(ReadOnly { .. }));
        }
    }
}
