//! How memory of others is mapped.

/// How imported memory is mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// For writing if descriptor and seals allow it, otherwise for reading.
    #[default]
    AsAllowed,
    /// For reading only.
    ReadOnly,
    /// For writing; an error if that is not allowed.
    Writable,
}
