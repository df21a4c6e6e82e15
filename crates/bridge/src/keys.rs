//! The keys of a bridge in Zenoh: who has which stream, and where its frames are.
//!
//! `tenure/have/ID/HOST` is alive as long as a bridge that exports streams, `tenure/have/ID/HOST/NAME`
//! as long as it has a stream, and `tenure/frame/ID/NAME` is where its frames go. The id is the
//! session's, so that two machines may have streams of one name.

use tenure_stream::check_name;
use zenoh::key_expr::OwnedKeyExpr;

use crate::{Error, Result};

/// The longest name of a machine.
const LONGEST_HOST: usize = 64;

/// Makes and reads keys under a prefix.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

/// What others say that they are or have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A bridge that exports streams, by its id.
    Bridge(String),
    /// A stream.
    Stream(Token),
}

/// A stream that some bridge has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token {
    pub(crate) id: String,
    pub(crate) host: String,
    pub(crate) name: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Result<Keys> {
        let key = pattern(prefix)?;
        if key.is_wild() {
            return Err(Error::Prefix { prefix: prefix.to_owned() });
        }
        Ok(Keys { prefix: key.to_string() })
    }

    pub(crate) fn have(&self, token: &Token) -> String {
        let Token { id, host, name } = token;
        format!("{}/have/{id}/{host}/{name}", self.prefix)
    }

    pub(crate) fn here(&self, id: &str, host: &str) -> String {
        format!("{}/have/{id}/{host}", self.prefix)
    }

    /// All bridges and all their streams.
    pub(crate) fn all(&self) -> String {
        format!("{}/have/*/*/**", self.prefix)
    }

    pub(crate) fn frames(&self, id: &str, name: &str) -> String {
        format!("{}/frame/{id}/{name}", self.prefix)
    }

    /// What a key says; `None` if no bridge would say that. Whatever is believed here can be shown
    /// in a terminal and be the name of a stream.
    pub(crate) fn read(&self, key: &str) -> Option<Said> {
        let rest = key.strip_prefix(&self.prefix)?.strip_prefix("/have/")?;
        let mut parts = rest.splitn(3, '/');
        let mut part = || parts.next().filter(|part| is_plain(part)).map(str::to_owned);
        let (id, host) = (part()?, part()?);
        match parts.next() {
            None => Some(Said::Bridge(id)),
            Some(name) => {
                check_name(name).ok()?;
                Some(Said::Stream(Token { id, host, name: name.to_owned() }))
            }
        }
    }
}

/// Whether an id or the name of a machine can be this.
fn is_plain(part: &str) -> bool {
    (1..=LONGEST_HOST).contains(&part.len()) && part.chars().all(is_known)
}

fn is_known(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-._".contains(letter)
}

/// A pattern of names.
pub(crate) fn pattern(text: &str) -> Result<OwnedKeyExpr> {
    OwnedKeyExpr::autocanonize(text.to_owned())
        .map_err(|cause| Error::Pattern { pattern: text.to_owned(), cause })
}

/// This machine's name as a part of keys.
pub(crate) fn host() -> String {
    let name = rustix::system::uname();
    let name = name.nodename().to_string_lossy();
    let name = name.chars().take(LONGEST_HOST);
    let name: String = name.map(|letter| if is_known(letter) { letter } else { '-' }).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_made() {
        let keys = Keys::new("plant/7").unwrap();
        let token = Token { id: "a1".into(), host: "edge.local".into(), name: "cam0/frame".into() };
        assert_eq!(keys.have(&token), "plant/7/have/a1/edge.local/cam0/frame");
        assert_eq!(keys.read(&keys.have(&token)), Some(Said::Stream(token.clone())));
        let bridge = keys.here("a1", "edge.local");
        assert_eq!(keys.read(&bridge), Some(Said::Bridge("a1".into())));
        let all = pattern(&keys.all()).unwrap();
        for key in [keys.have(&token), bridge] {
            assert!(all.includes(&pattern(&key).unwrap()), "{key}");
        }
        for other in ["plant/7/have/a1", "plant/8/have/a/b/c", "plant/7/frame/a/b", "plant/7", ""] {
            assert_eq!(keys.read(other), None, "{other}");
        }
    }

    #[test]
    fn what_no_stream_can_be_called_is_not_read() {
        let keys = Keys::new("tenure").unwrap();
        let long = "a".repeat(81);
        for name in ["..", "../up", "a/../b", ".hidden", "a//b", "a/", "\u{1b}[2J", "a b", &long] {
            assert_eq!(keys.read(&format!("tenure/have/1/host/{name}")), None, "{name:?}");
        }
        for host in ["\u{1b}[2J", "a b", "", &long] {
            assert_eq!(keys.read(&format!("tenure/have/1/{host}/words")), None, "{host:?}");
            assert_eq!(keys.read(&format!("tenure/have/{host}/host/words")), None, "{host:?}");
        }
    }

    #[test]
    fn prefixes_are_places() {
        assert!(matches!(Keys::new("a/**"), Err(Error::Prefix { .. })));
        assert!(matches!(Keys::new("/a"), Err(Error::Pattern { .. })));
        assert!(matches!(pattern("cam#"), Err(Error::Pattern { .. })));
        assert!(is_plain(&host()));
    }
}
