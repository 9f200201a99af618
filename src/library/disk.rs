//! Folders of prompt files: from a name to a path, what is read and kept of the files, and how
//! their changes are noticed.

mod attach;
pub(super) mod cache;
pub(super) mod folder;
pub(super) mod golden_files;
pub(super) mod handle;
mod include;
pub(super) mod reach;
pub(super) mod read;
pub(super) mod root;
pub(super) mod rows;
pub(super) mod stamp;
pub(super) mod walk;
pub(super) mod watch;
pub(super) mod watched;
