//! Any bytes are an OpenAPI document, and a value for the arguments of its operations.
#![no_main]

#[path = "../../tests/it/properties/openapi.rs"]
mod openapi;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|case: &[u8]| openapi::check_bytes(case));
