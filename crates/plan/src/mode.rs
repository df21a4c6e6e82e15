//! How far sharing goes, as a word.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The environment variable that says which mode to use.
pub const MODE_VARIABLE: &str = "TENURE_PLANNER";

/// Which buffers may share memory.
///
/// The modes are those of svod's planner, whose arena is in turn tinygrad's. Where they differ from
/// svod's, each variant says how. In all of them a buffer is not replaced by another: handles made
/// before the plan stay, and get their bytes where the plan says.
///
/// # Words
/// Each mode has a name, and answers to words that others use:
///
/// | mode | name | also |
/// |---|---|---|
/// | [`PlannerMode::Disabled`] | `disabled` | `off`, `none` |
/// | [`PlannerMode::Remap`] | `remap` | `pool` |
/// | [`PlannerMode::Arena`] | `arena` | `tlsf` |
///
/// `off`, `none` and `pool` mean in `SVOD_MEMORY_PLANNER` what they mean here. `tlsf` is the
/// allocator that packs the arena in svod and tinygrad; it is a word for the mode here, and the
/// packer is chosen beside it ([`Packer::Tlsf`](crate::Packer::Tlsf) packs as they do). Case does
/// not count. An unknown word is an error that lists what is known, where svod takes it for `arena`.
///
/// ```
/// use tenure_plan::PlannerMode;
/// assert_eq!("remap".parse(), Ok(PlannerMode::Remap));
/// assert_eq!("off".parse(), Ok(PlannerMode::Disabled));
/// let error = PlannerMode::try_from("on").unwrap_err();
/// assert!(error.to_string().contains("disabled, remap and arena"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerMode {
    /// None. The plan has no arenas and places nothing: every buffer keeps the allocation that it
    /// makes itself when it is first touched, and gives it back when its last handle goes.
    /// Realizing such a plan allocates nothing and touches no buffer.
    ///
    /// As in svod. [`Plan::bytes`](crate::Plan::bytes) is what the buffers take on their own, so
    /// that modes can be compared.
    Disabled,
    /// Buffers of the same device, element type and rounded size that are not in use at the same
    /// time share one allocation.
    ///
    /// As in svod, but for two things. Sizes are rounded up to the buffer's own alignment, which
    /// is 256 unless it says otherwise, and not to 256 always. And what copy lanes touch shares
    /// with its like only, as in [`PlannerMode::Arena`]: otherwise reuse would make computation
    /// wait for copies.
    Remap,
    /// All buffers that a device's compute lane alone touches are packed into one arena, and all
    /// that copy lanes or other devices touch into a second one.
    ///
    /// svod has one arena for each device and leaves out what is copied; tinygrad has copy lanes as
    /// here. Both replay the schedule in the order of time through a TLSF allocator. Here the
    /// default packer, [`Packer::Best`](crate::Packer::Best), looks for the smallest arena and
    /// says whether it was proven: that is never larger than what TLSF makes, and takes time once,
    /// when the plan is made. Buffers with views are packed too, and an output may take the place of
    /// an input that its step reads last; svod leaves views out and shares nothing inside a level.
    #[default]
    Arena,
}

/// A word that names no [`PlannerMode`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no planner mode is called {word:?}; there are disabled, remap and arena (also off and none for \
     disabled, pool for remap, tlsf for arena)"
)]
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

    /// The words that others use for it.
    pub const fn other_words(self) -> &'static [&'static str] {
        match self {
            PlannerMode::Disabled => &["off", "none"],
            PlannerMode::Remap => &["pool"],
            PlannerMode::Arena => &["tlsf"],
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
        let called = |mode: &PlannerMode| {
            let mut words = std::iter::once(mode.name()).chain(mode.other_words().iter().copied());
            words.any(|own| own.eq_ignore_ascii_case(word))
        };
        let mode = PlannerMode::ALL.into_iter().find(called);
        mode.ok_or_else(|| UnknownMode { word: word.to_owned() })
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
            for word in mode.other_words() {
                assert_eq!((word.parse(), word.to_uppercase().parse()), (Ok(mode), Ok(mode)));
                let error = "?".parse::<PlannerMode>().unwrap_err().to_string();
                assert!(error.contains(word) && error.contains(mode.name()), "{error}");
            }
        }
        assert_eq!("none".parse(), Ok(PlannerMode::Disabled));
        assert_eq!("pool".parse(), Ok(PlannerMode::Remap));
        assert_eq!("tlsf".parse(), Ok(PlannerMode::Arena));
        for word in ["", "on", "arena ", "arenas"] {
            assert_eq!(word.parse::<PlannerMode>(), Err(UnknownMode { word: word.to_owned() }));
        }
    }
}
