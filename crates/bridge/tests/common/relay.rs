//! A cable that is slow, or that somebody pulls: passes bytes on between two machines as it is told.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// How much is taken at a time.
const PIECE: usize = 16 << 10;

#[derive(Debug, Default)]
struct State {
    over: AtomicBool,
    cut: AtomicBool,
    /// Bytes a second in each direction; 0 for as many as come.
    rate: AtomicU64,
}

pub(crate) struct Relay {
    state: Arc<State>,
    pub(crate) address: String,
}

impl Relay {
    /// A cable to whoever listens at `tcp/ADDRESS`, now or later.
    pub(crate) fn to(address: &str) -> Relay {
        let target = address.strip_prefix("tcp/").unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("tcp/{}", listener.local_addr().unwrap());
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if shared.over.load(Ordering::Relaxed) {
                    return;
                }
                let Ok(far) = TcpStream::connect(&target) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let state = Arc::clone(&shared);
                    thread::spawn(move || pass(&state, from, to));
                }
            }
        });
        Relay { state, address }
    }

    /// Lets at most so many bytes a second through.
    pub(crate) fn slow(&self, rate: u64) {
        self.state.rate.store(rate, Ordering::Relaxed);
    }

    /// Pulls the plug, or puts it back. Nobody is told: bytes just stay where they are.
    pub(crate) fn cut(&self, cut: bool) {
        self.state.cut.store(cut, Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address.strip_prefix("tcp/").unwrap());
    }
}

fn pass(state: &State, mut from: TcpStream, mut to: TcpStream) {
    let mut piece = vec![0; PIECE];
    while !state.over.load(Ordering::Relaxed) {
        if state.cut.load(Ordering::Relaxed) {
            thread::sleep(Duration::from_millis(10));
            continue;
        }
        let Ok(count @ 1..) = from.read(&mut piece) else { break };
        if to.write_all(&piece[..count]).is_err() {
            break;
        }
        let rate = state.rate.load(Ordering::Relaxed);
        if let Some(wait) = (count as u64 * 1_000_000_000).checked_div(rate) {
            thread::sleep(Duration::from_nanos(wait));
        }
    }
    let _ = from.shutdown(std::net::Shutdown::Both);
    let _ = to.shutdown(std::net::Shutdown::Both);
}
