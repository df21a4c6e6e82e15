//! Shape rules: from what is known of a node's inputs to the types and shapes of its outputs.
//!
//! One file per family of operators; each ends in a table of operator names. Operators of other
//! domains than ONNX's own have the domain in front of the name.

mod attention;
mod conv;
mod einsum;
mod elementwise;
mod gather;
mod generate;
mod matmul;
mod moves;
mod other;
mod parts;
mod pool;
mod quantize;
mod recurrent;
mod reduce;
mod resize;
mod signal;
mod vision;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::op::{Op, Ruling};

pub(crate) use moves::order;
pub(crate) use parts::cuts;

/// Computes the outputs of a node.
pub(crate) type Rule = fn(&Op<'_, '_>) -> Ruling;

type Table = &'static [(&'static str, Rule)];

const FAMILIES: &[Table] = &[
    attention::RULES,
    conv::RULES,
    einsum::RULES,
    elementwise::RULES,
    gather::RULES,
    generate::RULES,
    matmul::RULES,
    moves::RULES,
    other::RULES,
    parts::RULES,
    pool::RULES,
    quantize::RULES,
    recurrent::RULES,
    reduce::RULES,
    resize::RULES,
    signal::RULES,
    vision::RULES,
];

/// The rule of an operator.
pub(crate) fn rule(domain: &str, op: &str) -> Option<Rule> {
    static ALL: LazyLock<HashMap<&'static str, Rule>> =
        LazyLock::new(|| FAMILIES.iter().flat_map(|family| family.iter().copied()).collect());
    if domain.is_empty() {
        return ALL.get(op).copied();
    }
    let with_domain = ALL.get(format!("{domain}.{op}").as_str());
    // Many operators of com.microsoft have the meaning of ONNX's own of the same name.
    let plain = (domain == "com.microsoft").then(|| ALL.get(op)).flatten();
    with_domain.or(plain).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_has_one_rule() {
        let mut names: Vec<_> =
            FAMILIES.iter().flat_map(|family| family.iter().map(|(name, _)| *name)).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(rule("com.microsoft", "Gelu").is_some());
        assert!(rule("com.example", "Gelu").is_none());
    }
}
