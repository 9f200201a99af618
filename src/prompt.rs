//! One prompt: a file's bytes in, values out, and from values and an input the text that a model gets.
//!
//! Reads no files and no environment, and knows no protocol.
#![deny(clippy::disallowed_methods)] // the list and the reasons are in clippy.toml

mod arguments;
mod diagnostic;
mod draft;
mod frontmatter;
mod left;
mod lint;
mod markdown;
mod template;

pub use arguments::{Argument, Given, MAX_ARGUMENTS, Origin};
pub use diagnostic::{Diagnostic, Position, Severity};
pub use draft::{DraftError, draft, draft_around};
pub use frontmatter::{MAX_FRONTMATTER, MAX_WEIGHT};
pub use left::{Left, Reason};
pub use lint::LONG;
pub use template::{Expansion, INPUT, MAX_EXPANSION, Placeholder, Template, Values};

use crate::wording::{all_of, named, quoted};
use markdown::Outline;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// The longest prompt file, in bytes: 4 MiB.
pub const MAX_FILE: usize = 4 * 1024 * 1024;

/// A prompt, as its file says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its path below the prompts directory, `/`-separated, without `.md`.
    pub name: String,
    /// The inputs that it declares.
    pub arguments: Vec<Argument>,
    /// What a list may be narrowed to.
    pub tags: Vec<String>,
    /// The body.
    pub template: Template,
    title: Option<String>,
    description: Option<String>,
    /// The line of the file that the body begins in.
    body_line: usize,
    /// What was read leniently.
    slips: Vec<Diagnostic>,
}

/// What a prompt says of itself: all of it but the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// See [`Prompt::title`].
    pub title: Option<String>,
    /// See [`Prompt::description`].
    pub description: Option<String>,
    /// See [`Prompt::usage`].
    pub usage: Option<String>,
    /// The inputs that it declares.
    pub arguments: Vec<Argument>,
    /// What a list may be narrowed to.
    pub tags: Vec<String>,
    /// See [`Prompt::takes_input`].
    pub takes_input: bool,
}

impl Summary {
    /// See [`Prompt::value_names`].
    pub fn value_names(&self) -> Vec<&str> {
        arguments::value_names(&self.arguments, self.takes_input)
    }
}

/// Why an expansion failed. Its `Display` is a clause whose subject is the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExpandError {
    /// Arguments that are needed were not given.
    Missing {
        /// All of them, in the order of their declaration.
        names: Vec<String>,
        /// How to call the prompt.
        usage: String,
    },
    /// A value was given by a name that the prompt does not have.
    Unknown {
        /// The name.
        name: String,
        /// The name that may be meant.
        closest: Option<String>,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Beside values by name, there is an input that has no place.
    Lost {
        /// The input.
        text: String,
    },
    /// Every argument has its value, and there is more text.
    Leftover {
        /// The text.
        text: String,
        /// How to call the prompt.
        usage: String,
    },
    /// The result would be longer than [`MAX_EXPANSION`].
    TooLong {
        /// How many bytes it would have.
        length: usize,
    },
}

impl fmt::Display for ExpandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExpandError::Missing { names, usage } => {
                write!(f, "it needs a text for {}; write {}", all_of(names), named(usage))
            }
            ExpandError::Unknown { name, closest, known } => {
                write!(f, "it has no argument {}", quoted(name))?;
                if let Some(closest) = closest {
                    write!(f, ", perhaps {} is meant", named(closest))?;
                }
                write!(f, "; it takes {}", all_of(known))
            }
            ExpandError::Lost { text } => write!(
                f,
                "values are given by name, and it has no place for {} beside them; give all of it by name, or nothing",
                quoted(text)
            ),
            ExpandError::Leftover { text, usage } => write!(
                f,
                "each of its arguments has a value, and {} belongs to none; write {}, with quotes around a value of \
                 several words",
                quoted(text),
                named(usage)
            ),
            ExpandError::TooLong { length } => {
                write!(f, "it would become {length} bytes long, the limit is {MAX_EXPANSION}; shorten the input")
            }
        }
    }
}

impl std::error::Error for ExpandError {}

impl Prompt {
    /// Reads a prompt file. `name` is the prompt's name, `bytes` the whole file.
    ///
    /// A byte order mark, CRLF line ends, a missing frontmatter, an empty file are all ordinary. A slip in the
    /// frontmatter is read leniently and can be asked for with [`Prompt::warnings`].
    ///
    /// # Errors
    /// The file cannot be a prompt: longer than [`MAX_FILE`], not UTF-8, a frontmatter that is never closed, longer
    /// than [`MAX_FRONTMATTER`], growing beyond measure through YAML aliases, or declaring more than
    /// [`MAX_ARGUMENTS`].
    pub fn parse(name: impl Into<String>, bytes: &[u8]) -> Result<Prompt, Diagnostic> {
        if bytes.len() > MAX_FILE {
            return Err(too_large(bytes.len() as u64));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut slips = Vec::new();
        let split = frontmatter::split(text)?;
        let (frontmatter, body, body_line) = match split.yaml {
            None => {
                slips.extend(frontmatter::missed(text));
                (Default::default(), text, 1)
            }
            Some(yaml) => match frontmatter::read(yaml, &mut slips)? {
                Some(frontmatter) => (frontmatter, split.body, split.body_line),
                None => {
                    slips.push(Diagnostic::warning(
                        Some(Position::START),
                        "the lines between the first two `---` hold no key such as `description:`; they are kept as text of the prompt",
                        "write rules as `***`, or give the frontmatter a `description: …`",
                    ));
                    (Default::default(), text, 1)
                }
            },
        };
        let returns = memchr::memchr(b'\r', body.as_bytes()).is_some();
        let body = if returns { Cow::Owned(body.replace("\r\n", "\n")) } else { Cow::Borrowed(body) };
        let (body, dropped) = without_blank_ends(&body);
        let names = frontmatter.arguments.iter().map(|argument| argument.name.as_str());
        Ok(Prompt {
            name: name.into(),
            template: Template::parse(body, names),
            arguments: frontmatter.arguments,
            tags: frontmatter.tags,
            title: frontmatter.title,
            description: frontmatter.description,
            body_line: body_line + dropped,
            slips,
        })
    }

    /// The title: the frontmatter's, else the first heading of the body.
    pub fn title(&self) -> Option<String> {
        self.title.clone().or_else(|| markdown::outline(self.template.body()).heading)
    }

    /// The description: the frontmatter's, else the first paragraph of the body as plain text, cut after a word at
    /// 160 characters. A body without a paragraph offers its first other text, then its heading, cut alike.
    pub fn description(&self) -> Option<String> {
        self.description.clone().or_else(|| markdown::outline(self.template.body()).description())
    }

    /// How to call it, where it declares arguments: `:compare options=… [criteria=…]`.
    pub fn usage(&self) -> Option<String> {
        arguments::usage(self)
    }

    /// Whether the input as a whole has a place in it: as `{{input}}`, or behind a body without placeholders.
    pub fn takes_input(&self) -> bool {
        let is_declared = self.arguments.iter().any(|argument| argument.name == INPUT);
        let mut placeholders = self.template.placeholders().peekable();
        placeholders.peek().is_none() || (!is_declared && placeholders.any(|placeholder| placeholder.name == INPUT))
    }

    /// The names by which a call may give it values: its arguments, and `input` where that has a place.
    pub fn value_names(&self) -> Vec<&str> {
        arguments::value_names(&self.arguments, self.takes_input())
    }

    /// All that it says of itself.
    pub fn summary(&self) -> Summary {
        let outline = match (&self.title, &self.description) {
            (Some(_), Some(_)) => Outline::default(),
            _ => markdown::outline(self.template.body()),
        };
        Summary {
            title: self.title.clone().or_else(|| outline.heading.clone()),
            description: self.description.clone().or_else(|| outline.description()),
            usage: self.usage(),
            arguments: self.arguments.clone(),
            tags: self.tags.clone(),
            takes_input: self.takes_input(),
        }
    }

    /// The text that a model gets for `:name input`. The input is divided among the declared arguments, if there are
    /// any: `name=value` pairs first, then words by position, and the last argument takes what remains.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expand(&self, input: &str) -> Result<String, ExpandError> {
        self.template.expand(arguments::from_input(self, input)?).map(String::from)
    }

    /// The same with values by name. If there are any, the input is not divided; an `input` among them is used in its
    /// stead. Other names that are not declared are ignored.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expand_values(&self, values: &BTreeMap<String, String>, input: &str) -> Result<String, ExpandError> {
        self.expansion(values, input).map(String::from)
    }

    /// The same in pieces, for who writes them elsewhere.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expansion<'p>(
        &'p self,
        values: &'p BTreeMap<String, String>,
        input: &'p str,
    ) -> Result<Expansion<'p>, ExpandError> {
        self.template.expand(match values.is_empty() {
            true => arguments::from_input(self, input)?,
            false => arguments::from_values(self, values, input)?,
        })
    }

    /// Refuses values whose name the prompt does not have, which [`Prompt::expand_values`] ignores.
    ///
    /// # Errors
    /// [`ExpandError::Unknown`].
    pub fn refuse_unknown(&self, values: &BTreeMap<String, String>) -> Result<(), ExpandError> {
        arguments::refuse_unknown(self, values)
    }

    /// Refuses an input that [`Prompt::expand_values`] would leave out.
    ///
    /// # Errors
    /// [`ExpandError::Lost`].
    pub fn refuse_lost(&self, values: &BTreeMap<String, String>, input: &str) -> Result<(), ExpandError> {
        arguments::refuse_lost(self, values, input)
    }

    /// The same with words as a shell has split them: each is one, whatever it holds.
    ///
    /// # Errors
    /// See [`ExpandError`].
    pub fn expand_words(&self, words: &[String]) -> Result<String, ExpandError> {
        let input = words.join(" ");
        match arguments::from_words(self, words) {
            Some(divided) => self.template.expand(arguments::from_divided(self, divided, &input)?).map(String::from),
            None => self.expand(&input),
        }
    }

    /// What each declared argument gets in a call with values by name and an input, as for [`Prompt::expand_values`].
    pub fn given<'p>(&'p self, values: &'p BTreeMap<String, String>, input: &'p str) -> Vec<Given<'p>> {
        match values.is_empty() {
            true => arguments::given_by_input(self, input),
            false => arguments::given_by_name(self, values),
        }
    }

    /// The same with words as for [`Prompt::expand_words`]; `input` is all of them, joined by spaces.
    pub fn given_words<'p>(&'p self, words: &[String], input: &'p str) -> Vec<Given<'p>> {
        match arguments::from_words(self, words) {
            Some(divided) => arguments::given_by_words(self, divided),
            None => arguments::given_by_input(self, input),
        }
    }

    /// What stands in double braces or angle brackets, and is left as it is, in the order of the text.
    pub fn left(&self) -> Vec<Left> {
        left::left(self)
    }

    /// Everything about the file that works, but perhaps not as its author thinks: what was read leniently, and what
    /// looks like a slip of the pen, in the order of the file.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = self.slips.clone();
        warnings.extend(lint::lint(self));
        warnings.sort_by_key(|warning| warning.position);
        warnings
    }
}

/// The diagnostic for a file of `length` bytes, more than [`MAX_FILE`].
pub fn too_large(length: u64) -> Diagnostic {
    Diagnostic::error(
        None,
        format!("the file is {length} bytes long, the limit for a prompt is {MAX_FILE}"),
        "keep the instructions here, and name the material by its path for the agent to read",
    )
}

/// The diagnostic for a file that is UTF-8 only up to a byte.
pub fn not_utf8(bytes: &[u8], valid_up_to: usize) -> Diagnostic {
    let before = String::from_utf8_lossy(&bytes[..valid_up_to]);
    let is_utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    Diagnostic::error(
        Some(Position::in_text(&before, before.len(), 1)),
        if is_utf16 { "the file is UTF-16, not UTF-8" } else { "the file is not UTF-8 from here on" },
        "save it with the encoding UTF-8",
    )
}

/// The body without the blank lines at its two ends, and how many were dropped at the beginning.
fn without_blank_ends(body: &str) -> (&str, usize) {
    let mut rest = body;
    let mut dropped = 0;
    while let Some((_, after)) = rest.split_once('\n').filter(|(line, _)| line.trim().is_empty()) {
        rest = after;
        dropped += 1;
    }
    if rest.trim().is_empty() {
        return ("", dropped);
    }
    let end = rest.trim_end().len();
    // The last line keeps the spaces at its end.
    let line_end = rest[end..].find('\n').map_or(rest.len(), |newline| end + newline);
    (&rest[..line_end], dropped)
}

#[cfg(test)]
mod tests;
