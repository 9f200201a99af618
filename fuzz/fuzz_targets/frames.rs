//! Any bytes select messages and their framing.
#![no_main]

#[path = "../../tests/it/properties/frames.rs"]
mod frames;
#[path = "../../tests/it/properties/stdio.rs"]
mod stdio;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|selection: &[u8]| frames::check(selection));
