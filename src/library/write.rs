//! Writes of prompt files: an editor checks a write, a store carries it out, and the history keeps
//! what was replaced.

pub(super) mod diff;
pub(super) mod edit;
pub(super) mod file_store;
pub(super) mod history;
mod rename;
pub(super) mod single_file;
