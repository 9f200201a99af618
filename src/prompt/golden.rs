//! The tests of a prompt: cases in a file `NAME.test.txt`, each with an input and what the
//! expansion must be.
//!
//! ```text
//! === two options
//! input: criteria=speed "Rust or Go"
//! --- text
//! Compare Rust or Go by speed.
//!
//! === nothing given
//! --- error
//! it needs a value for `options`
//! ```
//!
//! A case begins with `===` and its title. The lines up to the first block say how the prompt is
//! called; a block begins with `---` and its kind. A line of a block that begins with `===` or
//! `---` and then has a space or ends is written with a backslash before it. Neither line endings
//! nor empty lines at the end of a text make a difference.

use super::binding::Call;
use super::diagnostic::{Diagnostic, Position};
use super::message::Messages;
use super::model::Prompt;
use super::text::utf8_of;
use crate::wording::{alternatives, named, quoted, thousands};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The end of the name of a test file, after the name of its prompt.
pub const TEST_SUFFIX: &str = ".test.txt";

/// What the fix for an invalid block names.
const BLOCKS: [&str; 5] = [
    "--- text",
    "--- contains",
    "--- lacks",
    "--- error",
    "--- characters: 18000",
];

/// The tests of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tests {
    /// The whole file.
    text: String,
    /// At least one, in their order.
    pub cases: Vec<Case>,
}

/// A call of a prompt, and what its expansion must be. Without any expectation it only has to
/// succeed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// What is tested.
    pub title: String,
    /// The line that begins it, from 1.
    pub line: usize,
    /// The agents that must get all of the expansion in one result of the tool.
    pub clients: Vec<String>,
    input: Option<String>,
    values: BTreeMap<String, String>,
    /// The text of the block, and its bytes in the file up to the last line that is not empty.
    text: Option<(String, Range<usize>)>,
    contains: Vec<String>,
    lacks: Vec<String>,
    /// Texts that the error must contain.
    error: Option<Vec<String>>,
    max_characters: Option<usize>,
    /// The byte after the lines that say how the prompt is called.
    head_end: usize,
    has_blocks: bool,
}

/// What a case found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The expansion, if there is one.
    pub expansion: Option<String>,
    /// Why the case failed; empty if it passed.
    pub failures: Vec<Failure>,
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The kind of the block; `expansion` if there is no expansion.
    pub check: &'static str,
    /// What is different: one line, lowercase, without a final stop.
    pub message: String,
    /// The text that was expected and the one that there is, of a block `text`.
    pub texts: Option<[String; 2]>,
}

impl Tests {
    /// Reads a test file.
    ///
    /// # Errors
    /// The file is not UTF-8, has no case or is beyond a limit, or a line has no meaning.
    pub fn parse(bytes: &[u8]) -> Result<Tests, Diagnostic> {
        let text = utf8_of(bytes)?;
        let mut parser = Parser::default();
        let mut end = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            end += line.len();
            let line = line.trim_end_matches('\n').trim_end_matches('\r');
            let line = if index == 0 {
                line.trim_start_matches('\u{feff}')
            } else {
                line
            };
            parser.add(
                line,
                Position {
                    line: index + 1,
                    column: 1,
                },
                end,
            )?;
        }
        parser.finish_case()?;
        if parser.cases.is_empty() {
            return Err(Diagnostic::error(
                None,
                "the file has no case",
                "begin one with `=== ` and a title",
            ));
        }
        Ok(Tests {
            text: text.to_owned(),
            cases: parser.cases,
        })
    }

    /// The whole file with other texts for these cases, by their index: the text of their block
    /// `text`, or of a new one after the call of a case without blocks. All else stays as it is,
    /// byte for byte.
    pub fn with_texts(&self, texts: &BTreeMap<usize, String>) -> String {
        let first = self.text.split_inclusive('\n').next().unwrap_or_default();
        let newline = if first.ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        };
        let mut file = String::with_capacity(self.text.len());
        let mut end = 0;
        for (index, case) in self.cases.iter().enumerate() {
            let Some(text) = texts.get(&index).filter(|text| !case.has_text(text)) else {
                continue;
            };
            let at = case
                .text
                .as_ref()
                .map_or(case.head_end..case.head_end, |(_, range)| range.clone());
            file += &self.text[end..at.start];
            end = at.end;
            if !file.ends_with('\n') {
                file += newline;
            }
            if case.text.is_none() {
                file.extend(["--- text", newline]);
            }
            for line in comparable(text).split_terminator('\n') {
                file.extend([&*escaped(line), newline]);
            }
        }
        file + &self.text[end..]
    }
}

impl Case {
    /// Compares the expansion that `expand` makes of the call that the case says. It may have
    /// attachments: what is compared is its text form.
    pub fn run(
        &self,
        prompt: &Prompt,
        expand: impl FnOnce(Call<'_>) -> Result<Messages, Diagnostic>,
    ) -> Outcome {
        let input = self.input.as_deref().unwrap_or_default();
        let call = match self.values.is_empty() {
            true => Call::Text(input),
            false => Call::Named {
                values: &self.values,
                input,
                is_strict: true,
            },
        };
        match expand(call).map(Messages::into_text) {
            Ok(text) => Outcome {
                failures: self.compare(&text),
                expansion: Some(text),
            },
            Err(error) => {
                let message = format!("{} cannot be expanded: {error}", named(&prompt.name));
                Outcome {
                    failures: self.compare_error(message),
                    expansion: None,
                }
            }
        }
    }

    /// Whether an expansion may replace the text that is expected, or be the first: there is a
    /// block `text`, or none at all.
    pub fn takes_text(&self) -> bool {
        self.text.is_some() || !self.has_blocks
    }

    /// Whether an expansion is the text that is expected.
    pub fn has_text(&self, expansion: &str) -> bool {
        self.text
            .as_ref()
            .is_some_and(|(expected, _)| comparable(expected) == comparable(expansion))
    }

    fn compare(&self, expansion: &str) -> Vec<Failure> {
        if self.error.is_some() {
            let first = quoted(expansion.lines().next().unwrap_or_default());
            return vec![failure(
                "error",
                format!("the prompt is expanded; the text begins with {first}"),
            )];
        }
        let mut failures = Vec::new();
        if let Some((expected, _)) = self.text.as_ref().filter(|_| !self.has_text(expansion)) {
            let texts = [expected, expansion].map(comparable);
            let message = "the expansion differs from the expected text".to_owned();
            failures.push(Failure {
                check: "text",
                message,
                texts: Some(texts),
            });
        }
        let has =
            |text: &str| memchr::memmem::find(expansion.as_bytes(), text.as_bytes()).is_some();
        for text in self.contains.iter().filter(|text| !has(text)) {
            failures.push(failure(
                "contains",
                format!("{} is in no line of the expansion", named(text)),
            ));
        }
        for text in self.lacks.iter().filter(|text| has(text)) {
            let lines = expansion.lines().enumerate();
            let (index, line) = lines
                .into_iter()
                .find(|(_, line)| line.contains(text))
                .unwrap_or((0, expansion));
            failures.push(failure(
                "lacks",
                format!("{} is in line {}: {}", named(text), index + 1, quoted(line)),
            ));
        }
        if let Some(max) = self
            .max_characters
            .filter(|max| expansion.chars().nth(*max).is_some())
        {
            let (characters, limit) = (thousands(expansion.chars().count()), thousands(max));
            let message =
                format!("the expansion has {characters} characters, the limit is {limit}");
            failures.push(failure("characters", message));
        }
        failures
    }

    fn compare_error(&self, message: String) -> Vec<Failure> {
        let Some(expected) = &self.error else {
            return vec![failure("expansion", message)];
        };
        let missing = expected.iter().filter(|part| !message.contains(*part));
        let failure = |part: &String| {
            failure(
                "error",
                format!("{} is not in the error: {message}", named(part)),
            )
        };
        missing.map(failure).collect()
    }
}

fn failure(check: &'static str, message: String) -> Failure {
    Failure {
        check,
        message,
        texts: None,
    }
}

/// What follows a mark at the beginning of a line, if the line is a header: the mark alone, or with
/// a space after it.
fn header<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(mark)?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// A line of a text as it is written in a block.
fn escaped(line: &str) -> Cow<'_, str> {
    let bare = line.trim_start_matches('\\');
    let is_header = header(line, "===").or(header(line, "---")).is_some();
    let is_escape = bare.len() < line.len() && (bare.starts_with("===") || bare.starts_with("---"));
    if is_header || is_escape {
        format!("\\{line}").into()
    } else {
        line.into()
    }
}

/// A line of a block as it is meant.
fn unescaped(line: &str) -> &str {
    let bare = line.trim_start_matches('\\');
    let is_escape = bare.starts_with("===") || bare.starts_with("---");
    line.strip_prefix('\\')
        .filter(|_| is_escape)
        .unwrap_or(line)
}

/// A text as it is compared: with `\n` as line ending, and no empty lines at its end.
fn comparable(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// A part of a case that begins with `---`.
struct Block<'t> {
    kind: &'t str,
    at: Position,
    lines: Vec<&'t str>,
    /// Its bytes in the file, up to the last line that is not empty.
    range: Range<usize>,
}

#[derive(Default)]
struct Parser<'t> {
    cases: Vec<Case>,
    case: Option<Case>,
    block: Option<Block<'t>>,
}

impl<'t> Parser<'t> {
    /// Adds a line, which ends before the byte `end`.
    fn add(&mut self, text: &'t str, at: Position, end: usize) -> Result<(), Diagnostic> {
        let error = |message: &str, fix: &str| Err(Diagnostic::error(Some(at), message, fix));
        if let Some(title) = header(text, "===") {
            self.finish_case()?;
            if title.is_empty() {
                let fix =
                    r"write what is tested after `=== `, or `\===` if the line belongs to a text";
                return error("the case has no title", fix);
            }
            self.case = Some(Case {
                title: title.to_owned(),
                line: at.line,
                head_end: end,
                ..Case::default()
            });
            return Ok(());
        }
        let Some(case) = &mut self.case else {
            return match text.trim().is_empty() || text.starts_with('#') {
                true => Ok(()),
                false => error(
                    "the line is before the first case",
                    "begin a case above it, with `=== ` and a title",
                ),
            };
        };
        if let Some(kind) = header(text, "---") {
            finish_block(case, self.block.take())?;
            case.has_blocks = true;
            self.block = Some(Block {
                kind,
                at,
                lines: Vec::new(),
                range: end..end,
            });
        } else if let Some(block) = &mut self.block {
            block.lines.push(unescaped(text));
            block.range.end = if text.is_empty() {
                block.range.end
            } else {
                end
            };
        } else if !text.is_empty() {
            case.head_end = end; // also after a line of spaces, which would count in a text
            if !text.trim().is_empty() && !text.starts_with('#') {
                return add_to_head(case, text, at);
            }
        }
        Ok(())
    }

    fn finish_case(&mut self) -> Result<(), Diagnostic> {
        let Some(mut case) = self.case.take() else {
            return Ok(());
        };
        finish_block(&mut case, self.block.take())?;
        self.cases.push(case);
        Ok(())
    }
}

/// Adds a line that says how the prompt is called.
fn add_to_head(case: &mut Case, line: &str, at: Position) -> Result<(), Diagnostic> {
    // One space after the colon is not part of the text.
    let value = |rest: &str| rest.strip_prefix(' ').unwrap_or(rest).to_owned();
    let argument = line.strip_prefix("arg ").map(str::trim_start);
    let pair = argument.and_then(|it| {
        it.split_once(": ")
            .or_else(|| Some((it.strip_suffix(':')?, "")))
    });
    if let Some(rest) = line.strip_prefix("input:") {
        let before = case
            .input
            .take()
            .map(|input| input + "\n")
            .unwrap_or_default();
        case.input = Some(before + &value(rest));
    } else if let Some(rest) = line.strip_prefix("client:") {
        case.clients.push(rest.trim().to_owned());
    } else if let Some((name, text)) = pair.filter(|(name, _)| !name.is_empty()) {
        let before = case
            .values
            .remove(name)
            .map(|value| value + "\n")
            .unwrap_or_default();
        case.values.insert(name.to_owned(), before + text);
    } else {
        let known = [
            "input: TEXT",
            "arg NAME: TEXT",
            "client: AGENT",
            "# COMMENT",
        ];
        let fix = format!(
            "write one of {} here, or begin a block above it with `--- text`",
            alternatives(&known)
        );
        let message = format!("{} does not say how the prompt is called", quoted(line));
        return Err(Diagnostic::error(Some(at), message, fix));
    }
    Ok(())
}

fn finish_block(case: &mut Case, block: Option<Block<'_>>) -> Result<(), Diagnostic> {
    let Some(Block {
        kind,
        at,
        lines,
        range,
    }) = block
    else {
        return Ok(());
    };
    let error = |message: &str, fix: &str| Err(Diagnostic::error(Some(at), message, fix));
    let texts = || {
        lines
            .iter()
            .filter(|line| !line.trim().is_empty())
            .map(|line| (*line).to_owned())
    };
    let max = kind
        .strip_prefix("characters")
        .and_then(|rest| rest.trim_start().strip_prefix(':'));
    let max = max.and_then(|max| max.trim().replace([',', '_'], "").parse().ok());
    let is_second = match kind {
        "text" => case.text.replace((lines.join("\n"), range)).is_some(),
        "error" => case.error.replace(texts().collect()).is_some(),
        "contains" | "lacks" => {
            let all = if kind == "contains" {
                &mut case.contains
            } else {
                &mut case.lacks
            };
            all.extend(texts());
            false
        }
        _ if max.is_some() => std::mem::replace(&mut case.max_characters, max).is_some(),
        _ => {
            let fix = format!(
                "write one of {}, or `\\---` if the line belongs to a text",
                alternatives(&BLOCKS)
            );
            return error(&format!("there is no block {}", quoted(kind)), &fix);
        }
    };
    match is_second {
        true => error(
            "the case has two blocks of this kind",
            "delete one of them, or make two cases of it",
        ),
        false => Ok(()),
    }
}

/// A first test file for a prompt: one case, which expects nothing yet but that the prompt can be
/// expanded.
pub fn draft_tests(prompt: &Prompt) -> String {
    let mut text = format!(
        "# Tests of {0}: `prompt-expander test {0}` runs them, and with --update writes the texts that are expected.\n\
         === an example\n",
        prompt.name
    );
    for argument in prompt.arguments.iter().filter(|argument| argument.required) {
        let example = argument
            .choices
            .first()
            .map_or("an example", String::as_str);
        text += &format!(
            "arg {}: {}\n",
            argument.name,
            example.replace(['\r', '\n'], " ")
        );
    }
    if prompt.takes_input() {
        text += "input: some text\n";
    }
    text
}

#[cfg(test)]
mod tests;
