//! The header of an npy file: a dictionary in the words of Python, with three known keys in any
//! order. Nothing else of Python is understood.

use super::damaged;
use crate::Result;

/// More dimensions than this no tensor has.
const MOST: usize = 64;

/// What the dictionary says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Numpy's word for the element type.
    pub(super) descr: String,
    /// Whether the first index is the fastest.
    pub(super) fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    pub(super) fn parse(words: &str) -> Result<Header> {
        let mut rest = Words(words);
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.text()?;
            rest.expect(':')?;
            let twice = match key {
                "descr" => descr.replace(rest.text()?.to_owned()).is_some(),
                "fortran_order" => fortran.replace(rest.truth()?).is_some(),
                "shape" => shape.replace(rest.numbers()?).is_some(),
                _ => return Err(wrong(&format!("the key `{key}`"))),
            };
            if twice {
                return Err(wrong(&format!("two keys `{key}`")));
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        rest.end()?;
        match (descr, fortran, shape) {
            (Some(descr), Some(fortran), Some(shape)) => Ok(Header { descr, fortran, shape }),
            _ => Err(wrong("no descr, fortran_order or shape")),
        }
    }
}

fn wrong(what: &str) -> crate::Error {
    damaged(&format!("has a header with {what}"))
}

/// What is not read yet.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    /// Takes a sign, if it is next.
    fn take(&mut self, sign: char) -> bool {
        let rest = self.0.trim_start().strip_prefix(sign);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        if self.take(sign) { Ok(()) } else { Err(wrong(&format!("no `{sign}` where one belongs"))) }
    }

    /// Text between quotes.
    fn text(&mut self) -> Result<&'a str> {
        let quote = if self.take('\'') {
            '\''
        } else if self.take('"') {
            '"'
        } else {
            return Err(wrong("something else where text belongs"));
        };
        let (text, rest) =
            self.0.split_once(quote).ok_or_else(|| wrong("text that does not end"))?;
        self.0 = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool> {
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.0.trim_start().strip_prefix(word) {
                self.0 = rest;
                return Ok(value);
            }
        }
        Err(wrong("neither True nor False for fortran_order"))
    }

    /// Numbers between parentheses.
    fn numbers(&mut self) -> Result<Vec<usize>> {
        let mut numbers = vec![];
        self.expect('(')?;
        while !self.take(')') {
            let words = self.0.trim_start();
            let end = words.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(words.len());
            let (digits, rest) = words.split_at_checked(end).unwrap_or(("", words));
            let number = digits.parse().map_err(|_| wrong("a shape of no numbers"))?;
            numbers.push(number);
            if numbers.len() > MOST {
                return Err(wrong(&format!("more than {MOST} dimensions")));
            }
            // Python 2 had long numbers.
            self.0 = rest.strip_prefix('L').unwrap_or(rest);
            if !self.take(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(numbers)
    }

    fn end(&self) -> Result<()> {
        if self.0.trim().is_empty() { Ok(()) } else { Err(wrong("more after its end")) }
    }
}
