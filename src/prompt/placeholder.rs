//! Placeholders: the parts of a message that values replace.

use std::collections::BTreeSet;
use std::ops::Range;

/// The name of the input placeholder, which every prompt can use.
pub const INPUT: &str = "input";

/// A placeholder in a message body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholder {
    /// The name of an argument, or [`INPUT`].
    pub name: String,
    /// Its byte range in the body, including delimiters.
    pub range: Range<usize>,
    /// How many arguments it stands for.
    pub(super) extent: Extent,
    /// The byte range in the body of the text that replaces an empty value: `HEAD` in
    /// `${1:-HEAD}`.
    pub default: Option<Range<usize>>,
}

/// The arguments whose values replace a placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The argument that it names, or the input.
    One,
    /// This many arguments in order of declaration, beginning with the one that it names: 2 for
    /// `${@:3:2}`, and 0 for a word that no argument takes.
    Count(usize),
    /// The argument that it names and all that are declared after it, as for `${@:3}`.
    Rest,
}

impl Placeholder {
    /// Creates a placeholder for one argument, or for the input, without a default.
    pub(super) fn new(name: &str, range: Range<usize>) -> Placeholder {
        Placeholder {
            name: name.to_owned(),
            range,
            extent: Extent::One,
            default: None,
        }
    }

    /// Returns whether only a value can replace it, and only that of its own argument.
    pub(super) fn is_plain(&self) -> bool {
        self.extent == Extent::One && self.default.is_none()
    }
}

impl Extent {
    /// Returns the indexes of the arguments among `argument_count` declared ones, if the
    /// placeholder names the one at `first`: `1..3` for `${@:2:2}`, which names the argument at 1.
    pub(super) fn argument_indexes(self, first: usize, argument_count: usize) -> Range<usize> {
        let end = match self {
            Extent::One => first + 1,
            Extent::Count(count) => first.saturating_add(count),
            Extent::Rest => argument_count,
        };
        first..end.min(argument_count)
    }
}

/// The names of the declared arguments.
pub(super) struct DeclaredNames<'n> {
    /// The names in order of declaration.
    pub(super) in_order: Vec<&'n str>,
    /// The same names, for a quick search.
    pub(super) sorted: BTreeSet<&'n str>,
}

impl<'n> FromIterator<&'n str> for DeclaredNames<'n> {
    fn from_iter<I: IntoIterator<Item = &'n str>>(names: I) -> DeclaredNames<'n> {
        let in_order: Vec<&str> = names.into_iter().collect();
        DeclaredNames {
            sorted: in_order.iter().copied().collect(),
            in_order,
        }
    }
}

/// A name found in a placeholder.
pub(super) struct FoundName<'b> {
    /// The name of the argument, or [`INPUT`].
    pub(super) name: &'b str,
    /// How many arguments the placeholder stands for.
    pub(super) extent: Extent,
    /// The default, at the end of the placeholder.
    pub(super) default: Option<&'b str>,
    /// The rest of the body, after the placeholder.
    pub(super) after: &'b str,
}

impl<'b> FoundName<'b> {
    /// Creates a name without a default, for one argument or the input.
    pub(super) fn new(name: &'b str, after: &'b str) -> FoundName<'b> {
        FoundName {
            name,
            extent: Extent::One,
            default: None,
            after,
        }
    }
}
