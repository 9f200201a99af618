//! Any text is the id of a session, or changes a valid one.
#![no_main]

#[path = "../../tests/it/properties/session.rs"]
mod session;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| session::check(text));
