//! What commands say of prompts, as data: made from a view of the library, printed by the command
//! line, answered over HTTP, and shown by the web page.

mod build;
mod call;
mod check;
mod explain;
mod types;

pub use build::{BUILT_IN, file, list, list_json, listed, show};
pub use call::expand;
pub use check::check;
pub use explain::{explain, preview};
pub use types::*;
