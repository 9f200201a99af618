//! Any lines are the headers of a request, and any bytes its body.
#![no_main]

#[path = "../../tests/it/properties/http_headers.rs"]
mod http_headers;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| http_headers::check(text));
