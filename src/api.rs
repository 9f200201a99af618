//! The JSON objects that `--json`, the HTTP API and the web page share, and the functions that
//! build them from a view of the library.

mod build;
mod call;
mod check;
mod explain;
mod types;

pub use build::{BUILT_IN, file, list, list_json, list_rows, show};
pub use call::expand;
pub use check::check;
pub use explain::{explain, preview};
pub use types::*;
