//! Tensors over sockets: what is sent is what arrives, and nothing is left behind.
#![cfg(all(linux_like, not(miri)))]

use std::os::unix::net::UnixStream;

use tenure_memory::share::{self, Peer};
use tenure_memory::{Error as MemoryError, MessageFault};
use tenure_tensor::{
    DType, DynTensor, Error, PixelFormat, Quantization, Sharing, Tensor, TensorDyn, TensorMemory,
    receive, send,
};

#[path = "common/cases.rs"]
mod cases;
#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/sockets.rs"]
mod sockets;

use cases::{SHM, assert_same, numbered};

#[test]
fn everything_survives() {
    for kind in sockets::KINDS {
        let (here, there) = sockets::pair(kind);
        for sharing in [Sharing::ReadWrite, Sharing::ReadOnly] {
            for tensor in cases::all() {
                send(&here, &tensor, sharing).unwrap();
                let got = receive(&there).unwrap();
                assert_same(&tensor, &got);
                assert!(got.is_empty() || got.aliases(&tensor), "{tensor:?}");
                assert_eq!(got.is_writable().unwrap(), sharing == Sharing::ReadWrite);
                // Who receives has all of the memory, also where the sender's is an arena in it.
                let arena = tensor.buffer().start() - tensor.buffer().offset();
                let start = arena + tensor.plane_offset().unwrap_or(0);
                assert_eq!(got.plane_offset().unwrap_or(0), start, "{tensor:?}");
                assert_eq!(got.row_stride(), tensor.row_stride(), "{tensor:?}");
            }
        }
    }
}

#[test]
fn what_arrives_is_cut_to_what_was_sent() {
    let (here, there) = UnixStream::pair().unwrap();
    let whole = numbered(&[100, 10], DType::U8);
    send(&here, &whole.slice(0, 40..60).unwrap(), Sharing::ReadWrite).unwrap();
    let got = receive(&there).unwrap();
    assert_eq!((got.capacity_bytes(), got.buffer().start()), (200, 400));
    assert_eq!(got.map_read().unwrap().as_slice()[0], (400 % 251) as u8);
    assert!(got.buffer().slice(0..201).is_err());
}

#[test]
fn an_image_that_arrived_can_be_reconfigured() {
    let (here, there) = UnixStream::pair().unwrap();
    let frame = Tensor::<u8>::image(16, 16, PixelFormat::Rgba, SHM, None).unwrap();
    let view = frame.view(tenure_tensor::Region::new(4, 4, 8, 8)).unwrap();
    send(&here, &view, Sharing::ReadWrite).unwrap();
    let mut got = receive(&there).unwrap();
    assert_eq!(got.row_stride(), Some(64));
    got.set_row_stride(32).unwrap();
    assert_eq!((got.row_stride(), got.effective_row_stride()), (None, Some(32)));
    assert_eq!((got.plane_offset(), got.buffer().start()), (Some(4 * 64 + 16), 4 * 64 + 16));
    // The first pixel is where it was.
    got.map().unwrap().as_mut_slice()[0] = 77;
    assert_eq!(frame.map_read().unwrap().as_slice()[4 * 64 + 16], 77);
    got.configure_image(4, 4, PixelFormat::Nv12, None).unwrap();
}

#[test]
fn many_messages_wait_in_a_row() {
    for kind in sockets::KINDS {
        let (here, there) = sockets::pair(kind);
        let tensors: Vec<_> = (0..50).map(|n| numbered(&[n + 1, 3], DType::U8)).collect();
        for tensor in &tensors {
            send(&here, tensor, Sharing::ReadWrite).unwrap();
        }
        drop(here);
        for tensor in &tensors {
            assert_same(tensor, &receive(&there).unwrap());
        }
        let end = receive(&there).unwrap_err();
        assert!(matches!(end, Error::Memory(MemoryError::Closed { midway: false })), "{end:?}");
        assert!(end.to_string().contains("closed the connection"), "{end}");
    }
}

#[test]
fn memory_without_descriptor_is_not_sent() {
    let (here, there) = UnixStream::pair().unwrap();
    let tensor = Tensor::<u8>::new(&[10], Some(TensorMemory::Mem), None).unwrap();
    for sharing in [Sharing::ReadWrite, Sharing::ReadOnly] {
        let error = send(&here, &tensor, sharing).unwrap_err();
        let words = error.to_string();
        assert!(words.contains("mem memory"), "{words}");
        match (sharing, error) {
            (Sharing::ReadWrite, Error::Memory(MemoryError::NoDescriptor { .. })) => {
                assert!(words.contains("allocate with memory shm"), "{words}");
            }
            (
                _,
                Error::Memory(MemoryError::NoDescriptor { .. } | MemoryError::NotSealable { .. }),
            ) => {}
            (_, other) => panic!("{other:?}"),
        }
    }
    // Nothing was written before the error.
    drop(here);
    assert!(matches!(receive(&there), Err(Error::Memory(MemoryError::Closed { midway: false }))));
}

#[test]
fn sending_to_the_dead_is_an_error_and_no_signal() {
    for kind in sockets::KINDS {
        let (here, there) = sockets::pair(kind);
        let tensor = numbered(&[10], DType::U8);
        send(&here, &tensor, Sharing::ReadWrite).unwrap();
        drop(there);
        for _ in 0..2 {
            let error = send(&here, &tensor, Sharing::ReadWrite).unwrap_err();
            let closed = matches!(error, Error::Memory(MemoryError::Closed { midway: false }));
            assert!(closed, "{error:?}");
        }
        assert!(matches!(receive(&here), Err(Error::Memory(MemoryError::Closed { .. }))));
    }
}

#[test]
fn descriptions_too_long_to_send_are_refused() {
    let (here, _there) = UnixStream::pair().unwrap();
    let tensor = numbered(&[50_000], DType::I8);
    let quantization = Quantization::per_axis(vec![1.0; 50_000], vec![], 0).unwrap();
    let tensor = tensor.with_quantization(quantization).unwrap();
    let error = send(&here, &tensor, Sharing::ReadWrite).unwrap_err();
    match error {
        Error::Memory(MemoryError::Message(message)) => {
            let MessageFault::Length { said, limit } = message.reason else {
                panic!("{message:?}")
            };
            assert!(said > limit && limit == share::LONGEST_BODY);
        }
        other => panic!("{other:?}"),
    }
    // Long ones that fit do arrive.
    let tensor = numbered(&[15_000], DType::I8);
    let quantization = Quantization::per_axis(vec![1.5; 15_000], vec![2; 15_000], 0).unwrap();
    let tensor = tensor.with_quantization(quantization).unwrap();
    for kind in sockets::KINDS {
        let (here, there) = sockets::pair(kind);
        let tensor = tensor.clone();
        let sender = std::thread::spawn(move || send(&here, &tensor, Sharing::ReadWrite));
        let got = receive(&there).unwrap();
        sender.join().unwrap().unwrap();
        assert_eq!(got.quantization().unwrap().scales().len(), 15_000);
    }
}

#[test]
fn long_names_arrive_in_part() {
    child::alone("long_names_arrive_in_part", || {
        let (here, there) = UnixStream::pair().unwrap();
        let tensor = TensorDyn::new(&[1], DType::U8, SHM, Some(&"ä".repeat(300))).unwrap();
        send(&here, &tensor, Sharing::ReadWrite).unwrap();
        // As in another process, where the memory is not known yet.
        drop(tensor);
        let got = receive(&there).unwrap();
        assert_eq!(got.name(), Some(&*"ä".repeat(127)));
    });
}

#[test]
fn the_peer_is_known() {
    for kind in sockets::KINDS {
        let (here, _there) = sockets::pair(kind);
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        let own = Peer { pid: std::process::id(), uid: uid.as_raw(), gid: gid.as_raw() };
        assert_eq!(share::peer(&here).unwrap(), own);
    }
    let error = share::peer(std::fs::File::open("/dev/null").unwrap()).unwrap_err();
    assert!(error.to_string().contains("who is at the other end"), "{error}");
}

#[test]
fn what_is_no_socket_is_refused() {
    let file = std::fs::File::open("/dev/null").unwrap();
    let tensor = numbered(&[10], DType::U8);
    assert!(send(&file, &tensor, Sharing::ReadWrite).unwrap_err().to_string().contains("sending"));
    let error = receive(&file).unwrap_err().to_string();
    assert!(error.contains("what the socket is"), "{error}");
}

#[test]
fn a_thousand_tensors_leave_nothing_behind() {
    child::alone("a_thousand_tensors_leave_nothing_behind", || {
        for kind in sockets::KINDS {
            let (here, there) = sockets::pair(kind);
            let kept = numbered(&[4096], DType::U8);
            resources::nothing_left("1000 tensors", || {
                for n in 0..1000 {
                    // Memory that is known, and memory that is new.
                    let fresh = numbered(&[100 + n], DType::U8);
                    for tensor in [&kept, &fresh] {
                        send(&here, tensor, Sharing::ReadWrite).unwrap();
                        assert_eq!(receive(&there).unwrap().shape(), tensor.shape());
                    }
                }
            });
        }
    });
}

#[test]
fn a_tensor_sent_for_reading_is_sealed_for_good() {
    use rustix::fs::{SealFlags, fcntl_get_seals};
    let (here, there) = UnixStream::pair().unwrap();
    let tensor = numbered(&[4096], DType::U8);
    send(&here, &tensor, Sharing::ReadOnly).unwrap();
    let got = receive(&there).unwrap();
    assert!(matches!(got.map(), Err(Error::Memory(MemoryError::ReadOnly { .. }))));
    let seals = fcntl_get_seals(tensor.clone_fd().unwrap()).unwrap();
    assert!(seals.contains(SealFlags::FUTURE_WRITE | SealFlags::SEAL));
    // The sender goes on writing, and the receiver sees it.
    tensor.map().unwrap().as_mut_slice().fill(9);
    assert!(got.map_read().unwrap().as_slice().iter().all(|byte| *byte == 9));
    // Each knows what the other one does: they are in one process here.
    let _writer = tensor.map().unwrap();
    assert!(got.map_read().is_err());
}

#[test]
fn what_was_imported_for_reading_is_sealed_before_it_goes_on() {
    use rustix::fs::{MemfdFlags, SealFlags, fcntl_get_seals, ftruncate, memfd_create};
    use tenure_memory::{Protection, import};
    use tenure_tensor::Layout;
    let theirs = memfd_create("theirs", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&theirs, 4096).unwrap();
    let buffer = import(&theirs, 4096, Protection::ReadOnly, None).unwrap();
    let layout = Layout::contiguous(DType::U8, &[4096]).unwrap();
    let tensor = TensorDyn::from_buffer(buffer, layout).unwrap();
    let (here, _there) = UnixStream::pair().unwrap();
    // It is not written here, but whoever gets the descriptor could.
    send(&here, &tensor, Sharing::ReadOnly).unwrap();
    let seals = fcntl_get_seals(&theirs).unwrap();
    assert!(seals.intersects(SealFlags::WRITE | SealFlags::FUTURE_WRITE), "{seals:?}");
}

#[test]
fn files_are_sent_for_reading_if_they_are_open_for_reading() {
    use std::io::Write;
    use tenure_memory::{Protection, import};
    use tenure_tensor::Layout;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&[5; 4096]).unwrap();
    let (here, there) = UnixStream::pair().unwrap();
    {
        let both = import(file.as_file(), 4096, Protection::AsAllowed, None).unwrap();
        let layout = Layout::contiguous(DType::U8, &[4096]).unwrap();
        let tensor = TensorDyn::from_buffer(both, layout).unwrap();
        let error = send(&here, &tensor, Sharing::ReadOnly).unwrap_err();
        assert!(matches!(error, Error::Memory(MemoryError::NotSealable { .. })), "{error:?}");
        assert!(error.to_string().contains("open for writing"), "{error}");
    }
    let tensor = TensorDyn::open(file.path()).unwrap();
    send(&here, &tensor, Sharing::ReadOnly).unwrap();
    let got = receive(&there).unwrap();
    assert_eq!(got.map_read().unwrap().as_slice(), [5; 4096]);
    assert!(got.map().is_err());
}
