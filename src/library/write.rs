//! Writes prompts. An editor checks each write, a store carries it out, and the history keeps the
//! old versions.

pub(super) mod diff;
pub(super) mod edit;
pub(super) mod file_store;
pub(super) mod history;
pub(super) mod planned_write;
mod rename;
pub(super) mod single_file;
