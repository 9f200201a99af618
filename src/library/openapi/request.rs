//! From an operation and the values of a call to the request.

use super::{Operation, Options};
use crate::prompt::{Bound, ExpandError};

/// A request as it would be sent, without the values of its secret headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: super::Method,
    /// The whole address, percent-encoded.
    pub(crate) url: String,
    /// Those that are no secret.
    pub(crate) headers: Vec<(String, String)>,
    /// Compact JSON.
    pub(crate) body: Option<String>,
}

/// The request for the values of a call, one for each parameter, in their order.
///
/// # Errors
/// [`ExpandError::NotOfType`]: a value is not what its parameter takes. [`ExpandError::Service`]: there is no usable address.
pub(crate) fn request(
    operation: &Operation,
    _values: &[Bound<'_>],
    _options: &Options,
) -> Result<Request, ExpandError> {
    Err(ExpandError::Service(format!("{} {} cannot be called yet", operation.method, operation.path)))
}
