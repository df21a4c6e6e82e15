//! A page of text: headings and rows that are aligned, wrapped and coloured.
//!
//! Everything that is put on a page is freed of control characters: names of devices and values
//! of variables come from others and must not steer the terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

/// What stands before a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// It works.
    Yes,
    /// It does not.
    No,
    /// Nothing.
    Blank,
}

impl Mark {
    /// The mark for something that works or not.
    pub(crate) fn of(works: bool) -> Mark {
        if works { Mark::Yes } else { Mark::No }
    }

    fn look(self) -> (char, Style) {
        match self {
            Mark::Yes => ('✓', AnsiColor::Green.on_default()),
            Mark::No => ('✗', AnsiColor::Red.on_default()),
            Mark::Blank => (' ', Style::new()),
        }
    }
}

/// For headings.
pub(crate) const BOLD: Style = Style::new().bold();
/// For reasons and remarks.
pub(crate) const DIM: Style = Style::new().dimmed();
/// For text as it is.
pub(crate) const PLAIN: Style = Style::new();

/// Columns before the first column of a row: an indent and the mark.
const BEFORE: usize = 4;
/// Text that would get fewer columns than this goes to the next line instead.
const CRAMPED: usize = 24;

/// Text that is being set.
#[derive(Debug)]
pub(crate) struct Page {
    text: String,
    width: usize,
}

impl Page {
    /// An empty page of so many columns.
    pub(crate) fn new(width: usize) -> Page {
        Page { text: String::new(), width }
    }

    /// The text, with styles.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    /// Columns.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Text in a style, as it is.
    pub(crate) fn put(&mut self, style: Style, text: &str) {
        let text = printable(text);
        let _ = if style == PLAIN {
            write!(self.text, "{text}")
        } else {
            write!(self.text, "{style}{text}{style:#}")
        };
    }

    /// Ends the line.
    pub(crate) fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    /// A bold line with a remark at its right end, after an empty line if it is not the first.
    pub(crate) fn heading(&mut self, title: &str, remark: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.put(BOLD, title);
        let gap = self.width.saturating_sub(columns(title) + columns(remark));
        if !remark.is_empty() {
            self.put(PLAIN, &" ".repeat(gap.max(2)));
            self.put(DIM, remark);
        }
        self.end_line();
    }

    /// A row: a mark, cells with their widths, and text that is wrapped in what remains. A cell
    /// that is too long for its width pushes the rest of the line.
    pub(crate) fn row(&mut self, mark: Mark, cells: &[(&str, usize)], style: Style, text: &str) {
        let (sign, look) = mark.look();
        self.put(PLAIN, "  ");
        self.put(look, &sign.to_string());
        self.put(PLAIN, " ");
        let mut at = BEFORE;
        for &(cell, width) in cells {
            self.put(PLAIN, cell);
            // Never without a gap to what follows.
            let gap = width.saturating_sub(columns(cell)).max(1);
            self.put(PLAIN, &" ".repeat(gap));
            at += columns(cell) + gap;
        }
        let mut room = self.width.saturating_sub(at);
        if room < CRAMPED && columns(text) > room {
            self.end_line();
            at = BEFORE + 2;
            room = self.width.saturating_sub(at);
            self.put(PLAIN, &" ".repeat(at));
        }
        for (index, line) in wrap(text, room).iter().enumerate() {
            if index > 0 {
                self.end_line();
                self.put(PLAIN, &" ".repeat(at));
            }
            self.put(style, line);
        }
        self.end_line();
    }
}

/// Columns that text takes, if every character takes one.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// A reason without the numbers of system errors, whose words are in it already.
pub(crate) fn for_people(reason: &str) -> String {
    let mut words = String::new();
    let mut rest = reason;
    while let Some((before, after)) = rest.split_once(" (os error ") {
        words.push_str(before);
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    words + rest
}

/// Text without characters that would steer a terminal.
fn printable(text: &str) -> String {
    let clean = |letter: char| if letter.is_control() { '\u{fffd}' } else { letter };
    text.chars().map(clean).collect()
}

/// Lines of at most `width` columns, broken at spaces; a longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(page: Page) -> String {
        anstream::adapter::strip_str(&page.into_text()).to_string()
    }

    #[test]
    fn rows_are_aligned_and_wrapped() {
        let mut page = Page::new(40);
        page.heading("Memories", "two");
        page.row(Mark::Yes, &[("mem", 8)], DIM, "heap");
        page.row(Mark::No, &[("dma", 8)], DIM, "a reason that is longer than a line");
        let expected = "\
Memories                             two
  ✓ mem     heap
  ✗ dma     a reason that is longer than
            a line
";
        assert_eq!(plain(page), expected);
    }

    #[test]
    fn narrow_text_goes_below() {
        let mut page = Page::new(40);
        page.row(Mark::Blank, &[("a_very_long_variable", 20)], PLAIN, "not set, but it could be");
        assert_eq!(plain(page), "    a_very_long_variable\n      not set, but it could be\n");
    }

    #[test]
    fn people_read_words() {
        assert_eq!(
            for_people("a: No such file (os error 2): b (os error 13)"),
            "a: No such file: b"
        );
        assert_eq!(for_people("nothing to change (or so)"), "nothing to change (or so)");
    }

    #[test]
    fn others_do_not_steer_the_terminal() {
        let mut page = Page::new(40);
        page.row(Mark::Yes, &[], PLAIN, "cam\x1b[31mera\n");
        assert_eq!(page.into_text().matches('\x1b').count(), 2, "only those of the mark");
    }
}
