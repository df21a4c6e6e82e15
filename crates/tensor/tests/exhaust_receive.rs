//! Receiving tensors in a process that has no descriptors left.
#![cfg(all(linux_like, not(miri)))]

use tenure_memory::{Error as MemoryError, MessageFault};
use tenure_tensor::{Error, Sharing, Tensor, TensorMemory, receive, send};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/limits.rs"]
mod limits;
#[path = "common/sockets.rs"]
mod sockets;

#[test]
fn tensors_are_lost_one_by_one_and_come_again() {
    child::alone("tensors_are_lost_one_by_one_and_come_again", || {
        for kind in sockets::KINDS {
            let (here, there) = sockets::pair(kind);
            let tensor = Tensor::<u8>::new(&[100], Some(TensorMemory::Shm), None).unwrap();
            tensor.fill(5).unwrap();
            for _ in 0..4 {
                send(&here, &tensor, Sharing::ReadWrite).unwrap();
            }
            let mut full = limits::Full::but(0);
            for _ in 0..2 {
                let error = receive(&there).unwrap_err();
                match &error {
                    Error::Memory(MemoryError::Message(message)) => {
                        assert_eq!(message.reason, MessageFault::DescriptorsLost);
                    }
                    other => panic!("{other:?}"),
                }
                assert!(error.to_string().contains("ulimit -n"), "{error}");
            }
            full.free(10);
            for _ in 0..2 {
                let got = receive(&there).unwrap();
                assert_eq!(got.map_read().unwrap().as_slice(), [5; 100]);
            }
        }
    });
}

#[test]
fn sending_needs_no_descriptor() {
    child::alone("sending_needs_no_descriptor", || {
        let (here, _there) = sockets::pair(sockets::KINDS[0]);
        let tensor = Tensor::<u8>::new(&[100], Some(TensorMemory::Shm), None).unwrap();
        let _full = limits::Full::but(0);
        send(&here, &tensor, Sharing::ReadOnly).unwrap();
        let words = tensor.clone_fd().unwrap_err().to_string();
        assert!(words.contains("Too many open files"), "{words}");
    });
}
