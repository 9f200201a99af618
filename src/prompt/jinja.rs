//! `engine: jinja`: bodies with conditions, loops and filters.
//!
//! minijinja renders them, with nothing but the filters of `jinja/filters.rs`. Before it compiles a
//! template, [`Template::parse`] walks its syntax tree and refuses everything that is not listed
//! here, above all what builds a text within the template (`set`, `~`, `+`, calls): so only output
//! and filters make texts, and both have a limit. The tree itself cannot be deep, because its
//! tokens are counted before it is built: minijinja would build it, and this file walk it, on the
//! stack.
//!
//! The tree is that of `unstable_machinery`, which may change with any version; so `Cargo.toml`
//! pins one.

mod filters;

use filters::{ADDED_FILTERS, FILTERS, FilterBudget, text_of_value};

use super::diagnostic::{Diagnostic, Kind, Position};
use super::file_text::trim_blank_lines;
use super::limits::{MAX_EXPANSION, MAX_STEPS, MAX_TEMPLATE_NESTING, MAX_TEMPLATE_TOKENS};
use super::message::Piece;
use super::placeholder::{INPUT, Placeholder};
use super::similar::closest;
use crate::lock::lock;
use crate::wording::{format_size, in_backticks, quoted};
use minijinja::machinery::ast::{
    self, BinOpKind, CallArg, Compare, CompareOpKind, Expr, ForLoop, Spanned, Stmt, UnaryOpKind,
};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, Value};
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// How many tokens a tag may have.
const MAX_TAG: usize = 100;

/// The longest line, in bytes: minijinja counts columns up to 65,535, and panics beyond if
/// overflows are checked.
const MAX_LINE: usize = 65_000;

/// The members of `loop`.
const LOOP: [&str; 5] = ["first", "index", "index0", "last", "length"];

/// What to do about what is not supported.
const FIX: &str = "use `if`, `for`, comparisons, filters and names of letters, digits and `_` only, and `include` alone in a line, with `include: true`; write text in braces between `{% raw %}` and `{% endraw %}`";

const UNSUPPORTED: &str = "this is not supported in a template";

/// A body that was checked, as minijinja gets it. It has the same lines; a loop goes over the lines
/// of a text, and each value is counted when it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    source: String,
}

/// A template, and where it uses values.
#[derive(Debug)]
pub(super) struct ParsedTemplate {
    pub(super) template: Template,
    pub(super) placeholders: Vec<Placeholder>,
}

/// A text to add to a body.
struct Addition {
    /// The byte at which it is added.
    at: usize,
    text: &'static str,
}

/// What is wrong with a template.
#[derive(Debug, Clone)]
pub(super) struct Mistake {
    /// The byte of the body at which it is.
    pub(super) at: usize,
    pub(super) diagnostic: Diagnostic,
}

impl Template {
    /// Parses a body as a Jinja template, and refuses what the [fence](Fence) does not let through.
    /// `names` are the arguments of the prompt.
    ///
    /// # Errors
    /// All uses of what is not supported, and all names that are not declared, in the order of the
    /// body. If the body cannot be parsed to its end, only the first mistake.
    pub(super) fn parse(body: &str, names: &[&str]) -> Result<ParsedTemplate, Vec<Mistake>> {
        check_line_lengths(body).map_err(|mistake| vec![mistake])?;
        let scan = TagScan::scan(body).map_err(|mistake| vec![mistake])?;
        let body = scan.body;
        if scan.mistakes.len() > MAX_TEMPLATE_NESTING {
            // Each may be a block within the one before it, deeper than the parser can go.
            return Err(scan.mistakes);
        }
        let tree = match parse(&body, TEMPLATE_NAME, Default::default()) {
            Ok(tree) => tree,
            // A tag that is not supported is perhaps the reason why the body cannot be parsed.
            Err(error) => {
                let first_tag = scan.mistakes.into_iter().next();
                return Err(vec![
                    first_tag.unwrap_or_else(|| syntax_mistake(&body, &error)),
                ]);
            }
        };
        let mut fence = Fence {
            names: [names, &[INPUT]].concat(),
            items: Vec::new(),
            additions: scan.additions,
            placeholders: Vec::new(),
            mistakes: scan.mistakes,
        };
        fence.check_statement(&tree);
        if !fence.mistakes.is_empty() {
            fence.mistakes.sort_by_key(|mistake| mistake.at);
            return Err(fence.mistakes);
        }
        // The additions are filters that count bytes when the template is rendered. With them, the
        // source must parse, too.
        let source = with_additions(&body, fence.additions);
        Environment::empty()
            .template_from_str(&source)
            .map_err(|error| vec![syntax_mistake(&body, &error)])?;
        Ok(ParsedTemplate {
            template: Template { source },
            placeholders: fence.placeholders,
        })
    }
}

/// The name of a template for minijinja, which no message shows.
const TEMPLATE_NAME: &str = "";

/// Refuses a body with a line that is longer than [`MAX_LINE`], which minijinja cannot parse.
fn check_line_lengths(body: &str) -> Result<(), Mistake> {
    if body.lines().all(|line| line.len() <= MAX_LINE) {
        return Ok(());
    }
    let limit = format_size(MAX_LINE);
    Err(Mistake {
        at: 0,
        diagnostic: Diagnostic::error(
            None,
            format!("a line is longer than {limit}, which no template may have"),
            "write it in several lines",
        ),
    })
}

/// Inserts texts into a body: ` (` at the byte 8 of `for x in y` and `)|lines` at its end make
/// `for x in ( y)|lines`.
fn with_additions(body: &str, mut additions: Vec<Addition>) -> String {
    additions.sort_unstable_by_key(|addition| addition.at);
    let mut source = String::with_capacity(body.len());
    let mut copy_start = 0; // what precedes this byte of the body is in the source
    for Addition { at, text } in additions {
        source += &body[copy_start..at];
        source += text;
        copy_start = at;
    }
    source += &body[copy_start..];
    source
}

/// Returns the mistake for an error of minijinja, at the beginning of its line.
fn syntax_mistake(body: &str, error: &Error) -> Mistake {
    let line_count_before = error.line().unwrap_or(1).saturating_sub(1);
    let lines_before = body.split_inclusive('\n').take(line_count_before);
    let line_start = lines_before.map(str::len).sum();
    let message = format!(
        "the template has a mistake in this line: {}",
        error_text(error)
    );
    unsupported(line_start, message)
}

/// Returns a mistake at this byte of a body, with the fix that lists what a template may have.
fn unsupported(at: usize, message: impl Into<String>) -> Mistake {
    Mistake {
        at,
        diagnostic: Diagnostic::error(None, message, FIX),
    }
}

/// Returns the bytes of the body that a span of minijinja stands for.
fn range_of(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

/// What the tokens of a body say about its tags.
struct TagScan {
    /// The body with `elif` in place of `elsif`. Every other byte keeps its position.
    body: String,
    /// What to add so that loops go over lines.
    additions: Vec<Addition>,
    /// Tags that are not supported.
    mistakes: Vec<Mistake>,
    /// How many blocks each open tag stands for: each `elif` is a block in the one before it, up to
    /// their common end.
    blocks: Vec<usize>,
    token_count: usize,
    /// The number of the current token in its tag, in which the word of the tag is the first.
    index_in_tag: usize,
    is_in_loop_tag: bool,
    /// Where the token before the current one ends.
    previous_end: usize,
}

impl TagScan {
    /// Counts the tokens of a body, and checks the names of its tags.
    ///
    /// # Errors
    /// It cannot be divided into tokens, or has too many.
    fn scan(body: &str) -> Result<TagScan, Mistake> {
        let mut scan = TagScan {
            body: body.to_owned(),
            additions: Vec::new(),
            mistakes: Vec::new(),
            blocks: Vec::new(),
            token_count: 0,
            index_in_tag: 0,
            is_in_loop_tag: false,
            previous_end: 0,
        };
        for token in tokenize(body, false, Default::default()) {
            let (token, span) = token.map_err(|error| syntax_mistake(body, &error))?;
            let range = range_of(span);
            scan.add_token(&token, &range);
            scan.check_limits(range.start)?;
            scan.previous_end = range.end;
        }
        Ok(scan)
    }

    /// Reads the next token of the body, which has these bytes.
    ///
    /// The first word in a tag is the name of the tag, which [`TagScan::add_tag`] records. The list
    /// of a loop gets a filter, so that the loop goes over the lines of a text:
    /// `{% for x in y %}` becomes `{% for x in ( y)|lines %}`.
    fn add_token(&mut self, token: &Token<'_>, range: &Range<usize>) {
        self.token_count += 1;
        self.index_in_tag += 1;
        match token {
            // In `{{ if }}`, the first word is no tag, so its index is not 1.
            Token::VariableStart => self.index_in_tag = 1,
            Token::TemplateData(_) | Token::BlockStart => self.index_in_tag = 0,
            Token::Ident(word) if self.index_in_tag == 1 => self.add_tag(word, range),
            // The words before it are `for` and the name of the item.
            Token::Ident("in") if self.is_in_loop_tag && self.index_in_tag == 3 => {
                self.additions.push(Addition {
                    at: range.end,
                    text: " (",
                });
            }
            Token::BlockEnd if self.is_in_loop_tag => {
                self.additions.push(Addition {
                    at: self.previous_end,
                    text: ")|lines",
                });
                self.is_in_loop_tag = false;
            }
            _ => {}
        }
    }

    /// Records a tag by its first word, which has these bytes, and reports a tag that is not
    /// supported. `elsif` becomes `elif` in the body.
    fn add_tag(&mut self, word: &str, range: &Range<usize>) {
        match word {
            "else" => {}
            "if" | "for" => {
                self.blocks.push(1);
                self.is_in_loop_tag = word == "for";
            }
            "elif" | "elsif" => {
                if let Some(levels) = self.blocks.last_mut() {
                    *levels += 1;
                }
                if word == "elsif" {
                    // minijinja knows only `elif`. The space after it keeps all later offsets.
                    self.body.replace_range(range.clone(), "elif ");
                }
            }
            "endif" | "endfor" => {
                self.blocks.pop();
            }
            // The end of a tag that is not supported is not supported either.
            _ if word.starts_with("end") && !self.mistakes.is_empty() => {}
            _ => {
                let message = format!("the tag {} is not supported", quoted(word));
                self.mistakes.push(unsupported(range.start, message));
            }
        }
    }

    /// Refuses a body in which the current token, at the byte `at`, exceeds a limit: of a tag, of
    /// all tags, or of blocks inside each other.
    fn check_limits(&self, at: usize) -> Result<(), Mistake> {
        let depth: usize = self.blocks.iter().sum();
        let message = if self.index_in_tag > MAX_TAG {
            format!("more than {MAX_TAG} words and signs in a tag")
        } else if self.token_count > MAX_TEMPLATE_TOKENS {
            format!("more than {MAX_TEMPLATE_TOKENS} words and signs in all tags")
        } else if depth > MAX_TEMPLATE_NESTING {
            format!("more than {MAX_TEMPLATE_NESTING} blocks inside each other")
        } else {
            return Ok(());
        };
        Err(unsupported(at, message))
    }
}

/// Walks a syntax tree, and refuses what is not supported.
struct Fence<'n> {
    /// The names of the arguments, and of the input.
    names: Vec<&'n str>,
    /// The names that the enclosing loops give to their items.
    items: Vec<String>,
    additions: Vec<Addition>,
    placeholders: Vec<Placeholder>,
    mistakes: Vec<Mistake>,
}

impl Fence<'_> {
    fn check_statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.check_statement(statement);
        }
    }

    /// Records what is not supported in a statement, and in all that it contains.
    fn check_statement(&mut self, statement: &Stmt<'_>) {
        match statement {
            Stmt::Template(template) => self.check_statements(&template.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(output) => self.check_expression(&output.expr),
            Stmt::IfCond(condition) => {
                self.check_expression(&condition.expr);
                self.check_statements(&condition.true_body);
                self.check_statements(&condition.false_body);
            }
            Stmt::ForLoop(for_loop) => self.check_loop(for_loop),
            _ if self.mistakes.is_empty() => {
                self.mistakes.push(unsupported(0, "a tag is not supported"));
            }
            _ => {} // the scan of the tags has found it
        }
    }

    /// Checks a loop. It may only be `{% for item in NAME %}`, with an `else` perhaps.
    fn check_loop(&mut self, for_loop: &ForLoop<'_>) {
        let item = match &for_loop.target {
            Expr::Var(item) if !for_loop.recursive && for_loop.filter_expr.is_none() => item.id,
            target => {
                self.refuse(target.span(), "a loop is written `{% for item in NAME %}`");
                return;
            }
        };
        self.check_expression(&for_loop.iter);
        self.items.push(item.to_owned());
        self.check_statements(&for_loop.body);
        self.items.pop();
        self.check_statements(&for_loop.else_body);
    }

    /// Records what is not supported in an expression, and the placeholders in it. Every text in it
    /// gets the filter that counts its bytes when it is rendered.
    fn check_expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::Const(constant) => {
                if constant.value.as_str().is_some() {
                    self.meter_value(constant.span());
                }
            }
            Expr::Var(variable) => self.check_variable(variable.id, variable.span()),
            Expr::UnaryOp(operation) if matches!(operation.op, UnaryOpKind::Not) => {
                self.check_expression(&operation.expr);
            }
            Expr::BinOp(operation) if is_supported(&operation.op) => {
                self.check_expression(&operation.left);
                self.check_expression(&operation.right);
            }
            Expr::Compare(comparison) => self.check_comparison(comparison),
            Expr::Filter(filter) => self.check_filter(filter),
            Expr::GetAttr(member) if self.is_loop_variable(&member.expr) => {
                let (name, span) = (member.name, member.span());
                self.mistakes
                    .extend(unknown_name("value of `loop`", name, span, &LOOP));
            }
            other => self.refuse(other.span(), UNSUPPORTED),
        }
    }

    /// Checks a comparison such as `a == b` or `a not in b`, with the values on both sides.
    fn check_comparison(&mut self, comparison: &Spanned<Compare<'_>>) {
        self.check_expression(&comparison.expr);
        for compared in &comparison.ops {
            if is_supported_comparison(&compared.op) {
                self.check_expression(&compared.expr);
            } else {
                self.refuse(comparison.span(), UNSUPPORTED);
            }
        }
    }

    /// Checks a filter such as `name|replace("a", "b")`, with its value and its arguments. An
    /// argument may have no name, as in `default(value="x")`.
    fn check_filter(&mut self, filter: &Spanned<ast::Filter<'_>>) {
        let known = FILTERS.map(|(name, _)| name);
        self.mistakes
            .extend(unknown_name("filter", filter.name, filter.span(), &known));
        if let Some(value) = &filter.expr {
            self.check_expression(value);
        }
        for argument in &filter.args {
            if let CallArg::Pos(value) = argument {
                self.check_expression(value);
            } else {
                self.refuse(filter.span(), UNSUPPORTED);
            }
        }
    }

    /// Returns whether an expression is `loop`, within a loop.
    fn is_loop_variable(&self, expression: &Expr<'_>) -> bool {
        matches!(expression, Expr::Var(variable) if variable.id == "loop") && !self.items.is_empty()
    }

    /// Records a name as a placeholder, unless it is the variable of an enclosing loop. A name that
    /// is not declared is a mistake.
    fn check_variable(&mut self, name: &str, span: Span) {
        if !self.items.iter().any(|item| item == name) {
            self.mistakes
                .extend(unknown_name("argument", name, span, &self.names));
            self.placeholders.push(Placeholder {
                name: name.to_owned(),
                range: range_of(span),
            });
        }
        self.meter_value(span);
    }

    /// Adds a filter after the value at this span, which counts its bytes when the template is
    /// rendered: `x` becomes `x|read`.
    fn meter_value(&mut self, span: Span) {
        self.additions.push(Addition {
            at: range_of(span).end,
            text: "|read",
        });
    }

    /// Records that the template may not have what is at this span.
    fn refuse(&mut self, span: Span, message: &str) {
        self.mistakes
            .push(unsupported(range_of(span).start, message));
    }
}

/// Returns whether an operator is supported: `==`, `!=`, `in`, `and` or `or`.
fn is_supported(operator: &BinOpKind) -> bool {
    matches!(
        operator,
        BinOpKind::Eq | BinOpKind::Ne | BinOpKind::In | BinOpKind::ScAnd | BinOpKind::ScOr
    )
}

/// Returns whether a comparison is supported: `==`, `!=`, `in` or `not in`.
fn is_supported_comparison(operator: &CompareOpKind) -> bool {
    matches!(
        operator,
        CompareOpKind::Eq | CompareOpKind::Ne | CompareOpKind::In | CompareOpKind::NotIn
    )
}

/// Returns a mistake if a name is not among the known ones: ``no filter named `uper` ``, with the
/// fix ``did you mean `upper`?``. `kind` says what has such a name: `filter`, `argument`.
fn unknown_name(kind: &str, name: &str, span: Span, known: &[&str]) -> Option<Mistake> {
    if known.contains(&name) {
        return None;
    }
    let fix = match closest(name, known.iter().copied()) {
        Some(closest) => format!("did you mean {}?", in_backticks(closest)),
        None => FIX.to_owned(),
    };
    let message = format!("no {kind} named {}", quoted(name));
    Some(Mistake {
        at: range_of(span).start,
        diagnostic: Diagnostic::error(None, message, fix),
    })
}

/// The text of a template, with its values.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    text: String,
    /// Without the empty lines at its start and end.
    range: Range<usize>,
    /// The parts that are values of the call.
    values: Vec<Range<usize>>,
}

impl Rendered {
    /// Returns whether nothing but empty lines was rendered.
    pub(super) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Returns the text as pieces that follow each other without anything between them: the text
    /// of the prompt before each value, the value, and the text after the last value. Pieces of
    /// text may be empty.
    pub(super) fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::with_capacity(2 * self.values.len() + 1);
        let mut text_start = self.range.start;
        for value in &self.values {
            pieces.push(Piece::Text(&self.text[text_start..value.start]));
            pieces.push(Piece::Value(&self.text[value.clone()]));
            text_start = value.end;
        }
        pieces.push(Piece::Text(&self.text[text_start..self.range.end]));
        pieces
    }
}

/// Renders the templates of the messages of one prompt. The limits are for all of them together.
pub(super) struct Renderer {
    values: Value,
    environment: Environment<'static>,
    /// Shared with the functions of the environment.
    state: Arc<Mutex<RenderState>>,
    /// How many steps the templates took that are rendered.
    steps: u64,
}

impl Renderer {
    /// Returns a renderer for templates that use these values, by their names. A [`Piece::Value`]
    /// is from the call, a [`Piece::Text`] from the prompt, such as a default.
    pub(super) fn new<'v>(values: impl Iterator<Item = (&'v str, Piece<'v>)>) -> Renderer {
        let mut call_values = HashSet::new();
        let mut template_values = Vec::new();
        for (name, piece) in values {
            let text: Arc<str> = piece.as_str().into();
            if matches!(piece, Piece::Value(_)) {
                call_values.insert(Arc::clone(&text));
            }
            template_values.push((name, Value::from(text)));
        }
        let state = Arc::default();
        Renderer {
            values: Value::from_pairs(template_values),
            environment: environment(&state, call_values),
            state,
            steps: 0,
        }
    }

    /// Returns the text of a message that begins in the line `first_line` of its file.
    ///
    /// # Errors
    /// A limit is exceeded.
    pub(super) fn render(
        &mut self,
        template: &Template,
        first_line: usize,
    ) -> Result<Rendered, Diagnostic> {
        self.environment.set_fuel(Some(MAX_STEPS - self.steps));
        match self.write(template) {
            Ok(steps) => self.steps += steps,
            Err(error) => return Err(render_error(&error, first_line)),
        }
        Ok(lock(&self.state).take_rendered())
    }

    /// Writes the text of a template into the state. Returns how many steps it took.
    fn write(&self, template: &Template) -> Result<u64, Error> {
        let compiled = self.environment.template_from_str(&template.source)?;
        let output = OutputWriter { state: &self.state };
        let captured = compiled.render_captured_to(self.values.clone(), output)?;
        match captured.state().fuel_levels() {
            Some((consumed_steps, _remaining_steps)) => Ok(consumed_steps),
            None => Ok(0),
        }
    }
}

/// Returns the error about a template that cannot be rendered. A template is checked when its file
/// is read, so what fails here is a limit.
fn render_error(error: &Error, first_line: usize) -> Diagnostic {
    let cause = match error.kind() {
        ErrorKind::OutOfFuel => format!("it takes more than {MAX_STEPS} steps"),
        ErrorKind::WriteFailure => {
            format!(
                "the text becomes longer than {}",
                format_size(MAX_EXPANSION)
            )
        }
        _ => error_text(error),
    };
    let line = first_line + error.line().unwrap_or(1).saturating_sub(1);
    Diagnostic::new(Kind::TooLong, format!("its template fails: {cause}"), "")
        .with_position(Position::at_line(line))
}

/// Returns the message of an error of minijinja, without its line.
fn error_text(error: &Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}

/// Writes the text of a template, up to the limit for all texts of a prompt.
struct OutputWriter<'r> {
    state: &'r Mutex<RenderState>,
}

impl io::Write for OutputWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = lock(self.state);
        state.total_length += bytes.len();
        if state.total_length > MAX_EXPANSION {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        state.text.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The text that is being rendered, and what all templates of a prompt have used of their limits.
#[derive(Debug, Default)]
struct RenderState {
    filters: FilterBudget,
    /// How many bytes the texts of all messages have.
    total_length: usize,
    /// The text of the current message.
    text: Vec<u8>,
    /// Where in this text there are values of the call.
    values: Vec<Range<usize>>,
}

impl RenderState {
    /// Takes the text of the current message, without the empty lines at its start and end. A value
    /// keeps only its part between them.
    fn take_rendered(&mut self) -> Rendered {
        // The text is UTF-8, because a template writes nothing but texts.
        let text = String::from_utf8(std::mem::take(&mut self.text)).unwrap_or_default();
        let body = trim_blank_lines(&text);
        let empty_lines = text.split_inclusive('\n').take(body.dropped);
        let start = empty_lines.map(str::len).sum();
        let end = start + body.text.len();
        let mut values = std::mem::take(&mut self.values);
        for value in &mut values {
            *value = value.start.clamp(start, end)..value.end.clamp(start, end);
        }
        Rendered {
            values,
            range: start..end,
            text,
        }
    }
}

/// Returns an environment that records in the state which ranges of the output are values of the
/// call, and so no text of the prompt. An output counts as a value of the call if it equals one of
/// `call_values`.
fn environment(
    state: &Arc<Mutex<RenderState>>,
    call_values: HashSet<Arc<str>>,
) -> Environment<'static> {
    let mut environment = Environment::empty();
    let output_state = Arc::clone(state);
    environment.set_formatter(move |output, _, value| {
        let text = text_of_value(value);
        // The lock ends with this line, because the output takes it, too.
        let start = lock(&output_state).text.len();
        output.write_str(&text)?;
        if call_values.contains(&*text) {
            lock(&output_state).values.push(start..start + text.len());
        }
        Ok(())
    });
    for (name, filter) in FILTERS.into_iter().chain(ADDED_FILTERS) {
        let filter_state = Arc::clone(state);
        environment.add_filter(name, move |value: Value, arguments: Rest<Value>| {
            filter(&mut lock(&filter_state).filters, &value, &arguments)
        });
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["lang", "tone"];

    fn rendered(body: &str, values: &[(&str, &str)]) -> Result<String, Diagnostic> {
        let template = Template::parse(body, &NAMES).unwrap().template;
        let value = |name: &'static str| {
            let given = values.iter().find(|(known, _)| *known == name);
            (name, Piece::Value(given.map_or("", |(_, value)| value)))
        };
        let text =
            Renderer::new(["lang", "tone", INPUT].map(value).into_iter()).render(&template, 1)?;
        Ok(text.pieces().into_iter().map(Piece::as_str).collect())
    }

    #[track_caller]
    fn check(body: &str, values: &[(&str, &str)], want: &str) {
        assert_eq!(rendered(body, values).unwrap(), want, "{body}");
    }

    #[test]
    fn conditions_loops_and_filters_are_those_of_jinja() {
        let body = "Review{% if lang %} this {{ lang|upper }} code{% endif %}, be {{ tone }}.\n{%- for l in input %}\n- {{ l }}{% endfor %}";
        check(
            body,
            &[("lang", "go"), ("tone", "kind"), ("input", "a\n\nb")],
            "Review this GO code, be kind.\n- a\n- b",
        );
        check(
            body,
            &[("lang", "{{ tone }}"), ("tone", "kind")],
            "Review this {{ TONE }} code, be kind.",
        );
        check(
            body,
            &[("tone", "{% if %}<b>&")],
            "Review, be {% if %}<b>&.",
        );
        check(
            "{% if lang == 'go' %}1{% elsif lang != \"c\" and not tone %}2{% else %}3{% endif %}",
            &[("lang", "x")],
            "2",
        );
        check(
            "{% if 'x' in lang or (tone) %}1{% elif lang %}2{% endif %}",
            &[("lang", "abc")],
            "2",
        );
        check(
            "{% for x in input %}{{ loop.index }}{{ loop.index0 }}{{ x }}{% if not loop.last %}/{{ loop.length }}{% endif %}{% else %}-{% endfor %}",
            &[("input", "a\nb")],
            "10a/221b",
        );
        check(
            "{% for x in input|replace(\",\", \"\\n\") %}[{{ x|trim }}]{% endfor %}",
            &[("input", "a, b")],
            "[a][b]",
        );
        check(
            "{{ lang|default(tone)|capitalize }} {{ 'ÄB'|lower }} {{ input|join(', ') }} {{ input|length }}",
            &[("tone", "aBC"), ("input", "a\nb")],
            "Abc äb a, b 3",
        );
        check(
            "{# {{ x }} #}a{% raw %}{{ .Values.x }}{% if %}{% endraw %}b <<lang>> { } }} %}",
            &[],
            "a{{ .Values.x }}{% if %}b <<lang>> { } }} %}",
        );
        check("{%- raw -%} {{ x }} {%- endraw -%} ", &[], "{{ x }}");
        check("\n\n{% if lang %}x{% endif %}\n\nT\n{{ lang }}\n", &[], "T");
        check("{{ true }}{{ 12 }}{{ \"a\\\"}}\" }}", &[], "True12a\"}}");
    }

    #[test]
    fn every_use_of_a_value_is_a_placeholder() {
        let template = Template::parse(
            "{{ lang }} {% if tone == lang %}{% for l in input %}{{ l }}{% endfor %}{% endif %}",
            &NAMES,
        );
        let names: Vec<String> = template
            .unwrap()
            .placeholders
            .into_iter()
            .map(|found| found.name)
            .collect();
        assert_eq!(names, ["lang", "tone", "lang", "input"]);
    }

    #[test]
    fn a_name_that_is_not_declared_is_an_error_with_the_nearest_one() {
        let names = &format!("no argument named `x`; {FIX}");
        for (body, at, want) in [
            (
                "a {{ tune }}",
                5,
                "no argument named `tune`; did you mean `tone`?",
            ),
            ("{% if x %}{% endif %}", 6, names),
            ("{% for x in x %}{% endfor %}", 12, names),
            (
                "{{ lang|uper }}",
                8,
                "no filter named `uper`; did you mean `upper`?",
            ),
        ] {
            let Mistake {
                at: found,
                diagnostic,
            } = Template::parse(body, &NAMES).unwrap_err().swap_remove(0);
            assert_eq!((found, diagnostic.text().as_str()), (at, want), "{body}");
        }
    }

    #[test]
    fn what_builds_texts_or_needs_more_of_jinja_is_refused_at_its_place() {
        let calls = [
            "lang(1)",
            "(lang)(1)",
            "lang.x()",
            "lang|join(sep='x')",
            "range(10)",
        ];
        let texts = [
            "lang ~ lang",
            "'x' * 400000000",
            "lang + lang",
            "lang - 1",
            "lang / 2",
            "lang % 2",
            "2 ** 3",
            "-1",
        ];
        let values = [
            "lang[0]",
            "lang[1:]",
            "lang.x",
            "[lang]",
            "(lang, tone)",
            "{'a': 1}",
            "lang < 1",
            "lang is defined",
        ];
        let others = [
            "lang if tone else 1",
            "lang lang",
            "",
            "é",
            ".Values.x",
            "'x",
        ];
        for expression in [&calls[..], &texts, &values, &others].concat() {
            let Mistake { at, diagnostic } =
                Template::parse(&format!("a\n{{{{ {expression} }}}}"), &NAMES)
                    .unwrap_err()
                    .swap_remove(0);
            assert!(
                at >= 2 && diagnostic.fix == FIX,
                "{expression}: {diagnostic:?}"
            );
        }
        for (body, at) in [
            ("{% set a = 1 %}", 3),
            ("{%- macro m() %}{% endmacro %}", 4),
            ("{% call m() %}{% endcall %}", 3),
            ("{% import 'x' as y %}", 3),
            ("{% from 'x' import y %}", 3),
            ("{% extends 'x' %}", 3),
            ("{% block x %}{% endblock %}", 3),
            ("{% with x = 1 %}{% endwith %}", 3),
            ("{% filter upper %}{% endfilter %}", 3),
            ("{% autoescape true %}{% endautoescape %}", 3),
            ("{% do x %}", 3),
            ("{% include 'x' %}", 3),
            ("{% for x, y in input %}{% endfor %}", 7),
            ("{% for x in input if x %}{% endfor %}", 7),
            ("{% for x in input recursive %}{% endfor %}", 7),
        ] {
            let Mistake {
                at: found,
                diagnostic,
            } = Template::parse(body, &NAMES).unwrap_err().swap_remove(0);
            assert_eq!(found, at, "{body}: {diagnostic}");
        }
        for body in [
            "{% if",
            "{# x",
            "{% raw %}",
            "{% %}",
            "{% if lang %}",
            "{% endif %}",
            "a{% for x in input %}{% endif %}",
        ] {
            let Mistake {
                at: found,
                diagnostic,
            } = Template::parse(&format!("a\n{body}"), &NAMES)
                .unwrap_err()
                .swap_remove(0);
            assert_eq!(found, 2, "{body}: {diagnostic}");
        }
    }

    #[test]
    fn of_a_template_that_parses_every_mistake_is_found_and_of_another_the_first() {
        for (body, want) in [
            (
                "{{ a }}{% set b = 1 %}{{ lang.x|frob(b) }}{% with c = 1 %}{{ c }}{% endwith %}{% for x, y in d %}{% endfor %}",
                &[
                    (3, "`a`"),
                    (10, "`set`"),
                    (25, "this is not"),
                    (32, "`frob`"),
                    (37, "`b`"),
                    (45, "`with`"),
                    (85, "a loop"),
                ][..],
            ),
            ("{{ a }}{% frob %}{{ b }}", &[(10, "`frob`")]),
            (
                "{{ a }}{% if lang",
                &[(0, "the template has a mistake in this line")],
            ),
        ] {
            let found = Template::parse(body, &NAMES).unwrap_err();
            let shown: Vec<_> = found
                .iter()
                .map(|mistake| (mistake.at, mistake.diagnostic.message.as_str()))
                .collect();
            assert!(
                shown.len() == want.len()
                    && shown
                        .iter()
                        .zip(want)
                        .all(|(found, want)| found.0 == want.0 && found.1.contains(want.1)),
                "{body}: {shown:#?}"
            );
        }
        let sets = "{% with a = 1 %}".repeat(3_000);
        assert_eq!(Template::parse(&sets, &NAMES).unwrap_err().len(), 3_000);
    }

    #[test]
    fn a_template_cannot_be_deep() {
        let fails = |body: String, want: &str| {
            let Mistake { at: _, diagnostic } =
                Template::parse(&body, &NAMES).unwrap_err().swap_remove(0);
            assert!(
                diagnostic.message.starts_with(want),
                "{}",
                diagnostic.message
            );
        };
        for long in [
            "not ",
            "lang == ",
            "lang, ",
            "lang|upper|",
            "lang or ",
            "lang.x.",
        ] {
            fails(
                format!("{{{{ {}lang }}}}", long.repeat(5_000)),
                "more than 100 words",
            );
        }
        fails("{{ lang }}\n".repeat(10_000), "more than 20000 words");
        fails(
            "{% if lang %}".repeat(MAX_TEMPLATE_NESTING + 1),
            "more than 32 blocks",
        );
        fails(
            format!("{{% if lang %}}{}", "{% elif lang %}\n".repeat(100_000)),
            "more than 32 blocks",
        );
        fails(
            format!("{{{{ {}", "(".repeat(98)),
            "the template has a mistake in this line: template exceeds",
        );
        let two = "{% if lang %}{% elif tone %}{% elsif input %}{% endif %}".repeat(40);
        assert!(Template::parse(&two, &NAMES).is_ok());
        assert!(Template::parse("{{ lang|lines }}", &NAMES).is_err());
    }

    #[test]
    fn steps_and_bytes_are_limited() {
        let failure = |body: &str, input: &str| rendered(body, &[("input", input)]).unwrap_err();
        let lines = "x\n".repeat(1000);
        let nested = "{% for a in input %}\n{% for b in input %}{% endfor %}{% endfor %}";
        let steps = "its template fails: it takes more than 100000 steps";
        let failed = failure(nested, &lines);
        assert_eq!(
            (failed.message.as_str(), failed.position.unwrap().line),
            (steps, 2)
        );
        assert_eq!(
            failure("{% for a in input %}{% endfor %}", &"x\n".repeat(100_001)).message,
            steps
        );
        let long = format!("{0}\n{0}", "x".repeat(50_000));
        let text = format!("{{% for a in input %}}{long}{{% endfor %}}");
        assert_eq!(
            failure(&text, &lines).message,
            "its template fails: the text becomes longer than 64 MiB"
        );
        let doubling = "{{ input|replace('', input)|replace('', input) }}";
        let joined = format!("{{{{ input|join('{long}')|upper }}}}");
        for body in [doubling, &joined] {
            let want = "its template fails: its filters make texts of more than 16 MiB in all";
            assert_eq!(failure(body, &lines).message, want);
        }
    }
}
