//! As much of HTTP/1.1 as browsers need to look: requests without a body, answers with a length.
//!
//! Everything else is refused, and what is refused closes the connection, so that nothing that
//! follows can be taken for another request.

use std::io::{self, BufRead, Read, Write};

/// The longest line of a request.
const LONGEST_LINE: u64 = 4096;
/// The most lines of a head.
const MOST_LINES: usize = 64;

/// What a browser asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Without what follows the question mark.
    pub(super) path: String,
    /// Names and values after the question mark, decoded.
    pub(super) query: Vec<(String, String)>,
    pub(super) host: Option<String>,
    pub(super) token: Option<String>,
    /// Whether the browser wants to ask again on this connection.
    pub(super) goes_on: bool,
}

impl Request {
    /// A value after the question mark.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Why there is no request.
#[derive(Debug, thiserror::Error)]
pub(super) enum Bad {
    /// The connection is over.
    #[error("the connection is over: {0}")]
    Over(#[from] io::Error),
    /// Something that is not served.
    #[error("{1}")]
    Refused(u16, &'static str),
}

/// Reads a request; `None` if the browser has no more.
pub(super) fn read(from: &mut impl BufRead) -> Result<Option<Request>, Bad> {
    let Some(first) = line(from)? else { return Ok(None) };
    let mut words = first.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some(version), None) = (method, target, version, words.next())
    else {
        return Err(Bad::Refused(400, "that is no request"));
    };
    if version != "HTTP/1.1" {
        return Err(Bad::Refused(505, "only HTTP/1.1 is spoken here"));
    }
    if method != "GET" {
        return Err(Bad::Refused(405, "there is only GET here"));
    }
    if !target.starts_with('/') {
        return Err(Bad::Refused(400, "a path begins with a slash"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request { path: path.to_owned(), goes_on: true, ..Request::default() };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = decode(name).zip(decode(value));
        request.query.push(decoded.ok_or(Bad::Refused(400, "that is no query"))?);
    }
    for _ in 0..MOST_LINES {
        let Some(head) = line(from)? else {
            return Err(Bad::Refused(400, "the request ends in the middle"));
        };
        if head.is_empty() {
            return Ok(Some(request));
        }
        let Some((name, value)) = head.split_once(':') else {
            return Err(Bad::Refused(400, "that is no header"));
        };
        header(&mut request, name, value.trim())?;
    }
    Err(Bad::Refused(431, "that are too many headers"))
}

fn header(request: &mut Request, name: &str, value: &str) -> Result<(), Bad> {
    let once = |place: &mut Option<String>| match place.replace(value.to_owned()) {
        None => Ok(()),
        Some(_) => Err(Bad::Refused(400, "a header is there twice")),
    };
    match name.to_ascii_lowercase().as_str() {
        "host" => once(&mut request.host),
        "tenure-token" => once(&mut request.token),
        "connection" => {
            request.goes_on = !value.eq_ignore_ascii_case("close");
            Ok(())
        }
        "content-length" if value == "0" => Ok(()),
        "content-length" | "transfer-encoding" | "expect" | "upgrade" => {
            Err(Bad::Refused(400, "requests have no body here"))
        }
        _ => Ok(()),
    }
}

/// A line without its end; `None` if there is none.
fn line(from: &mut impl BufRead) -> Result<Option<String>, Bad> {
    let mut bytes = vec![];
    from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if bytes.is_empty() {
        return Ok(None);
    }
    let Some(text) = bytes.strip_suffix(b"\r\n") else {
        return Err(Bad::Refused(400, "a line is too long, or does not end as it should"));
    };
    let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
    match std::str::from_utf8(text) {
        Ok(text) if text.as_bytes().iter().all(printable) => Ok(Some(text.to_owned())),
        _ => Err(Bad::Refused(400, "that is no text")),
    }
}

/// `%2F` as `/`; `None` if it is none.
fn decode(word: &str) -> Option<String> {
    let mut bytes = vec![];
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let (high, low) = (digit(rest.next()?)?, digit(rest.next()?)?);
                u8::try_from(high * 16 + low).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// What is answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    /// Headers besides the usual ones; values are ours and have no line ends.
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
}

impl Answer {
    pub(super) fn new(status: u16, kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status, kind, headers: vec![], body: body.into() }
    }

    pub(super) fn text(status: u16, text: &str) -> Answer {
        Answer::new(status, "text/plain; charset=utf-8", text.as_bytes())
    }

    pub(super) fn write(&self, to: &mut impl Write, goes_on: bool) -> io::Result<()> {
        let Answer { status, kind, headers, body } = self;
        let reason = match status {
            200 => "OK",
            204 => "No Content",
            401 => "Unauthorized",
            404 => "Not Found",
            _ => "Refused",
        };
        let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
        if *status != 204 {
            head += &format!("Content-Type: {kind}\r\nContent-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        // Nothing is kept, nothing is loaded from elsewhere, nobody puts it into a frame.
        head += "Cache-Control: no-store\r\n\
                 Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
                 img-src blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                 frame-ancestors 'none'\r\n\
                 X-Content-Type-Options: nosniff\r\n\
                 Referrer-Policy: no-referrer\r\n\
                 Cross-Origin-Resource-Policy: same-origin\r\n";
        head +=
            if goes_on { "Connection: keep-alive\r\n\r\n" } else { "Connection: close\r\n\r\n" };
        let mut all = head.into_bytes();
        if *status != 204 {
            all.extend_from_slice(body);
        }
        to.write_all(&all)?;
        to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(text: &str) -> u16 {
        match read(&mut text.as_bytes()) {
            Err(Bad::Refused(status, _)) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read() {
        let text = "GET /a/b?stream=cam0%2Fframe&after=7 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\
                    tenure-TOKEN:  x \r\nAccept: */*\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n";
        let mut bytes = text.as_bytes();
        let first = read(&mut bytes).unwrap().unwrap();
        assert_eq!((first.path.as_str(), first.value("stream")), ("/a/b", Some("cam0/frame")));
        assert_eq!((first.value("after"), first.value("x")), (Some("7"), None));
        assert_eq!(
            (first.host.as_deref(), first.token.as_deref()),
            (Some("127.0.0.1:80"), Some("x"))
        );
        assert!(first.goes_on);
        assert!(!read(&mut bytes).unwrap().unwrap().goes_on);
        assert_eq!(read(&mut bytes).unwrap(), None);
    }

    #[test]
    fn anything_else_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(5000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
        let cases = [
            ("POST / HTTP/1.1\r\n\r\n", 405),
            ("GET / HTTP/1.0\r\n\r\n", 505),
            ("GET /\r\n\r\n", 400),
            ("GET  / HTTP/1.1\r\n\r\n", 400),
            ("GET http://a/ HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\n\n", 400),
            ("GET / HTTP/1.1\r\nA b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n", 400),
            ("GET /?a=%zz HTTP/1.1\r\n\r\n", 400),
            ("GET /?a=%ff HTTP/1.1\r\n\r\n", 400),
            ("GET /\x01 HTTP/1.1\r\n\r\n", 400),
            (&long, 400),
            (&many, 431),
        ];
        for (text, expected) in cases {
            assert_eq!(status(text), expected, "{text}");
        }
    }
}
