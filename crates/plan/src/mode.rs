//! How far sharing goes, as a word.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable that says which mode to use.
pub const MODE_VARIABLE: &str = "TENURE_PLANNER";

/// Which buffers may share memory.
///
/// ```
/// use tenure_plan::PlannerMode;
/// assert_eq!("remap".parse(), Ok(PlannerMode::Remap));
/// let error = PlannerMode::try_from("on").unwrap_err();
/// assert!(error.to_string().contains("disabled, remap and arena"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerMode {
    /// None: every buffer has memory of its own.
    Disabled,
    /// Buffers of one arena, type and rounded size that are not in use at the same time share
    /// one allocation.
    Remap,
    /// All buffers of a device and lane are packed into one arena.
    #[default]
    Arena,
}

/// A word that names no [`PlannerMode`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no planner mode is called {word:?}; there are disabled, remap and arena")]
pub struct UnknownMode {
    /// The word.
    pub word: String,
}

impl PlannerMode {
    /// All modes, from no sharing to most.
    pub const ALL: [PlannerMode; 3] =
        [PlannerMode::Disabled, PlannerMode::Remap, PlannerMode::Arena];

    /// What users call it.
    pub const fn name(self) -> &'static str {
        match self {
            PlannerMode::Disabled => "disabled",
            PlannerMode::Remap => "remap",
            PlannerMode::Arena => "arena",
        }
    }

    /// What [`MODE_VARIABLE`] asks for, or `None` if it is not set or empty. The only place of
    /// this crate that looks at the environment.
    ///
    /// # Errors
    ///
    /// [`UnknownMode`], if the variable has a value that is no mode.
    pub fn from_environment() -> Result<Option<PlannerMode>, UnknownMode> {
        match std::env::var_os(MODE_VARIABLE) {
            Some(word) if !word.is_empty() => word.to_string_lossy().parse().map(Some),
            _ => Ok(None),
        }
    }
}

impl fmt::Display for PlannerMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for PlannerMode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<PlannerMode, UnknownMode> {
        PlannerMode::ALL
            .into_iter()
            .find(|mode| mode.name().eq_ignore_ascii_case(word))
            .ok_or_else(|| UnknownMode { word: word.to_owned() })
    }
}

impl TryFrom<&str> for PlannerMode {
    type Error = UnknownMode;

    fn try_from(word: &str) -> Result<PlannerMode, UnknownMode> {
        word.parse()
    }
}

impl UnknownMode {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_modes() {
        for mode in PlannerMode::ALL {
            assert_eq!(PlannerMode::try_from(mode.name()), Ok(mode));
            assert_eq!(mode.name().to_uppercase().parse(), Ok(mode));
        }
        for word in ["", "on", "arena ", "arenas"] {
            assert_eq!(word.parse::<PlannerMode>(), Err(UnknownMode { word: word.to_owned() }));
        }
    }
}
