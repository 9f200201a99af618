//! Any texts are a template with partials and its values.
#![no_main]

#[path = "../../tests/it/properties/jinja.rs"]
mod jinja;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: &[u8]| jinja::check_bytes(case));
