//! Bars made of block characters, with a resolution of an eighth of a column.

use anstyle::{AnsiColor, Style};

use crate::page::{DIM, Page};

/// For bars that reach nine tenths of the full length.
const GOOD: Style = AnsiColor::Green.on_default();
/// For bars that reach half of it.
const FAIR: Style = AnsiColor::Yellow.on_default();
/// For the others.
const POOR: Style = AnsiColor::Red.on_default();

/// Puts a bar of `width` columns on the page, `part` of it filled; above one is full.
pub(super) fn bar(page: &mut Page, part: f64, width: usize) {
    let style = match part {
        part if part >= 0.9 => GOOD,
        part if part >= 0.5 => FAIR,
        _ => POOR,
    };
    let (filled, rest) = blocks(part, width);
    page.put(style, &filled);
    page.put(DIM, &rest);
}

/// The filled and the empty part of a bar.
fn blocks(part: f64, width: usize) -> (String, String) {
    const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let eighths = (part.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    // What is not nothing is seen.
    let eighths = if part > 0.0 { eighths.max(1) } else { eighths };
    let mut filled = "█".repeat(eighths / 8);
    if let Some(&end) = (eighths % 8).checked_sub(1).and_then(|index| EIGHTHS.get(index)) {
        filled.push(end);
    }
    let rest = "·".repeat(width - eighths.div_ceil(8));
    (filled, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_width() {
        for width in [1, 7, 40] {
            for step in 0..=200 {
                let (filled, rest) = blocks(f64::from(step) / 150.0, width);
                assert_eq!(filled.chars().count() + rest.chars().count(), width);
            }
        }
    }

    #[test]
    fn bars_show_their_part() {
        assert_eq!(blocks(0.0, 4), (String::new(), "····".to_owned()));
        assert_eq!(blocks(0.0001, 4), ("▏".to_owned(), "···".to_owned()));
        assert_eq!(blocks(0.625, 4), ("██▌".to_owned(), "·".to_owned()));
        assert_eq!(blocks(1.4, 4), ("████".to_owned(), String::new()));
    }
}
