//! ONNX files: whatever is read is a graph in which every index exists, every size is that of its
//! shape, and nothing is read before it is written; and its schedule makes sense.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tenure_fuzz::models::check_onnx;

fuzz_target!(|bytes: &[u8]| check_onnx(bytes));
