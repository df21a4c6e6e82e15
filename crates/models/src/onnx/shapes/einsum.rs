//! Einsum: shapes from an equation.

use std::collections::BTreeMap;

use super::Rule;
use crate::onnx::ShapeIssue;
use crate::onnx::fact::Fact;
use crate::onnx::op::{Op, Ruling, broadcast};

/// One term: letters before the dots, letters after, and whether there are dots.
fn term(text: &str) -> (Vec<char>, Vec<char>, bool) {
    match text.split_once("...") {
        Some((before, after)) => (before.chars().collect(), after.chars().collect(), true),
        None => (text.chars().collect(), Vec::new(), false),
    }
}

fn einsum(op: &Op<'_, '_>) -> Ruling {
    let name = "equation";
    let equation = op.word(name)?.ok_or(ShapeIssue::MissingAttribute { name })?;
    let plain: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
    let bad = || ShapeIssue::Word { name, found: equation.to_string() };
    let (left, right) = match plain.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (plain.as_str(), None),
    };
    let mut lengths: BTreeMap<char, (u64, usize)> = BTreeMap::new();
    let mut dots: Option<Vec<u64>> = None;
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != op.inputs.len() {
        return Err(bad());
    }
    for (index, text) in terms.iter().enumerate() {
        let (before, after, has_dots) = term(text);
        let shape = op.shape(index)?;
        let hidden = shape.len().checked_sub(before.len() + after.len()).ok_or_else(bad)?;
        if hidden > 0 && !has_dots {
            return Err(bad());
        }
        if has_dots {
            let axes: Vec<u64> = shape.iter().skip(before.len()).take(hidden).copied().collect();
            dots = Some(broadcast(dots.as_deref().unwrap_or_default(), &axes)?);
        }
        let ends = shape.iter().take(before.len()).chain(shape.iter().skip(before.len() + hidden));
        for (&letter, &length) in before.iter().chain(&after).zip(ends) {
            let known = lengths.entry(letter).or_insert((length, 0));
            known.1 += 1;
            match (known.0, length) {
                (known, length) if known == length => {}
                (1, length) => known.0 = length,
                (_, 1) => {}
                (left, right) => {
                    return Err(ShapeIssue::Mismatch { what: "axes of one letter", left, right });
                }
            }
        }
    }
    let mut shape = Vec::new();
    match right {
        Some(right) => {
            let (before, after, has_dots) = term(right);
            let length = |letter: &char| lengths.get(letter).map(|known| known.0).ok_or_else(bad);
            for letter in &before {
                shape.push(length(letter)?);
            }
            if has_dots {
                shape.extend(dots.unwrap_or_default());
            }
            for letter in &after {
                shape.push(length(letter)?);
            }
        }
        // Without an arrow: the dots, then every letter that occurs once, in alphabetical order.
        None => {
            shape.extend(dots.unwrap_or_default());
            shape.extend(lengths.values().filter(|known| known.1 == 1).map(|known| known.0));
        }
    }
    Ok(vec![Fact::new(op.dtype(0)?, shape)])
}

pub(super) const RULES: &[(&str, Rule)] = &[("Einsum", einsum)];
