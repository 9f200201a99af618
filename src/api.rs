//! What commands say of prompts, as data: made from a view of the library, printed by the command
//! line, answered over HTTP, and shown by the web page.

mod make;
mod tokens;
mod types;

pub use make::{BUILT_IN, check, expand, explain, file, list, list_json, listed, preview, show};
pub use types::*;
