//! What was made of prompt files, kept for the next time: good as long as a file shows the stamp that it was made under.
//!
//! Nothing here decides what is served. A file whose stamp cannot be relied on is not kept, so that it is read again.

use super::stamp::Stamp;
use foldhash::fast::RandomState;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

/// What was made of each file, by the name of its prompt. Of which path the name is, may change; it is looked at each time.
#[derive(Debug)]
pub(super) struct Kept<T>(RefCell<HashMap<String, (Stamp, T), RandomState>>);

impl<T: Clone> Kept<T> {
    /// What was made of the file, or is made of it now.
    ///
    /// # Errors
    /// Those of `make`, which gives the reliable stamp that the file had before it was read, if it had one.
    pub(super) fn get_or<E>(
        &self,
        name: &str,
        path: &Path,
        make: impl FnOnce() -> Result<(Option<Stamp>, T), E>,
    ) -> Result<T, E> {
        if let Some((stamp, made)) = self.0.borrow().get(name)
            && Stamp::at(path) == Some(*stamp)
        {
            return Ok(made.clone());
        }
        let (stamp, made) = make()?;
        if let Some(stamp) = stamp {
            self.0.borrow_mut().insert(name.to_owned(), (stamp, made.clone()));
        }
        Ok(made)
    }

    /// Forgets what was made of files that are there no longer.
    pub(super) fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.0.borrow_mut().retain(|name, _| is_there(name));
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept(RefCell::default())
    }
}
