//! What the benches share: folders of generated prompt files ([`prompts`]), and a client that does
//! no more than write and read lines ([`client`]), and another one for HTTP ([`http`]).
#![allow(dead_code, reason = "no bench uses all of it")]

use std::ffi::OsString;

/// The program: that of this build, or the one that the environment variable PROGRAM names.
pub(crate) fn program() -> OsString {
    std::env::var_os("PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_prompt-expander").into())
}

pub(crate) mod client;
#[cfg(target_os = "linux")]
pub(crate) mod http;
pub(crate) mod prompts;
