//! Sends a request to a service and reads its answer.

use super::request::Request;
use super::{Operation, Options};
use crate::prompt::{ExpandError, Messages};

/// The messages that a service answers with.
///
/// # Errors
/// [`ExpandError::Service`]: the address is refused, the service cannot be reached, or its answer is no prompt.
pub(crate) fn send(operation: &Operation, _: &Request, _: &Options) -> Result<Messages, ExpandError> {
    Err(ExpandError::Service(format!("{} {} cannot be called yet", operation.method, operation.path)))
}
