//! The keys of a bridge in Zenoh: who has which stream, and where its frames are.
//!
//! `tenure/have/ID/HOST/NAME` is alive as long as a bridge has a stream, `tenure/frame/ID/NAME` is
//! where its frames go. The id is the session's, so that two machines may have streams of one name.

use zenoh::key_expr::OwnedKeyExpr;

use crate::{Error, Result};

/// Makes and reads keys under a prefix.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

/// A stream that some bridge has.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// All streams of all bridges.
    pub(crate) fn all(&self) -> String {
        format!("{}/have/*/*/**", self.prefix)
    }

    pub(crate) fn frames(&self, id: &str, name: &str) -> String {
        format!("{}/frame/{id}/{name}", self.prefix)
    }

    /// What a key says that [`Keys::have`] made; `None` if it did not.
    pub(crate) fn read(&self, key: &str) -> Option<Token> {
        let rest = key.strip_prefix(&self.prefix)?.strip_prefix("/have/")?;
        let mut parts = rest.splitn(3, '/');
        let mut part = || parts.next().filter(|part| !part.is_empty()).map(str::to_owned);
        Some(Token { id: part()?, host: part()?, name: part()? })
    }
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
    let known = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
    let name: String =
        name.chars().map(|letter| if known(letter) { letter } else { '-' }).collect();
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
        assert_eq!(keys.read(&keys.have(&token)), Some(token.clone()));
        assert!(pattern(&keys.all()).unwrap().includes(&pattern(&keys.have(&token)).unwrap()));
        for other in ["plant/7/have/a1", "plant/7/have/a1/b", "plant/8/have/a/b/c", "plant/7", ""] {
            assert_eq!(keys.read(other), None, "{other}");
        }
    }

    #[test]
    fn prefixes_are_places() {
        assert!(matches!(Keys::new("a/**"), Err(Error::Prefix { .. })));
        assert!(matches!(Keys::new("/a"), Err(Error::Pattern { .. })));
        assert!(matches!(pattern("cam#"), Err(Error::Pattern { .. })));
        assert!(!host().contains('/'));
    }
}
