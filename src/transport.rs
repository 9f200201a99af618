//! Transports: they exchange messages with clients, and leave their meaning to the server.

#[cfg(feature = "http")]
pub mod http;
pub mod stdio;
mod tap;

pub use tap::Tap;
