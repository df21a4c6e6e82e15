//! Answers browsers: a thread for each connection, and not too many of them.

use std::io::{self, BufReader};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde::Serialize;
use tenure::stream::{self, StreamReport};

use super::http::{self, Answer, Bad, Request};
use super::picture::Painter;
use super::token::Token;
use super::watch::Watches;
use crate::stop::Stop;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Connections at one time.
const MOST: usize = 32;
/// A connection that says nothing for so long is closed.
const SILENCE: Duration = Duration::from_secs(10);
/// How long a browser waits for a new frame.
const PATIENCE: Duration = Duration::from_millis(200);

/// What all connections share.
struct Server {
    address: SocketAddr,
    token: Token,
    watches: Watches,
    painter: Painter,
    connections: AtomicUsize,
    stop: Stop,
}

/// Serves on a thread of its own until it is over.
pub(super) fn start(listener: TcpListener, token: Token, stop: Stop) -> io::Result<()> {
    let address = listener.local_addr()?;
    // So that it is seen when it is over.
    listener.set_nonblocking(true)?;
    let watches = Watches::new(stop.clone());
    let painter = Painter::new().map_err(io::Error::other)?;
    let connections = AtomicUsize::new(0);
    let server = Arc::new(Server { address, token, watches, painter, connections, stop });
    thread::Builder::new().name("view".to_owned()).spawn(move || accept(&listener, &server))?;
    Ok(())
}

fn accept(listener: &TcpListener, server: &Arc<Server>) {
    while !server.stop.is_over() {
        match listener.accept() {
            Ok((stream, _)) if server.connections.load(Ordering::SeqCst) < MOST => {
                server.connections.fetch_add(1, Ordering::SeqCst);
                let ours = Arc::clone(server);
                let work = move || {
                    // Whatever went wrong, it was this connection's.
                    let _ = ours.serve(&stream);
                    ours.connections.fetch_sub(1, Ordering::SeqCst);
                };
                if thread::Builder::new().name("view browser".to_owned()).spawn(work).is_err() {
                    server.connections.fetch_sub(1, Ordering::SeqCst);
                }
            }
            // Too many: closed without a word.
            Ok(_) => {}
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
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        stream.set_nodelay(true)?;
        let mut reader = BufReader::new(stream);
        let mut writer = stream;
        while !self.stop.is_over() {
            match http::read(&mut reader) {
                Ok(None) => break,
                Ok(Some(request)) => {
                    self.answer(&request).write(&mut writer, request.goes_on)?;
                    if !request.goes_on {
                        break;
                    }
                }
                Err(Bad::Over(error)) => return Err(error),
                Err(Bad::Refused(status, why)) => {
                    return Answer::text(status, why).write(&mut writer, false);
                }
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request) -> Answer {
        // A page of another name that was made to lead here may not read ours.
        let port = self.address.port();
        let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        if !request.host.as_ref().is_some_and(|host| ours.contains(host)) {
            return Answer::text(403, "this is a page of 127.0.0.1");
        }
        // The page itself is no secret; what it shows is.
        match request.path.as_str() {
            "/" => return Answer::new(200, "text/html; charset=utf-8", PAGE),
            "/page.css" => return Answer::new(200, "text/css; charset=utf-8", STYLE),
            "/page.js" => return Answer::new(200, "text/javascript; charset=utf-8", SCRIPT),
            _ => {}
        }
        if !request.token.as_ref().is_some_and(|word| self.token.is(word)) {
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
        match self.watches.newest(name, known, PATIENCE) {
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

fn streams() -> Answer {
    let mut all = All { directory: stream::directory().display().to_string(), streams: vec![] };
    match stream::list() {
        Err(error) => return Answer::text(404, &error.to_string()),
        Ok(listed) => {
            for listed in listed.into_iter().filter(|listed| listed.alive) {
                let (report, error) = match stream::stat(&listed.name) {
                    Ok(report) => (Some(report), None),
                    Err(error) => (None, Some(error.to_string())),
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
