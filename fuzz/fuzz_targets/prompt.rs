//! Any bytes are a prompt file.
#![no_main]

#[path = "../../tests/it/properties/prompt.rs"]
mod prompt;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|file: &[u8]| prompt::check(file));
