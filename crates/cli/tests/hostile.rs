//! Others that lie to the command: producers whose frames or reports are larger than they can be, and
//! recordings that have no end. The command says what is wrong, in bounded memory, and whatever else
//! it does goes on.
#![cfg(target_os = "linux")]

mod common;
#[path = "../../stream/tests/common/raw.rs"]
mod raw;
mod streams;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, MemfdFlags, Mode, SealFlags};
use serde_json::json;
use streams::Place;
use tenure::DType;
use tenure::stream::wire::{Answer, FrameHead, NO_COUNT, Request};
use tenure::tensor::wire::Description;

use common::answer;

/// Address space of the commands, in KiB: what they allocate on somebody's word is refused by the
/// system at the latest, and nobody else on the machine is hurt.
const ADDRESSES: &str = "4194304";
/// Long enough for a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A command with little address space, which must not need long.
fn bounded(place: &Place, arguments: &[&str]) -> Command {
    let tenure = place.tenure(arguments);
    let mut command = Command::new("sh");
    let script = format!("ulimit -v {ADDRESSES}; exec timeout 60 \"$@\"");
    command.args(["-c", &script, "sh"]).arg(tenure.get_program()).args(arguments);
    for (name, value) in tenure.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// Memory as a producer sends it, of which nothing can be changed any more.
fn sealed(bytes: u64) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = rustix::fs::memfd_create("lie", flags).unwrap();
    rustix::fs::ftruncate(&memory, bytes).unwrap();
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&memory, seals).unwrap();
    memory
}

/// The first packet of a frame that says it has 4 TiB, over one page.
fn inflated() -> Vec<u8> {
    let description = Description {
        dtype: DType::F64,
        shape: vec![1 << 30, 512],
        strides: vec![0, 1],
        offset: 0,
        read_only: true,
        image: None,
        colour: None,
        quantization: None,
        name: None,
    };
    let description = description.encode();
    let head = FrameHead {
        slot: 0,
        generation: 1,
        sequence: 0,
        dropped: 0,
        captured: 0,
        published: 0,
        memories: 1,
        fence: false,
        description: description.len() as u32,
        blob: 0,
    };
    [&head.encode()[..], &description].concat()
}

/// Plays a producer of the stream `evil` for whoever comes, until the test ends.
fn lie(place: &Place) {
    fs::create_dir_all(place.path("s")).unwrap();
    let listener = raw::listener(&place.path("s"), "evil");
    thread::spawn(move || {
        let memory = sealed(4096);
        let mut known = vec![];
        loop {
            let socket = raw::accept(&listener);
            match Request::decode(&raw::receive(&socket)) {
                Ok(Request::Consume { .. }) => {
                    let count = NO_COUNT;
                    let welcome =
                        Answer::Welcome { incarnation: 1, consumer: 1, credits: 16, count };
                    raw::send(&socket, &welcome.encode(), &[]);
                    raw::send(&socket, &inflated(), &[memory.as_fd()]);
                }
                Ok(Request::Report) => {
                    let packet = [Answer::Report.encode(), report().into_bytes()].concat();
                    raw::send(&socket, &packet, &[]);
                }
                _ => {}
            }
            // Whoever is connected stays so.
            known.push(socket);
        }
    });
}

/// What it says about itself: more bytes than can be counted.
fn report() -> String {
    let slot = |index: usize| json!({"index": index, "generation": 1, "bytes": usize::MAX, "borrowed": false, "state": "free"});
    json!({
        "name": "evil", "pid": 1, "incarnation": 1, "seconds": 1.0, "published": u64::MAX,
        "dropped": u64::MAX, "rate": 1e300, "memory": "shm", "claims": 1, "credits": usize::MAX,
        "granted": usize::MAX, "slots": [slot(0), slot(1)], "consumers": [], "frame": null,
    })
    .to_string()
}

#[test]
fn an_inflated_frame_is_refused_by_everything_that_copies_frames() {
    let place = Place::new();
    lie(&place);
    let (npy, raw, folder) = (place.word("x.npy"), place.word("x.raw"), place.word("kept"));
    let commands: [&[&str]; 4] = [
        &["stream", "tap", "evil", "-o", &npy],
        &["stream", "tap", "evil", "-o", &raw],
        &["stream", "record", "evil", "-o", &folder, "-n", "1"],
        &["run", "stream:evil", "--no-input", "-n", "1", "--json"],
    ];
    for arguments in commands {
        let (_, errors, code) = answer(bounded(&place, arguments).output().unwrap());
        // Passing a frame on copies nothing, and may be allowed.
        let copies = arguments[0] == "stream";
        assert!(
            code == Some(1) || (code == Some(0) && !copies),
            "{arguments:?}: {code:?} {errors}"
        );
        assert!(code == Some(0) || errors.starts_with("error: "), "{arguments:?}: {errors}");
    }
    assert!(!place.path("x.npy").exists() && !place.path("x.raw").exists());
}

#[test]
fn impossible_reports_are_shown_and_hurt_nobody() {
    let place = Place::new();
    lie(&place);
    for arguments in [&["stream", "ls"][..], &["stream", "stat", "evil"], &["top"]] {
        for json in [&[][..], &["--json"]] {
            let arguments = [arguments, json].concat();
            let (out, errors, code) = answer(bounded(&place, &arguments).output().unwrap());
            assert!(code == Some(0) && out.contains("evil"), "{arguments:?}: {out} {errors}");
        }
    }
}

/// Asks a page for something; the status and the rest of the answer.
fn ask(port: &str, token: &str, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nTenure-Token: {token}\r\n\
         Connection: close\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut text = vec![];
    socket.read_to_end(&mut text).unwrap();
    let text = String::from_utf8_lossy(&text).into_owned();
    (text.get(9..12).and_then(|status| status.parse().ok()).unwrap_or(0), text)
}

#[test]
fn a_page_that_shows_a_liar_does_not_end_the_publisher() {
    let place = Place::new();
    lie(&place);
    let arguments = ["run", "--size", "64x64", "--to", "32x32", "--view"];
    let mut command = bounded(&place, &arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
    let address = loop {
        let mut line = String::new();
        assert!(std::io::BufRead::read_line(&mut out, &mut line).unwrap() > 0, "it has ended");
        if let Some((_, address)) = line.split_once("http://127.0.0.1:") {
            break address.trim().to_owned();
        }
    };
    let (port, token) = address.split_once("/#").unwrap();
    for _ in 0..3 {
        let (status, text) = ask(port, token, "/api/frame?stream=evil");
        assert!(status == 404 || status == 204, "{text}");
    }
    let (status, text) = ask(port, token, "/api/streams");
    assert!(status == 200 && text.contains("cam0/frame"), "{text}");
    // The camera goes on: another frame comes.
    let file = place.word("frame.raw");
    let taken = place.json(&["stream", "tap", "cam0/frame", "-o", &file, "--timeout", "60"]);
    assert_eq!(taken["frames"][0]["shape"], json!([96, 64]));
    assert!(child.try_wait().unwrap().is_none());
    // `timeout` passes it on.
    Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    drop(out);
    child.wait().unwrap();
}

#[test]
fn recordings_without_an_end_are_refused() {
    let place = Place::new();
    let folder = place.word("bad");
    fs::create_dir(place.path("bad")).unwrap();
    fs::write(place.path("bad/frames.bin"), [0; 4]).unwrap();
    let index = fs::File::create(place.path("bad/index.jsonl")).unwrap();
    index.set_len(1 << 40).unwrap();
    let (_, errors, code) =
        answer(bounded(&place, &["stream", "replay", &folder]).output().unwrap());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("index.jsonl: line 1: it has 262145 bytes"), "{errors}");
    // A frame of a terabyte, in a file that has it and takes no disk.
    let line = json!({
        "sequence": 0, "taken": null, "published": 0, "offset": 0, "bytes": 1u64 << 40,
        "dtype": "u8", "shape": [1u64 << 40], "image": null, "quantization": null, "blob": []
    });
    fs::write(place.path("bad/index.jsonl"), format!("{line}\n")).unwrap();
    let frames = fs::File::create(place.path("bad/frames.bin")).unwrap();
    frames.set_len(1 << 40).unwrap();
    let (_, errors, code) =
        answer(bounded(&place, &["stream", "replay", &folder]).output().unwrap());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("needs more than a quarter of the available memory"), "{errors}");
}

/// Whatever is read must be a file: a FIFO would be waited for, where nobody can end it.
#[test]
fn a_fifo_in_place_of_a_file_is_refused_at_once() {
    let place = Place::new();
    let fifo = |name: &str| {
        rustix::fs::mkfifoat(CWD, place.path(name), Mode::RUSR | Mode::WUSR).unwrap();
        place.word(name)
    };
    let folder = place.word("kept");
    fs::create_dir(place.path("kept")).unwrap();
    fs::write(place.path("kept/frames.bin"), [0; 4]).unwrap();
    fifo("kept/index.jsonl");
    let (toml, onnx, tflite, csv) =
        (fifo("a.toml"), fifo("a.onnx"), fifo("a.tflite"), fifo("a.csv"));
    let (json, tensors, html) = (fifo("a.json"), fifo("a.safetensors"), fifo("a.html"));
    let model = common::model("chain.tflite");
    let commands: [&[&str]; 10] = [
        &["stream", "replay", &folder],
        &["run", "--config", &toml],
        &["plan", &onnx],
        &["plan", &tflite],
        &["plan", &csv],
        &["plan", &json],
        &["inspect", &tensors],
        &["load", &tensors],
        &["load", &tensors, "--bench"],
        &["plan", &model, "--html", &html],
    ];
    for arguments in commands {
        let (_, errors, code) = answer(bounded(&place, arguments).output().unwrap());
        assert_eq!(code, Some(1), "{arguments:?}: {errors}");
        let told = ["a pipe", "regular file", "no file"].iter().any(|words| errors.contains(words));
        assert!(told, "{arguments:?}: {errors}");
    }
}

/// A camera's pipe that nobody writes to: the first signal ends it.
#[test]
fn a_pipe_without_a_writer_is_ended_by_the_first_signal() {
    let place = Place::new();
    rustix::fs::mkfifoat(CWD, place.path("pipe"), Mode::RUSR | Mode::WUSR).unwrap();
    let pipe = place.word("pipe");
    for extra in [&[][..], &["--from", "grey:8x8"]] {
        let running = place.start(&[&["run", &*pipe, "--json"][..], extra].concat());
        let began = Instant::now();
        while !place.path("s/cam0+input.sock").exists() {
            assert!(began.elapsed() < SOON);
            thread::sleep(Duration::from_millis(10));
        }
        let (out, errors, code) = running.stop();
        assert_eq!((errors.as_str(), code), ("", Some(0)), "{out}");
    }
}

/// A producer that is stopped, or never answers: the first signal ends whoever waits for it.
#[test]
fn a_producer_that_never_answers_is_left_by_the_first_signal() {
    let place = Place::new();
    fs::create_dir_all(place.path("s")).unwrap();
    let listener = raw::listener(&place.path("s"), "mute");
    let (file, folder, socket) = (place.word("x.npy"), place.word("kept"), place.word("gst"));
    let commands: [&[&str]; 4] = [
        &["stream", "tap", "mute", "-o", &file, "--timeout", "3600"],
        &["stream", "record", "mute", "-o", &folder],
        &["stream", "gst", "mute", "--socket", &socket],
        &["run", "stream:mute", "--name", "again"],
    ];
    for arguments in commands {
        let running = place.start(&[arguments, &["--json"]].concat());
        // It has said who it is, and waits.
        let asked = raw::accept(&listener);
        assert!(matches!(Request::decode(&raw::receive(&asked)), Ok(Request::Consume { .. })));
        let began = Instant::now();
        let (out, errors, code) = running.stop();
        // A file that was asked for is not there.
        let unanswered = "error: stream `mute`: told to end before a producer answered\n";
        let tap = arguments[1] == "tap";
        let expected = if tap { (unanswered, Some(1)) } else { ("", Some(0)) };
        assert_eq!((errors.as_str(), code), expected, "{arguments:?}: {out}");
        assert!(began.elapsed() < Duration::from_secs(15), "{arguments:?}: {:?}", began.elapsed());
    }
    assert!(!place.path("kept").exists() && !place.path("gst").exists());
}

/// How long `tap` waits is what it was told, and not what producers are given otherwise.
#[test]
fn a_tap_waits_for_a_producer_no_longer_than_it_was_told() {
    let place = Place::new();
    fs::create_dir_all(place.path("s")).unwrap();
    let _listener = raw::listener(&place.path("s"), "mute");
    let file = place.word("x.npy");
    let (_, errors, code) = place.run(&["stream", "tap", "mute", "-o", &file, "--timeout", "0.5"]);
    assert!(code == Some(1) && errors.contains("did not answer within 500ms"), "{errors}");
}
