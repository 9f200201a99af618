//! Keeps entries for prompts in agents' own menus: small files that put `/research` or `$research`
//! where people look.
//!
//! | step | where |
//! |---|---|
//! | select the prompts that get an entry | [`MenuSettings::prompts`], in `selection.rs` |
//! | compose the text of an entry | `text.rs` |
//! | compare an agent's folder with the entries that should be in it | [`MenuSettings::plan`], in `plan.rs` |
//! | write and remove files | [`MenuPlan::apply`], in `apply.rs` |
//!
//! Only files with our mark that nobody has changed since are replaced or removed. All others are
//! the user's: they are left alone, and reported by [`MenuPlan::warnings`].

mod apply;
mod existing;
mod left_alone;
mod plan;
mod selection;
#[cfg(test)]
mod tests;
mod text;

pub use apply::WrittenEntries;
pub use plan::{MenuPlan, MenuState};
pub use selection::{MenuPrompt, MenuPrompts, MenuSettings};

use crate::prompt::sha256;
use std::path::Path;

/// How many hexadecimal digits identify a library in the mark of an entry.
const LIBRARY_DIGITS: usize = 8;

/// Returns the id of a library, which is in the mark of its entries: a hash of the path of its
/// `config.toml`. If that file is moved, no program takes the entries for its own anymore.
pub fn library_id(config: &Path) -> String {
    sha256(config.as_os_str().as_encoded_bytes())[..LIBRARY_DIGITS].to_owned()
}
