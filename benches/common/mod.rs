//! What the benches share: folders of generated prompt files ([`prompts`]), and a client that does no more than write and
//! read lines ([`client`]), and another one for HTTP ([`http`]).
#![allow(dead_code, reason = "no bench uses all of it")]

pub(crate) mod client;
#[cfg(target_os = "linux")]
pub(crate) mod http;
pub(crate) mod prompts;
