//! Any text is a file, parts of which are changed to any text.
#![no_main]

#[path = "../../tests/it/properties/edit.rs"]
mod edit;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: &[u8]| edit::check_bytes(case));
