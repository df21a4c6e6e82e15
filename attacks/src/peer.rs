//! A bridge of this process, and a peer of it that is none and says what it likes.

use std::net::TcpListener;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tenure_bridge::{Bridge, BridgeBuilder};
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Publisher;
use zenoh::qos::CongestionControl;
use zenoh::{Config, Session, Wait};

/// Long enough for a busy machine.
const SOON: Duration = Duration::from_secs(40);

/// Where a bridge listens, and the directory of its streams.
#[derive(Debug)]
pub struct Machine {
    directory: TempDir,
    address: String,
}

impl Machine {
    /// A machine with a port that nobody has.
    #[expect(clippy::new_without_default, reason = "a machine is made on purpose")]
    pub fn new() -> Machine {
        let free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
        // Outside of those that connections get by themselves.
        let first = 20_000 + (std::process::id().wrapping_mul(31) % 9_000) as u16;
        let port = (first..30_000).find(free).expect("a free port");
        let directory = tempfile::tempdir().expect("a folder");
        Machine { directory, address: format!("tcp/127.0.0.1:{port}") }
    }

    /// The directory of its streams.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// A bridge that publishes here whatever others have.
    pub fn bridge(&self) -> BridgeBuilder {
        Bridge::builder().directory(self.directory()).listen(&self.address).import("**")
    }

    /// A peer of it.
    pub fn peer(&self) -> Session {
        let mut config = Config::default();
        let words = [
            ("connect/endpoints", format!("[{:?}]", self.address)),
            ("listen/endpoints", "[]".to_owned()),
            ("scouting/multicast/enabled", "false".to_owned()),
        ];
        for (key, value) in words {
            config.insert_json5(key, &value).expect("a key that Zenoh has");
        }
        zenoh::open(config).wait().expect("it listens")
    }
}

/// Says that the peer has a stream, for as long as the token lives.
pub fn declare(peer: &Session, name: &str) -> LivelinessToken {
    let key = format!("tenure/have/{}/host/{name}", peer.zid());
    peer.liveliness().declare_token(key).wait().expect("a key")
}

/// Where the frames of a declared stream go, once the bridge listens; nothing is dropped on the way.
pub fn frames(peer: &Session, name: &str) -> Publisher<'static> {
    let frames = peer
        .declare_publisher(format!("tenure/frame/{}/{name}", peer.zid()))
        .congestion_control(CongestionControl::Block)
        .wait()
        .expect("a key");
    until("the subscription", || frames.matching_status().wait().expect("an answer").matching());
    frames
}

/// Waits until something is so.
///
/// # Panics
/// If it does not become so.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !so() {
        assert!(began.elapsed() < SOON, "{what} did not happen");
        thread::sleep(Duration::from_millis(10));
    }
}
