//! What drivers answer when they are asked for devices.

use std::ffi::{c_char, c_int};

use super::Code;
use crate::Missing;

const INSUFFICIENT_DRIVER: Code = 35;
const NO_DEVICE: Code = 100;
const INVALID_DEVICE: Code = 101;

/// How many devices a runtime finds, or what its answer means.
pub(crate) fn count(library: &str, needs: &str, code: Code, count: c_int) -> Result<u32, Missing> {
    let library = library.to_owned();
    match code {
        0 if count > 0 => Ok(count.cast_unsigned()),
        0 | NO_DEVICE | INVALID_DEVICE => {
            let detail = if code == 0 { String::new() } else { format!(" (it answers {code})") };
            Err(Missing::NoDevice { library, detail })
        }
        INSUFFICIENT_DRIVER => {
            let found = format!("an older one, or none (it answers {code})");
            Err(Missing::TooOld { library, needed: needs.to_owned(), found })
        }
        other => {
            Err(Missing::Failed { library, what: "asking for devices", code: other.to_string() })
        }
    }
}

/// Text that a driver wrote into a place of ours.
pub(crate) fn text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> =
        bytes.iter().map(|byte| byte.to_ne_bytes()[0]).take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}
