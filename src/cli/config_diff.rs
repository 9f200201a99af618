//! The diff of a config file, for previews.

use super::diff::colored;
use super::output::{self, NAME, Styled, styled};
use crate::agents::ConfigFile;
use crate::library::unified_diff;
use crate::wording::without_passwords;

/// Longer lines of a diff are truncated.
const MAX_LINE_CHARS: usize = 1_000;

/// Formats the changes of a file as a diff. Hides passwords in URLs.
pub(super) fn format_diff(file: &ConfigFile) -> Styled {
    let mut text = styled(NAME, output::display_path(&file.path)).plain("\n");
    let diff = unified_diff(("", file.original_text()), ("", file.edited_text()));
    // Skip the `---` and `+++` lines, whose names are empty.
    for line in diff.lines().skip(2) {
        text.append(colored(&output::truncate(
            &without_passwords(line),
            MAX_LINE_CHARS,
        )));
    }
    text
}
