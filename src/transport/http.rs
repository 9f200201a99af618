//! The HTTP transport: `serve --http`. `mcp` is MCP's "Streamable HTTP", `routes` has the layers around all requests, `app` what they share.

mod api;
mod app;
pub mod auth;
mod connection;
pub mod headers;
mod health;
pub mod limits;
mod mcp;
mod metrics;
pub mod origin;
mod page;
pub mod proxy;
mod refusal;
mod routes;
pub mod secret_file;
pub mod sessions;
mod sse;
pub mod tls;
pub mod tokens;
mod websocket;

pub use app::Options;
pub use axum::http::{HeaderMap, HeaderName, HeaderValue};
pub use refusal::MCP_PATH;
pub use routes::serve;
pub use sessions::Keys;
