//! The environment variables that this crate obeys, all read here.

use std::env;

/// One environment variable that this crate obeys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What it does when it is on.
    pub meaning: &'static str,
}

impl Variable {
    /// Whether it is on now: `1` or `true`. Every other value counts as off.
    pub fn is_on(&self) -> bool {
        env::var_os(self.name)
            .is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }
}

/// Forces the heap wherever memory is chosen automatically.
const FORCE_MEM: Variable =
    Variable { name: "TENURE_FORCE_MEM", meaning: "automatic choices take the heap" };
/// The same under the name that users of edgefirst-tensor know.
const FORCE_MEM_EDGEFIRST: Variable = Variable { name: "EDGEFIRST_TENSOR_FORCE_MEM", ..FORCE_MEM };

/// Every variable that this crate obeys.
pub static ALL: &[Variable] = &[FORCE_MEM, FORCE_MEM_EDGEFIRST];

/// Whether the user asked for the heap: either variable is on.
///
/// Read at every automatic choice, so that a program may set it at run time.
pub(crate) fn force_mem() -> bool {
    FORCE_MEM.is_on() || FORCE_MEM_EDGEFIRST.is_on()
}
