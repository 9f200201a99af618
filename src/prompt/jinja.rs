//! Jinja templates (`engine: jinja`): message bodies with conditions, loops and filters.
//!
//! minijinja renders the templates, with no filters other than those in `jinja/filters.rs`. Before
//! it compiles a template, [`Template::parse`] walks the syntax tree and rejects every construct
//! that is not explicitly supported, in particular those that build strings within the template
//! (`set`, `~`, `+`, calls). As a result, only output and filters produce text, and the size of
//! both is limited.
//!
//! minijinja builds the tree recursively, and we walk it recursively. To keep the tree shallow,
//! tags are counted and their nesting is checked before it is built.
//!
//! The tree comes from the feature `unstable_machinery`, which can change in any release, so
//! `Cargo.toml` pins the version.

mod filters;

use filters::{FILTERS, FilterBudget, INTERNAL_FILTERS, value_to_string};

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

/// The maximum number of tokens in a tag.
const MAX_TAG_TOKENS: usize = 100;

/// The maximum length of a line. minijinja stores columns as 16-bit numbers, and panics on longer
/// lines if overflow checks are enabled.
const MAX_LINE_BYTES: usize = 65_000;

/// The supported fields of `loop`.
const LOOP_FIELDS: [&str; 5] = ["first", "index", "index0", "last", "length"];

/// The advice after an error about unsupported syntax.
const SUPPORTED_SYNTAX_FIX: &str = "use `if`, `for`, comparisons, filters and names of letters, digits and `_` only, and `include` alone in a line, with `include: true`; write text in braces between `{% raw %}` and `{% endraw %}`";

const UNSUPPORTED: &str = "this is not supported in a template";

/// A validated template in the form that minijinja renders.
///
/// `source` is the body with two filters added: `read` counts every value when it is read, and
/// `lines` makes every loop iterate over the lines of a string. Lines keep their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    source: String,
}

/// A template and the placeholders in its tags.
#[derive(Debug)]
pub(super) struct ParsedTemplate {
    pub(super) template: Template,
    pub(super) placeholders: Vec<Placeholder>,
}

/// A string to insert into a body.
struct Insertion {
    /// The byte offset in the original body.
    offset: usize,
    text: &'static str,
}

/// An error in a template.
#[derive(Debug, Clone)]
pub(super) struct TemplateError {
    /// The byte offset in the body.
    pub(super) offset: usize,
    pub(super) diagnostic: Diagnostic,
}

impl TemplateError {
    /// Creates an error whose fix lists the supported syntax.
    fn with_syntax_fix(offset: usize, message: impl Into<String>) -> TemplateError {
        TemplateError {
            offset,
            diagnostic: Diagnostic::invalid(message, SUPPORTED_SYNTAX_FIX),
        }
    }
}

impl Template {
    /// Parses a body as a Jinja template and rejects everything that [`Validator`] doesn't support.
    /// `names` are the arguments of the prompt.
    ///
    /// # Errors
    /// Returns all unsupported constructs and undeclared names, in order. If the body isn't valid
    /// Jinja, returns only the first error.
    pub(super) fn parse(body: &str, names: &[&str]) -> Result<ParsedTemplate, Vec<TemplateError>> {
        // The order matters: long lines could make the tokenizer panic, and the scan limits the
        // nesting that the parser must handle.
        check_line_lengths(body).map_err(|error| vec![error])?;
        let scan = TagScan::scan(body).map_err(|error| vec![error])?;
        // The scan doesn't count the nesting of unsupported tags. If each were a block inside the
        // previous one, they could overflow the parser's stack.
        let may_be_nested_too_deeply = scan.errors.len() > MAX_TEMPLATE_NESTING;
        if may_be_nested_too_deeply {
            return Err(scan.errors);
        }
        // From here on, `body` is the one with `elif`.
        let body = scan.body;
        let tree = match parse(&body, TEMPLATE_NAME, Default::default()) {
            Ok(tree) => tree,
            Err(error) => {
                // An unsupported tag is the likely cause, and the better message.
                let first_tag = scan.errors.into_iter().next();
                return Err(vec![
                    first_tag.unwrap_or_else(|| convert_minijinja_error(&body, &error)),
                ]);
            }
        };
        let mut validator = Validator {
            names: [names, &[INPUT]].concat(),
            loop_variables: Vec::new(),
            insertions: scan.insertions,
            placeholders: Vec::new(),
            errors: scan.errors,
        };
        validator.check_statement(&tree);
        if !validator.errors.is_empty() {
            validator.errors.sort_by_key(|error| error.offset);
            return Err(validator.errors);
        }
        // Compile the result once, so that rendering it later can't fail on its syntax.
        let source = insert_all(&body, validator.insertions);
        Environment::empty()
            .template_from_str(&source)
            .map_err(|error| vec![convert_minijinja_error(&body, &error)])?;
        Ok(ParsedTemplate {
            template: Template { source },
            placeholders: validator.placeholders,
        })
    }
}

/// The template name that minijinja requires. No message shows it.
const TEMPLATE_NAME: &str = "";

/// Rejects bodies with a line longer than [`MAX_LINE_BYTES`].
fn check_line_lengths(body: &str) -> Result<(), TemplateError> {
    if body.lines().all(|line| line.len() <= MAX_LINE_BYTES) {
        return Ok(());
    }
    let limit = format_size(MAX_LINE_BYTES);
    Err(TemplateError {
        offset: 0,
        diagnostic: Diagnostic::invalid(
            format!("a line is longer than {limit}, the limit in a template"),
            "write it in several lines",
        ),
    })
}

/// Inserts strings into a body at their byte offsets, which may be in any order: inserting `[` at 1
/// and `]` at 3 of `abcd` gives `a[bc]d`.
fn insert_all(body: &str, mut insertions: Vec<Insertion>) -> String {
    // Stable, so that strings with the same offset are inserted in the order of the list.
    insertions.sort_by_key(|insertion| insertion.offset);
    let mut source = String::with_capacity(body.len());
    // The part of the body before this offset is already in `source`.
    let mut copied_until = 0;
    for Insertion { offset, text } in insertions {
        source += &body[copied_until..offset];
        source += text;
        copied_until = offset;
    }
    source += &body[copied_until..];
    source
}

/// Converts an error of minijinja, which has only a line, to an error at the start of that line.
fn convert_minijinja_error(body: &str, error: &Error) -> TemplateError {
    let line_count_before = error.line().unwrap_or(1).saturating_sub(1);
    let lines_before = body.split_inclusive('\n').take(line_count_before);
    let line_start = lines_before.map(str::len).sum();
    let message = format!(
        "the template has a mistake in this line: {}",
        error_text(error)
    );
    TemplateError::with_syntax_fix(line_start, message)
}

/// Returns the byte range of a minijinja span.
fn range_of(span: Span) -> Range<usize> {
    span.start_offset as usize..span.end_offset as usize
}

/// A pass over the tokens of a body that checks its tags before the body is parsed.
struct TagScan {
    /// The body with `elsif` replaced by `elif `, which keeps all offsets.
    body: String,
    /// Insertions that make loops iterate over lines.
    insertions: Vec<Insertion>,
    /// The unsupported tags.
    errors: Vec<TemplateError>,
    /// The nesting depth of each open `if` or `for`. Every `elif` adds one, because the parser
    /// nests it in the branch before.
    open_block_depths: Vec<usize>,
    token_count: usize,
    /// The number of tokens read in the current tag, including the current one: 1 at the tag's
    /// name, and 3 at the `in` of `for x in y`.
    tag_token_count: usize,
    /// Whether the current tag is a `for` tag. Set at its name, and reset where the tag ends.
    is_in_for_tag: bool,
    /// The offset where the previous token ends.
    previous_end: usize,
}

impl TagScan {
    /// Scans the tokens of a body.
    ///
    /// # Errors
    /// Fails if the body can't be tokenized or exceeds a limit. Unsupported tags are recorded
    /// instead.
    fn scan(body: &str) -> Result<TagScan, TemplateError> {
        let mut scan = TagScan {
            body: body.to_owned(),
            insertions: Vec::new(),
            errors: Vec::new(),
            open_block_depths: Vec::new(),
            token_count: 0,
            tag_token_count: 0,
            is_in_for_tag: false,
            previous_end: 0,
        };
        for token in tokenize(body, false, Default::default()) {
            let (token, span) = token.map_err(|error| convert_minijinja_error(body, &error))?;
            let range = range_of(span);
            scan.add_token(&token, &range);
            scan.previous_end = range.end;
            scan.check_limits(range.start)?;
        }
        Ok(scan)
    }

    /// Processes the next token.
    ///
    /// Also adds a filter to the operand of each loop, so that it iterates over the lines of a
    /// string: `{% for x in y %}` becomes `{% for x in ( y)|lines %}`.
    ///
    /// The offset after the operand is the end of the previous token, so `previous_end` must not be
    /// updated before.
    fn add_token(&mut self, token: &Token<'_>, range: &Range<usize>) {
        self.token_count += 1;
        self.tag_token_count += 1;
        match token {
            // The first word in `{{ if }}` isn't the name of a tag, so count it as token 2.
            Token::VariableStart => self.tag_token_count = 1,
            Token::TemplateData(_) | Token::BlockStart => self.tag_token_count = 0,
            Token::Ident(name) if self.tag_token_count == 1 => self.add_tag(name, range),
            // After `for` and the loop variable. An `in` further on is an operator.
            Token::Ident("in") if self.is_in_for_tag && self.tag_token_count == 3 => {
                self.insertions.push(Insertion {
                    offset: range.end,
                    text: " (",
                });
            }
            Token::BlockEnd if self.is_in_for_tag => {
                self.insertions.push(Insertion {
                    offset: self.previous_end,
                    text: ")|lines",
                });
                self.is_in_for_tag = false;
            }
            _ => {}
        }
    }

    /// Processes the name of a tag. Unsupported tags are recorded as errors.
    fn add_tag(&mut self, name: &str, range: &Range<usize>) {
        match name {
            "else" => {}
            "if" | "for" => {
                self.open_block_depths.push(1);
                self.is_in_for_tag = name == "for";
            }
            "elif" | "elsif" => {
                if let Some(depth) = self.open_block_depths.last_mut() {
                    *depth += 1;
                }
                if name == "elsif" {
                    // minijinja knows only `elif`. The trailing space keeps later offsets
                    // unchanged.
                    self.body.replace_range(range.clone(), "elif ");
                }
            }
            "endif" | "endfor" => {
                self.open_block_depths.pop();
            }
            // Don't also report the end of an unsupported tag.
            _ if name.starts_with("end") && !self.errors.is_empty() => {}
            _ => {
                let message = format!("the tag {} is not supported", quoted(name));
                self.errors
                    .push(TemplateError::with_syntax_fix(range.start, message));
            }
        }
    }

    /// Fails if the token at `token_start` exceeds the limit on tokens per tag, on tokens in total,
    /// or on the nesting of blocks.
    fn check_limits(&self, token_start: usize) -> Result<(), TemplateError> {
        let depth: usize = self.open_block_depths.iter().sum();
        let message = if self.tag_token_count > MAX_TAG_TOKENS {
            format!("more than {MAX_TAG_TOKENS} tokens in a tag")
        } else if self.token_count > MAX_TEMPLATE_TOKENS {
            format!("more than {MAX_TEMPLATE_TOKENS} tokens in all tags")
        } else if depth > MAX_TEMPLATE_NESTING {
            format!("more than {MAX_TEMPLATE_NESTING} nested blocks")
        } else {
            return Ok(());
        };
        Err(TemplateError::with_syntax_fix(token_start, message))
    }
}

/// Walks a syntax tree, records unsupported constructs as errors, and collects placeholders.
struct Validator<'n> {
    /// The names of the arguments and of the input.
    names: Vec<&'n str>,
    /// The variables of the enclosing loops.
    loop_variables: Vec<String>,
    insertions: Vec<Insertion>,
    placeholders: Vec<Placeholder>,
    errors: Vec<TemplateError>,
}

impl Validator<'_> {
    fn check_statements(&mut self, statements: &[Stmt<'_>]) {
        for statement in statements {
            self.check_statement(statement);
        }
    }

    /// Checks a statement and everything inside it.
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
            // The tag scan has already reported unsupported tags with their offsets. If it reported
            // nothing, still reject the body, with an error at its start.
            _ if self.errors.is_empty() => {
                self.errors
                    .push(TemplateError::with_syntax_fix(0, "a tag is not supported"));
            }
            _ => {}
        }
    }

    /// Checks a loop. Only `{% for NAME in EXPRESSION %}` is supported, optionally with an `else`.
    fn check_loop(&mut self, for_loop: &ForLoop<'_>) {
        let variable = match &for_loop.target {
            Expr::Var(variable) if !for_loop.recursive && for_loop.filter_expr.is_none() => {
                variable.id
            }
            target => {
                self.reject(target.span(), "a loop is written `{% for item in NAME %}`");
                return;
            }
        };
        self.check_expression(&for_loop.iter);
        // The variable is in scope only in the loop's body.
        self.loop_variables.push(variable.to_owned());
        self.check_statements(&for_loop.body);
        self.loop_variables.pop();
        self.check_statements(&for_loop.else_body);
    }

    /// Checks an expression, records its placeholders, and inserts filters that count the bytes of
    /// every string that it reads.
    fn check_expression(&mut self, expression: &Expr<'_>) {
        match expression {
            Expr::Const(constant) => {
                if constant.value.as_str().is_some() {
                    self.count_on_read(constant.span());
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
            Expr::GetAttr(field) if self.is_loop_object(&field.expr) => {
                let error = check_name("value of `loop`", field.name, field.span(), &LOOP_FIELDS);
                self.errors.extend(error);
            }
            other => self.reject(other.span(), UNSUPPORTED),
        }
    }

    /// Checks a comparison such as `a == b` or `a not in b`.
    fn check_comparison(&mut self, comparison: &Spanned<Compare<'_>>) {
        self.check_expression(&comparison.expr);
        for compared in &comparison.ops {
            if is_supported_comparison(&compared.op) {
                self.check_expression(&compared.expr);
            } else {
                self.reject(comparison.span(), UNSUPPORTED);
            }
        }
    }

    /// Checks a filter such as `name|replace("a", "b")`. Named arguments, as in
    /// `default(value="x")`, are not supported.
    fn check_filter(&mut self, filter: &Spanned<ast::Filter<'_>>) {
        let known_filters = FILTERS.map(|(name, _)| name);
        self.errors.extend(check_name(
            "filter",
            filter.name,
            filter.span(),
            &known_filters,
        ));
        if let Some(value) = &filter.expr {
            self.check_expression(value);
        }
        for argument in &filter.args {
            if let CallArg::Pos(value) = argument {
                self.check_expression(value);
            } else {
                self.reject(filter.span(), UNSUPPORTED);
            }
        }
    }

    /// Returns whether an expression is the special variable `loop` inside a loop.
    fn is_loop_object(&self, expression: &Expr<'_>) -> bool {
        let is_named_loop = matches!(expression, Expr::Var(variable) if variable.id == "loop");
        is_named_loop && !self.loop_variables.is_empty()
    }

    /// Checks a variable. Unless it is a loop variable, it must be a declared argument, and is
    /// recorded as a placeholder. In either case, its bytes are counted when the template reads it.
    fn check_variable(&mut self, name: &str, span: Span) {
        let is_loop_variable = self.loop_variables.iter().any(|variable| variable == name);
        if !is_loop_variable {
            self.errors
                .extend(check_name("argument", name, span, &self.names));
            self.placeholders
                .push(Placeholder::new(name, range_of(span)));
        }
        self.count_on_read(span);
    }

    /// Inserts the filter `read` after the value at `span`: `x` becomes `x|read`. Whenever the
    /// template reads the value, the filter adds its length to the total, which is limited.
    fn count_on_read(&mut self, span: Span) {
        self.insertions.push(Insertion {
            offset: range_of(span).end,
            text: "|read",
        });
    }

    /// Records an error at a span.
    fn reject(&mut self, span: Span, message: &str) {
        self.errors.push(TemplateError::with_syntax_fix(
            range_of(span).start,
            message,
        ));
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

/// Returns an error if `name` is not one of the `known_names`.
///
/// `kind` describes what is named: for `filter` and the name `uper`, the error is
/// ``no filter named `uper`; did you mean `upper`?``.
fn check_name(kind: &str, name: &str, span: Span, known_names: &[&str]) -> Option<TemplateError> {
    if known_names.contains(&name) {
        return None;
    }
    let fix = match closest(name, known_names.iter().copied()) {
        Some(closest) => format!("did you mean {}?", in_backticks(closest)),
        None => SUPPORTED_SYNTAX_FIX.to_owned(),
    };
    let message = format!("no {kind} named {}", quoted(name));
    Some(TemplateError {
        offset: range_of(span).start,
        diagnostic: Diagnostic::invalid(message, fix),
    })
}

/// The output of a template.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    text: String,
    /// The range of `text` without the blank lines at its start and end.
    trimmed_range: Range<usize>,
    /// The ranges of `text` that are values of the call, in order and within `trimmed_range`.
    call_value_ranges: Vec<Range<usize>>,
}

impl Rendered {
    /// Returns whether the output consists of blank lines only.
    pub(super) fn is_empty(&self) -> bool {
        self.trimmed_range.is_empty()
    }

    /// Splits the output into alternating pieces: text of the prompt, a value of the call, text,
    /// and so on. Concatenated, they make up the whole output. Text pieces may be empty.
    pub(super) fn pieces(&self) -> Vec<Piece<'_>> {
        let mut pieces = Vec::with_capacity(2 * self.call_value_ranges.len() + 1);
        let mut text_start = self.trimmed_range.start;
        for value in &self.call_value_ranges {
            pieces.push(Piece::Text(&self.text[text_start..value.start]));
            pieces.push(Piece::Value(&self.text[value.clone()]));
            text_start = value.end;
        }
        pieces.push(Piece::Text(&self.text[text_start..self.trimmed_range.end]));
        pieces
    }
}

/// Renders the templates of one prompt. Limits apply to all of them together.
pub(super) struct Renderer {
    values: Value,
    environment: Environment<'static>,
    /// Shared with the formatter and the filters of `environment`.
    state: Arc<Mutex<RenderState>>,
    /// The number of steps that the templates rendered so far have taken.
    steps: u64,
}

impl Renderer {
    /// Creates a renderer from the names and values of the arguments and the input.
    ///
    /// A [`Piece::Value`] comes from the call, and a [`Piece::Text`] from the prompt, e.g. a
    /// default.
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

    /// Renders a message. `first_line` is the line of the file where its body starts.
    ///
    /// # Errors
    /// Fails if a limit is exceeded.
    pub(super) fn render(
        &mut self,
        template: &Template,
        first_line: usize,
    ) -> Result<Rendered, Diagnostic> {
        // The limit applies to all templates together. This can't underflow, because a template
        // that needs more steps than remain fails, and its steps aren't added.
        self.environment.set_fuel(Some(MAX_STEPS - self.steps));
        match self.render_into_state(template) {
            Ok(steps) => self.steps += steps,
            Err(error) => return Err(render_error(&error, first_line)),
        }
        Ok(lock(&self.state).take_rendered())
    }

    /// Renders a template into `self.state` and returns the number of steps it took.
    fn render_into_state(&self, template: &Template) -> Result<u64, Error> {
        let compiled = self.environment.template_from_str(&template.source)?;
        let output = OutputWriter { state: &self.state };
        let captured = compiled.render_captured_to(self.values.clone(), output)?;
        match captured.state().fuel_levels() {
            Some((consumed_steps, _remaining_steps)) => Ok(consumed_steps),
            None => Ok(0),
        }
    }
}

/// The fix of an error for which there is no general advice.
const NO_FIX: &str = "";

/// Converts a rendering error to a diagnostic. Templates are validated when their file is read, so
/// the only possible cause is an exceeded limit. `first_line` is the line of the file where the
/// body starts.
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
    Diagnostic::new(
        Kind::TooLong,
        format!("its template fails: {cause}"),
        NO_FIX,
    )
    .with_position(Position::at_line(line))
}

/// Returns the message of a minijinja error, without its line.
fn error_text(error: &Error) -> String {
    match error.detail() {
        Some(detail) => detail.to_owned(),
        None => error.kind().to_string(),
    }
}

/// Writes the output of a template to the state, up to the limit on the output of all templates.
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

/// The output of the current message, and how much of their limits all templates have used.
#[derive(Debug, Default)]
struct RenderState {
    filters: FilterBudget,
    /// The output of all messages so far, in bytes.
    total_length: usize,
    /// The output of the current message.
    text: Vec<u8>,
    /// The ranges of `text` that are values of the call, in order.
    call_value_ranges: Vec<Range<usize>>,
}

impl RenderState {
    /// Takes the output of the current message, leaving the state ready for the next one. The
    /// totals that the limits apply to are not reset.
    fn take_rendered(&mut self) -> Rendered {
        // Templates write only strings, so the bytes are valid UTF-8.
        let text = String::from_utf8(std::mem::take(&mut self.text)).unwrap_or_default();
        let body = trim_blank_lines(&text);
        let blank_lines = text.split_inclusive('\n').take(body.leading_blank_lines);
        let start = blank_lines.map(str::len).sum();
        let end = start + body.text.len();
        let mut call_value_ranges = std::mem::take(&mut self.call_value_ranges);
        // A value can begin or end in the blank lines that are trimmed.
        for value in &mut call_value_ranges {
            *value = value.start.clamp(start, end)..value.end.clamp(start, end);
        }
        Rendered {
            text,
            trimmed_range: start..end,
            call_value_ranges,
        }
    }
}

/// Creates an environment with our filters, which records in `state` the ranges of the output that
/// are values of the call.
///
/// An output is considered a value of the call if it equals one of `call_values`.
fn environment(
    state: &Arc<Mutex<RenderState>>,
    call_values: HashSet<Arc<str>>,
) -> Environment<'static> {
    let mut environment = Environment::empty();
    let output_state = Arc::clone(state);
    environment.set_formatter(move |output, _, value| {
        let text = value_to_string(value);
        // Release the lock at once, because `write_str` acquires it too.
        let start = lock(&output_state).text.len();
        output.write_str(&text)?;
        if call_values.contains(&*text) {
            let range = start..start + text.len();
            lock(&output_state).call_value_ranges.push(range);
        }
        Ok(())
    });
    for (name, filter) in FILTERS.into_iter().chain(INTERNAL_FILTERS) {
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
        let names = &format!("no argument named `x`; {SUPPORTED_SYNTAX_FIX}");
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
            let TemplateError {
                offset: found,
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
            let TemplateError { offset, diagnostic } =
                Template::parse(&format!("a\n{{{{ {expression} }}}}"), &NAMES)
                    .unwrap_err()
                    .swap_remove(0);
            assert!(
                offset >= 2 && diagnostic.fix == SUPPORTED_SYNTAX_FIX,
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
            let TemplateError {
                offset: found,
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
            let TemplateError {
                offset: found,
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
                .map(|error| (error.offset, error.diagnostic.message.as_str()))
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
            let TemplateError { diagnostic, .. } =
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
                "more than 100 tokens in a tag",
            );
        }
        fails("{{ lang }}\n".repeat(10_000), "more than 20000 tokens");
        fails(
            "{% if lang %}".repeat(MAX_TEMPLATE_NESTING + 1),
            "more than 32 nested blocks",
        );
        fails(
            format!("{{% if lang %}}{}", "{% elif lang %}\n".repeat(100_000)),
            "more than 32 nested blocks",
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
            let want = "its template fails: its filters produce more than 16 MiB of text";
            assert_eq!(failure(body, &lines).message, want);
        }
    }
}
