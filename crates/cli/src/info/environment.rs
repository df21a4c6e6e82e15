//! The environment variables that Tenure obeys, and what they are set to.

use serde::Serialize;
use tenure::memory::environment::ALL;

/// One variable.
#[derive(Debug, Serialize)]
pub(super) struct Variable {
    /// Its name.
    pub(super) name: &'static str,
    /// What it does when it is on.
    pub(super) meaning: &'static str,
    /// What it is set to; `null` if it is not set.
    pub(super) value: Option<String>,
    /// Whether that value counts as on.
    pub(super) on: bool,
}

pub(super) fn environment() -> Vec<Variable> {
    let variable = |known: &tenure::memory::environment::Variable| Variable {
        name: known.name,
        meaning: known.meaning,
        value: std::env::var_os(known.name).map(|value| value.to_string_lossy().into_owned()),
        on: known.is_on(),
    };
    ALL.iter().map(variable).collect()
}
