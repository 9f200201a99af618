//! Transports, which move messages and do not interpret them.

#[cfg(feature = "http")]
pub mod http;
pub mod stdio;
mod tap;

pub use tap::Tap;
