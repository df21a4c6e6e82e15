//! gguf files: whatever is listed lies in the file and loads as it is mapped, and everything else is
//! refused.
#![no_main]

#[path = "common/files.rs"]
mod files;

use libfuzzer_sys::fuzz_target;
use tenure::files::Format;

fuzz_target!(|bytes: &[u8]| files::check(bytes, Format::Gguf));
