//! Answers browsers: a thread for each connection, and not too many of them.

use std::io::{self, BufReader, Read};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tenure::stream::{self, StreamReport};

use super::connections::{Connection, Connections};
use super::http::{self, Answer, Bad, Request};
use super::picture::Painter;
use super::token::Token;
use super::watch::Watches;
use crate::stop::Stop;
use crate::stream::ask_all;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Connections at one time.
const MOST: usize = 32;
/// A connection that says nothing for so long is closed; so is one whose request takes longer.
const SILENCE: Duration = Duration::from_secs(10);
/// How long what follows a request that was refused is still taken.
const PARTING: Duration = Duration::from_millis(500);
/// How long a browser waits for a new frame.
const NEXT: Duration = Duration::from_millis(200);
/// How long it waits for producers to tell about themselves.
const PATIENCE: Duration = Duration::from_millis(500);
/// The port that is not said with a host.
const USUAL_PORT: u16 = 80;

/// What all connections share.
struct Server {
    address: SocketAddr,
    token: Token,
    watches: Watches,
    painter: Painter,
    connections: Arc<Connections>,
    stop: Stop,
}

/// Serves on a thread of its own until it is over.
pub(super) fn start(listener: TcpListener, token: Token, stop: Stop) -> io::Result<()> {
    let address = listener.local_addr()?;
    // So that it is seen when it is over.
    listener.set_nonblocking(true)?;
    let watches = Watches::new(stop.clone());
    let painter = Painter::new().map_err(io::Error::other)?;
    let connections = Connections::new(MOST);
    let server = Arc::new(Server { address, token, watches, painter, connections, stop });
    thread::Builder::new().name("view".to_owned()).spawn(move || accept(&listener, &server))?;
    Ok(())
}

fn accept(listener: &TcpListener, server: &Arc<Server>) {
    while !server.stop.is_over() {
        match listener.accept() {
            Ok((stream, _)) => {
                // Too many: closed without a word.
                let Some(entered) = server.connections.enter(stream) else { continue };
                let ours = Arc::clone(server);
                // Whatever went wrong, it was this connection's.
                let work = move || drop(ours.serve(entered.connection()));
                let _ = thread::Builder::new().name("view browser".to_owned()).spawn(work);
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// What the page asks about all streams.
#[derive(Debug, Serialize)]
struct All {
    directory: String,
    streams: Vec<One>,
}

#[derive(Debug, Serialize)]
struct One {
    name: String,
    error: Option<String>,
    report: Option<StreamReport>,
}

impl Server {
    fn serve(&self, connection: &Connection) -> io::Result<()> {
        let stream: &TcpStream = &connection.stream;
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        let mut writer = stream;
        while !self.stop.is_over() {
            match http::read(&mut reader, SILENCE) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    if self.knows_secret(&request) {
                        connection.trust();
                    }
                    self.answer(&request).write(&mut writer, request.goes_on)?;
                    if !request.goes_on {
                        break;
                    }
                }
                Err(Bad::Over(error)) => return Err(error),
                Err(Bad::Refused(status, why)) => {
                    Answer::text(status, why).write(&mut writer, false)?;
                    return part(stream);
                }
            }
        }
        Ok(())
    }

    fn knows_secret(&self, request: &Request) -> bool {
        request.token.as_ref().is_some_and(|word| self.token.is(word))
    }

    fn answer(&self, request: &Request) -> Answer {
        // A page of another name that was made to lead here may not read ours.
        if !request.host.as_ref().is_some_and(|host| is_ours(host, self.address.port())) {
            return Answer::text(403, "this is a page of 127.0.0.1");
        }
        if let Some(origin) = &request.origin
            && !origin.strip_prefix("http://").is_some_and(|it| is_ours(it, self.address.port()))
        {
            return Answer::text(403, "pages of other sites may not ask");
        }
        // The page itself is no secret; what it shows is.
        match request.path.as_str() {
            "/" => return Answer::new(200, "text/html; charset=utf-8", PAGE),
            "/page.css" => return Answer::new(200, "text/css; charset=utf-8", STYLE),
            "/page.js" => return Answer::new(200, "text/javascript; charset=utf-8", SCRIPT),
            _ => {}
        }
        if !self.knows_secret(request) {
            return Answer::text(401, "the address needs the secret that the program printed");
        }
        match request.path.as_str() {
            "/api/streams" => streams(),
            "/api/frame" => self.frame(request),
            _ => Answer::text(404, "there is no such page"),
        }
    }

    /// Something to look at of the newest frame, if it is not the one that the page has.
    fn frame(&self, request: &Request) -> Answer {
        let Some(name) = request.value("stream") else {
            return Answer::text(400, "name a stream: /api/frame?stream=NAME");
        };
        let number = |name| request.value(name).and_then(|word| word.parse::<u64>().ok());
        let known = number("incarnation").zip(number("after"));
        match self.watches.newest(name, known, NEXT) {
            Err(why) => Answer::text(404, &why),
            Ok(None) => Answer::new(204, "", ""),
            Ok(Some(frame)) => match self.painter.show(&frame) {
                Err(why) => Answer::text(404, &why),
                Ok(shown) => {
                    let about = serde_json::to_string(&shown.about).unwrap_or_default();
                    let mut answer = Answer::new(200, shown.kind, shown.bytes);
                    answer.headers.push(("Tenure-Frame", about));
                    answer
                }
            },
        }
    }
}

/// Ends a connection of which not everything was read. Closed at once, the system would reset it, and
/// the browser might never see the answer.
fn part(mut stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    stream.set_read_timeout(Some(PARTING))?;
    let began = Instant::now();
    let mut rest = [0; 4096];
    while began.elapsed() < PARTING && stream.read(&mut rest)? > 0 {}
    Ok(())
}

/// Whether this is a name of this page. Browsers do not say the port of every page.
fn is_ours(host: &str, port: u16) -> bool {
    let (name, said) = match host.split_once(':') {
        Some((name, said)) => (name, said.parse().ok()),
        None => (host, Some(USUAL_PORT)),
    };
    said == Some(port) && ["127.0.0.1", "localhost"].contains(&name)
}

fn streams() -> Answer {
    let mut all = All { directory: stream::directory().display().to_string(), streams: vec![] };
    match ask_all(PATIENCE) {
        Err(error) => return Answer::text(404, &error.to_string()),
        Ok(answers) => {
            for (listed, answer) in answers {
                let (report, error) = match answer {
                    None => continue,
                    Some(Ok(report)) => (Some(report), None),
                    Some(Err(error)) => (None, Some(error.to_string())),
                };
                all.streams.push(One { name: listed.name, error, report });
            }
        }
    }
    match serde_json::to_vec(&all) {
        Ok(body) => Answer::new(200, "application/json", body),
        Err(error) => Answer::text(500, &error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::is_ours;

    #[test]
    fn hosts_name_the_port_unless_it_is_the_usual_one() {
        assert!(is_ours("127.0.0.1:8000", 8000) && is_ours("localhost:80", 80));
        assert!(is_ours("127.0.0.1", 80) && is_ours("localhost", 80));
        for (host, port) in [
            ("127.0.0.1", 8000),
            ("127.0.0.1:", 80),
            ("127.0.0.1:8001", 8000),
            ("evil.example", 80),
            ("evil.example:8000", 8000),
            ("127.0.0.1:80:80", 80),
            ("", 80),
        ] {
            assert!(!is_ours(host, port), "{host} {port}");
        }
    }
}
