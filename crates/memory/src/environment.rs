//! The environment variables that this crate obeys, all read here.

use std::env;

/// Forces the heap wherever memory is chosen automatically.
pub(crate) const FORCE_MEM: &str = "TENURE_FORCE_MEM";
/// The same under the name that users of edgefirst-tensor know.
pub(crate) const FORCE_MEM_EDGEFIRST: &str = "EDGEFIRST_TENSOR_FORCE_MEM";

/// Whether the user asked for the heap: either variable is `1` or `true`.
///
/// Read at every automatic choice, so that a program may set it at run time.
pub(crate) fn force_mem() -> bool {
    [FORCE_MEM, FORCE_MEM_EDGEFIRST].iter().any(|name| {
        env::var_os(name).is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    })
}
