//! What the benches share: folders of generated prompt files ([`prompts`]), and a client that does no more than write and
//! read lines ([`client`]).
#![allow(dead_code, reason = "no bench uses all of it")]

pub(crate) mod client;
pub(crate) mod prompts;
