//! The tests of a prompt: cases in a file `NAME.test.txt`, each with an input and what the expansion must be.
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
//! A case begins with `===` and its title. The lines up to the first block say how the prompt is called; a block begins with
//! `---` and its kind. A line of a block that begins with `===` or `---` and then has a space or ends is written with a
//! backslash before it. Neither line endings nor empty lines at the end of a text make a difference.

use super::format::not_utf8;
use super::limits::{MAX_CASES, MAX_FILE, MAX_SEARCHES};
use super::{Call, Diagnostic, ExpandError, Messages, Position, Prompt};
use crate::wording::{alternatives, count, named, quoted, thousands};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

/// The end of the name of a test file, after the name of its prompt.
pub const TEST_SUFFIX: &str = ".test.txt";

/// What the fix for an invalid block names.
const BLOCKS: [&str; 5] = ["--- text", "--- contains", "--- lacks", "--- error", "--- characters: 18000"];

/// The tests of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tests {
    /// The whole file.
    text: String,
    /// At least one, in their order.
    pub cases: Vec<Case>,
}

/// A call of a prompt, and what its expansion must be. Without any expectation it only has to succeed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Case {
    /// What is tested.
    pub title: String,
    /// The line that begins it, from 1.
    pub line: usize,
    /// The agents that must show their model all of the expansion: names, and where they are.
    pub clients: Vec<(String, Position)>,
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

#[derive(Debug, Clone, PartialEq, Eq)]
struct ExpectedText {
    text: String,
    /// Its bytes in the file, with the line ending of the last line that is not empty.
    range: Range<usize>,
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
        if bytes.len() > MAX_FILE {
            return Err(tests_too_large(bytes.len() as u64));
        }
        let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
        let mut parser = Parser::default();
        for line in lines(text) {
            parser.add(&line)?;
        }
        parser.finish_case()?;
        if parser.cases.is_empty() {
            return Err(Diagnostic::error(None, "the file has no case", "begin one with `=== ` and a title"));
        }
        Ok(Tests { text: text.to_owned(), cases: parser.cases })
    }

    /// The whole file with other texts for these cases, by their index: the text of their block `text`, or of a new one after the
    /// call of a case without blocks. All else stays as it is, byte for byte.
    pub fn with_texts(&self, texts: &BTreeMap<usize, String>) -> String {
        let mut file = String::with_capacity(self.text.len());
        let mut end = 0;
        for (index, case) in self.cases.iter().enumerate() {
            let Some(text) = texts.get(&index).filter(|text| !case.has_text(text)) else { continue };
            let at = case.text.as_ref().map_or(case.head_end..case.head_end, |text| text.range.clone());
            file += &self.text[end..at.start];
            end = at.end;
            let newline = self.newline_at(at.start);
            if !file.ends_with('\n') {
                file += newline; // the file ends with the line before
            }
            let header = if case.text.is_none() { ["--- text", newline].concat() } else { String::new() };
            let lines = comparable(text);
            let lines = lines.split_terminator('\n').map(|line| format!("{}{newline}", escaped(line)));
            file += &lines.fold(header, |block, line| block + &line);
            let is_unended = at.end == self.text.len() && !at.is_empty() && !self.text.ends_with('\n');
            if is_unended && file.ends_with(newline) {
                file.truncate(file.len() - newline.len());
            }
        }
        file + &self.text[end..]
    }

    /// The line ending before this byte, else the first of the file.
    fn newline_at(&self, at: usize) -> &'static str {
        let line_before = Some(&self.text[..at]).filter(|before| before.ends_with('\n'));
        let first_line = || self.text.split_inclusive('\n').next().unwrap_or_default();
        if line_before.unwrap_or_else(first_line).ends_with("\r\n") { "\r\n" } else { "\n" }
    }
}

impl Case {
    /// Expands the prompt as the case says, and compares.
    pub fn run(&self, prompt: &Prompt) -> Outcome {
        self.run_with(prompt, |call| prompt.expand(call))
    }

    /// The same with an expansion that `expand` makes, which may have attachments. What is compared is its text form.
    pub fn run_with(&self, prompt: &Prompt, expand: impl FnOnce(Call<'_>) -> Result<Messages, ExpandError>) -> Outcome {
        let input = self.input.as_deref().unwrap_or_default();
        let call = match self.values.is_empty() {
            true => Call::Text(input),
            false => Call::Named { values: &self.values, input, is_strict: true },
        };
        match expand(call).map(Messages::into_text) {
            Ok(text) => Outcome { failures: self.compare(&text), expansion: Some(text) },
            Err(error) => {
                let message = format!("{} cannot be expanded: {error}", named(&prompt.name));
                Outcome { failures: self.compare_error(message), expansion: None }
            }
        }
    }

    /// Whether an expansion may replace the text that is expected, or be the first: there is a block `text`, or none at all.
    pub fn takes_text(&self) -> bool {
        self.text.is_some() || !self.has_blocks
    }

    /// Whether an expansion is the text that is expected.
    pub fn has_text(&self, expansion: &str) -> bool {
        self.text.as_ref().is_some_and(|expected| comparable(&expected.text) == comparable(expansion))
    }

    fn compare(&self, expansion: &str) -> Vec<Failure> {
        let failure = |check, message| Failure { check, message, texts: None };
        if self.error.is_some() {
            let first = quoted(expansion.lines().next().unwrap_or_default());
            return vec![failure("error", format!("the prompt is expanded; the text begins with {first}"))];
        }
        let mut failures = Vec::new();
        if let Some(expected) = self.text.as_ref().filter(|_| !self.has_text(expansion)) {
            let texts = [&expected.text, expansion].map(|text| comparable(text).into_owned());
            let message = "the expansion differs from the expected text".to_owned();
            failures.push(Failure { check: "text", message, texts: Some(texts) });
        }
        let has = |text: &str| memchr::memmem::find(expansion.as_bytes(), text.as_bytes()).is_some();
        for text in self.contains.iter().filter(|text| !has(text)) {
            failures.push(failure("contains", format!("{} is in no line of the expansion", named(text))));
        }
        for text in self.lacks.iter().filter(|text| has(text)) {
            let lines = expansion.lines().enumerate();
            let (index, line) = lines.into_iter().find(|(_, line)| line.contains(text)).unwrap_or((0, expansion));
            failures.push(failure("lacks", format!("{} is in line {}: {}", named(text), index + 1, quoted(line))));
        }
        if let Some(max) = self.max_characters.filter(|max| expansion.chars().nth(*max).is_some()) {
            let characters = expansion.chars().count();
            let message = format!(
                "the expansion has {}, the limit is {}",
                count_in_thousands(characters, "character"),
                thousands(max)
            );
            failures.push(failure("characters", message));
        }
        failures
    }

    fn compare_error(&self, message: String) -> Vec<Failure> {
        let Some(expected) = &self.error else {
            return vec![Failure { check: "expansion", message, texts: None }];
        };
        let missing = expected.iter().filter(|part| !message.contains(*part));
        let failure = |part: &String| Failure {
            check: "error",
            message: format!("{} is not in the error: {message}", named(part)),
            texts: None,
        };
        missing.map(failure).collect()
    }
}

fn count_in_thousands(number: usize, thing: &str) -> String {
    count(number, thing).replacen(&number.to_string(), &thousands(number), 1)
}

/// A line of a file.
struct Line<'t> {
    /// From 1.
    number: usize,
    /// Without its line ending.
    text: &'t str,
    /// The byte after it and its line ending.
    end: usize,
}

/// The lines of a file, without a BOM.
fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut end = 0;
    text.split_inclusive('\n').enumerate().map(move |(index, line)| {
        end += line.len();
        let text = line.trim_end_matches('\n').trim_end_matches('\r');
        let text = if index == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Line { number: index + 1, text, end }
    })
}

/// What follows a mark at the beginning of a line, if the line is a header: the mark alone, or with a space after it.
fn header<'l>(line: &'l str, mark: &str) -> Option<&'l str> {
    let rest = line.strip_prefix(mark)?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim())
}

/// A line of a text as it is written in a block.
fn escaped(line: &str) -> Cow<'_, str> {
    let bare = line.trim_start_matches('\\');
    let is_header = header(line, "===").or(header(line, "---")).is_some();
    let is_escape = bare.len() < line.len() && (bare.starts_with("===") || bare.starts_with("---"));
    if is_header || is_escape { format!("\\{line}").into() } else { line.into() }
}

/// A line of a block as it is meant.
fn unescaped(line: &str) -> &str {
    let bare = line.trim_start_matches('\\');
    let is_escape = bare.starts_with("===") || bare.starts_with("---");
    line.strip_prefix('\\').filter(|_| is_escape).unwrap_or(line)
}

/// A text as it is compared: with `\n` as line ending, and no empty lines at its end.
fn comparable(text: &str) -> Cow<'_, str> {
    let ended = |text: &str| text.trim_end_matches(['\n', '\r']).len();
    if !text.contains('\r') {
        return text[..ended(text)].into();
    }
    let mut lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
    while lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines.join("\n").into()
}

/// A part of a case that begins with `---`.
struct Block {
    kind: Kind,
    position: Position,
    lines: Vec<String>,
    /// The byte after its header.
    start: usize,
    /// The byte after its last line that is not empty.
    end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Contains,
    Lacks,
    Error,
    Characters(usize),
}

#[derive(Default)]
struct Parser {
    cases: Vec<Case>,
    case: Option<Case>,
    block: Option<Block>,
    /// How many texts the cases search for.
    searches: usize,
}

impl Parser {
    fn add(&mut self, line: &Line<'_>) -> Result<(), Diagnostic> {
        let at = Position { line: line.number, column: 1 };
        if let Some(title) = header(line.text, "===") {
            self.finish_case()?;
            if self.cases.len() == MAX_CASES {
                let message = format!("the file has more than {} cases", thousands(MAX_CASES));
                return Err(Diagnostic::error(Some(at), message, "delete some of them"));
            }
            if title.is_empty() {
                let fix = r"write what is tested after `=== `, or `\===` if the line belongs to a text";
                return Err(Diagnostic::error(Some(at), "the case has no title", fix));
            }
            let case = Case { title: title.to_owned(), line: line.number, head_end: line.end, ..Case::default() };
            self.case = Some(case);
            return Ok(());
        }
        let Some(case) = &mut self.case else {
            return match line.text {
                text if text.trim().is_empty() || text.starts_with('#') => Ok(()),
                _ => {
                    let message = "the line is before the first case";
                    Err(Diagnostic::error(Some(at), message, "begin a case above it, with `=== ` and a title"))
                }
            };
        };
        if let Some(kind) = header(line.text, "---") {
            finish_block(case, self.block.take())?;
            let kind = Kind::parse(kind, at)?;
            case.has_blocks = true;
            self.block = Some(Block { kind, position: at, lines: Vec::new(), start: line.end, end: line.end });
            return Ok(());
        }
        match &mut self.block {
            Some(block) => {
                block.lines.push(unescaped(line.text).to_owned());
                block.end = if line.text.is_empty() { block.end } else { line.end };
                Ok(())
            }
            None => add_to_head(case, line, at),
        }
    }

    fn finish_case(&mut self) -> Result<(), Diagnostic> {
        let Some(mut case) = self.case.take() else { return Ok(()) };
        finish_block(&mut case, self.block.take())?;
        let has_others = case.text.is_some()
            || case.max_characters.is_some()
            || !(case.contains.is_empty() && case.lacks.is_empty() && case.clients.is_empty());
        if case.error.is_some() && has_others {
            let at = Position { line: case.line, column: 1 };
            let message = "the case expects an error and a text, of which there can be only one";
            return Err(Diagnostic::error(Some(at), message, "make two cases of it"));
        }
        self.searches += case.contains.len() + case.lacks.len();
        if self.searches > MAX_SEARCHES {
            let at = Position { line: case.line, column: 1 };
            let message = format!("the file has more than {} lines in `contains` and `lacks`", thousands(MAX_SEARCHES));
            return Err(Diagnostic::error(Some(at), message, "delete some of them, or use `--- text`"));
        }
        self.cases.push(case);
        Ok(())
    }
}

impl Kind {
    /// `text` is what follows `---`.
    fn parse(text: &str, at: Position) -> Result<Kind, Diagnostic> {
        let invalid = |message: String| {
            let fix = format!("write one of {}, or `\\---` if the line belongs to a text", alternatives(&BLOCKS));
            Err(Diagnostic::error(Some(at), message, fix))
        };
        match text.split_once(':').map(|(kind, value)| (kind.trim_end(), value.trim())) {
            None if text == "text" => Ok(Kind::Text),
            None if text == "contains" => Ok(Kind::Contains),
            None if text == "lacks" => Ok(Kind::Lacks),
            None if text == "error" => Ok(Kind::Error),
            None if text.is_empty() => invalid("the block has no kind".to_owned()),
            Some(("characters", number)) => match number.replace([',', '_'], "").parse() {
                Ok(number) => Ok(Kind::Characters(number)),
                Err(_) => invalid(format!("{} is not a number of characters", quoted(number))),
            },
            _ => invalid(format!("there is no block {}", quoted(text))),
        }
    }
}

/// Adds a line that says how the prompt is called.
fn add_to_head(case: &mut Case, line: &Line<'_>, at: Position) -> Result<(), Diagnostic> {
    let text = line.text;
    if text.is_empty() {
        return Ok(());
    }
    case.head_end = line.end; // also after a line of spaces, which would count in a text
    // One space after the colon is not part of the text.
    let value = |rest: &str| rest.strip_prefix(' ').unwrap_or(rest).to_owned();
    if text.trim().is_empty() || text.starts_with('#') {
        return Ok(());
    }
    if let Some(rest) = text.strip_prefix("input:") {
        match &mut case.input {
            Some(input) => *input += &format!("\n{}", value(rest)),
            None => case.input = Some(value(rest)),
        }
        return Ok(());
    }
    if let Some(rest) = text.strip_prefix("client:") {
        case.clients.push((rest.trim().to_owned(), at));
        return Ok(());
    }
    if let Some(rest) = text.strip_prefix("arg ") {
        let rest = rest.trim_start();
        let pair = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")));
        if let Some((name, text)) = pair.filter(|(name, _)| !name.is_empty()) {
            let values = &mut case.values;
            match values.get_mut(name) {
                Some(value) => *value += &format!("\n{text}"),
                None => _ = values.insert(name.to_owned(), text.to_owned()),
            }
            return Ok(());
        }
    }
    let known = ["input: TEXT", "arg NAME: TEXT", "client: AGENT", "# COMMENT"];
    let fix = format!("write one of {} here, or begin a block above it with `--- text`", alternatives(&known));
    Err(Diagnostic::error(Some(at), format!("{} does not say how the prompt is called", quoted(text)), fix))
}

fn finish_block(case: &mut Case, block: Option<Block>) -> Result<(), Diagnostic> {
    let Some(Block { kind, position, lines, start, end }) = block else { return Ok(()) };
    let error = |message: &str, fix: &str| Err(Diagnostic::error(Some(position), message, fix));
    let is_second = match kind {
        Kind::Text => case.text.is_some(),
        Kind::Error => case.error.is_some(),
        Kind::Characters(_) => case.max_characters.is_some(),
        Kind::Contains | Kind::Lacks => false,
    };
    if is_second {
        return error("the case has two blocks of this kind", "delete one of them, or make two cases of it");
    }
    if let Kind::Text = kind {
        case.text = Some(ExpectedText { text: lines.join("\n"), range: start..end });
        return Ok(());
    }
    let lines: Vec<String> = lines.into_iter().filter(|line| !line.trim().is_empty()).collect();
    match kind {
        Kind::Contains | Kind::Lacks if lines.is_empty() => {
            return error("the block is empty, and would test nothing", "write one text in each line below it");
        }
        Kind::Characters(_) if !lines.is_empty() => {
            return error("the block `characters` has no lines", "delete the lines below it");
        }
        Kind::Contains => case.contains.extend(lines),
        Kind::Lacks => case.lacks.extend(lines),
        Kind::Error => case.error = Some(lines),
        Kind::Characters(max) => case.max_characters = Some(max),
        Kind::Text => {}
    }
    Ok(())
}

/// The diagnostic for a test file of `length` bytes, more than [`MAX_FILE`].
pub fn tests_too_large(length: u64) -> Diagnostic {
    let message = format!("the file is {length} bytes long, the limit for tests is {MAX_FILE}");
    Diagnostic::error(None, message, "use `--- contains` instead of long texts")
}

/// A first test file for a prompt: one case, and the expansion that it has now. It has no text yet if the prompt is still a
/// template, or cannot be expanded in this way. For `expand`, see [`Case::run_with`].
pub fn draft_tests(prompt: &Prompt, expand: impl FnOnce(Call<'_>) -> Result<Messages, ExpandError>) -> String {
    let example = |choices: &[String]| choices.first().map_or("an example", String::as_str).to_owned();
    let needed: Vec<_> = prompt.arguments.iter().filter(|argument| argument.is_needed()).collect();
    let mut text = format!(
        "# Tests of {0}: `prompt-expander test {0}` runs them, and with --update writes the texts that are expected.\n\
         === an example\n",
        prompt.name
    );
    let optional = prompt.arguments.first().filter(|_| needed.is_empty() && !prompt.takes_input());
    for argument in needed.into_iter().chain(optional) {
        text += &format!("arg {}: {}\n", argument.name, example(&argument.choices).replace(['\r', '\n'], " "));
    }
    if prompt.takes_input() {
        text += "input: some text\n";
    }
    let filled = Tests::parse(text.as_bytes()).ok().filter(|_| !prompt.is_template()).and_then(|tests| {
        let expansion = tests.cases[0].run_with(prompt, expand).expansion?;
        Some(tests.with_texts(&BTreeMap::from([(0, expansion)])))
    });
    filled.unwrap_or(text)
}

#[cfg(test)]
mod tests;
