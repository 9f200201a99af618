//! What was made of prompt files, kept for the next time: good as long as a file shows the stamp that it was made under.
//!
//! Nothing here decides what is served. A file whose stamp cannot be relied on is not kept, so that it is read again.

use super::stamp::Stamp;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what is never left half changed, so that a panic of whoever held it makes no difference.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What was made of one file, if anything was.
#[derive(Debug)]
pub(super) struct Kept<T>(Mutex<Option<(Stamp, T)>>);

impl<T: Clone> Kept<T> {
    /// What was made of the file at a path, or is made of it now.
    ///
    /// # Errors
    /// Those of `make`, which gives the reliable stamp that the file had before it was read, if it had one.
    pub(super) fn get_or<E>(&self, path: &Path, make: impl FnOnce() -> Result<(Option<Stamp>, T), E>) -> Result<T, E> {
        let mut kept = lock(&self.0);
        if let Some((stamp, made)) = &*kept
            && Stamp::at(path) == Some(*stamp)
        {
            return Ok(made.clone());
        }
        let (stamp, made) = make()?;
        *kept = stamp.map(|stamp| (stamp, made.clone()));
        Ok(made)
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(Mutex::default())
    }
}
