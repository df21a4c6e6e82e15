//! npz files that are made from a description: right in most places, hostile in some. What holds of
//! files that are found holds of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure::files::Format;
use tenure_fuzz::files;
use tenure_fuzz::made::npz::File;

fuzz_target!(|file: File| files::check(&file.bytes(), Format::Npz));
