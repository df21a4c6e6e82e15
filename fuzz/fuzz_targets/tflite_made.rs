//! TFLite models that are made from a description: right in most places, hostile in some. What holds of
//! files that are found holds of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_fuzz::made::tflite::File;
use tenure_fuzz::models::check_tflite;

fuzz_target!(|file: File| check_tflite(&file.bytes()));
