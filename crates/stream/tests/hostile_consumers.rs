//! A consumer that lies: it is put out, the producer and everybody else go on.
#![cfg(all(target_os = "linux", not(miri)))]

use std::os::fd::{AsFd, OwnedFd};

use tenure_stream::wire::{Answer, FrameHead, Request};
use tenure_stream::{Publisher, SlotState, Subscriber};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "common/raw.rs"]
mod raw;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use raw::Dice;
use stage::{Stage, next, publish, until, words_spec};

/// A stream with an honest consumer, which loses nothing whatever others do.
struct Scene {
    stage: Stage,
    publisher: Publisher,
    honest: Subscriber,
    sequence: u64,
}

impl Scene {
    fn new() -> Scene {
        let stage = Stage::new();
        let publisher = stage.words("s", 512);
        let honest = stage.subscriber("s").open().unwrap();
        Scene { stage, publisher, honest, sequence: 0 }
    }

    fn go(&mut self, frames: usize) {
        for _ in 0..frames {
            publish(&mut self.publisher, self.sequence).unwrap();
            let frame = next(&mut self.honest);
            assert_eq!((frame.sequence(), frame.dropped()), (self.sequence, 0));
            self.sequence += 1;
        }
    }

    fn connected(&self) -> OwnedFd {
        raw::connected(self.stage.path(), "s")
    }

    /// Somebody who was let in.
    fn liar(&self, credits: u32) -> OwnedFd {
        let socket = self.connected();
        raw::send(&socket, &Request::Consume { credits }.encode(), &[]);
        let answer = raw::receive(&socket);
        assert!(matches!(Answer::decode(&answer), Ok((Answer::Welcome { .. }, _))), "{answer:?}");
        socket
    }

    /// Checks that only the honest consumer is left and nothing is lost.
    fn quiet(&mut self) {
        self.go(8);
        let publisher = &self.publisher;
        until("only one is left", || publisher.stats().consumers.len() == 1);
        let report = self.publisher.stats();
        assert!(!report.slots.iter().any(|it| matches!(it.state, SlotState::Published { .. })));
        assert!(report.slots.len() <= 2 + 64);
    }
}

fn refusal(socket: &OwnedFd) -> String {
    match Answer::decode(&raw::receive(socket)) {
        Ok((Answer::Refused { reason }, _)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn first_packets_are_checked() {
    let mut scene = Scene::new();
    let mut old = Request::Consume { credits: 1 }.encode();
    old[5] = 9;
    let socket = scene.connected();
    raw::send(&socket, &old, &[]);
    assert!(refusal(&socket).contains("not 9"));
    for packet in [&b"GET / HTTP/1.1\r\n"[..], &[3; 14], &[4], &[0; 60]] {
        let socket = scene.connected();
        raw::send(&socket, packet, &[]);
        assert!(refusal(&socket).contains("no first packet"), "{packet:?}");
    }
    // Whoever says nothing, or too much, is not answered.
    // As many as one process may have that have not spoken, but for a few.
    let silent: Vec<OwnedFd> = (0..24).map(|_| scene.connected()).collect();
    let long = scene.connected();
    raw::send(&long, &[1; 4000], &[]);
    assert!(raw::receive(&long).is_empty());
    let laden = scene.connected();
    raw::send(&laden, &Request::Consume { credits: 1 }.encode(), &[long.as_fd()]);
    assert!(raw::receive(&laden).is_empty());
    scene.go(3);
    // Others are still let in.
    let other = scene.stage.subscriber("s").open().unwrap();
    drop((silent, other));
    scene.quiet();
}

#[test]
fn releases_are_checked() {
    let mut scene = Scene::new();
    let release =
        |slot, sequence| Request::Release { slot, sequence, unknown: false, fence: false };
    let fenced = Request::Release { slot: 0, sequence: 0, unknown: false, fence: true };
    let hello = Request::Consume { credits: 5 };
    let file = tempfile::tempfile().unwrap();
    let file = [file.as_fd(); 60];
    let tried = [
        (release(0, u64::MAX).encode(), 0),
        (release(u32::MAX, 0).encode(), 0),
        (fenced.encode(), 0),
        (hello.encode(), 0),
        (vec![255; 3], 0),
        (vec![3; 32 << 10], 0),
        (release(0, 0).encode(), 1),
        (release(0, 0).encode(), 60),
    ];
    for (packet, descriptors) in tried {
        let liar = scene.liar(2);
        scene.go(2);
        raw::send(&liar, &packet, &file[..descriptors]);
        scene.go(3);
        let publisher = &scene.publisher;
        until("it is put out", || publisher.stats().consumers.len() == 1);
        scene.quiet();
    }
    // The same frame twice.
    let liar = scene.liar(2);
    scene.go(1);
    let packet = raw::receive(&liar);
    let (head, ..) = FrameHead::decode(&packet).unwrap();
    let again = release(head.slot, head.sequence).encode();
    raw::send(&liar, &again, &[]);
    raw::send(&liar, &again, &[]);
    scene.go(3);
    let publisher = &scene.publisher;
    until("it is put out", || publisher.stats().consumers.len() == 1);
    // A fence that is none.
    let liar = scene.liar(1);
    scene.go(1);
    let (head, ..) = FrameHead::decode(&raw::receive(&liar)).unwrap();
    let (slot, sequence) = (head.slot, head.sequence);
    let fenced = Request::Release { slot, sequence, unknown: false, fence: true };
    raw::send(&liar, &fenced.encode(), &file[..1]);
    scene.quiet();
}

/// What was given back with a fence cannot be given back without: the fence would stay for ever.
#[test]
fn fences_cannot_be_piled_up() {
    child::alone("fences_cannot_be_piled_up", || {
        let mut scene = Scene::new();
        let (read, _write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).unwrap();
        scene.quiet();
        let before = resources::descriptors().len();
        let liar = scene.liar(1);
        for _ in 0..20 {
            scene.go(1);
            if scene.publisher.stats().consumers.len() == 1 {
                break;
            }
            let (head, ..) = FrameHead::decode(&raw::receive(&liar)).unwrap();
            let (slot, sequence) = (head.slot, head.sequence);
            let release = |fence| Request::Release { slot, sequence, unknown: false, fence };
            raw::send(&liar, &release(true).encode(), &[read.as_fd()]);
            raw::send(&liar, &release(false).encode(), &[]);
        }
        scene.quiet();
        // The liar's own end is one of them.
        until("nothing is left", || {
            scene.go(1);
            resources::descriptors().len() <= before + 1 + 2
        });
    });
}

#[test]
fn only_what_is_a_fence_can_be_one() {
    let mut scene = Scene::new();
    let (socket, _other) = std::os::unix::net::UnixDatagram::pair().unwrap();
    let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
    for fd in [socket.as_fd(), epoll.as_fd()] {
        let liar = scene.liar(1);
        scene.go(1);
        let (head, ..) = FrameHead::decode(&raw::receive(&liar)).unwrap();
        let (slot, sequence) = (head.slot, head.sequence);
        let fenced = Request::Release { slot, sequence, unknown: false, fence: true };
        raw::send(&liar, &fenced.encode(), &[fd]);
        scene.quiet();
    }
    // An event counter is one.
    let counter = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let other = scene.liar(1);
    scene.go(1);
    let (head, ..) = FrameHead::decode(&raw::receive(&other)).unwrap();
    let (slot, sequence) = (head.slot, head.sequence);
    let fenced = Request::Release { slot, sequence, unknown: false, fence: true };
    raw::send(&other, &fenced.encode(), &[counter.as_fd()]);
    scene.go(2);
    rustix::io::write(&counter, &1u64.to_ne_bytes()).unwrap();
    let publisher = &scene.publisher;
    until("it is back", || {
        let report = publisher.stats();
        report.consumers.len() == 2 && report.consumers.iter().all(|it| it.held == 0)
    });
}

#[test]
fn whoever_says_enough_again_and_again_is_put_out() {
    let mut scene = Scene::new();
    let liar = scene.liar(2);
    scene.go(1);
    for _ in 0..2 {
        raw::send(&liar, &Request::Enough.encode(), &[]);
    }
    scene.quiet();
    // So is one who talks without end, with memory of the user's in his hands: he keeps it, and
    // nobody listens.
    let tensor =
        tenure_tensor::Tensor::<u64>::new(&[512], Some(tenure_tensor::TensorMemory::Shm), None);
    let tensor = tensor.unwrap();
    let liar = scene.liar(2);
    scene.publisher.publish_tensor(&tensor, tenure_stream::Meta::new()).unwrap();
    scene.sequence += 1;
    drop(scene.honest.next(stage::SOON).unwrap().unwrap());
    let flood = std::thread::spawn(move || {
        for _ in 0..1000 {
            let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
            let _ = rustix::net::send(&liar, &Request::Enough.encode(), flags);
        }
        liar
    });
    let liar = flood.join().unwrap();
    until("it is put out", || scene.publisher.stats().consumers.iter().any(|it| it.evicted));
    scene.go(20);
    assert!(tensor.map().is_err(), "he may still read it");
    drop(liar);
    until("it comes back", || tensor.map().is_ok());
    scene.quiet();
}

#[test]
fn a_policy_that_panics_says_no() {
    child::alone("a_policy_that_panics_says_no", || {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let builder = Publisher::builder("s").directory(directory.path()).spec(words_spec(64));
        let mut publisher = builder.allow(|_| panic!("undecided")).open().unwrap();
        let ended = fork::fork(|| {
            become_nobody();
            let refused = stage::subscriber_in(directory.path(), "s").open().unwrap_err();
            assert!(refused.to_string().contains("user 65534"), "{refused}");
            0
        });
        assert!(ended.success(), "{ended}");
        // The thread that lets consumers in is still there.
        let mut subscriber = stage::subscriber_in(directory.path(), "s").open().unwrap();
        publish(&mut publisher, 0).unwrap();
        drop(next(&mut subscriber));
    });
}

/// Another user who belongs to the producer's group, by the first of his groups or by another.
#[test]
fn users_of_the_same_group_are_let_in() {
    child::alone("users_of_the_same_group_are_let_in", || {
        if !rustix::process::geteuid().is_root() {
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let builder = Publisher::builder("s").directory(directory.path()).spec(words_spec(64));
        let mut publisher = builder.open().unwrap();
        let group = rustix::process::getegid().as_raw();
        for (sequence, (first, others)) in
            [(group, &[][..]), (65534, &[7, group])].into_iter().enumerate()
        {
            let child = fork::start(|| {
                become_user(65534, first, others);
                drop(next(&mut stage::subscriber_in(directory.path(), "s").open().unwrap()));
                0
            });
            until("it is there", || publisher.consumers() == 1);
            publish(&mut publisher, sequence as u64).unwrap();
            assert!(fork::wait(child).success());
            until("it is gone", || publisher.consumers() == 0);
        }
    });
}

#[test]
fn noise_hurts_nobody() {
    child::alone("noise_hurts_nobody", || {
        let mut scene = Scene::new();
        scene.quiet();
        let before = resources::descriptors().len();
        let mut dice = Dice(0x1234_5678_9abc_def1);
        for _ in 0..300 {
            let liar = if dice.roll(4) == 0 { scene.connected() } else { scene.liar(2) };
            scene.go(dice.roll(3));
            for _ in 0..dice.roll(5) {
                let request = Request::Release {
                    slot: dice.roll(4) as u32,
                    sequence: scene.sequence.saturating_sub(dice.roll(3) as u64),
                    unknown: dice.roll(2) == 0,
                    fence: dice.roll(4) == 0,
                };
                let packet = dice.spoil(&request.encode());
                if !packet.is_empty() {
                    let fd = [liar.as_fd()];
                    raw::send(&liar, &packet, &fd[..usize::from(dice.roll(4) == 0)]);
                }
            }
            scene.go(1);
        }
        scene.quiet();
        // What the producer has dropped, the honest consumer lets go when it hears so, with a
        // later frame: at most the slots that there are, in the producer and in the consumer.
        until("nothing is left of the noise", || {
            scene.go(1);
            let slots = scene.publisher.stats().slots.iter().filter(|it| it.bytes > 0).count();
            let mapped = resources::mappings().iter().filter(|it| it.contains("memfd:s")).count();
            let after = resources::descriptors().len();
            slots <= 2 + 3 && mapped <= 2 * slots && after <= before + slots
        });
    });
}

#[test]
fn other_users_are_asked_who_they_are() {
    child::alone("other_users_are_asked_who_they_are", || {
        if !rustix::process::geteuid().is_root() {
            // Only root can become somebody else to try; CI is.
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open).unwrap();
        let builder =
            |name: &str| Publisher::builder(name).directory(directory.path()).spec(words_spec(64));
        let _closed = builder("closed").open().unwrap();
        let mut open = builder("open").allow(|peer| peer.uid == 65534).open().unwrap();
        let other = builder("other").allow(|peer| peer.uid == 65533).open().unwrap();
        let as_nobody = |work: &dyn Fn()| {
            let child = fork::start(|| {
                become_nobody();
                work();
                0
            });
            move || assert!(fork::wait(child).success())
        };
        let open_in = |name: &str| stage::subscriber_in(directory.path(), name).open();
        // The system keeps them out of a socket that is for others.
        as_nobody(&|| {
            let refused = open_in("closed").unwrap_err().to_string();
            assert!(refused.contains("ermission denied"), "{refused}");
        })();
        as_nobody(&|| {
            let refused = open_in("other").unwrap_err().to_string();
            assert!(refused.contains("user 65534"), "{refused}");
            let refused = tenure_stream::stat_in(directory.path(), "other").unwrap_err();
            assert!(refused.to_string().contains("user 65534"), "{refused}");
            // Nor can they take a name that somebody has.
            let taken = Publisher::builder("other").directory(directory.path()).open();
            assert!(taken.is_err());
        })();
        let welcome = as_nobody(&|| {
            let mut subscriber = open_in("open").unwrap();
            assert_eq!(subscriber.producer().unwrap().uid, 0);
            drop(next(&mut subscriber));
        });
        until("it is there", || open.consumers() == 1);
        assert_eq!(open.stats().consumers[0].uid, 65534);
        publish(&mut open, 0).unwrap();
        welcome();
        drop(other);
    });
}

fn become_nobody() {
    become_user(65534, 65534, &[]);
}

#[expect(unsafe_code, reason = "changes the user of this process")]
fn become_user(user: u32, group: u32, others: &[u32]) {
    // SAFETY: changes what this process may do, and nothing of its memory.
    unsafe {
        assert_eq!(libc::setgroups(others.len(), others.as_ptr()), 0);
        assert_eq!(libc::setresgid(group, group, group), 0);
        assert_eq!(libc::setresuid(user, user, user), 0);
    }
}
