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

use crate::wording::encoded_path;
use std::path::Path;

/// Returns the id of a library, which is in the mark of its entries: the percent-encoded path of
/// its `config.toml`. If that file is moved, no program takes the entries for its own anymore.
pub fn library_id(config: &Path) -> String {
    encoded_path(&config.display().to_string()).to_string()
}
