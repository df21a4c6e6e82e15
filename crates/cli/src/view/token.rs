//! The secret that a browser has to know.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// Bytes of chance.
const BYTES: usize = 16;

/// A word that nobody can guess.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn new() -> io::Result<Token> {
        let mut bytes = [0u8; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(super) fn word(&self) -> &str {
        &self.0
    }

    /// Whether this is the word. It takes as long wherever the first difference is.
    pub(super) fn is(&self, word: &str) -> bool {
        let (ours, theirs) = (self.0.as_bytes(), word.as_bytes());
        let differences =
            ours.iter().zip(theirs).fold(0, |sum, (ours, theirs)| sum | (ours ^ theirs));
        ours.len() == theirs.len() && differences == 0
    }
}

/// Not the word.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_word_is() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.word().len(), 2 * BYTES);
        assert!(one.is(one.word()) && !one.is(other.word()));
        for wrong in ["", &one.word()[1..], &format!("{}0", one.word())] {
            assert!(!one.is(wrong), "{wrong}");
        }
        assert!(!format!("{one:?}").contains(one.word()));
    }
}
