//! Messages over sockets that do not block, or not for long.
#![cfg(all(linux_like, not(miri)))]

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use tenure_memory::share::{receive, send};
use tenure_memory::{Error, MessageFault};

static BODY: [u8; 100_000] = [7; 100_000];

/// The bytes of a message as they are on the socket.
fn bytes_of_a_message() -> Vec<u8> {
    let (here, mut there) = UnixStream::pair().unwrap();
    let reader = thread::spawn(move || {
        let mut bytes = vec![];
        there.read_to_end(&mut bytes).unwrap();
        bytes
    });
    send(&here, &BODY, &[]).unwrap();
    drop(here);
    reader.join().unwrap()
}

fn fault(error: Error) -> MessageFault {
    match error {
        Error::Message(message) => message.reason,
        other => panic!("{other}"),
    }
}

#[test]
fn an_empty_socket_does_not_wait() {
    let (_here, there) = UnixStream::pair().unwrap();
    there.set_nonblocking(true).unwrap();
    match receive(&there).unwrap_err() {
        Error::System(failed) => assert_eq!(failed.cause.kind(), ErrorKind::WouldBlock),
        other => panic!("{other}"),
    }
}

#[test]
fn the_rest_of_a_message_is_waited_for() {
    let bytes = bytes_of_a_message();
    for cut in [1, 11, 12, 13, 50_000] {
        let (mut here, there) = UnixStream::pair().unwrap();
        there.set_nonblocking(true).unwrap();
        let (first, second) = bytes.split_at(cut);
        here.write_all(first).unwrap();
        let reader = thread::spawn(move || receive(&there).unwrap());
        thread::sleep(Duration::from_millis(30));
        here.write_all(second).unwrap();
        assert_eq!(reader.join().unwrap().body, BODY, "cut after {cut}");
    }
}

#[test]
fn a_message_that_stops_is_not_waited_for_long() {
    let bytes = bytes_of_a_message();
    for cut in [1, 12, 50_000] {
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&bytes[..cut]).unwrap();
        there.set_nonblocking(true).unwrap();
        assert_eq!(fault(receive(&there).unwrap_err()), MessageFault::Stalled);
        // The socket's own limit holds too.
        let (mut here, there) = UnixStream::pair().unwrap();
        here.write_all(&bytes[..cut]).unwrap();
        there.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        assert_eq!(fault(receive(&there).unwrap_err()), MessageFault::Stalled);
    }
}

#[test]
fn a_full_socket_takes_a_message_whole_or_not_at_all() {
    let (here, there) = UnixStream::pair().unwrap();
    here.set_nonblocking(true).unwrap();
    let reader = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        (0..)
            .map_while(|_| receive(&there).ok())
            .map(|message| assert_eq!(message.body, BODY))
            .count()
    });
    let mut sent = 0;
    for _ in 0..200 {
        match send(&here, &BODY, &[]) {
            Ok(()) => sent += 1,
            Err(Error::System(failed)) if failed.cause.kind() == ErrorKind::WouldBlock => {
                thread::sleep(Duration::from_millis(1));
            }
            Err(other) => panic!("{other}"),
        }
    }
    drop(here);
    assert!(sent > 0);
    assert_eq!(reader.join().unwrap(), sent);
}
