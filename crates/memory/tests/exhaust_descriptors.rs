//! A process that has no descriptors left: clear errors, and everything works again afterwards.
#![cfg(all(linux_like, not(miri)))]
#![expect(unsafe_code, reason = "sockets that keep packets apart, a signal to ignore")]

use std::fs;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

use tenure_memory::kind::{self, shm};
use tenure_memory::share::{receive, send};
use tenure_memory::{
    Allocator, Buffer, Error, MessageFault, PlaneDescriptor, Protection, Request, TensorMemory,
    allocate, import, open_file,
};

#[path = "common/child.rs"]
mod child;
#[path = "common/limits.rs"]
mod limits;
#[path = "common/resources.rs"]
mod resources;

use limits::Full;

const FULL: &str = "Too many open files";

fn request() -> Request<'static> {
    Request::new(5000).unwrap()
}

fn shared() -> Buffer {
    Buffer::from_raw(shm::Shm::new().allocate(&request()).unwrap())
}

#[test]
fn memory_files_are_refused_and_come_back() {
    child::alone("memory_files_are_refused_and_come_back", || {
        let mut full = Full::but(0);
        // Asked for the first time when there is none: that must not be remembered.
        let allocator = kind::allocator(TensorMemory::Shm).unwrap();
        for _ in 0..3 {
            let error = allocator.allocate(&request()).unwrap_err();
            assert!(matches!(error, Error::System { .. }), "{error:?}");
            let words = error.to_string();
            assert!(words.contains("making a memory file") && words.contains(FULL), "{words}");
        }
        full.free(1);
        let buffer = Buffer::from_raw(allocator.allocate(&request()).unwrap());
        buffer.write().unwrap().as_bytes_mut().fill(1);
        drop(buffer);
        Buffer::from_raw(kind::allocator(TensorMemory::Shm).unwrap().allocate(&request()).unwrap());
    });
}

#[test]
fn named_memory_is_refused_without_a_trace() {
    child::alone("named_memory_is_refused_without_a_trace", || {
        let name = format!("/tenure-full-{}", std::process::id());
        let named = shm::Shm::named(&name);
        let mut full = Full::but(0);
        let error = named.allocate(&request()).unwrap_err();
        assert!(error.to_string().contains(FULL), "{error}");
        let error = shm::open_named(&name, true).unwrap_err();
        assert!(error.to_string().contains(FULL), "{error}");
        assert!(!fs::exists(format!("/dev/shm{name}")).unwrap());
        full.free(1);
        named.allocate(&request()).unwrap();
        shm::remove_named(&name).unwrap();
    });
}

#[test]
fn the_automatic_choice_falls_back_and_returns() {
    child::alone("the_automatic_choice_falls_back_and_returns", || {
        let mut full = Full::but(0);
        let raw = allocate(None, &request()).unwrap();
        assert_eq!(raw.memory(), TensorMemory::Mem);
        let refused: Vec<_> = raw.refusals().iter().map(|refusal| refusal.memory).collect();
        assert_eq!(refused, [TensorMemory::Dma, TensorMemory::Shm]);
        assert!(raw.refusals()[1].error.to_string().contains(FULL));
        full.free(10);
        let raw = allocate(None, &request()).unwrap();
        assert_eq!(raw.memory(), TensorMemory::Shm);
        // What is said of the first memory is true now, not what was true then.
        let words = raw.refusals()[0].error.to_string();
        assert!(!words.contains(FULL), "{words}");
    });
}

#[test]
fn imports_are_refused_and_come_back() {
    child::alone("imports_are_refused_and_come_back", || {
        let buffer = shared();
        let fd = buffer.clone_descriptor().unwrap();
        let path = std::env::current_exe().unwrap();
        let mut full = Full::but(0);
        for error in [
            import(&fd, 0, Protection::AsAllowed, None).map(drop).unwrap_err(),
            buffer.clone_descriptor().map(drop).unwrap_err(),
            PlaneDescriptor::new(&fd).map(drop).unwrap_err(),
        ] {
            assert!(matches!(error, Error::System { .. }), "{error:?}");
            let words = error.to_string();
            assert!(words.contains("duplicating") && words.contains(FULL), "{words}");
        }
        let error = open_file(&path).unwrap_err();
        assert!(matches!(error, Error::Open { .. }), "{error:?}");
        assert!(error.to_string().contains(FULL), "{error}");
        full.free(1);
        let back = import(&fd, 0, Protection::AsAllowed, None).unwrap();
        assert_eq!(back.identity(), buffer.identity());
        full.free(1);
        open_file(&path).unwrap();
    });
}

/// Connected sockets of one type.
fn sockets(kind: i32) -> (OwnedFd, OwnedFd) {
    let mut ends = [0; 2];
    // SAFETY: two new descriptors that are ours alone.
    unsafe {
        let flags = kind | libc::SOCK_CLOEXEC;
        assert_eq!(libc::socketpair(libc::AF_UNIX, flags, 0, ends.as_mut_ptr()), 0);
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    }
}

fn a_message_is_lost_but_not_the_next(kind: i32) {
    let (here, there) = sockets(kind);
    let buffers = [shared(), shared(), shared()];
    let fds: Vec<_> = buffers.iter().map(|buffer| buffer.lend_descriptor().unwrap()).collect();
    for n in 0..4 {
        send(&here, &[n; 100], &fds).unwrap();
    }
    // No room at all, then for some of the descriptors only.
    let mut full = Full::but(0);
    for room in 0..3 {
        match receive(&there) {
            Err(Error::Message(message)) if message.reason == MessageFault::DescriptorsLost => {}
            other => panic!("{room}: {other:?}"),
        }
        full.free(1);
    }
    let message = receive(&there).unwrap();
    assert_eq!((message.body, message.descriptors.len()), (vec![3; 100], 3));
}

#[test]
fn a_message_of_a_stream_is_lost_but_not_the_next() {
    child::alone("a_message_of_a_stream_is_lost_but_not_the_next", || {
        a_message_is_lost_but_not_the_next(libc::SOCK_STREAM);
    });
}

#[test]
fn a_packet_is_lost_but_not_the_next() {
    child::alone("a_packet_is_lost_but_not_the_next", || {
        a_message_is_lost_but_not_the_next(libc::SOCK_SEQPACKET);
    });
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_machine_is_asked_before_its_memory_is_taken() {
    child::alone("the_machine_is_asked_before_its_memory_is_taken", || {
        // Should it not be asked, the kernel refuses here instead of killing somebody.
        // SAFETY: a signal of this process to ignore.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        limits::limit(rustix::process::Resource::Fsize, Some(1 << 30));
        let _full = Full::but(1);
        let request = Request::new(1 << 45).unwrap();
        match shm::Shm::new().allocate(&request).unwrap_err() {
            Error::OutOfMemory(full) => assert!(full.available.unwrap() < 1 << 45),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn a_descriptor_is_enough_for_a_buffer() {
    child::alone("a_descriptor_is_enough_for_a_buffer", || {
        let _full = Full::but(1);
        let buffer = shared();
        assert!(buffer.raw().unwrap().descriptor().is_ok());
        assert!(
            rustix::io::fcntl_dupfd_cloexec(buffer.lend_descriptor().unwrap().as_fd(), 0).is_err()
        );
        buffer.write().unwrap().as_bytes_mut().fill(3);
    });
}

/// Everything of this crate that makes descriptors, by name.
type Step = (&'static str, Box<dyn Fn() -> Result<Box<dyn std::any::Any>, Error>>);

fn steps() -> Vec<Step> {
    fn step<T: 'static>(name: &'static str, work: impl Fn() -> Result<T, Error> + 'static) -> Step {
        (name, Box::new(move || work().map(|made| Box::new(made) as _)))
    }
    let name = format!("/tenure-sweep-{}", std::process::id());
    let named = shm::Shm::named(&name);
    let kept = Buffer::from_raw(named.allocate(&request()).unwrap());
    let fd = std::rc::Rc::new(shared().clone_descriptor().unwrap());
    let (path, memory) = (std::env::current_exe().unwrap(), shared());
    let (import_fd, plane_fd, fence_fd) = (fd.clone(), fd.clone(), fd);
    let another = format!("{name}-new");
    let (here, there) = sockets(libc::SOCK_STREAM);
    let lent = shared();
    vec![
        step("a memory file", || shm::Shm::new().allocate(&request())),
        step("a large memory file", || shm::Shm::new().allocate(&Request::new(5 << 20).unwrap())),
        step("huge pages", || shm::Shm::huge_pages(shm::HugePages::TwoMiB).allocate(&request())),
        step("named memory", move || {
            let made = shm::Shm::named(&another).allocate(&request());
            let _ = shm::remove_named(&another);
            made
        }),
        step("opened named memory", move || {
            let _kept = &kept;
            shm::open_named(&name, true)
        }),
        step("a heap block", || allocate(Some(TensorMemory::Mem), &Request::new(9 << 20).unwrap())),
        step("an automatic choice", || allocate(None, &request())),
        step("a file", move || open_file(&path)),
        step("an import", move || import(&*import_fd, 0, Protection::AsAllowed, None)),
        step("a clone", move || memory.clone_descriptor()),
        step("a plane", move || PlaneDescriptor::new(&*plane_fd)),
        step("a fence", move || tenure_memory::Fence::from_fd(&*fence_fd)),
        step("a signal and its fence", tenure_memory::Fence::pair),
        step("a message", move || {
            send(&here, &[7; 100], &[lent.lend_descriptor()?, lent.lend_descriptor()?])?;
            receive(&there)
        }),
    ]
}

#[test]
fn nothing_is_left_behind_however_many_descriptors_there_are() {
    child::alone("nothing_is_left_behind_however_many_descriptors_there_are", || {
        let steps = steps();
        // What is found out once is found out before.
        steps.iter().for_each(|(_, step)| drop(step()));
        let mut served = vec![0; steps.len()];
        for free in 0..=6 {
            for ((name, step), served) in steps.iter().zip(&mut served) {
                let before = (resources::descriptors(), resources::mappings());
                let full = Full::but(free);
                let made = step();
                drop(full);
                if let Err(error) = &made {
                    let words = error.to_string();
                    let lacking = words.contains(FULL) || words.contains("descriptors were lost");
                    // A machine may have no huge pages, whatever its descriptors.
                    assert!(lacking || *name == "huge pages", "{name}, {free} free: {words}");
                }
                *served += usize::from(made.is_ok());
                drop(made);
                assert_eq!(resources::descriptors(), before.0, "after {name}, {free} free");
                assert_eq!(resources::mappings(), before.1, "after {name}, {free} free");
            }
        }
        for ((name, _), served) in steps.iter().zip(served) {
            assert!(served > 0 || *name == "huge pages", "{name} was never served");
            assert!(served < 7 || name.contains("heap") || name.contains("automatic"), "{name}");
        }
        let name = format!("/tenure-sweep-{}", std::process::id());
        shm::remove_named(&name).unwrap();
    });
}

#[test]
#[cfg(target_pointer_width = "64")]
fn a_machine_that_could_not_be_asked_is_asked_again() {
    child::alone("a_machine_that_could_not_be_asked_is_asked_again", || {
        let full = Full::but(0);
        let mem = kind::allocator(TensorMemory::Mem).unwrap();
        mem.allocate(&Request::new(1 << 20).unwrap()).unwrap();
        drop(full);
        let error = mem.allocate(&Request::new(1 << 45).unwrap()).unwrap_err();
        assert!(
            matches!(&error, Error::OutOfMemory(it) if matches!(**it, tenure_memory::detail::OutOfMemory { available: Some(_), .. })),
            "{error:?}"
        );
    });
}
