//! Folders of prompt files: how names map to files, how files are read and cached, and how changes
//! are noticed.

mod attach;
pub(super) mod cache;
pub(super) mod folder;
pub(super) mod include;
pub(super) mod memory_files;
pub(super) mod open;
pub(super) mod prompt_file;
pub(super) mod reach;
pub(super) mod root;
pub(super) mod scan;
pub(super) mod stamp;
pub(super) mod test_files;
pub(super) mod watch;
pub(super) mod watched;
