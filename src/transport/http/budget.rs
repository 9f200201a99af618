//! How much memory the bodies of requests and of answers may take together.

use super::refusal::Refusal;
use axum::body::Bytes;
use axum::http::StatusCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory for bodies of all connections together. Each [`Reservation`] takes some of it.
#[derive(Debug, Clone)]
pub(super) struct Budget {
    used: Arc<AtomicUsize>,
    /// The most bytes that may be in use.
    max: usize,
}

/// A number of bytes of a [`Budget`], which are in use until this is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// Returns a budget of `max` bytes, none of which are in use.
    pub(super) fn new(max: usize) -> Budget {
        Budget {
            used: Arc::default(),
            max,
        }
    }

    /// Returns a reservation of zero bytes, which [`Reservation::set`] can raise.
    pub(super) fn empty_reservation(&self) -> Reservation {
        Reservation {
            budget: self.clone(),
            bytes: 0,
        }
    }

    /// Counts bytes, such as the body of an answer, as in use until they are sent or dropped.
    ///
    /// # Errors
    /// 503: too many bytes are in memory.
    pub(super) fn count(&self, bytes: impl AsRef<[u8]> + Send + 'static) -> Result<Bytes, Refusal> {
        let mut reservation = self.empty_reservation();
        reservation.set(bytes.as_ref().len())?;
        Ok(Bytes::from_owner(Counted {
            bytes,
            _reservation: reservation,
        }))
    }
}

impl Reservation {
    /// Returns the number of reserved bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets the number of reserved bytes. Fewer bytes than before are always allowed.
    ///
    /// # Errors
    /// 503: too many bytes are in memory. The number stays as it was, so that a refused request
    /// takes nothing from others.
    pub(super) fn set(&mut self, bytes: usize) -> Result<(), Refusal> {
        let before = self.bytes;
        let max = self.budget.max;
        let used = &self.budget.used;
        let updated = used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let total = used - before + bytes;
            let is_allowed = bytes <= before || total <= max;
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
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Bytes of an answer. hyper drops them when it has written them.
struct Counted<B> {
    bytes: B,
    _reservation: Reservation,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Counted<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

/// Returns the refusal, with the status 503, of a request for which there is no memory or permit.
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
        let mut body = budget.empty_reservation();
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
