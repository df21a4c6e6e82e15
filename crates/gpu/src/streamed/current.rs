//! The device that calls of this thread are for. It is chosen for as long as a call of ours takes: what
//! the program had chosen for itself is chosen again afterwards.

use super::{Code, Functions};

/// Chooses the device, and gives what was chosen before.
pub(crate) type Enter = Box<dyn Fn() -> Result<usize, Code> + Send + Sync>;
/// Chooses what was chosen before.
pub(crate) type Leave = Box<dyn Fn(usize) + Send + Sync>;

/// The device is chosen until this is dropped.
pub(super) struct Current<'a> {
    functions: &'a Functions,
    before: usize,
}

impl Functions {
    /// Makes the device the one that calls of this thread are for.
    pub(super) fn current(&self) -> Result<Current<'_>, Code> {
        let before = (self.enter)()?;
        Ok(Current { functions: self, before })
    }
}

impl Drop for Current<'_> {
    fn drop(&mut self) {
        (self.functions.leave)(self.before);
    }
}
