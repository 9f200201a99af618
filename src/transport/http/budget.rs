//! A limit for the memory that the bodies of requests and answers take.

use super::refusal::Refusal;
use axum::body::Bytes;
use axum::http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A number of bytes that the bodies of all connections share. Each [`Reservation`] uses part of
/// it.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    used_bytes: Arc<AtomicUsize>,
    max_bytes: usize,
}

/// Part of a [`Budget`], given back on drop.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    pub(super) fn new(max_bytes: usize) -> Budget {
        Budget {
            used_bytes: Arc::default(),
            max_bytes,
        }
    }

    /// Returns a reservation of zero bytes, to be raised with [`Reservation::resize`].
    pub(super) fn empty_reservation(&self) -> Reservation {
        Reservation {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Wraps the bytes of a body so that they count as used until the last part of them is dropped.
    ///
    /// # Errors
    /// Fails with 503 if there is too little memory.
    pub(super) fn reserve(
        &self,
        body: impl AsRef<[u8]> + Send + 'static,
    ) -> Result<Bytes, Refusal> {
        let mut reservation = self.empty_reservation();
        reservation.resize(body.as_ref().len())?;
        Ok(Bytes::from_owner(ReservedBytes {
            body,
            _reservation: reservation,
        }))
    }
}

impl Reservation {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the number of reserved bytes. Shrinking always succeeds.
    ///
    /// # Errors
    /// Fails with 503 if there is too little memory. The reservation is unchanged then.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), Refusal> {
        let old_bytes = self.bytes;
        let max_bytes = self.budget.max_bytes;
        let used_bytes = &self.budget.used_bytes;
        let is_shrinking = bytes <= old_bytes; // allowed even if others have used up the budget
        let updated = used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let total = used - old_bytes + bytes;
            let is_allowed = is_shrinking || total <= max_bytes;
            if is_allowed { Some(total) } else { None }
        });
        if updated.is_err() {
            return Err(too_busy());
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let used_bytes = &self.budget.used_bytes;
        used_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The owner of a body's [`Bytes`], which drop it after the last part was sent.
struct ReservedBytes<B> {
    body: B,
    _reservation: Reservation,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for ReservedBytes<B> {
    fn as_ref(&self) -> &[u8] {
        self.body.as_ref()
    }
}

/// Returns a 503 refusal for a request that exceeds the memory or the number of requests.
pub(super) fn too_busy() -> Refusal {
    let message = "too many requests are being handled; try again in a second";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, message).with_retry_after_seconds(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stay_reserved_until_their_last_part_is_dropped() {
        let budget = Budget::new(10);
        let answer = budget.reserve("123456").unwrap();
        let rest = answer.slice(5..);
        drop(answer);
        assert_eq!(budget.reserve("12345").unwrap_err().status, 503);
        assert_eq!(budget.reserve("1234").unwrap(), "1234");
        drop(rest);
        assert_eq!(budget.reserve("1234567890").unwrap(), "1234567890");
    }

    #[test]
    fn a_refused_resize_changes_nothing() {
        let budget = Budget::new(10);
        let mut body = budget.empty_reservation();
        body.resize(4).unwrap();
        body.resize(8).unwrap();
        assert!(budget.reserve("123").is_err());
        body.resize(7).unwrap();
        assert!(budget.reserve("123").is_ok());
        assert!(body.resize(11).is_err());
        assert!(budget.reserve("123").is_ok(), "a refusal takes nothing");
        drop(body);
        assert!(budget.reserve("1234567890").is_ok());
    }
}
