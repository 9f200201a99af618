//! How much memory the bodies of requests and of answers may take together.

use super::refusal::Refusal;
use axum::body::Bytes;
use axum::http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The bytes of bodies that are in memory, of all connections together.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    held: Arc<AtomicUsize>,
    max: usize,
}

/// Bytes that count until this is dropped.
#[derive(Debug)]
pub(super) struct Held {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(max: usize) -> Budget {
        Budget {
            held: Arc::default(),
            max,
        }
    }

    /// Returns a count of zero bytes, which [`Held::set`] can raise.
    pub(super) fn empty(&self) -> Held {
        Held {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Counts bytes until they are sent or dropped.
    ///
    /// # Errors
    /// 503: too many bytes are in memory.
    pub(super) fn count(&self, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Bytes, Refusal> {
        let mut held = self.empty();
        held.set(bytes.as_ref().len())?;
        Ok(Bytes::from_owner(Counted { bytes, _held: held }))
    }
}

impl Held {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the number of bytes. Fewer bytes than before are always allowed.
    ///
    /// # Errors
    /// 503: too many bytes are in memory. The number stays as it was, so that a refused request
    /// takes nothing from others.
    pub(super) fn set(&mut self, bytes: usize) -> Result<(), Refusal> {
        let before = self.bytes;
        let max = self.budget.max;
        let total = &self.budget.held;
        let updated = total.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |held| {
            let held = held - before + bytes;
            let is_allowed = bytes <= before || held <= max;
            if is_allowed { Some(held) } else { None }
        });
        if updated.is_err() {
            return Err(too_busy());
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes of an answer. hyper drops them when it has written them.
struct Counted<B> {
    bytes: B,
    _held: Held,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Counted<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

pub(super) fn too_busy() -> Refusal {
    let message = "too many requests are being handled; try again in a second";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with_retry_after(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_last_of_them_is_dropped() {
        let budget = Budget::new(10);
        let answer = budget.count("123456").unwrap();
        let rest = answer.slice(5..);
        drop(answer);
        assert_eq!(budget.count("12345").unwrap_err().status, 503);
        assert_eq!(budget.count("1234").unwrap(), "1234");
        drop(rest);
        assert_eq!(budget.count("1234567890").unwrap(), "1234567890");
    }

    #[test]
    fn a_body_counts_as_far_as_it_has_come() {
        let budget = Budget::new(10);
        let mut body = budget.empty();
        body.set(4).unwrap();
        body.set(8).unwrap();
        assert!(budget.count("123").is_err());
        body.set(7).unwrap();
        assert!(budget.count("123").is_ok());
        assert!(body.set(11).is_err());
        assert!(budget.count("123").is_ok(), "a refusal takes nothing");
        drop(body);
        assert!(budget.count("1234567890").is_ok());
    }
}
