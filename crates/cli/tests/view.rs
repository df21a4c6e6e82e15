//! `tenure view`: what is served to whom, and the page in a real browser. Pictures of the page are
//! left in the folder `page` under the temporary folder of the build.
#![cfg(target_os = "linux")]

#[path = "page/browser.rs"]
mod browser;
mod common;
mod streams;

use std::io::{Read, Write};
use std::net::TcpStream;

use browser::Browser;
use serde_json::{Value, json};
use streams::{Place, Running};

/// A page that is served: its address, port and secret.
struct Served {
    process: Running,
    address: String,
    port: u16,
    token: String,
}

fn serve(place: &Place, arguments: &[&str]) -> Served {
    let mut process = place.start(arguments);
    let address = process.line().strip_prefix("look at it: ").unwrap().to_owned();
    let (host, token) =
        address.strip_prefix("http://127.0.0.1:").unwrap().split_once("/#").unwrap();
    let (port, token) = (host.parse().unwrap(), token.to_owned());
    assert_eq!(token.len(), 32);
    Served { process, address, port, token }
}

impl Served {
    /// Sends some bytes; the status, head and body of the answer.
    fn send(&self, bytes: &str) -> (u16, String, Vec<u8>) {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        socket.write_all(bytes.as_bytes()).unwrap();
        let mut answer = vec![];
        socket.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        (head[9..12].parse().unwrap(), head, answer[end + 4..].to_vec())
    }

    fn get(&self, path: &str, headers: &str) -> (u16, String, Vec<u8>) {
        self.send(&format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    }

    /// With the secret.
    fn ask(&self, path: &str) -> (u16, String, Vec<u8>) {
        let (port, token) = (self.port, &self.token);
        self.get(path, &format!("Host: 127.0.0.1:{port}\r\nTenure-Token: {token}\r\n"))
    }
}

#[test]
fn only_whoever_knows_the_secret_is_answered() {
    let place = Place::new();
    let _camera = place.start(&["run", "--size", "64x64", "--to", "32x32", "--json"]);
    let served = serve(&place, &["view"]);
    let host = format!("Host: 127.0.0.1:{}\r\n", served.port);
    let wrong = format!("{host}Tenure-Token: {}\r\n", "0".repeat(32));
    assert_eq!(served.get("/api/streams", &host).0, 401);
    assert_eq!(served.get("/api/streams", &wrong).0, 401);
    assert_eq!(served.get("/api/frame?stream=cam0%2Fframe", &host).0, 401);
    // Another site that was made to lead here.
    let token = &served.token;
    for host in ["", "Host: evil.example\r\n", "Host: 127.0.0.1\r\n"] {
        let headers = format!("{host}Tenure-Token: {token}\r\n");
        assert_eq!(served.get("/api/streams", &headers).0, 403, "{host}");
        assert_eq!(served.get("/", &headers).0, 403, "{host}");
    }
    assert_eq!(served.send("POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nx").0, 405);
    assert_eq!(served.send("nonsense\r\n\r\n").0, 400);
    let (status, head, page) = served.get("/", &host);
    assert!(
        status == 200 && head.contains("Content-Security-Policy: default-src 'none'"),
        "{head}"
    );
    assert!(!String::from_utf8(page).unwrap().contains(token));
    assert_eq!(served.ask("/nothing").0, 404);
    assert_eq!(served.ask("/api/frame").0, 400);
    let (status, _, why) = served.ask("/api/frame?stream=nobody");
    assert_eq!(status, 404);
    assert!(String::from_utf8(why).unwrap().contains("nobody publishes stream `nobody`"));
    // No other machine: nothing listens but the loopback.
    let port = format!(":{:04X} ", served.port);
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listening: Vec<_> =
        table.lines().filter(|line| line.contains(&port) && line.contains(" 0A ")).collect();
    assert!(
        !listening.is_empty() && listening.iter().all(|line| line.contains("0100007F:")),
        "{table}"
    );
}

/// What a proxy and this page could understand differently is refused, and ends the connection.
#[test]
fn no_request_hides_in_another() {
    let place = Place::new();
    let served = serve(&place, &["view"]);
    let (port, token) = (served.port, &served.token);
    let head = format!("Host: 127.0.0.1:{port}\r\nTenure-Token: {token}\r\n");
    let hidden = format!("GET /api/streams HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
    let length = hidden.len();
    for smuggler in [
        format!("Content-Length : {length}\r\n"),
        format!("Content-Length\t: {length}\r\n"),
        format!("Content-Length: {length}\r\n"),
        format!("Content-Length: 0\r\nContent-Length: {length}\r\n"),
        format!("content-length: +{length}\r\n"),
        "Content-Length: 0\r\nContent-Length: 0\r\n".to_owned(),
        "Transfer-Encoding: chunked\r\n".to_owned(),
        "Transfer-Encoding: identity\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        format!("X: y\n\nContent-Length: {length}\r\n"),
        "X\0: y\r\n".to_owned(),
        " X: y\r\n".to_owned(),
        "Expect: 100-continue\r\n".to_owned(),
    ] {
        let (status, answer, body) =
            served.send(&format!("GET / HTTP/1.1\r\n{head}{smuggler}\r\n{hidden}"));
        let body = String::from_utf8(body).unwrap();
        assert!(status == 400 && answer.contains("Connection: close"), "{smuggler}: {answer}");
        assert!(!body.contains("HTTP/1.1"), "{smuggler}: {body}");
    }
    // Requests that follow each other without waiting are all answered, in their order.
    let css = format!("GET /page.css HTTP/1.1\r\n{head}\r\n");
    let (status, _, rest) = served.send(&format!("{css}{hidden}"));
    let rest = String::from_utf8(rest).unwrap();
    assert!(status == 200 && rest.matches("HTTP/1.1 200").count() == 1, "{rest}");
    assert!(rest.contains("application/json"), "{rest}");
    for method in ["HEAD", "POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"] {
        assert_eq!(served.send(&format!("{method} / HTTP/1.1\r\n{head}\r\n")).0, 405, "{method}");
    }
    let huge = format!("GET / HTTP/1.1\r\n{head}X: {}\r\n\r\n", "x".repeat(100_000));
    assert_eq!(served.send(&huge).0, 431);
    // Pages of other sites, also those whose name leads here.
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"] {
        let headers = format!("{head}Origin: {origin}\r\n");
        assert_eq!(served.get("/api/streams", &headers).0, 403, "{origin}");
    }
    let ours = format!("{head}Origin: http://127.0.0.1:{port}\r\n");
    assert_eq!(served.get("/api/streams", &ours).0, 200);
}

/// As many as can be connected, and none of them says a word.
#[test]
fn strangers_who_say_nothing_lock_nobody_out() {
    let place = Place::new();
    let served = serve(&place, &["view"]);
    let silent: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(("127.0.0.1", served.port)).unwrap()).collect();
    for _ in 0..5 {
        assert_eq!(served.ask("/api/streams").0, 200);
    }
    drop(silent);
    assert_eq!(served.ask("/api/streams").0, 200);
}

#[test]
fn frames_are_pictures_with_their_figures() {
    let place = Place::new();
    // Slow, so that nothing is lost however busy the machine is.
    let words = ["run", "--size", "640x480", "--to", "32x32", "--fps", "5", "--json"];
    let _camera = place.start(&words);
    let served = serve(&place, &["view"]);
    let frame = |path: &str| loop {
        let (status, head, body) = served.ask(path);
        if status == 200 {
            let about = head.split("Tenure-Frame: ").nth(1).unwrap().split("\r\n").next().unwrap();
            break (serde_json::from_str::<Value>(about).unwrap(), body);
        }
        // The camera is on its way, or there is no newer frame.
        assert!(status == 204 || status == 404, "{head}");
    };
    let (about, body) = frame("/api/frame?stream=cam0%2Fframe");
    assert!(body.starts_with(&[0xff, 0xd8, 0xff]), "it is a JPEG file");
    assert_eq!((&about["dtype"], &about["format"]), (&json!("u8"), &json!("nv12")));
    assert_eq!((&about["shape"], &about["columns"]), (&json!([720, 640]), &json!(0)));
    assert_eq!(about["histograms"].as_array().unwrap().len(), 3);
    let samples: u64 =
        about["histograms"][0].as_array().unwrap().iter().map(|bar| bar.as_u64().unwrap()).sum();
    assert_eq!(samples, 640 * 480);
    let (incarnation, sequence) = (about["incarnation"].as_str().unwrap(), &about["sequence"]);
    let newer =
        format!("/api/frame?stream=cam0%2Fframe&incarnation={incarnation}&after={sequence}");
    assert!(frame(&newer).0["sequence"].as_u64() > sequence.as_u64());
    let (about, body) = frame("/api/frame?stream=cam0%2Finput");
    assert!(body.starts_with(&[0xff, 0xd8, 0xff]), "floats of a picture are one");
    assert_eq!((&about["dtype"], &about["memory"]), (&json!("f32"), &json!("shm")));
    assert_eq!(about["guarded"], "sealed");
    let high = about["values"]["high"].as_f64().unwrap();
    assert!((0.5..=1.0).contains(&high), "{about}");
    // Looking makes nobody lose anything.
    let (_, _, body) = served.ask("/api/streams");
    let all: Value = serde_json::from_slice(&body).unwrap();
    let streams = all["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 2);
    assert!(streams.iter().all(|one| one["report"]["dropped"] == 0), "{all}");
}

/// A recording of a tensor that is no picture: waves of 40x300 numbers.
fn waves(place: &Place) -> String {
    std::fs::create_dir(place.path("waves")).unwrap();
    let mut bytes = vec![];
    for y in 0..40 {
        for x in 0..300 {
            let value = ((x as f32) / 20.0).sin() * ((y as f32) / 6.0).cos();
            bytes.extend(value.to_ne_bytes());
        }
    }
    std::fs::write(place.path("waves/frames.bin"), &bytes).unwrap();
    let line = json!({
        "sequence": 0, "taken": null, "published": 0, "offset": 0, "bytes": bytes.len(),
        "dtype": "f32", "shape": [1, 40, 300], "image": null, "quantization": null, "blob": []
    });
    let later = json!({"published": 50_000_000u64});
    let mut second = line.clone();
    second["published"] = later["published"].clone();
    std::fs::write(place.path("waves/index.jsonl"), format!("{line}\n{second}\n")).unwrap();
    place.word("waves")
}

/// A recording of tensors without elements.
fn empty(place: &Place) -> String {
    std::fs::create_dir(place.path("empty")).unwrap();
    std::fs::write(place.path("empty/frames.bin"), []).unwrap();
    let line = |published: u64| {
        json!({
            "sequence": 0, "taken": null, "published": published, "offset": 0, "bytes": 0,
            "dtype": "f32", "shape": [3, 0, 4], "image": null, "quantization": null, "blob": []
        })
    };
    let lines = format!("{}\n{}\n", line(0), line(50_000_000));
    std::fs::write(place.path("empty/index.jsonl"), lines).unwrap();
    place.word("empty")
}

#[test]
#[ignore = "needs the browser chromium: scripts/ci page"]
fn the_page_shows_every_stream() {
    let place = Place::new();
    let _waves =
        place.start(&["stream", "replay", &waves(&place), "--name", "waves", "--loop", "--json"]);
    let _empty =
        place.start(&["stream", "replay", &empty(&place), "--name", "zero", "--loop", "--json"]);
    let mut browser = Browser::start();
    let served = serve(&place, &["run", "--view"]);
    browser.go(&served.address);
    browser.until("cards.size === 4 && [...cards.values()].every(card => card.frames >= 3)");
    assert_eq!(browser.texts("article h2"), ["cam0/frame", "cam0/input", "waves", "zero"]);
    let facts = browser.texts("article[data-stream='cam0/input'] dd");
    assert_eq!(facts[0], "f32 [3, 640, 640]");
    assert!(facts[2].starts_with("planar-rgb") && facts[3].starts_with("shm, sealed"), "{facts:?}");
    let rates = browser.texts("article[data-stream='cam0/frame'] .rates");
    assert!(rates[0].contains(" fps · ") && rates[0].contains("1 consumer"), "{rates:?}");
    // The picture is the test camera's: white, yellow, ... bars, and it moves.
    let row = "[...cards.get('cam0/frame').look.getContext('2d').getImageData(0, 200, 960, 1).data].join()";
    let (first, frames) = (browser.ask(row), browser.ask("cards.get('cam0/frame').frames"));
    browser.until(&format!("cards.get('cam0/frame').frames > {frames} + 3"));
    assert_ne!(browser.ask(row), first, "it moves");
    let colours = "new Set([...cards.get('cam0/frame').look.getContext('2d')\
        .getImageData(0, 200, 960, 1).data].map(value => value >> 5)).size > 3";
    assert_eq!(browser.ask(colours), true, "bars are not grey");
    let heat =
        "(card => [card.look.width, card.look.height, card.look.className])(cards.get('waves'))";
    assert_eq!(browser.ask(heat), json!([192, 40, "heat"]));
    let facts = browser.texts("article[data-stream='zero'] dd");
    assert_eq!(facts[0], "f32 [3, 0, 4]");
    assert_eq!(browser.ask("document.querySelectorAll('.slots i').length > 5"), true);
    assert_eq!(browser.ask("past.at(-1).kinds.shm > 1e6"), true);
    assert!(browser.texts("#kinds li")[0].starts_with("shm "));
    browser.until("past.length > 8");
    browser.picture("view-light");
    browser.prefer("dark");
    browser.drawn();
    browser.picture("view-dark");
    assert_eq!(browser.ask("getComputedStyle(document.body).backgroundColor"), "rgb(22, 23, 24)");
    // A phone.
    browser.resize(390, 844);
    browser.drawn();
    assert_eq!(browser.ask("document.documentElement.scrollWidth <= innerWidth"), true);
    browser.picture("view-phone");
    browser.resize(1400, 900);
    browser.click("#pause");
    browser.ask("sleep(300)");
    let frames = browser.ask("cards.get('waves').frames");
    browser.ask("sleep(400)");
    assert_eq!(browser.ask("cards.get('waves').frames"), frames, "it is paused");
    browser.click("#pause");
    browser.until(&format!("cards.get('waves').frames > {frames}"));
    // Chromium warns that reading pixels, which only this test does, is slow.
    browser.errors.retain(|error| !error.contains("willReadFrequently"));
    assert_eq!(browser.errors, [""; 0]);
}

#[test]
#[ignore = "needs the browser chromium: scripts/ci page"]
fn a_wrong_secret_and_an_end_are_told() {
    let place = Place::new();
    let mut browser = Browser::start();
    let served = serve(&place, &["view"]);
    browser.go(&format!("http://127.0.0.1:{}/#wrong", served.port));
    browser.until("!document.querySelector('#trouble').hidden");
    assert!(browser.texts("#trouble")[0].contains("needs the secret"));
    browser.go("about:blank");
    browser.go(&served.address);
    browser.until("!document.querySelector('#none').hidden");
    assert_eq!(served.process.stop().2, Some(0));
    browser.until("!document.querySelector('#trouble').hidden");
    assert_eq!(browser.texts("#trouble"), ["The program that serves this page has ended."]);
}
