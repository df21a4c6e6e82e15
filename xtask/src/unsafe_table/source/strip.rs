//! Tells code, comments and strings apart.

/// Splits `text` into its code and its comments. Both are as long as the text and have its line
/// breaks; blanks stand for everything else, and for strings in both.
pub(super) fn strip(text: &[char]) -> (Vec<char>, Vec<char>) {
    let mut code = Vec::with_capacity(text.len());
    let mut comments = Vec::with_capacity(text.len());
    let mut rest = text;
    let mut in_word = false;
    while let Some(&first) = rest.first() {
        let (part, length) = match piece(rest, in_word) {
            (part, length) if length > 0 => (part, length.min(rest.len())),
            _ => (Part::Code, 1),
        };
        let (taken, after) = rest.split_at(length);
        for &letter in taken {
            let blank = if letter == '\n' { '\n' } else { ' ' };
            code.push(if part == Part::Code { letter } else { blank });
            comments.push(if part == Part::Comment { letter } else { blank });
        }
        in_word = part == Part::Code && (first.is_alphanumeric() || first == '_');
        rest = after;
    }
    (code, comments)
}

#[derive(Clone, Copy, PartialEq)]
enum Part {
    Code,
    Comment,
    String,
}

/// What `rest` begins with, and how long it is.
fn piece(rest: &[char], in_word: bool) -> (Part, usize) {
    match rest {
        ['/', '/', ..] => (Part::Comment, until(rest, |letter| letter == '\n')),
        ['/', '*', ..] => (Part::Comment, block_comment(rest)),
        ['"', ..] => (Part::String, string(rest)),
        ['r', '"' | '#', ..] if !in_word => (Part::String, raw_string(rest, 1)),
        ['b' | 'c', 'r', '"' | '#', ..] if !in_word => (Part::String, raw_string(rest, 2)),
        ['\'', '\\', ..] => {
            (Part::String, 3 + until(&rest[3.min(rest.len())..], |l| l == '\'') + 1)
        }
        // Not a lifetime: that has no quote after its first letter.
        ['\'', _, '\'', ..] => (Part::String, 3),
        _ => (Part::Code, 1),
    }
}

fn until(rest: &[char], stop: impl Fn(char) -> bool) -> usize {
    rest.iter().position(|letter| stop(*letter)).unwrap_or(rest.len())
}

fn block_comment(rest: &[char]) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (at, depth) = (at + 2, depth + 1),
            ['*', '/', ..] => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string(rest: &[char]) -> usize {
    let mut at = 1;
    loop {
        match rest.get(at) {
            None => return at,
            Some('\\') => at += 2,
            Some('"') => return at + 1,
            Some(_) => at += 1,
        }
    }
}

/// The length of the raw string whose hashes start at `prefix`; 0 for a raw name like `r#type`.
fn raw_string(rest: &[char], prefix: usize) -> usize {
    let hashes = until(&rest[prefix..], |letter| letter != '#');
    let open = prefix + hashes;
    if rest.get(open) != Some(&'"') {
        return 0;
    }
    let end = |at: usize| {
        rest[at] == '"'
            && rest[at + 1..].iter().take(hashes).filter(|l| **l == '#').count() == hashes
    };
    let close = (open + 1..rest.len()).find(|&at| end(at));
    close.map_or(rest.len(), |at| at + 1 + hashes)
}
