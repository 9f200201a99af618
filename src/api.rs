//! The JSON objects that `--json`, the API over HTTP and the web page share. They are made from a
//! view of the library.

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
