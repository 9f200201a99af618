//! Any texts are a body, names that it declares, and values for them.
#![no_main]

#[path = "../../tests/it/properties/expand.rs"]
mod expand;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: &[u8]| expand::check_bytes(case));
