//! Two network namespaces with a cable between them: packets get lost, and somebody pulls the plug.
//!
//! Needs root, `ip`, and `tc` with netem or `iptables` with the match `statistic`; scripts/ci runs it.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tenure_bridge::Bridge;
use tenure_stream::Subscriber;

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "common/two.rs"]
mod two;

use two::{SOON, Two, publish, until, whole, words};

const ADDRESS: &str = "tcp/10.77.0.1:7447";
/// Numbers of a frame: 256 KiB, some two hundred packets.
const WORDS: usize = 32 << 10;

/// Runs a command that must succeed.
fn run(command: &str) {
    assert_eq!(attempt(command), Ok(()), "{command}");
}

fn attempt(command: &str) -> Result<(), String> {
    let mut parts = command.split_whitespace();
    let output = Command::new(parts.next().unwrap()).args(parts).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}

/// Two namespaces with a cable between them; gone when dropped.
struct Cable {
    names: [String; 2],
}

impl Cable {
    fn new() -> Cable {
        let id = std::process::id();
        let names = ["a", "b"].map(|end| format!("tenure-{end}-{id}"));
        let cable = Cable { names };
        let [a, b] = &cable.names;
        run(&format!("ip netns add {a}"));
        run(&format!("ip netns add {b}"));
        run(&format!("ip -n {a} link add wire type veth peer name wire netns {b}"));
        for (name, address) in [(a, "10.77.0.1/24"), (b, "10.77.0.2/24")] {
            run(&format!("ip -n {name} address add {address} dev wire"));
            run(&format!("ip -n {name} link set lo up"));
            run(&format!("ip -n {name} link set wire up"));
        }
        cable
    }

    /// Loses one packet of twenty in each direction; says how.
    fn lose(&self) -> &'static str {
        let with = |command: &str| {
            self.names
                .iter()
                .try_for_each(|name| attempt(&format!("ip netns exec {name} {command}")))
        };
        let netem = with("tc qdisc add dev wire root netem loss 5%");
        let Err(netem) = netem else { return "tc netem" };
        let tables =
            with("iptables -A INPUT -i wire -m statistic --mode random --probability 0.05 -j DROP");
        let Err(tables) = tables else { return "iptables" };
        panic!("no way to lose packets here: tc netem: {netem}; iptables: {tables}");
    }

    /// Pulls the plug, or puts it back.
    fn plug(&self, into: bool) {
        let [a, _] = &self.names;
        run(&format!("ip -n {a} link set wire {}", if into { "up" } else { "down" }));
    }

    /// Runs this test in a namespace, where it plays a part.
    fn start(&self, end: usize, part: &str, directory: &Path) -> Actor {
        let test = "frames_go_on_over_a_bad_link";
        let inner = child::command(test, &format!("{part} {}", directory.display()));
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[end]]);
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Actor(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = attempt(&format!("ip netns delete {name}"));
        }
    }
}

/// A process that ends when nobody holds its input any more.
struct Actor(Child);

impl Drop for Actor {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// What the other processes do; `false` in the test itself.
fn plays() -> bool {
    let Some(part) = child::part() else { return false };
    let (role, directory) = part.split_once(' ').unwrap();
    let builder = Bridge::builder().directory(directory);
    let bridge = match role {
        "export" => builder.listen(ADDRESS).export("words"),
        _ => builder.connect(ADDRESS).import("words"),
    };
    let bridge = bridge.open().unwrap();
    let _ = std::io::stdin().read_to_end(&mut vec![]);
    drop(bridge);
    true
}

/// Takes frames for so long, checking them; gives how many came.
fn take(subscriber: &mut Subscriber, next: &mut u64, time: Duration) -> u64 {
    let (began, mut count) = (Instant::now(), 0);
    while began.elapsed() < time {
        if let Some(frame) = subscriber.next(Duration::from_millis(100)).unwrap() {
            whole(&frame);
            assert_eq!(frame.sequence() - *next, frame.dropped(), "all that is lost is counted");
            *next = frame.sequence() + 1;
            count += 1;
        }
    }
    count
}

/// Takes frames until so many have come.
fn take_some(what: &str, subscriber: &mut Subscriber, next: &mut u64, count: u64) -> Duration {
    let (began, mut came) = (Instant::now(), 0);
    while came < count {
        assert!(began.elapsed() < SOON, "{what}: {came} frames came");
        came += take(subscriber, next, Duration::from_millis(100));
    }
    began.elapsed()
}

#[test]
#[ignore = "needs root, and namespaces: scripts/ci bridge"]
fn frames_go_on_over_a_bad_link() {
    if plays() {
        return;
    }
    if let Err(reason) = attempt("ip netns list") {
        panic!("there are no network namespaces here: {reason}");
    }
    let two = Two::new();
    let cable = Cable::new();
    let stop = Arc::new(AtomicBool::new(false));
    let producer = {
        let (stop, mut publisher) = (Arc::clone(&stop), words(two.here(), "words", WORDS));
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                publish(&mut publisher);
                std::thread::sleep(Duration::from_millis(20));
            }
        })
    };
    let _importer = cable.start(1, "import", two.there());
    let _exporter = cable.start(0, "export", two.here());
    let mut subscriber = two.consumer("words").open().unwrap();
    let first = subscriber.next(SOON).unwrap().unwrap();
    let incarnation = first.incarnation();
    let mut next = first.sequence() + 1;
    drop(first);
    take_some("a good link", &mut subscriber, &mut next, 50);

    let how = cable.lose();
    let time = take_some("a link with loss", &mut subscriber, &mut next, 50);
    println!("50 frames with 5 % of packets lost ({how}): {time:?}");

    // Shorter than anybody notices.
    cable.plug(false);
    std::thread::sleep(Duration::from_secs(1));
    cable.plug(true);
    let time = take_some("a cut of a second", &mut subscriber, &mut next, 10);
    println!("10 frames after a cut of 1 s: {time:?}");

    cable.plug(false);
    until("the pause", || two.origin("words").is_some_and(|origin| origin.paused));
    while subscriber.try_next().unwrap().inspect(|frame| next = frame.sequence() + 1).is_some() {}
    assert_eq!(take(&mut subscriber, &mut next, Duration::from_secs(2)), 0);
    cable.plug(true);
    let time = take_some("a long cut", &mut subscriber, &mut next, 10);
    println!("10 frames after a long cut: {time:?}");
    until("the origin", || two.origin("words").is_some_and(|origin| !origin.paused));
    // Nothing was started anew, on either side.
    assert_eq!(subscriber.incarnation(), incarnation);
    stop.store(true, Ordering::Relaxed);
    producer.join().unwrap();
}
