//! Licence expressions as Cargo packages state them: SPDX with `OR`, `AND`, `WITH`, `+` and
//! parentheses, and the old `MIT/Apache-2.0`, where the slash means `OR`.

use std::iter::Peekable;

/// A parsed expression.
#[derive(Debug, PartialEq)]
pub(super) enum Expression {
    /// One licence, with its exception if it has one: `Apache-2.0 WITH LLVM-exception`.
    Licence(String),
    /// One of these is enough.
    Any(Vec<Expression>),
    /// All of these are to be followed.
    All(Vec<Expression>),
}

impl Expression {
    /// Whether what is `allowed` is enough to follow the expression.
    pub(super) fn holds(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        match self {
            // "This version or any later one" leaves us the choice of this version.
            Self::Licence(name) => allowed(name) || name.strip_suffix('+').is_some_and(allowed),
            Self::Any(parts) => parts.iter().any(|part| part.holds(allowed)),
            Self::All(parts) => parts.iter().all(|part| part.holds(allowed)),
        }
    }
}

/// Parses an expression, or says in words why it is none.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let spaced = text.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let expression = any(&mut words)?;
    match words.next() {
        None => Ok(expression),
        Some(word) => Err(format!("`{word}` has no place there")),
    }
}

/// `all OR all OR …`
fn any<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>) -> Result<Expression, String> {
    let mut parts = vec![all(words)?];
    while words.next_if(|word| is(word, "OR")).is_some() {
        parts.push(all(words)?);
    }
    Ok(single_or(parts, Expression::Any))
}

/// `one AND one AND …`
fn all<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>) -> Result<Expression, String> {
    let mut parts = vec![one(words)?];
    while words.next_if(|word| is(word, "AND")).is_some() {
        parts.push(one(words)?);
    }
    Ok(single_or(parts, Expression::All))
}

/// `( any )`, `licence` or `licence WITH exception`
fn one<'a>(words: &mut Peekable<impl Iterator<Item = &'a str>>) -> Result<Expression, String> {
    let first = words.next().ok_or("it ends where a licence should be")?;
    if first == "(" {
        let inner = any(words)?;
        return match words.next() {
            Some(")") => Ok(inner),
            _ => Err("a parenthesis is not closed".to_owned()),
        };
    }
    let mut licence = name(first)?.to_owned();
    if words.next_if(|word| is(word, "WITH")).is_some() {
        let exception = words.next().ok_or("it ends where an exception should be")?;
        licence.push_str(" WITH ");
        licence.push_str(name(exception)?);
    }
    Ok(Expression::Licence(licence))
}

fn single_or(mut parts: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match parts.pop() {
        Some(part) if parts.is_empty() => part,
        last => {
            parts.extend(last);
            many(parts)
        }
    }
}

fn name(word: &str) -> Result<&str, String> {
    let operator = ["OR", "AND", "WITH"].iter().any(|operator| is(word, operator));
    let licence = |letter: char| letter.is_ascii_alphanumeric() || "-.+:".contains(letter);
    if operator || !word.chars().all(licence) {
        return Err(format!("`{word}` stands where a name should be"));
    }
    Ok(word)
}

/// Operators are written in capitals or in small letters.
fn is(word: &str, operator: &str) -> bool {
    word == operator || word == operator.to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(text: &str) -> bool {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"];
        parse(text).unwrap().holds(&|name| allowed.contains(&name))
    }

    #[test]
    fn one_of_several_is_enough() {
        assert!(holds("MIT"));
        assert!(holds("MIT OR GPL-3.0-only"));
        assert!(holds("GPL-3.0-only OR MIT OR AGPL-3.0-only"));
        assert!(holds("GPL-3.0-only or MIT"));
        assert!(!holds("GPL-3.0-only OR AGPL-3.0-only"));
    }

    #[test]
    fn all_of_several_are_needed() {
        assert!(holds("MIT AND Unicode-3.0"));
        assert!(!holds("MIT AND GPL-3.0-only"));
        assert!(holds("(MIT OR Apache-2.0) AND Unicode-3.0"));
        assert!(!holds("(MIT OR Apache-2.0) AND OpenSSL"));
    }

    #[test]
    fn and_binds_before_or() {
        assert!(holds("MIT OR Apache-2.0 AND GPL-3.0-only"));
        assert!(!holds("(MIT OR Apache-2.0) AND GPL-3.0-only"));
        assert!(holds("GPL-3.0-only AND MIT OR Apache-2.0"));
    }

    #[test]
    fn an_exception_is_part_of_the_licence() {
        assert!(holds("Apache-2.0 WITH LLVM-exception"));
        assert!(!holds("MIT WITH LLVM-exception"));
        assert!(!holds("GPL-2.0-only WITH Classpath-exception-2.0"));
        assert!(holds("Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT"));
    }

    #[test]
    fn the_old_slash_is_or() {
        assert!(holds("MIT/Apache-2.0"));
        assert!(holds("GPL-3.0 / MIT"));
        assert!(!holds("GPL-3.0/LGPL-2.1"));
    }

    #[test]
    fn or_later_leaves_the_choice() {
        assert!(holds("Apache-2.0+"));
        assert!(!holds("GPL-2.0+"));
    }

    #[test]
    fn nonsense_is_refused() {
        let wrong = ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT Apache-2.0", "MIT WITH", "()"];
        for text in wrong.iter().chain(&["MIT, Apache-2.0", "MIT AND AND ISC", "MIT WITH OR"]) {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
