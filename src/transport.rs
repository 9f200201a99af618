//! Transports, which move messages and do not interpret them.

pub mod stdio;
mod tap;

pub use tap::Tap;
