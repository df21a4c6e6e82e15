//! One Rust file without its comments and strings: enough to see where the keyword `unsafe`
//! stands and what for. Not a parser; whatever compiles is read correctly.

mod strip;

/// A file, ready to be asked.
pub(super) struct Source {
    /// The characters of the file.
    text: Vec<char>,
    /// The same, with blanks for comments and strings: both have the same length.
    code: Vec<char>,
    /// The numbers of the lines that belong to a `SAFETY:` comment, from 1, ascending.
    safety: Vec<usize>,
}

/// One use of the keyword.
#[derive(Debug, PartialEq)]
pub(super) struct Use {
    pub(super) kind: Kind,
    /// From 1.
    pub(super) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Block,
    Impl,
    /// A function, trait, extern block or attribute: its contract is in the documentation.
    Declaration,
}

impl Kind {
    pub(super) fn needs_comment(self) -> bool {
        matches!(self, Self::Block | Self::Impl)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Block => "unsafe block",
            Self::Impl => "unsafe impl",
            Self::Declaration => "unsafe declaration",
        }
    }
}

/// A word or a single other character, and where it is.
struct Token {
    text: String,
    line: usize,
}

impl Source {
    pub(super) fn new(text: &str) -> Self {
        let text: Vec<char> = text.chars().collect();
        let (code, comments) = strip::strip(&text);
        let safety = safety_lines(&code, &comments);
        Self { text, code, safety }
    }

    /// Every unsafe thing of the file. The type of a function pointer is not one.
    pub(super) fn uses(&self) -> Vec<Use> {
        let tokens = tokens(&self.code);
        let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        let places = (0..words.len()).filter(|&at| words[at] == "unsafe");
        let uses = places.filter_map(|at| {
            // The ABI of `extern "C"` is a string, so it is not among the words.
            let kind = match &words[at + 1..] {
                ["{", ..] => Kind::Block,
                ["impl", ..] => Kind::Impl,
                ["fn", "(", ..] | ["extern", "fn", "(", ..] => return None,
                _ => Kind::Declaration,
            };
            Some(Use { kind, line: tokens[at].line })
        });
        uses.collect()
    }

    /// The reason given by `#![expect(unsafe_code, reason = "…")]` before the first item.
    pub(super) fn reason(&self) -> Option<String> {
        let mut at = 0;
        loop {
            at += self.code[at..].iter().take_while(|letter| letter.is_whitespace()).count();
            if !self.code[at..].starts_with(&['#', '!', '[']) {
                return None;
            }
            let end = at + self.code[at..].iter().position(|letter| *letter == ']')? + 1;
            let words = tokens(&self.code[at..end]);
            let has = |word: &str| words.iter().any(|token| token.text == word);
            if has("expect") && has("unsafe_code") && has("reason") {
                let attribute: String = self.text[at..end].iter().collect();
                let (_, reason) = attribute.split_once("reason")?;
                let reason = reason.split_once('"')?.1.rsplit_once('"')?.0;
                let words: Vec<_> =
                    reason.split_whitespace().filter(|word| *word != "\\").collect();
                return (!words.is_empty()).then(|| words.join(" "));
            }
            at = end;
        }
    }

    /// Whether a `SAFETY:` comment ends in this line or in the `reach` lines before it.
    pub(super) fn has_safety_comment(&self, line: usize, reach: usize) -> bool {
        self.safety.iter().any(|safety| (line.saturating_sub(reach)..=line).contains(safety))
    }
}

/// The lines of all comments that say `SAFETY:`, to the end of the run of comment lines.
fn safety_lines(code: &[char], comments: &[char]) -> Vec<usize> {
    let code: String = code.iter().collect();
    let comments: String = comments.iter().collect();
    let mut inside = false;
    let mut lines = Vec::new();
    for (number, (code, comment)) in (1..).zip(code.split('\n').zip(comments.split('\n'))) {
        let only_comment = code.trim().is_empty() && !comment.trim().is_empty();
        inside = comment.contains("SAFETY:") || (inside && only_comment);
        if inside {
            lines.push(number);
        }
    }
    lines
}

fn tokens(code: &[char]) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut line = 1;
    let mut in_word = false;
    for &letter in code {
        let of_word = letter.is_alphanumeric() || letter == '_';
        match tokens.last_mut() {
            Some(last) if of_word && in_word => last.text.push(letter),
            _ if letter.is_whitespace() => {}
            _ => tokens.push(Token { text: letter.to_string(), line }),
        }
        in_word = of_word;
        line += usize::from(letter == '\n');
    }
    tokens
}

#[cfg(test)]
mod tests;
