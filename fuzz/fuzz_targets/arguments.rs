//! Any text is the input of a prompt with declared arguments.
#![no_main]

#[path = "../../tests/it/properties/arguments.rs"]
mod arguments;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: &[u8]| arguments::check_bytes(case));
