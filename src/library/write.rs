//! Writes of prompt files: the editor that checks a write, the store that carries it out, and the
//! history.

pub(super) mod diff;
pub(super) mod edit;
pub(super) mod file_store;
pub(super) mod files;
pub(super) mod history;
mod rename;
