//! The lines of the files.

use crate::library::{Found, Layer};
use jiff::civil::Date;

/// The way in which a person or an agent got an expansion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A message with `:name`.
    Hook,
    /// An entry of an agent's own menu, such as `/name`.
    Menu,
    /// A call of the tool `expand_prompt`.
    Tool,
    /// A command of this program, such as `expand`.
    CommandLine,
}

impl Way {
    const ALL: [Way; 4] = [Way::Hook, Way::Menu, Way::Tool, Way::CommandLine];

    /// Returns the word that ends a line. No word is the beginning of another one, so a line that
    /// was cut off never ends in one.
    fn name(self) -> &'static str {
        match self {
            Way::Hook => "hook",
            Way::Menu => "menu",
            Way::Tool => "tool",
            Way::CommandLine => "command-line",
        }
    }
}

/// Returns the line for a use of a prompt, which begins with its line break.
pub(super) fn usage_line(today: Date, found: &Found, way: Way) -> String {
    format!(
        "\n{} {} {}",
        today.day(),
        prompt_key(found.layer, &found.name),
        way.name()
    )
}

/// Returns how lines name a prompt: by its layer and its name, so that the `review` of a project
/// doesn't count as the user's own `review`.
pub(super) fn prompt_key(layer: Layer, name: &str) -> String {
    format!("{} {name}", layer.name)
}

/// The use in a line.
pub(super) struct UsedPrompt<'l> {
    pub(super) day: Date,
    /// The [`prompt_key`].
    pub(super) key: &'l str,
}

/// Parses a line, without its line break, in the file of a month. Returns `None` if it is empty or
/// was cut off.
pub(super) fn parse_line(line: &str, month: Date) -> Option<UsedPrompt<'_>> {
    let (day, rest) = line.split_once(' ')?;
    let (key, way) = rest.rsplit_once(' ')?; // a name can contain spaces
    if Way::ALL.iter().all(|known| known.name() != way) {
        return None;
    }
    let day = month.with().day(day.parse().ok()?).build().ok()?;
    Some(UsedPrompt { day, key })
}
