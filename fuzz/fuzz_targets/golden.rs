//! Any bytes are a test file, into which any text is written.
#![no_main]

#[path = "../../tests/it/properties/golden.rs"]
mod golden;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: &[u8]| golden::check_bytes(case));
