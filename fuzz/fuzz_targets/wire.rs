//! Any bytes are the whole input of a session.
#![no_main]

#[path = "../../tests/it/properties/stdio.rs"]
mod stdio;
#[path = "../../tests/it/properties/wire.rs"]
mod wire;

use libfuzzer_sys::fuzz_target;

const PROMPTS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/it/properties/prompts"
);

fuzz_target!(|session: &[u8]| wire::check(session, PROMPTS.as_ref()));
