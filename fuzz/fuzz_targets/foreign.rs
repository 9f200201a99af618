//! Any bytes are a prompt file of another system.
#![no_main]

#[path = "../../tests/it/properties/foreign.rs"]
mod foreign;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| foreign::check(file));
