//! As much of Markdown as links need: which there are, and which headings they can lead to. Code is
//! skipped, in blocks and in lines.

/// A link in a document.
#[derive(Debug, PartialEq)]
pub(super) struct Link {
    /// From 1.
    pub(super) line: usize,
    pub(super) target: String,
}

/// Every link of a document: `[text](target)` and `[name]: target`.
pub(super) fn links(text: &str) -> impl Iterator<Item = Link> {
    prose(text).flat_map(|(line, prose)| {
        let prose = without_code(prose);
        let mut targets: Vec<&str> = vec![];
        if let Some((_, target)) = definition(&prose) {
            targets.push(target);
        }
        targets.extend(prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()));
        let link = |target: &str| Link { line, target: bare(target).to_owned() };
        targets.into_iter().map(link).collect::<Vec<_>>()
    })
}

/// What links call the headings of a document, as GitHub makes it of their text.
pub(super) fn anchors(text: &str) -> impl Iterator<Item = String> {
    prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        ((1..=6).contains(&level) && title.starts_with(' ')).then(|| anchor(title))
    })
}

fn anchor(title: &str) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | ' ');
    let letters = title.trim().chars().filter(kept);
    letters
        .flat_map(char::to_lowercase)
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

/// The lines outside of blocks of code, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut block = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        block ^= fence;
        (!block && !fence).then_some((index + 1, line))
    })
}

/// A line without what is between backquotes.
fn without_code(line: &str) -> String {
    let mut parts: Vec<&str> = line.split('`').collect();
    // A backquote without a second one is a letter like others.
    let last = if parts.len().is_multiple_of(2) { parts.pop() } else { None };
    parts.into_iter().step_by(2).chain(last).collect()
}

/// Name and target of a line `[name]: target`.
fn definition(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix('[')?.split_once("]: ").filter(|(name, _)| !name.contains(['[', ']']))
}

/// A target without the title after it and the brackets around it.
fn bare(target: &str) -> &str {
    let target = target.split_whitespace().next().unwrap_or_default();
    target.strip_prefix('<').and_then(|target| target.strip_suffix('>')).unwrap_or(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(usize, String)> {
        links(text).map(|link| (link.line, link.target)).collect()
    }

    #[test]
    fn links_are_found_by_line() {
        let text = "[a](b.md) and [c](<d.md> \"title\")\n\n![picture](e.png)\n[f]: g.md#h\n";
        let found = [(1, "b.md"), (1, "d.md"), (3, "e.png"), (4, "g.md#h")];
        assert_eq!(targets(text), found.map(|(line, target)| (line, target.to_owned())));
    }

    #[test]
    fn code_has_no_links() {
        let text = "`[a](b)` [c](d) `e`\n```rust\n[f](g)\n```\nx[1](2) is code only in `x[1](2)`\n";
        assert_eq!(targets(text), [(1, "d".to_owned()), (5, "2".to_owned())]);
    }

    #[test]
    fn headings_are_named_as_github_names_them() {
        let text = "# Unsafe code\n## What `map()` does, and why\n```\n# no heading\n```\n#none\n";
        let names: Vec<_> = anchors(text).collect();
        assert_eq!(names, ["unsafe-code", "what-map-does-and-why"]);
    }
}
