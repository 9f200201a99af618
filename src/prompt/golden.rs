//! Tests of a prompt: a file `NAME.test.txt` with cases, each with an input and the expected
//! expansion.
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
//! A case begins with a header `=== TITLE`. The lines below it are its setup, e.g. the input.
//! Blocks follow, each with a header `--- KIND`. A line of a block that would be read as a header
//! is escaped with a backslash. Line endings and trailing blank lines are ignored in comparisons.

use super::binding::Call;
use super::diagnostic::{Diagnostic, Position};
use super::file_text::decode_utf8;
use super::message::Messages;
use super::model::Prompt;
use crate::wording::{in_backticks, or_list, quoted, with_commas};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The suffix of a test file. It follows the name of the prompt.
pub const TEST_SUFFIX: &str = ".test.txt";

/// The block headers that the fix for an unknown block suggests.
const BLOCKS: [&str; 5] = [
    "--- text",
    "--- contains",
    "--- lacks",
    "--- error",
    "--- characters: 18000",
];

/// A parsed test file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tests {
    /// The contents of the file.
    text: String,
    /// The cases in the order of the file; never empty.
    pub cases: Vec<Case>,
}

/// A call of a prompt, and what is expected of its expansion. If nothing is expected, the call only
/// has to succeed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// The description after `===`.
    pub title: String,
    /// The line number of the header.
    pub line: usize,
    /// The agents for which the expansion must fit into a single tool result.
    pub clients: Vec<String>,
    input: Option<String>,
    values: BTreeMap<String, String>,
    expected_text: Option<ExpectedText>,
    contains: Vec<String>,
    lacks: Vec<String>,
    /// If set, the call must fail, and the error must contain each of these texts.
    expected_error: Option<Vec<String>>,
    max_characters: Option<usize>,
    /// The offset after the last line of the setup, where a first block can be inserted.
    setup_end: usize,
    has_blocks: bool,
}

/// The contents of a block `--- text`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ExpectedText {
    text: String,
    /// The byte range of its lines in the file, without trailing blank lines.
    range: Range<usize>,
}

/// The result of running a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseOutcome {
    /// The expansion, or `None` if the call failed.
    pub expansion: Option<String>,
    /// The reasons why the case failed; empty if it passed.
    pub failures: Vec<CaseFailure>,
}

/// An expectation that was not met.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseFailure {
    /// The kind of the block, or `expansion` if the call failed unexpectedly.
    pub check: &'static str,
    /// One line, in lowercase and without a period.
    pub message: String,
    /// The two texts that differ, if the block is `--- text`.
    pub mismatch: Option<TextMismatch>,
}

/// An expected text, and the expansion that differs from it. Both are normalized: they have `\n`
/// line endings and no trailing blank lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMismatch {
    /// The text of the block.
    pub expected: String,
    /// The expansion.
    pub actual: String,
}

impl Tests {
    /// Parses a test file.
    ///
    /// # Errors
    /// Fails if the file isn't UTF-8, is longer than [`MAX_FILE`](super::limits::MAX_FILE), has no
    /// case, or contains an invalid line.
    pub fn parse(bytes: &[u8]) -> Result<Tests, Diagnostic> {
        let text = decode_utf8(bytes)?;
        let mut parser = TestFileParser::default();
        let mut line_end = 0;
        for (index, line) in text.split_inclusive('\n').enumerate() {
            line_end += line.len();
            let mut line_text = line.trim_end_matches('\n').trim_end_matches('\r');
            if index == 0 {
                line_text = line_text.trim_start_matches('\u{feff}');
            }
            parser.add_line(TestLine {
                text: line_text,
                position: Position::at_line(index + 1),
                end: line_end,
            })?;
        }
        parser.finish_case()?;
        if parser.cases.is_empty() {
            return Err(Diagnostic::invalid(
                "the file has no case",
                "begin one with `=== ` and a title",
            ));
        }
        Ok(Tests {
            text: text.to_owned(),
            cases: parser.cases,
        })
    }

    /// Returns the contents of the file with new expected texts. The keys of `texts` are indices
    /// into [`cases`](Tests::cases).
    ///
    /// The text replaces the contents of the block `--- text`; if there is none, the block is added
    /// below the setup. A text that already matches is not rewritten. The rest of the file is kept
    /// byte for byte.
    pub fn with_updated_texts(&self, texts: &BTreeMap<usize, String>) -> String {
        let newline = self.newline();
        let mut file = String::with_capacity(self.text.len());
        let mut copied_end = 0; // the offset up to which the old file has been copied or replaced
        for (index, case) in self.cases.iter().enumerate() {
            let Some(text) = texts.get(&index) else {
                continue;
            };
            if case.text_matches(text) {
                continue;
            }
            let old_range = case.text_range();
            file += &self.text[copied_end..old_range.start];
            copied_end = old_range.end;
            if !file.ends_with('\n') {
                file += newline;
            }
            if case.expected_text.is_none() {
                file.extend(["--- text", newline]);
            }
            for line in normalize(text).split_terminator('\n') {
                file.extend([&*escape_line(line), newline]);
            }
        }
        file + &self.text[copied_end..]
    }

    /// Returns the line ending of the first line.
    fn newline(&self) -> &'static str {
        match self.text.split_inclusive('\n').next() {
            Some(first) if first.ends_with("\r\n") => "\r\n",
            _ => "\n",
        }
    }
}

impl Case {
    /// Calls `expand` with the call of the case, and checks the resulting text, including
    /// attachments, against what the case expects.
    pub fn run(
        &self,
        prompt: &Prompt,
        expand: impl FnOnce(Call<'_>) -> Result<Messages, Diagnostic>,
    ) -> CaseOutcome {
        match expand(self.call()) {
            Ok(messages) => {
                let expansion = messages.into_text();
                CaseOutcome {
                    failures: self.check_expansion(&expansion),
                    expansion: Some(expansion),
                }
            }
            Err(error) => {
                let error = format!("{} cannot be expanded: {error}", in_backticks(&prompt.name));
                CaseOutcome {
                    failures: self.check_error(&error),
                    expansion: None,
                }
            }
        }
    }

    /// Returns the call of the case: the input as typed in a chat, or named values if the setup has
    /// any `arg NAME: …`.
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

    /// Returns whether an update may write the expected text of this case. That is the case if it
    /// already has one, or if it has no blocks at all.
    pub fn can_update_text(&self) -> bool {
        self.expected_text.is_some() || !self.has_blocks
    }

    /// Returns whether there is an expected text, and the expansion is equal to it.
    pub fn text_matches(&self, expansion: &str) -> bool {
        match &self.expected_text {
            Some(expected) => normalize(&expected.text) == normalize(expansion),
            None => false,
        }
    }

    /// Returns the byte range of the expected text in the file. If there is none, the range is
    /// empty and lies where it should be inserted.
    fn text_range(&self) -> Range<usize> {
        match &self.expected_text {
            Some(expected) => expected.range.clone(),
            None => self.setup_end..self.setup_end,
        }
    }

    /// Returns a failure for each expectation that the expansion doesn't meet.
    fn check_expansion(&self, expansion: &str) -> Vec<CaseFailure> {
        if self.expected_error.is_some() {
            let first = quoted(expansion.lines().next().unwrap_or_default());
            let message = format!("the prompt is expanded; the text begins with {first}");
            return vec![CaseFailure::new("error", message)];
        }
        let mut failures = Vec::new();
        failures.extend(self.check_text(expansion));
        failures.extend(self.check_contains(expansion));
        failures.extend(self.check_lacks(expansion));
        failures.extend(self.check_length(expansion));
        failures
    }

    /// Checks the block `--- text`, if there is one.
    fn check_text(&self, expansion: &str) -> Option<CaseFailure> {
        let expected = normalize(&self.expected_text.as_ref()?.text);
        let actual = normalize(expansion);
        if expected == actual {
            return None;
        }
        let message = "the expansion differs from the expected text".to_owned();
        Some(CaseFailure {
            mismatch: Some(TextMismatch { expected, actual }),
            ..CaseFailure::new("text", message)
        })
    }

    /// Returns a failure for each line of `--- contains` that the expansion doesn't contain.
    fn check_contains(&self, expansion: &str) -> Vec<CaseFailure> {
        let mut failures = Vec::new();
        for text in &self.contains {
            if !expansion.contains(text) {
                let message = format!("{} is in no line of the expansion", in_backticks(text));
                failures.push(CaseFailure::new("contains", message));
            }
        }
        failures
    }

    /// Returns a failure for each line of `--- lacks` that the expansion contains. The failure
    /// quotes the first line that contains it.
    fn check_lacks(&self, expansion: &str) -> Vec<CaseFailure> {
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

    /// Checks the limit of `--- characters: LIMIT`, if there is one.
    fn check_length(&self, expansion: &str) -> Option<CaseFailure> {
        let limit = self.max_characters?;
        let length = expansion.chars().count();
        if length <= limit {
            return None;
        }
        let message = format!(
            "the expansion has {} characters, the limit is {}",
            with_commas(length),
            with_commas(limit)
        );
        Some(CaseFailure::new("characters", message))
    }

    /// Returns a failure for each line of `--- error` that the error doesn't contain. If no error
    /// was expected, the error itself is the failure.
    fn check_error(&self, error: &str) -> Vec<CaseFailure> {
        let Some(expected) = &self.expected_error else {
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
    fn new(check: &'static str, message: String) -> CaseFailure {
        CaseFailure {
            check,
            message,
            mismatch: None,
        }
    }
}

/// Returns the text of a header that begins with `prefix`: `two options` for `=== two options`. It
/// is empty for `===` alone. Returns `None` if the line isn't a header, e.g. `====`.
fn parse_header<'l>(line: &'l str, prefix: &str) -> Option<&'l str> {
    let text = line.strip_prefix(prefix)?;
    if !text.is_empty() && !text.starts_with([' ', '\t']) {
        return None;
    }
    Some(text.trim())
}

/// Adds a backslash to a line that would otherwise be read as a header or as an escaped line: the
/// line `--- x` is written as `\--- x`.
fn escape_line(line: &str) -> Cow<'_, str> {
    let is_header = parse_header(line, "===").is_some() || parse_header(line, "---").is_some();
    if is_header || is_escaped_line(line) {
        format!("\\{line}").into()
    } else {
        line.into()
    }
}

/// Reverses [`escape_line`]: `\--- x` becomes `--- x`, and `\\--- x` becomes `\--- x`.
fn unescape_line(line: &str) -> &str {
    match line.strip_prefix('\\') {
        Some(unescaped) if is_escaped_line(line) => unescaped,
        _ => line,
    }
}

/// Returns whether a line has one or more backslashes before `===` or `---`, e.g. `\===` or
/// `\\--- x`.
fn is_escaped_line(line: &str) -> bool {
    let after_backslashes = line.trim_start_matches('\\');
    let has_prefix = after_backslashes.starts_with("===") || after_backslashes.starts_with("---");
    line.starts_with('\\') && has_prefix
}

/// Converts line endings to `\n` and drops trailing blank lines, which are ignored in comparisons.
fn normalize(text: &str) -> String {
    let lines: Vec<&str> = text
        .split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    lines.join("\n").trim_end_matches('\n').to_owned()
}

/// A line of a test file.
struct TestLine<'t> {
    /// The line without its line ending.
    text: &'t str,
    position: Position,
    /// The byte offset of the next line.
    end: usize,
}

impl TestLine<'_> {
    /// Creates an error at this line.
    fn error(&self, message: &str, fix: &str) -> Diagnostic {
        Diagnostic::error(Some(self.position), message, fix)
    }

    fn is_blank_or_comment(&self) -> bool {
        self.text.trim().is_empty() || self.text.starts_with('#')
    }
}

/// A block of a case: a header `--- KIND`, and the lines below it.
struct TestBlock<'t> {
    kind: BlockKind,
    position: Position,
    lines: Vec<&'t str>,
    /// The byte range of the lines in the file, without trailing blank lines.
    range: Range<usize>,
}

/// What a block expects of an expansion.
enum BlockKind {
    Text,
    Contains,
    Lacks,
    Error,
    MaxCharacters(usize),
}

impl BlockKind {
    /// Parses the text of a block header, e.g. `text` or `characters: 18,000`. Digits may be
    /// grouped with commas or `_`. Returns `None` if the kind is unknown or the number is invalid.
    fn parse(kind: &str) -> Option<BlockKind> {
        match kind {
            "text" => Some(BlockKind::Text),
            "contains" => Some(BlockKind::Contains),
            "lacks" => Some(BlockKind::Lacks),
            "error" => Some(BlockKind::Error),
            _ => {
                let after_name = kind.strip_prefix("characters")?.trim_start();
                let grouped_digits = after_name.strip_prefix(':')?.trim();
                let digits = grouped_digits.replace([',', '_'], "");
                Some(BlockKind::MaxCharacters(digits.parse().ok()?))
            }
        }
    }
}

impl TestBlock<'_> {
    fn non_blank_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for line in &self.lines {
            if !line.trim().is_empty() {
                lines.push((*line).to_owned());
            }
        }
        lines
    }
}

/// Parses a test file line by line.
#[derive(Default)]
struct TestFileParser<'t> {
    /// The finished cases.
    cases: Vec<Case>,
    /// The current case; `None` above the first case.
    current_case: Option<Case>,
    /// The current block of the current case; `None` in its setup.
    current_block: Option<TestBlock<'t>>,
}

impl<'t> TestFileParser<'t> {
    /// Handles the next line: a header of a case or of a block, a line of the current block, or a
    /// line of the setup.
    ///
    /// A header finishes the block before it. [`TestFileParser::finish_case`] must be called after
    /// the last line.
    fn add_line(&mut self, line: TestLine<'t>) -> Result<(), Diagnostic> {
        if let Some(title) = parse_header(line.text, "===") {
            self.finish_case()?;
            self.current_case = Some(start_case(title, &line)?);
            return Ok(());
        }
        let Some(case) = &mut self.current_case else {
            if line.is_blank_or_comment() {
                return Ok(());
            }
            return Err(line.error(
                "the line is before the first case",
                "begin a case above it, with `=== ` and a title",
            ));
        };
        if let Some(kind) = parse_header(line.text, "---") {
            // The block ends where the next one starts.
            if let Some(finished) = self.current_block.take() {
                case.add_block(finished)?;
            }
            case.has_blocks = true;
            self.current_block = Some(start_block(kind, &line)?);
            return Ok(());
        }
        if let Some(block) = &mut self.current_block {
            block.lines.push(unescape_line(line.text));
            // Blank lines at the end of a block are kept when its text is updated.
            if !line.text.is_empty() {
                block.range.end = line.end;
            }
            return Ok(());
        }
        case.add_setup_line(&line)
    }

    /// Moves the current case, if there is one, to the finished ones.
    fn finish_case(&mut self) -> Result<(), Diagnostic> {
        let Some(mut case) = self.current_case.take() else {
            return Ok(());
        };
        if let Some(block) = self.current_block.take() {
            case.add_block(block)?;
        }
        self.cases.push(case);
        Ok(())
    }
}

/// Creates the case that starts with this header line.
fn start_case(title: &str, line: &TestLine<'_>) -> Result<Case, Diagnostic> {
    if title.is_empty() {
        return Err(line.error(
            "the case has no title",
            r"write what is tested after `=== `, or `\===` if the line belongs to a text",
        ));
    }
    Ok(Case {
        title: title.to_owned(),
        line: line.position.line,
        setup_end: line.end,
        ..Case::default()
    })
}

/// Creates the block that starts with this header line.
fn start_block<'t>(kind: &str, line: &TestLine<'t>) -> Result<TestBlock<'t>, Diagnostic> {
    let Some(parsed) = BlockKind::parse(kind) else {
        let message = format!("unknown block {}", quoted(kind));
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
        range: line.end..line.end, // extended with every line that is added
    })
}

impl Case {
    /// Parses a line above the first block: a line of the input or of an argument, an agent whose
    /// limit is checked, or a comment.
    fn add_setup_line(&mut self, line: &TestLine<'_>) -> Result<(), Diagnostic> {
        if line.text.is_empty() {
            return Ok(());
        }
        // A line of spaces counts as setup, because a block inserted above it would contain it.
        self.setup_end = line.end;
        if line.is_blank_or_comment() {
            return Ok(());
        }
        if let Some(input) = line.text.strip_prefix("input:") {
            // The space after the colon is a separator; any further spaces are part of the input.
            let input_line = input.strip_prefix(' ').unwrap_or(input);
            self.input = Some(append_line(self.input.take(), input_line));
            return Ok(());
        }
        if let Some(agent) = line.text.strip_prefix("client:") {
            self.clients.push(agent.trim().to_owned());
            return Ok(());
        }
        if let Some((name, value_line)) = parse_argument_line(line.text) {
            let value = append_line(self.values.remove(name), value_line);
            self.values.insert(name.to_owned(), value);
            return Ok(());
        }
        Err(unknown_setup_error(line))
    }

    /// Adds the expectation of a finished block.
    ///
    /// # Errors
    /// Fails if the case already has a block of this kind. Only `contains` and `lacks` may be
    /// repeated.
    fn add_block(&mut self, block: TestBlock<'_>) -> Result<(), Diagnostic> {
        let is_second = match block.kind {
            BlockKind::Contains => {
                self.contains.extend(block.non_blank_lines());
                false
            }
            BlockKind::Lacks => {
                self.lacks.extend(block.non_blank_lines());
                false
            }
            BlockKind::Error => self
                .expected_error
                .replace(block.non_blank_lines())
                .is_some(),
            BlockKind::MaxCharacters(limit) => self.max_characters.replace(limit).is_some(),
            BlockKind::Text => {
                let expected = ExpectedText {
                    text: block.lines.join("\n"),
                    range: block.range,
                };
                self.expected_text.replace(expected).is_some()
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

/// Returns the error for a line above the first block that isn't one of the known ones.
fn unknown_setup_error(line: &TestLine<'_>) -> Diagnostic {
    let message = format!(
        "{} is not a line that a test case can begin with",
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
    line.error(&message, &fix)
}

/// Parses a line `arg NAME: TEXT` into its name and value. The value of `arg NAME:` is empty.
fn parse_argument_line(line: &str) -> Option<(&str, &str)> {
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

/// Appends a line to a text: `a` and `b` become `a\nb`. If there is no text yet, the line is the
/// text.
fn append_line(text: Option<String>, line: &str) -> String {
    match text {
        Some(text) => text + "\n" + line,
        None => line.to_owned(),
    }
}

/// Returns the contents of a new test file for a prompt: one example call that only has to succeed.
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
