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
//! called, and are called its head; a block begins with `---` and its kind. A line of a block that
//! begins with `===` or `---` and then has a space or ends is written with a backslash before it.
//! Neither line endings nor empty lines at the end of a text make a difference.

use super::binding::Call;
use super::diagnostic::{Diagnostic, Position};
use super::file_text::decode_utf8;
use super::message::Messages;
use super::model::Prompt;
use crate::wording::{in_backticks, or_list, quoted, thousands};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The end of the name of a test file, after the name of its prompt.
pub const TEST_SUFFIX: &str = ".test.txt";

/// The blocks that the fix for an unknown block lists.
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

/// A call of a prompt, and what its expansion must be. Without any expectation, the call only has
/// to succeed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// The words for people that say what is tested.
    pub title: String,
    /// The line that begins it, from 1.
    pub line: usize,
    /// The agents that must get all of the expansion in one result of the tool.
    pub clients: Vec<String>,
    input: Option<String>,
    values: BTreeMap<String, String>,
    text: Option<ExpectedText>,
    contains: Vec<String>,
    lacks: Vec<String>,
    /// Texts that the error must contain.
    error: Option<Vec<String>>,
    max_characters: Option<usize>,
    /// The byte after the lines that say how the prompt is called.
    head_end: usize,
    has_blocks: bool,
}

/// The text of a block `text`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ExpectedText {
    text: String,
    /// Its bytes in the file, up to the last line that is not empty.
    range: Range<usize>,
}

/// The result of running a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// The expansion, if there is one.
    pub expansion: Option<String>,
    /// Why the case failed; empty if it passed.
    pub failures: Vec<CaseFailure>,
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure {
    /// The kind of the block; `expansion` if there is no expansion.
    pub check: &'static str,
    /// What is different: one line, lowercase, without a final stop.
    pub message: String,
    /// The expected text and the expansion, if the block is `text`.
    pub texts: Option<[String; 2]>,
}

impl Tests {
    /// Parses a test file.
    ///
    /// # Errors
    /// The file is not UTF-8, has no case or is beyond a limit, or a line has no meaning.
    pub fn parse(bytes: &[u8]) -> Result<Tests, Diagnostic> {
        let text = decode_utf8(bytes)?;
        let mut parser = Parser::default();
        let mut line_end = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            line_end += line.len();
            let mut line_text = line.trim_end_matches('\n').trim_end_matches('\r');
            if index == 0 {
                line_text = line_text.trim_start_matches('\u{feff}');
            }
            parser.add(TestLine {
                text: line_text,
                position: Position::at_line(index + 1),
                end: line_end,
            })?;
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

    /// Returns the whole file with other texts for these cases, by their index.
    ///
    /// A text replaces that of the block `text`, or gets a new block after the head of a case
    /// without blocks. Everything else stays as it is, byte for byte.
    pub fn with_texts(&self, texts: &BTreeMap<usize, String>) -> String {
        let newline = self.newline();
        let mut file = String::with_capacity(self.text.len());
        let mut copy_start = 0; // what precedes this byte of the old file is in the new one
        for (index, case) in self.cases.iter().enumerate() {
            let Some(text) = texts.get(&index) else {
                continue;
            };
            if case.has_text(text) {
                continue;
            }
            let old_range = case.text_range();
            file += &self.text[copy_start..old_range.start];
            copy_start = old_range.end;
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
        file + &self.text[copy_start..]
    }

    /// Returns the line ending of the file.
    fn newline(&self) -> &'static str {
        match self.text.split_inclusive('\n').next() {
            Some(first) if first.ends_with("\r\n") => "\r\n",
            _ => "\n",
        }
    }
}

impl Case {
    /// Expands the call of the case with `expand`, and compares the text form of the result,
    /// attachments included, with what the case says.
    pub fn run(
        &self,
        prompt: &Prompt,
        expand: impl FnOnce(Call<'_>) -> Result<Messages, Diagnostic>,
    ) -> CaseOutcome {
        match expand(self.call()) {
            Ok(messages) => {
                let expansion = messages.into_text();
                CaseOutcome {
                    failures: self.compare(&expansion),
                    expansion: Some(expansion),
                }
            }
            Err(error) => {
                let error = format!("{} cannot be expanded: {error}", in_backticks(&prompt.name));
                CaseOutcome {
                    failures: self.compare_error(&error),
                    expansion: None,
                }
            }
        }
    }

    /// Returns the call of the case: its input as in a chat or, with `arg NAME: …`, values by name.
    fn call(&self) -> Call<'_> {
        let input = self.input.as_deref().unwrap_or_default();
        if self.values.is_empty() {
            return Call::Text(input);
        }
        Call::Named {
            values: &self.values,
            input,
            is_strict: true,
        }
    }

    /// Returns whether an expansion may replace the expected text, or become the first: there is a
    /// block `text`, or no block at all.
    pub fn takes_text(&self) -> bool {
        self.text.is_some() || !self.has_blocks
    }

    /// Returns whether an expansion is the expected text.
    pub fn has_text(&self, expansion: &str) -> bool {
        match &self.text {
            Some(expected) => comparable(&expected.text) == comparable(expansion),
            None => false,
        }
    }

    /// Returns the bytes of the file that hold the lines of the expected text. Without a block
    /// `text`, the range is empty, at the place for such a block.
    fn text_range(&self) -> Range<usize> {
        match &self.text {
            Some(expected) => expected.range.clone(),
            None => self.head_end..self.head_end,
        }
    }

    /// Returns a failure for each expectation that an expansion does not meet.
    fn compare(&self, expansion: &str) -> Vec<CaseFailure> {
        if self.error.is_some() {
            let first = quoted(expansion.lines().next().unwrap_or_default());
            let message = format!("the prompt is expanded; the text begins with {first}");
            return vec![CaseFailure::new("error", message)];
        }
        let mut failures = Vec::new();
        failures.extend(self.compare_text(expansion));
        failures.extend(self.missing_lines(expansion));
        failures.extend(self.unwanted_lines(expansion));
        failures.extend(self.compare_length(expansion));
        failures
    }

    /// Returns a failure if an expansion is not the expected text. Without a block `text`, any
    /// expansion is right.
    fn compare_text(&self, expansion: &str) -> Option<CaseFailure> {
        let expected_text = comparable(&self.text.as_ref()?.text);
        let expansion = comparable(expansion);
        if expected_text == expansion {
            return None;
        }
        let message = "the expansion differs from the expected text".to_owned();
        Some(CaseFailure {
            texts: Some([expected_text, expansion]),
            ..CaseFailure::new("text", message)
        })
    }

    /// Returns a failure for each text that must be in the expansion, and is not.
    fn missing_lines(&self, expansion: &str) -> Vec<CaseFailure> {
        let mut failures = Vec::new();
        for text in &self.contains {
            if !expansion.contains(text) {
                let message = format!("{} is in no line of the expansion", in_backticks(text));
                failures.push(CaseFailure::new("contains", message));
            }
        }
        failures
    }

    /// Returns a failure for each text that must not be in the expansion, with the first line that
    /// has it.
    fn unwanted_lines(&self, expansion: &str) -> Vec<CaseFailure> {
        let mut failures = Vec::new();
        for text in &self.lacks {
            let mut lines = expansion.lines().enumerate();
            if let Some((index, line)) = lines.find(|(_, line)| line.contains(text)) {
                let number = index + 1;
                let line = quoted(line);
                let message = format!("{} is in line {number}: {line}", in_backticks(text));
                failures.push(CaseFailure::new("lacks", message));
            }
        }
        failures
    }

    /// Returns a failure if an expansion is longer than `--- characters: LIMIT` allows.
    fn compare_length(&self, expansion: &str) -> Option<CaseFailure> {
        let limit = self.max_characters?;
        let length = expansion.chars().count();
        if length <= limit {
            return None;
        }
        let message = format!(
            "the expansion has {} characters, the limit is {}",
            thousands(length),
            thousands(limit)
        );
        Some(CaseFailure::new("characters", message))
    }

    /// Returns a failure for each expected part that is not in the error, or for the error itself
    /// if none was expected.
    fn compare_error(&self, error: &str) -> Vec<CaseFailure> {
        let Some(expected) = &self.error else {
            return vec![CaseFailure::new("expansion", error.to_owned())];
        };
        let mut failures = Vec::new();
        for part in expected {
            if !error.contains(part) {
                let message = format!("{} is not in the error: {error}", in_backticks(part));
                failures.push(CaseFailure::new("error", message));
            }
        }
        failures
    }
}

impl CaseFailure {
    /// Creates a failure without texts.
    fn new(check: &'static str, message: String) -> CaseFailure {
        CaseFailure {
            check,
            message,
            texts: None,
        }
    }
}

/// Returns what follows a mark at the beginning of a line: `two options` in `=== two options`, and
/// an empty text in `===`. `None` if the line is not a header, as `====` is not.
fn header<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let after_mark = line.strip_prefix(mark)?;
    if !after_mark.is_empty() && !after_mark.starts_with([' ', '\t']) {
        return None;
    }
    Some(after_mark.trim())
}

/// Returns a line of a text as it is written in a block: `\--- x` for `--- x`, which would begin a
/// block.
fn escaped(line: &str) -> Cow<'_, str> {
    let is_header = header(line, "===").is_some() || header(line, "---").is_some();
    if is_header || is_escaped(line) {
        format!("\\{line}").into()
    } else {
        line.into()
    }
}

/// Returns the line of a text that a line of a block stands for: `--- x` for `\--- x`. Of several
/// backslashes, the first is dropped.
fn unescaped(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(unescaped) if is_escaped(line) => unescaped,
        _ => line,
    }
}

/// Returns whether a line is a mark after one backslash or more: `\===`, `\\--- x`.
fn is_escaped(line: &str) -> bool {
    let after_backslashes = line.trim_start_matches('\\');
    let has_mark = after_backslashes.starts_with("===") || after_backslashes.starts_with("---");
    line.starts_with('\\') && has_mark
}

/// Returns a text as it is compared: with `\n` as line ending, and no empty lines at its end.
fn comparable(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// A line of a test file.
struct TestLine<'t> {
    /// Without its line ending.
    text: &'t str,
    position: Position,
    /// The byte of the file after its line ending.
    end: usize,
}

impl TestLine<'_> {
    /// Creates an error at the beginning of the line.
    fn error(&self, message: &str, fix: &str) -> Diagnostic {
        Diagnostic::error(Some(self.position), message, fix)
    }

    fn is_blank_or_comment(&self) -> bool {
        self.text.trim().is_empty() || self.text.starts_with('#')
    }
}

/// A part of a case that begins with `---`.
struct TestBlock<'t> {
    kind: BlockKind,
    position: Position,
    lines: Vec<&'t str>,
    /// Its bytes in the file, up to the last line that is not empty.
    range: Range<usize>,
}

/// What the lines of a block say about an expansion.
enum BlockKind {
    Text,
    Contains,
    Lacks,
    Error,
    MaxCharacters(usize),
}

impl BlockKind {
    /// Parses what follows the `---`: `text`, or `characters: 18,000`, in which commas and `_` may
    /// separate digits. `None` if there is no such kind, or the number is none.
    fn parse(kind: &str) -> Option<BlockKind> {
        match kind {
            "text" => Some(BlockKind::Text),
            "contains" => Some(BlockKind::Contains),
            "lacks" => Some(BlockKind::Lacks),
            "error" => Some(BlockKind::Error),
            _ => {
                let limit = kind.strip_prefix("characters")?.trim_start();
                let limit = limit.strip_prefix(':')?.trim().replace([',', '_'], "");
                Some(BlockKind::MaxCharacters(limit.parse().ok()?))
            }
        }
    }
}

impl TestBlock<'_> {
    /// Returns its lines that are not empty.
    fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for line in &self.lines {
            if !line.trim().is_empty() {
                texts.push((*line).to_owned());
            }
        }
        texts
    }
}

/// Reads the lines of a test file one after the other.
#[derive(Default)]
struct Parser<'t> {
    cases: Vec<Case>,
    /// The case that the next line belongs to.
    case: Option<Case>,
    /// The block of that case that the next line belongs to.
    block: Option<TestBlock<'t>>,
}

impl<'t> Parser<'t> {
    /// Reads the next line. `=== TITLE` begins a case and `--- KIND` a block in it; any other line
    /// belongs to the block or, before the first block of a case, to its head.
    fn add(&mut self, line: TestLine<'t>) -> Result<(), Diagnostic> {
        if let Some(title) = header(line.text, "===") {
            self.finish_case()?;
            self.case = Some(begin_case(title, &line)?);
            return Ok(());
        }
        let Some(case) = &mut self.case else {
            if line.is_blank_or_comment() {
                return Ok(());
            }
            return Err(line.error(
                "the line is before the first case",
                "begin a case above it, with `=== ` and a title",
            ));
        };
        if let Some(kind) = header(line.text, "---") {
            if let Some(block) = self.block.take() {
                case.add_block(block)?;
            }
            case.has_blocks = true;
            self.block = Some(begin_block(kind, &line)?);
            return Ok(());
        }
        if let Some(block) = &mut self.block {
            block.lines.push(unescaped(line.text));
            if !line.text.is_empty() {
                block.range.end = line.end;
            }
            return Ok(());
        }
        case.add_to_head(&line)
    }

    /// Adds the case that was read last, with its last block.
    fn finish_case(&mut self) -> Result<(), Diagnostic> {
        let Some(mut case) = self.case.take() else {
            return Ok(());
        };
        if let Some(block) = self.block.take() {
            case.add_block(block)?;
        }
        self.cases.push(case);
        Ok(())
    }
}

/// Returns a case without a call, which begins in this line.
fn begin_case(title: &str, line: &TestLine<'_>) -> Result<Case, Diagnostic> {
    if title.is_empty() {
        return Err(line.error(
            "the case has no title",
            r"write what is tested after `=== `, or `\===` if the line belongs to a text",
        ));
    }
    Ok(Case {
        title: title.to_owned(),
        line: line.position.line,
        head_end: line.end,
        ..Case::default()
    })
}

/// Returns a block without lines, which begins in the line `--- KIND`.
fn begin_block<'t>(kind: &str, line: &TestLine<'t>) -> Result<TestBlock<'t>, Diagnostic> {
    let Some(parsed) = BlockKind::parse(kind) else {
        let message = format!("there is no block {}", quoted(kind));
        let fix = format!(
            "write one of {}, or `\\---` if the line belongs to a text",
            or_list(&BLOCKS)
        );
        return Err(line.error(&message, &fix));
    };
    Ok(TestBlock {
        kind: parsed,
        position: line.position,
        lines: Vec::new(),
        range: line.end..line.end,
    })
}

impl Case {
    /// Adds a line before the first block: an input or an argument of the call, or an agent whose
    /// limit is tested.
    fn add_to_head(&mut self, line: &TestLine<'_>) -> Result<(), Diagnostic> {
        if line.text.is_empty() {
            return Ok(());
        }
        // A line of spaces belongs to the head, too. In a block it would be text.
        self.head_end = line.end;
        if line.is_blank_or_comment() {
            return Ok(());
        }
        if let Some(input) = line.text.strip_prefix("input:") {
            // One space after the colon is not part of the text.
            let input = input.strip_prefix(' ').unwrap_or(input);
            self.input = Some(with_line(self.input.take(), input));
            return Ok(());
        }
        if let Some(agent) = line.text.strip_prefix("client:") {
            self.clients.push(agent.trim().to_owned());
            return Ok(());
        }
        if let Some((name, value)) = argument_value(line.text) {
            let value = with_line(self.values.remove(name), value);
            self.values.insert(name.to_owned(), value);
            return Ok(());
        }
        let message = format!(
            "{} does not say how the prompt is called",
            quoted(line.text)
        );
        let known = [
            "input: TEXT",
            "arg NAME: TEXT",
            "client: AGENT",
            "# COMMENT",
        ];
        let fix = format!(
            "write one of {} here, or begin a block above it with `--- text`",
            or_list(&known)
        );
        Err(line.error(&message, &fix))
    }

    /// Adds what a block says to the case.
    ///
    /// # Errors
    /// Fails if the case has a second block of this kind, unless it is `contains` or `lacks`.
    fn add_block(&mut self, block: TestBlock<'_>) -> Result<(), Diagnostic> {
        let is_second = match block.kind {
            BlockKind::Contains => {
                self.contains.extend(block.texts());
                false
            }
            BlockKind::Lacks => {
                self.lacks.extend(block.texts());
                false
            }
            BlockKind::Error => self.error.replace(block.texts()).is_some(),
            BlockKind::MaxCharacters(limit) => self.max_characters.replace(limit).is_some(),
            BlockKind::Text => {
                let expected = ExpectedText {
                    text: block.lines.join("\n"),
                    range: block.range,
                };
                self.text.replace(expected).is_some()
            }
        };
        if is_second {
            return Err(Diagnostic::error(
                Some(block.position),
                "the case has two blocks of this kind",
                "delete one of them, or make two cases of it",
            ));
        }
        Ok(())
    }
}

/// Returns the name and the value in a line `arg NAME: TEXT`. Without a text, as in `arg NAME:`, the
/// value is empty. Other lines have none.
fn argument_value(line: &str) -> Option<(&str, &str)> {
    let argument = line.strip_prefix("arg ")?.trim_start();
    let (name, value) = match argument.split_once(": ") {
        Some(parts) => parts,
        None => (argument.strip_suffix(':')?, ""),
    };
    if name.is_empty() {
        return None;
    }
    Some((name, value))
}

/// Returns a text with one more line: `a\nb` for `a` and the line `b`, and `b` if there is no text
/// yet.
fn with_line(text: Option<String>, line: &str) -> String {
    match text {
        Some(text) => text + "\n" + line,
        None => line.to_owned(),
    }
}

/// Returns a first test file for a prompt: one case, which expects only that the prompt can be
/// expanded.
pub fn draft_tests(prompt: &Prompt) -> String {
    let name = &prompt.name;
    let mut text = format!(
        "# Tests of {name}: `prompt-expander test {name}` runs them, and with --update writes the texts that are expected.\n\
         === an example\n"
    );
    for argument in &prompt.arguments {
        if argument.required {
            let example = match argument.choices.first() {
                Some(choice) => choice.replace(['\r', '\n'], " "),
                None => "an example".to_owned(),
            };
            text += &format!("arg {}: {example}\n", argument.name);
        }
    }
    if prompt.takes_input() {
        text += "input: some text\n";
    }
    text
}

#[cfg(test)]
mod tests;
