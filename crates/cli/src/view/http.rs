//! As much of HTTP/1.1 as browsers need to look: requests without a body, answers with a length.
//!
//! Heads are parsed by `httparse`, and everything that two readers could understand differently is
//! refused: bodies of any kind, headers that come twice, lines that do not end as they should. What
//! is refused closes the connection, so that nothing that follows can be taken for another request.

use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

/// The longest head of a request.
const LONGEST_HEAD: usize = 16 << 10;
/// The longest path with its query.
const LONGEST_TARGET: usize = 4096;
/// The most headers.
const MOST_HEADERS: usize = 64;

/// What a browser asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Without what follows the question mark.
    pub(super) path: String,
    /// Names and values after the question mark, decoded.
    pub(super) query: Vec<(String, String)>,
    pub(super) host: Option<String>,
    /// The page that asks, if it is not this one's own navigation.
    pub(super) origin: Option<String>,
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

/// Reads a request; `None` if the browser has no more. A head that is not complete `within` this time
/// of its first byte is refused.
pub(super) fn read(from: &mut impl BufRead, within: Duration) -> Result<Option<Request>, Bad> {
    match head(from, within)? {
        Some(head) => parse(&head).map(Some),
        None => Ok(None),
    }
}

/// The bytes up to the empty line, and not one more.
fn head(from: &mut impl BufRead, within: Duration) -> Result<Option<Vec<u8>>, Bad> {
    const END: &[u8] = b"\r\n\r\n";
    let mut head: Vec<u8> = vec![];
    let mut began = None;
    loop {
        let some = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            some => some?,
        };
        if some.is_empty() {
            return match head.is_empty() {
                true => Ok(None),
                false => Err(Bad::Refused(400, "the request ends in the middle")),
            };
        }
        if began.get_or_insert_with(Instant::now).elapsed() > within {
            return Err(Bad::Refused(408, "the request took too long"));
        }
        let before = head.len();
        head.extend(some.iter().take(LONGEST_HEAD + 1 - before));
        let (taken, seen) = (head.len() - before, before.saturating_sub(END.len() - 1));
        let end = head.get(seen..).and_then(|new| new.windows(END.len()).position(|it| it == END));
        if let Some(end) = end {
            let whole = seen + end + END.len();
            head.truncate(whole);
            from.consume(whole - before);
            return Ok(Some(head));
        }
        from.consume(taken);
        if head.len() > LONGEST_HEAD {
            return Err(Bad::Refused(431, "the head of the request is too long"));
        }
    }
}

fn parse(head: &[u8]) -> Result<Request, Bad> {
    let bare = |(at, byte): (usize, &u8)| {
        *byte == b'\n' && at.checked_sub(1).and_then(|at| head.get(at)) != Some(&b'\r')
    };
    if head.iter().enumerate().any(bare) {
        return Err(Bad::Refused(400, "lines end with CR and LF"));
    }
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(head) {
        Ok(httparse::Status::Complete(bytes)) if bytes == head.len() => {}
        Ok(_) => return Err(Bad::Refused(400, "that is no request")),
        Err(httparse::Error::TooManyHeaders) => {
            return Err(Bad::Refused(431, "there are too many headers"));
        }
        Err(httparse::Error::Version) => {
            return Err(Bad::Refused(505, "only HTTP/1.1 is spoken here"));
        }
        Err(_) => return Err(Bad::Refused(400, "that is no request")),
    }
    if parsed.version != Some(1) {
        return Err(Bad::Refused(505, "only HTTP/1.1 is spoken here"));
    }
    if parsed.method != Some("GET") {
        return Err(Bad::Refused(405, "there is only GET here"));
    }
    let target = parsed.path.filter(|target| target.is_ascii()).unwrap_or_default();
    if !target.starts_with('/') {
        return Err(Bad::Refused(400, "a path begins with a slash"));
    }
    if target.len() > LONGEST_TARGET {
        return Err(Bad::Refused(414, "the path is too long"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request { path: path.to_owned(), goes_on: true, ..Request::default() };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decoded = decode(name).zip(decode(value));
        request.query.push(decoded.ok_or(Bad::Refused(400, "that is no query"))?);
    }
    let mut length = None;
    for httparse::Header { name, value } in parsed.headers.iter() {
        let printable = |byte: &u8| matches!(byte, b' '..=b'~' | b'\t');
        let value =
            std::str::from_utf8(value).ok().filter(|it| it.bytes().all(|it| printable(&it)));
        let value = value.ok_or(Bad::Refused(400, "that is no text"))?.trim();
        header(&mut request, &mut length, name, value)?;
    }
    Ok(request)
}

fn header(
    request: &mut Request,
    length: &mut Option<String>,
    name: &str,
    value: &str,
) -> Result<(), Bad> {
    let once = |place: &mut Option<String>| match place.replace(value.to_owned()) {
        None => Ok(()),
        Some(_) => Err(Bad::Refused(400, "a header is there twice")),
    };
    match name.to_ascii_lowercase().as_str() {
        "host" => once(&mut request.host),
        "origin" => once(&mut request.origin),
        "tenure-token" => once(&mut request.token),
        "connection" => {
            request.goes_on &= !value.eq_ignore_ascii_case("close");
            Ok(())
        }
        "content-length" if value == "0" => once(length),
        "content-length" | "transfer-encoding" | "expect" | "upgrade" => {
            Err(Bad::Refused(400, "requests have no body here"))
        }
        _ => Ok(()),
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

    const SOON: Duration = Duration::from_secs(60);

    fn status(text: &str) -> u16 {
        match read(&mut text.as_bytes(), SOON) {
            Err(Bad::Refused(status, _)) => status,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn requests_are_read() {
        let text = "GET /a/b?stream=cam0%2Fframe&after=7 HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\
                    tenure-TOKEN:  x \r\nAccept: */*\r\n\r\nGET / HTTP/1.1\r\nConnection: close\r\n\r\n";
        let mut bytes = text.as_bytes();
        let first = read(&mut bytes, SOON).unwrap().unwrap();
        assert_eq!((first.path.as_str(), first.value("stream")), ("/a/b", Some("cam0/frame")));
        assert_eq!((first.value("after"), first.value("x")), (Some("7"), None));
        assert_eq!(
            (first.host.as_deref(), first.token.as_deref()),
            (Some("127.0.0.1:80"), Some("x"))
        );
        assert!(first.goes_on);
        assert!(!read(&mut bytes, SOON).unwrap().unwrap().goes_on);
        assert_eq!(read(&mut bytes, SOON).unwrap(), None);
    }

    #[test]
    fn anything_else_is_refused() {
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(5000));
        let huge = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "a".repeat(20_000));
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
            ("\r\n\r\n", 400),
            ("GET / HTTP/1.1\nHost: a\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\n\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length : 30\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length\t: 30\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n Content-Length: 30\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nA: b\r\n folded: 30\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\n: 30\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: 00\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nContent-Length: +0\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nTransfer-Encoding:\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nOrigin: a\r\nOrigin: b\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nA: \x7f\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nA: \u{e4}\r\n\r\n", 400),
            ("GET / HTTP/2.0\r\n\r\n", 505),
            ("HEAD / HTTP/1.1\r\n\r\n", 405),
            (&long, 414),
            (&huge, 431),
            (&many, 431),
        ];
        for (text, expected) in cases {
            assert_eq!(status(text), expected, "{text}");
        }
    }
    /// Gives one byte at a time, as slow clients do.
    struct Drops<'a>(&'a [u8]);

    impl io::Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = into.len().min(1);
            self.0.read(&mut into[..most])
        }
    }

    #[test]
    fn heads_in_pieces_are_read_and_slow_ones_refused() {
        let text = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\n\r\n";
        let mut reader = io::BufReader::new(Drops(text));
        for path in ["/a", "/b"] {
            assert_eq!(read(&mut reader, SOON).unwrap().unwrap().path, path);
        }
        assert_eq!(read(&mut reader, SOON).unwrap(), None);
        let mut reader = io::BufReader::new(Drops(text));
        let slow = read(&mut reader, Duration::ZERO);
        assert!(matches!(slow, Err(Bad::Refused(408, _))), "{slow:?}");
    }
}
