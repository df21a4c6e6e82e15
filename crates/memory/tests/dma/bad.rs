//! Descriptors, devices and limits that are wrong: a clear error, and nothing left behind.

use std::fs::{File, Permissions};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;

use rustix::fs::{OFlags, fcntl_getfl};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tenure_memory::kind::dma::{Dma, Source};
use tenure_memory::{Allocator, Buffer, Error, Protection, Request, TensorMemory, import};

use crate::{allocate, child, fork, resources, working};

fn request(bytes: usize) -> Request<'static> {
    Request::new(bytes).unwrap()
}

fn words(source: Source, bytes: usize) -> String {
    Dma::from_source(source).allocate(&request(bytes)).unwrap_err().to_string()
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn what_cannot_be_had_says_why() {
    let error = words(Source::Heap("no-such-heap".to_owned()), 1);
    assert!(error.contains("/dev/dma_heap/no-such-heap: No such file"), "{error}");
    let error = words(Source::Card("card9".to_owned()), 1);
    assert!(error.contains("/dev/dri/card9: No such file"), "{error}");
    let error = words(Source::Udmabuf, 128 << 20);
    assert!(error.contains("above the driver's limit of 67108864"), "{error}");
    let huge = Dma::from_source(Source::Heap("system".to_owned()));
    let error = huge.allocate(&request(isize::MAX as usize / 2)).unwrap_err();
    assert!(
        matches!(&error, Error::OutOfMemory(it) if matches!(**it, tenure_memory::detail::OutOfMemory { available: Some(_), .. })),
        "{error}"
    );
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn devices_that_may_not_be_opened_say_who_may() {
    child::alone("bad::devices_that_may_not_be_opened_say_who_may", || {
        let nodes = ["/dev/dma_heap/system", "/dev/dri/card0", "/dev/udmabuf"];
        for node in nodes {
            std::fs::set_permissions(node, Permissions::from_mode(0o600)).unwrap();
        }
        let status = fork::fork(|| {
            let (user, group) =
                (rustix::process::Uid::from_raw(1000), rustix::process::Gid::from_raw(1000));
            rustix::thread::set_thread_res_gid(group, group, group).unwrap();
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            let sources =
                [Source::Heap("system".into()), Source::Card("card0".into()), Source::Udmabuf];
            for (source, node) in sources.into_iter().zip(nodes) {
                let error = words(source, 4096);
                assert!(error.contains(node) && error.contains("Permission denied"), "{error}");
                assert!(error.contains("group") && error.contains("udev rule"), "{error}");
            }
            // The automatic choice goes on without it, and remembers why.
            let raw = tenure_memory::allocate(None, &request(4096)).unwrap();
            assert_eq!(raw.memory(), TensorMemory::Shm);
            assert!(raw.refusals()[0].error.to_string().contains("group"), "{:?}", raw.refusals());
            0
        });
        for node in nodes {
            std::fs::set_permissions(node, Permissions::from_mode(0o666)).unwrap();
        }
        assert!(status.success(), "{status}");
    });
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_read_only_descriptor_is_never_written() {
    // A heap gives a buffer that can only be read if it is asked to.
    let fd = read_only_buffer();
    assert_eq!(fcntl_getfl(&fd).unwrap() & OFlags::RWMODE, OFlags::RDONLY);
    let buffer = import(&fd, 4096, Protection::AsAllowed, None).unwrap();
    assert!(!buffer.raw().unwrap().writable());
    assert!(buffer.read().unwrap().as_bytes().iter().all(|byte| *byte == 0));
    assert!(matches!(buffer.write(), Err(Error::ReadOnly { memory: TensorMemory::Dma })));
}

/// Asks the heap itself, as another library would.
fn read_only_buffer() -> OwnedFd {
    let heap = File::open("/dev/dma_heap/system").unwrap();
    crate::heap::allocate_read_only(heap.as_fd(), 4096)
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn a_buffer_too_short_for_what_it_should_hold() {
    for source in working() {
        let buffer = allocate(&Dma::from_source(source), 4096);
        let fd = buffer.clone_descriptor().unwrap();
        match import(&fd, 4097, Protection::AsAllowed, None) {
            Err(Error::TooShort { have: 4096, need: 4097 }) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn no_descriptors_left() {
    child::alone("bad::no_descriptors_left", || {
        let sources = working();
        drop(allocate(&Dma::new(), 4096));
        let before = (resources::descriptors(), resources::mappings());
        let limit = getrlimit(Resource::Nofile);
        for source in &sources {
            let dma = Dma::from_source(source.clone());
            // Every number of descriptors that is too few for the whole way.
            for room in 0..4 {
                let used = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64 - 1;
                let few = Rlimit { current: Some(used + room), ..limit };
                setrlimit(Resource::Nofile, few).unwrap();
                let answer = dma.allocate(&request(4096));
                setrlimit(Resource::Nofile, limit).unwrap();
                if let Err(error) = answer {
                    let words = error.to_string();
                    assert!(words.contains("Too many open files"), "{source:?} {room}: {words}");
                }
            }
            dma.allocate(&request(4096)).unwrap();
        }
        assert_eq!((resources::descriptors(), resources::mappings()), before);
    });
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn no_memory_left() {
    child::alone("bad::no_memory_left", || {
        let dma = Dma::from_source(Source::Udmabuf);
        drop(dma.allocate(&request(4096)).unwrap());
        resources::nothing_left("taking all there is", || {
            let mut all: Vec<Buffer> = vec![];
            let error = loop {
                match dma.allocate(&request(32 << 20)) {
                    Ok(raw) => all.push(Buffer::from_raw(raw)),
                    Err(error) => break error,
                }
            };
            // And not the end of the process by the kernel's hand.
            let dma = TensorMemory::Dma;
            assert!(
                matches!(&error, Error::OutOfMemory(it) if matches!(**it, tenure_memory::detail::OutOfMemory { memory, .. } if memory == dma)),
                "{error}"
            );
            // What was given out is there.
            all.last().unwrap().write().unwrap().as_bytes_mut().fill(1);
        });
        dma.allocate(&request(4096)).unwrap();
    });
}

#[test]
#[ignore = "needs DMA-BUF: tests/vm/test"]
fn nothing_is_left_behind() {
    child::alone("bad::nothing_is_left_behind", || {
        drop(allocate(&Dma::new(), 4096));
        let sources = working();
        resources::nothing_left("using every source", || {
            for source in &sources {
                for _ in 0..20 {
                    let buffer = allocate(&Dma::from_source(source.clone()), 10_000);
                    let fd = buffer.clone_descriptor().unwrap();
                    drop(import(&fd, 0, Protection::ReadOnly, None));
                    drop(import(&fd, 1 << 30, Protection::AsAllowed, None).unwrap_err());
                    drop(buffer.fence(tenure_memory::Access::Read).unwrap());
                }
            }
        });
    });
}
