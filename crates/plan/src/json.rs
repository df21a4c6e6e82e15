//! Schedules and plans as JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Plan, Schedule};

/// Why a text is no schedule or plan.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, column {column}: {cause}")]
pub struct JsonError {
    /// Line of the text, from 1.
    pub line: usize,
    /// Column of the line, from 1.
    pub column: usize,
    /// What was expected there; part of the text, so no source besides.
    pub cause: serde_json::Error,
}

impl From<serde_json::Error> for JsonError {
    fn from(cause: serde_json::Error) -> JsonError {
        JsonError { line: cause.line(), column: cause.column(), cause }
    }
}

impl Schedule {
    /// Reads a schedule and validates nothing but its form.
    ///
    /// ```
    /// use tenure_plan::Schedule;
    /// let text = r#"{
    ///     "buffers": [
    ///         {"name": "x", "bytes": 64, "dtype": "f32", "input": true},
    ///         {"name": "y", "bytes": 64, "dtype": "f32", "in_place": [0]}
    ///     ],
    ///     "steps": [{"name": "relu", "reads": [0], "writes": [1]}]
    /// }"#;
    /// let schedule = Schedule::from_json(text)?;
    /// assert_eq!(schedule, Schedule::from_json(&schedule.to_json()?)?);
    /// # Ok::<(), tenure_plan::JsonError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`JsonError`] with the line and column, if the text is no schedule.
    pub fn from_json(text: &str) -> Result<Schedule, JsonError> {
        read(text)
    }

    /// Writes the schedule.
    ///
    /// # Errors
    ///
    /// None in practice.
    pub fn to_json(&self) -> Result<String, JsonError> {
        write(self)
    }
}

impl Plan {
    /// Reads a plan. Whether it suits a schedule is for [`verify`](crate::verify) to say.
    ///
    /// # Errors
    ///
    /// [`JsonError`] with the line and column, if the text is no plan.
    pub fn from_json(text: &str) -> Result<Plan, JsonError> {
        read(text)
    }

    /// Writes the plan.
    ///
    /// # Errors
    ///
    /// None in practice.
    pub fn to_json(&self) -> Result<String, JsonError> {
        write(self)
    }
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, JsonError> {
    Ok(serde_json::from_str(text)?)
}

fn write<T: Serialize>(value: &T) -> Result<String, JsonError> {
    Ok(serde_json::to_string(value)?)
}

/// A value that has a name, as that name.
pub(crate) mod by_name {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let word = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        word.parse().map_err(de::Error::custom)
    }
}

/// A packer as its name; `None` is left out.
pub(crate) mod packer {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::Packer;

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(crate) fn serialize<S: Serializer>(
        packer: &Option<Packer>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match packer {
            Some(packer) => serializer.collect_str(packer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Packer>, D::Error> {
        let word = Option::<String>::deserialize(deserializer)?;
        word.map(|word| word.parse().map_err(de::Error::custom)).transpose()
    }
}

impl JsonError {
    /// What sort of error it is.
    pub fn kind(&self) -> tenure_layout::ErrorKind {
        tenure_layout::ErrorKind::Invalid
    }
}
