//! A request in the body of another, against the page of `tenure view`: whoever stands in front sees
//! one request with a body, and the page must not see two. Each is refused, and ends the connection.
#![forbid(unsafe_code)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);
/// The path of the command, if it is not beside this program.
const VARIABLE: &str = "TENURE_COMMAND";

/// The page; it goes when the attack ends, however that is.
struct Page {
    child: Child,
    port: u16,
    token: String,
    /// Read by nobody any more, and open as long as the page writes.
    _said: BufReader<ChildStdout>,
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The command: what is named, or what cargo has built beside this program.
fn command() -> PathBuf {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from);
    let path = named.unwrap_or_else(|| {
        std::env::current_exe().expect("the path of this program").with_file_name("tenure")
    });
    assert!(
        path.is_file(),
        "{} is not there: `cargo build --package tenure-cli` makes it, or name another in {VARIABLE}",
        path.display()
    );
    path
}

fn serve(streams: &std::path::Path) -> Page {
    let path = command();
    let mut child = Command::new(&path)
        .arg("view")
        .env("TENURE_STREAM_DIR", streams)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut line = String::new();
    said.read_line(&mut line).expect("what it says");
    let address = line.trim().strip_prefix("look at it: http://127.0.0.1:").expect("an address");
    let (port, token) = address.split_once("/#").expect("a secret");
    let (port, token) = (port.parse().expect("a number"), token.to_owned());
    Page { child, port, token, _said: said }
}

impl Page {
    /// Sends some bytes; everything that comes until the page ends the connection.
    fn send(&self, bytes: &str) -> String {
        let mut socket = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        socket.set_read_timeout(Some(SOON)).expect("a time limit");
        socket.write_all(bytes.as_bytes()).expect("sent");
        let mut answer = vec![];
        socket.read_to_end(&mut answer).expect("the connection is ended");
        String::from_utf8_lossy(&answer).into_owned()
    }
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = serve(folder.path());
    let head = format!("Host: 127.0.0.1:{}\r\nTenure-Token: {}\r\n", page.port, page.token);
    let hidden = format!("GET /api/streams HTTP/1.1\r\n{head}Connection: close\r\n\r\n");
    let answer = page.send(&hidden);
    assert!(answer.starts_with("HTTP/1.1 200"), "not even a good request is served: {answer}");
    let length = hidden.len();
    for smuggler in [
        format!("Content-Length : {length}\r\n"),
        format!("Content-Length\t: {length}\r\n"),
        format!("Content-Length: {length}\r\n"),
        format!("Content-Length:\r\n {length}\r\n"),
        format!("Content-Length: 0\r\nContent-Length: {length}\r\n"),
        format!("content-length: +{length}\r\n"),
        "Transfer-Encoding: chunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Transfer-Encoding: identity\r\n".to_owned(),
        format!("X: y\n\nContent-Length: {length}\r\n"),
        format!("X: y\rContent-Length: {length}\r\n"),
        "X\0: y\r\n".to_owned(),
        " X: y\r\n".to_owned(),
        "Expect: 100-continue\r\n".to_owned(),
        "Upgrade: h2c\r\nContent-Length: 1\r\n".to_owned(),
    ] {
        let answer = page.send(&format!("GET / HTTP/1.1\r\n{head}{smuggler}\r\n{hidden}"));
        assert!(answer.starts_with("HTTP/1.1 400"), "{smuggler:?}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{smuggler:?}: {answer}");
    }
    for method in ["POST", "PUT", "get", "PRI"] {
        let answer = page.send(&format!("{method} / HTTP/1.1\r\n{head}\r\n{hidden}"));
        assert!(answer.starts_with("HTTP/1.1 405"), "{method}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{method}: {answer}");
    }
}
