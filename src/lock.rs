//! Locks mutexes.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, even if another thread panicked while it held the lock. Only use it for data that
/// is valid after every single change, so that a panic cannot leave it inconsistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
