//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what a panic cannot leave half changed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
