//! safetensors files: whatever is listed lies in the file and loads as it is mapped, and everything else is
//! refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::files::Format;
use tenure_fuzz::files;

fuzz_target!(|bytes: &[u8]| files::check(bytes, Format::Safetensors));
