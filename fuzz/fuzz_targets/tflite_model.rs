//! TFLite files: what is read has a schedule that makes sense, and a plan written into the file
//! is read back with the same graph.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_fuzz::models::check_tflite;

fuzz_target!(|bytes: &[u8]| check_tflite(bytes));
