//! A producer that lies: the consumer says what is wrong, and nothing else happens.
#![cfg(all(target_os = "linux", not(miri)))]

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use tenure_memory::{RawBuffer, Request, TensorMemory, allocate};
use tenure_stream::Error;
use tenure_stream::wire::{Answer, Fault, FrameHead, LONGEST, NO_COUNT, VERSION};
use tenure_tensor::wire::Description;

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/liar.rs"]
mod liar;
#[path = "common/raw.rs"]
mod raw;
#[path = "../../memory/tests/common/resources.rs"]
mod resources;
#[path = "common/stage.rs"]
mod stage;

use liar::{Liar, description, frame, head, packet};
use raw::Dice;

/// Memory as a producer makes it.
fn sealed(bytes: usize) -> Arc<RawBuffer> {
    let raw = allocate(Some(TensorMemory::Shm), &Request::new(bytes).unwrap()).unwrap();
    raw.seal_for_others().unwrap();
    Arc::new(raw)
}

fn memory_file(bytes: u64, seals: SealFlags) -> OwnedFd {
    let fd = memfd_create("lie", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&fd, bytes).unwrap();
    fcntl_add_seals(&fd, seals).unwrap();
    fd
}

#[test]
fn first_answers_are_checked() {
    let liar = Liar::new();
    let welcome =
        Answer::Welcome { incarnation: 1, consumer: 1, credits: 3, count: NO_COUNT }.encode();
    let mut other_version = welcome.clone();
    other_version[5] = 77;
    let refused = liar.greet(&other_version).0.unwrap_err();
    let fault = Fault::Version { found: 77 };
    assert!(matches!(&refused, Error::Packet(packet) if packet.fault == fault), "{refused}");
    assert!(refused.to_string().contains(&format!("speaks {VERSION}")), "{refused}");
    for end in 0..welcome.len() {
        assert!(liar.greet(&welcome[..end]).0.is_err(), "{end}");
    }
    let reason = "no".to_owned();
    let refused = liar.greet(&Answer::Refused { reason }.encode()).0.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    assert!(liar.greet(&frame(16)).0.is_err());
    assert!(liar.greet(&[0; 4096]).0.is_err());
    let greedy =
        Answer::Welcome { incarnation: 0, consumer: u64::MAX, credits: u32::MAX, count: NO_COUNT };
    let refused = liar.greet(&greedy.encode()).0.unwrap_err();
    let fault = Fault::Credits { found: u32::MAX, asked: 3 };
    assert!(matches!(&refused, Error::Packet(packet) if packet.fault == fault), "{refused}");
    let nothing = Answer::Welcome { incarnation: 0, consumer: 1, credits: 0, count: NO_COUNT };
    assert!(liar.greet(&nothing.encode()).0.is_err());
    // A counter that did not come.
    let counted = Answer::Welcome { incarnation: 0, consumer: 1, credits: 1, count: 0 };
    assert!(liar.greet(&counted.encode()).0.is_err());
}

#[test]
fn memory_is_looked_at_before_it_is_mapped() {
    let liar = Liar::new();
    let good = sealed(4096);
    let good = good.descriptor().unwrap();
    let told = liar.tell(&[(frame(4096), vec![good])]).unwrap().unwrap();
    assert_eq!(told.shape(), [4096]);
    drop(told);

    let all = SealFlags::SHRINK | SealFlags::GROW | SealFlags::FUTURE_WRITE | SealFlags::SEAL;
    for missing in all.iter() {
        let file = memory_file(4096, all - missing);
        let fault = liar.fault(&frame(4096), &[file.as_fd()]);
        assert_eq!(fault, Fault::Unsealed { found: (all - missing).bits() });
    }
    let file = tempfile::tempfile().unwrap();
    file.set_len(4096).unwrap();
    let (pipe, _end) = rustix::pipe::pipe().unwrap();
    let zero = File::open("/dev/zero").unwrap();
    for wrong in [file.as_fd(), pipe.as_fd(), zero.as_fd(), liar.listener.as_fd()] {
        assert!(matches!(liar.fault(&frame(4096), &[wrong]), Fault::Memory { .. }));
    }
    // A frame that does not fit its memory.
    let short = memory_file(4096, all);
    let refused = liar.tell(&[(frame(8192), vec![short.as_fd()])]).unwrap_err();
    assert!(refused.to_string().contains("8192"), "{refused}");
    let mut far = Description::decode(&description(16)).unwrap();
    far.offset = usize::MAX - 8;
    let far = far.encode();
    let refused = liar.tell(&[(packet(head(1, far.len()), &far), vec![good])]).unwrap_err();
    assert!(matches!(refused, Error::Tensor(_)), "{refused}");
}

#[test]
fn memory_that_is_refused_costs_one_frame() {
    let liar = Liar::new();
    let good = sealed(4096);
    let good = good.descriptor().unwrap();
    let wrong = tempfile::tempfile().unwrap();
    wrong.set_len(4096).unwrap();
    let (mut subscriber, socket) = liar.welcome();
    for _ in 0..5 {
        assert!(raw::send(&socket, &frame(4096), &[wrong.as_fd()]));
        let refused = subscriber.next(stage::SOON).unwrap_err();
        let Error::Packet(packet) = &refused else { panic!("{refused}") };
        assert!(matches!(packet.fault, Fault::Memory { .. }), "{refused}");
        assert_eq!(subscriber.held(), 0);
        assert!(raw::send(&socket, &frame(4096), &[good]));
        assert_eq!(subscriber.next(stage::SOON).unwrap().unwrap().shape(), [4096]);
    }
}

#[test]
fn descriptors_are_counted() {
    let liar = Liar::new();
    let good = sealed(4096);
    let good = good.descriptor().unwrap();
    let count = |found, expected| Fault::Descriptors { found, expected };
    assert_eq!(liar.fault(&frame(16), &[]), count(0, 1));
    assert_eq!(liar.fault(&frame(16), &[good, good]), count(2, 1));
    let many = liar.fault(&frame(16), &[good; 60]);
    assert!(matches!(many, Fault::Descriptors { found: 6.., expected: 5 }), "{many:?}");
    let words = description(16);
    let fenced = FrameHead { fence: true, ..head(1, words.len()) };
    assert_eq!(liar.fault(&packet(fenced, &words), &[good]), count(1, 2));
    let many = FrameHead { memories: 4, ..head(1, words.len()) };
    let refused = liar.tell(&[(packet(many, &words), vec![good; 4])]).unwrap_err();
    assert!(matches!(refused, Error::Tensor(_)), "{refused}");
    let most = FrameHead { memories: 5, ..head(1, words.len()) };
    assert!(matches!(liar.fault(&packet(most, &words), &[good; 5]), Fault::TooLarge { .. }));
}

#[test]
fn slots_that_were_never_sent_are_none() {
    let liar = Liar::new();
    let good = sealed(4096);
    let good = good.descriptor().unwrap();
    let words = description(16);
    let bare = FrameHead { memories: 0, ..head(0, words.len()) };
    let unknown = Fault::UnknownSlot { slot: 0, generation: 1 };
    assert_eq!(liar.fault(&packet(bare, &words), &[]), unknown);
    let other = packet(FrameHead { generation: 2, ..bare }, &words);
    let refused = liar.tell(&[(frame(16), vec![good]), (other, vec![])]).unwrap_err();
    assert!(refused.to_string().contains("generation 2"), "{refused}");
    let again = liar.tell(&[(frame(16), vec![good]), (packet(bare, &words), vec![])]);
    assert!(again.unwrap().is_some());
    let far = packet(FrameHead { slot: u32::MAX, ..head(1, words.len()) }, &words);
    assert!(matches!(liar.fault(&far, &[good]), Fault::TooLarge { what: "slot", .. }));
    assert!(matches!(liar.fault(&vec![32; LONGEST + 1], &[]), Fault::TooLarge { .. }));
}

/// What a producer says of itself is shown in terminals.
#[test]
fn reports_have_no_characters_that_terminals_obey() {
    let other = stage::Stage::new();
    let report = other.words("s", 1).stats();
    let report = serde_json::to_string(&report).unwrap();
    let spoilt = report.replace(r#""name":"s""#, r#""name":"\u001b[2J\u0007s""#);
    assert_ne!(report, spoilt);
    let liar = Liar::new();
    let place = liar.path().to_owned();
    let asking = std::thread::spawn(move || tenure_stream::stat_in(place, "s"));
    let socket = raw::accept(&liar.listener);
    assert!(!raw::receive(&socket).is_empty());
    raw::send(&socket, &[Answer::Report.encode(), spoilt.into_bytes()].concat(), &[]);
    assert_eq!(asking.join().unwrap().unwrap().name, "[2Js");
}

#[test]
fn noise_costs_nothing() {
    child::alone("noise_costs_nothing", || {
        let liar = Liar::new();
        let good = sealed(4096);
        let fds = [good.descriptor().unwrap(); 3];
        let whole = frame(64);
        let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
        let mut taken = 0;
        // Threads, buffers and names of the first round stay.
        let mut before = None;
        for round in 0..300 {
            let (mut subscriber, socket) = liar.welcome();
            for _ in 0..dice.roll(4) {
                let packet = if dice.roll(3) == 0 { whole.clone() } else { dice.spoil(&whole) };
                if !packet.is_empty() {
                    raw::send(&socket, &packet, &fds[..dice.roll(4)]);
                }
            }
            drop(socket);
            let mut held = vec![];
            while let Ok(Some(frame)) = subscriber.next(Duration::from_millis(50)) {
                taken += 1;
                held.push(frame);
            }
            drop(held);
            drop(subscriber);
            let now = (resources::descriptors().len(), resources::mappings().len());
            assert_eq!(*before.get_or_insert(now), now, "round {round}");
        }
        assert!(taken > 10, "{taken}");
    });
}
