//! `engine: jinja`: bodies with conditions, loops and filters.
//!
//! minijinja renders them, with nothing but the filters of this file. Before it compiles a
//! template, [`Template::parse`] walks its syntax tree and refuses everything that is not listed
//! here, above all what builds a text within the template (`set`, `~`, `+`, calls): so only output
//! and filters make texts, and both have a limit. The tree itself cannot be deep, because its
//! tokens are counted before it is built: minijinja would build it, and this file walk it, on the
//! stack.
//!
//! The tree is that of `unstable_machinery`, which may change with any version; so `Cargo.toml`
//! pins one.

use super::diagnostic::{Diagnostic, Kind, Position};
use super::limits::{
    MAX_EXPANSION, MAX_FILTERED, MAX_READ, MAX_STEPS, MAX_TEMPLATE_NESTING, MAX_TEMPLATE_TOKENS,
};
use super::message::Piece;
use super::placeholder::{INPUT, Placeholder};
use super::similar::closest;
use super::text::without_empty_ends;
use crate::lock::lock;
use crate::wording::{in_bytes, named, quoted};
use minijinja::machinery::ast::{BinOpKind, CallArg, CompareOpKind, Expr, Stmt, UnaryOpKind};
use minijinja::machinery::{Span, Token, parse, tokenize};
use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

type Filter = fn(&mut Used, &Value, &[Value]) -> Result<Value, Error>;

/// The filters of templates.
const FILTERS: [(&str, Filter); 8] = [
    ("capitalize", |used, value, _| {
        let text = counted(used, value)?;
        let mut letters = text.chars();
        let first: String = letters
            .next()
            .into_iter()
            .flat_map(char::to_uppercase)
            .collect();
        Ok(Value::from(first + &letters.as_str().to_lowercase()))
    }),
    ("default", |used, value, other| {
        let value = other
            .first()
            .filter(|_| text(value).is_empty())
            .unwrap_or(value);
        Ok(Value::from(&*counted(used, value)?))
    }),
    ("join", |used, value, separator| {
        let separator = separator.first().map(text).unwrap_or_default();
        let text = counted(used, value)?;
        used.make(lines(&text).count().saturating_mul(separator.len()))?;
        Ok(Value::from(
            lines(&text).collect::<Vec<&str>>().join(&separator),
        ))
    }),
    ("length", |_, value, _| {
        Ok(Value::from(text(value).chars().count()))
    }),
    ("lower", |used, value, _| {
        Ok(Value::from(counted(used, value)?.to_lowercase()))
    }),
    ("replace", |used, value, others| {
        let [from, to] = others else {
            return Err(Error::new(
                ErrorKind::InvalidOperation,
                "`replace` takes two texts",
            ));
        };
        let (value, from, to) = (text(value), text(from), text(to));
        let count = value.matches(&*from).count();
        used.make(
            (value.len() - count * from.len()).saturating_add(count.saturating_mul(to.len())),
        )?;
        Ok(Value::from(value.replace(&*from, &to)))
    }),
    ("trim", |used, value, _| {
        Ok(Value::from(counted(used, value)?.trim()))
    }),
    ("upper", |used, value, _| {
        Ok(Value::from(counted(used, value)?.to_uppercase()))
    }),
];

/// The filters that [`Template::parse`] adds: one after each value, which counts it, and one after
/// the list of a loop.
const ADDED: [(&str, Filter); 2] = [
    ("read", |used, value, _| {
        used.read(value.as_str().map_or(0, str::len))?;
        Ok(value.clone())
    }),
    ("lines", |used, value, _| {
        // A loop over more lines exceeds the steps.
        Ok(lines(&counted(used, value)?)
            .take(MAX_STEPS as usize)
            .map(Value::from)
            .collect())
    }),
];

/// How many tokens a tag may have.
const MAX_TAG: usize = 100;

/// The longest line, in bytes: minijinja counts columns up to 65,535, and panics beyond if
/// overflows are checked.
const MAX_LINE: usize = 65_000;

/// The members of `loop`.
const LOOP: [&str; 5] = ["first", "index", "index0", "last", "length"];

/// What to do about what is not supported.
const FIX: &str = "use `if`, `for`, comparisons, filters and names of letters, digits and `_` only, and `include` alone in a line, with `include: true`; write text in braces between `{% raw %}` and `{% endraw %}`";

/// A body that was checked, as minijinja gets it. It has the same lines; a loop goes over the lines
/// of a text, and each value is counted when it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(String);

/// A text to add to a body, and the byte at which it is added.
type Added = (usize, &'static str);

/// What is wrong with a template, and at which byte of the body.
pub(super) type Mistake = (usize, Diagnostic);

impl Template {
    /// Checks a body. Also returns where it uses values. `names` are those of the arguments.
    ///
    /// # Errors
    /// A tag is not closed: the first mistake. Else everything that is not supported, and every
    /// name that is not declared.
    pub(super) fn parse(
        body: &str,
        names: &[&str],
    ) -> Result<(Template, Vec<Placeholder>), Vec<Mistake>> {
        if body.lines().any(|line| line.len() > MAX_LINE) {
            let message = format!(
                "a line is longer than {}, which no template may have",
                in_bytes(MAX_LINE)
            );
            return Err(vec![(
                0,
                Diagnostic::error(None, message, "write it in several lines"),
            )]);
        }
        let syntax = |error: Error| {
            let line = error.line().unwrap_or(1).saturating_sub(1);
            let at = body.split_inclusive('\n').take(line).map(str::len).sum();
            refused(
                at,
                format!(
                    "the template has a mistake in this line: {}",
                    detail(&error)
                ),
            )
        };
        let mut mistakes = Vec::new();
        let (body, added) = tags(body, syntax, &mut mistakes).map_err(|mistake| vec![mistake])?;
        if mistakes.len() > MAX_TEMPLATE_NESTING {
            return Err(mistakes); // they may be blocks inside each other
        }
        // What was found before is perhaps the reason why the rest cannot be parsed.
        let tree = parse(&body, "", Default::default())
            .map_err(|error| vec![mistakes.first().cloned().unwrap_or_else(|| syntax(error))])?;
        let names = [names, &[INPUT]].concat();
        let mut fence = Fence {
            names,
            items: Vec::new(),
            added,
            placeholders: Vec::new(),
            mistakes,
        };
        fence.statements(&[tree]);
        if !fence.mistakes.is_empty() {
            fence.mistakes.sort_by_key(|(at, _)| *at);
            return Err(fence.mistakes);
        }
        fence.added.sort_unstable_by_key(|(at, _)| *at);
        let mut source = String::with_capacity(body.len());
        let mut copied = 0;
        for (at, text) in fence.added {
            source.extend([&body[copied..at], text]);
            copied = at;
        }
        source.push_str(&body[copied..]);
        Environment::empty()
            .template_from_str(&source)
            .map_err(|error| vec![syntax(error)])?;
        Ok((Template(source), fence.placeholders))
    }
}

/// Counts the tokens of a body, and checks the names of its tags. Returns the body with `elif` in
/// place of `elsif`, in which every other byte keeps its position, and what to add to it so that
/// loops go over lines. Tags that are not supported are added to `mistakes`.
///
/// # Errors
/// It cannot be divided into tokens, or has too many.
fn tags(
    text: &str,
    syntax: impl Fn(Error) -> Mistake,
    mistakes: &mut Vec<Mistake>,
) -> Result<(String, Vec<Added>), Mistake> {
    let (mut body, mut added) = (text.to_owned(), Vec::new());
    // Each `elif` is a block in the one before it, up to their common end.
    let mut blocks = Vec::new();
    let (mut all, mut in_tag, mut end, mut is_loop) = (0, 0, 0, false);
    for token in tokenize(text, false, Default::default()) {
        let (token, span) = token.map_err(&syntax)?;
        let at = start(span)..span.end_offset as usize;
        (all, in_tag) = (all + 1, in_tag + 1);
        match token {
            Token::VariableStart => in_tag = 1,
            Token::TemplateData(_) | Token::BlockStart => in_tag = 0,
            Token::Ident(word) if in_tag == 1 => match word {
                "else" => {}
                "if" | "for" => {
                    blocks.push(1);
                    is_loop = word == "for";
                }
                "elif" | "elsif" => {
                    blocks
                        .last_mut()
                        .into_iter()
                        .for_each(|levels| *levels += 1);
                    body.replace_range(at.clone(), &format!("{:1$}", "elif", word.len()));
                }
                "endif" | "endfor" => drop(blocks.pop()),
                // The end of a tag that is not supported is not supported either.
                _ if word.starts_with("end") && !mistakes.is_empty() => {}
                _ => mistakes.push(refused(
                    at.start,
                    format!("the tag {} is not supported", quoted(word)),
                )),
            },
            Token::Ident("in") if is_loop && in_tag == 3 => added.push((at.end, " (")),
            Token::BlockEnd if is_loop => {
                added.push((end, ")|lines"));
                is_loop = false;
            }
            _ => {}
        }
        end = at.end;
        let limits = [
            (in_tag, MAX_TAG, "words and signs in a tag"),
            (all, MAX_TEMPLATE_TOKENS, "words and signs in all tags"),
            (
                blocks.iter().sum(),
                MAX_TEMPLATE_NESTING,
                "blocks inside each other",
            ),
        ];
        if let Some((_, max, what)) = limits.into_iter().find(|(count, max, _)| count > max) {
            return Err(refused(at.start, format!("more than {max} {what}")));
        }
    }
    Ok((body, added))
}

/// Walks a syntax tree, and refuses what is not supported.
struct Fence<'n> {
    names: Vec<&'n str>,
    /// The names that the enclosing loops give to their items.
    items: Vec<String>,
    added: Vec<Added>,
    placeholders: Vec<Placeholder>,
    mistakes: Vec<Mistake>,
}

impl Fence<'_> {
    fn statements(&mut self, statements: &[Stmt<'_>]) {
        statements.iter().for_each(|statement| match statement {
            Stmt::Template(it) => self.statements(&it.children),
            Stmt::EmitRaw(_) => {}
            Stmt::EmitExpr(it) => self.expression(&it.expr),
            Stmt::IfCond(it) => {
                self.expression(&it.expr);
                self.statements(&it.true_body);
                self.statements(&it.false_body);
            }
            Stmt::ForLoop(it) => {
                let item = match &it.target {
                    Expr::Var(item) if !it.recursive && it.filter_expr.is_none() => item.id,
                    other => {
                        return self
                            .refuse(other.span(), "a loop is written `{% for item in NAME %}`");
                    }
                };
                self.expression(&it.iter);
                self.items.push(item.to_owned());
                self.statements(&it.body);
                self.items.pop();
                self.statements(&it.else_body);
            }
            _ if self.mistakes.is_empty() => {
                self.mistakes.push(refused(0, "a tag is not supported"))
            }
            _ => {} // `tags` has found it
        });
    }

    fn expression(&mut self, expression: &Expr<'_>) {
        use {BinOpKind as Op, CompareOpKind as Compare};
        match expression {
            Expr::Const(it) => {
                if it.value.as_str().is_some() {
                    self.added.push((it.span().end_offset as usize, "|read"));
                }
            }
            Expr::Var(it) => self.name(it.id, it.span()),
            Expr::UnaryOp(it) if matches!(it.op, UnaryOpKind::Not) => self.expression(&it.expr),
            Expr::BinOp(it) if matches!(it.op, Op::Eq | Op::Ne | Op::In | Op::ScAnd | Op::ScOr) => {
                self.expression(&it.left);
                self.expression(&it.right);
            }
            Expr::Compare(it) => {
                self.expression(&it.expr);
                it.ops.iter().for_each(|compare| match compare.op {
                    Compare::Eq | Compare::Ne | Compare::In | Compare::NotIn => {
                        self.expression(&compare.expr)
                    }
                    _ => self.refuse(it.span(), UNSUPPORTED),
                });
            }
            Expr::Filter(it) => {
                self.known("filter", it.name, it.span(), &FILTERS.map(|(name, _)| name));
                it.expr
                    .iter()
                    .for_each(|expression| self.expression(expression));
                it.args.iter().for_each(|argument| match argument {
                    CallArg::Pos(expression) => self.expression(expression),
                    _ => self.refuse(it.span(), UNSUPPORTED),
                });
            }
            Expr::GetAttr(it) => match &it.expr {
                Expr::Var(var) if var.id == "loop" && !self.items.is_empty() => {
                    self.known("value of `loop`", it.name, it.span(), &LOOP);
                }
                _ => self.refuse(it.span(), UNSUPPORTED),
            },
            other => self.refuse(other.span(), UNSUPPORTED),
        }
    }

    fn name(&mut self, word: &str, span: Span) {
        if !self.items.iter().any(|item| item == word) {
            self.known("argument", word, span, &self.names.clone());
            let range = start(span)..span.end_offset as usize;
            self.placeholders.push(Placeholder {
                name: word.to_owned(),
                range,
            });
        }
        self.added.push((span.end_offset as usize, "|read"));
    }

    fn known(&mut self, what: &str, word: &str, span: Span, known: &[&str]) {
        if !known.contains(&word) {
            let close = closest(word, known.iter().copied())
                .map(|close| format!("did you mean {}?", named(close)));
            let fix = close.unwrap_or_else(|| FIX.to_owned());
            let message = format!("no {what} named {}", quoted(word));
            self.mistakes
                .push((start(span), Diagnostic::error(None, message, fix)));
        }
    }

    fn refuse(&mut self, span: Span, message: &str) {
        self.mistakes.push(refused(start(span), message));
    }
}

const UNSUPPORTED: &str = "this is not supported in a template";

fn start(span: Span) -> usize {
    span.start_offset as usize
}

fn refused(at: usize, message: impl Into<String>) -> Mistake {
    (at, Diagnostic::error(None, message, FIX))
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
    pub(super) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let starts =
            std::iter::once(self.range.start).chain(self.values.iter().map(|value| value.end));
        let ends = self
            .values
            .iter()
            .map(|value| value.start)
            .chain([self.range.end]);
        let texts = starts
            .zip(ends)
            .map(|(start, end)| Piece::Text(&self.text[start..end]));
        let values = self
            .values
            .iter()
            .map(|value| Piece::Value(&self.text[value.clone()]));
        texts
            .zip(values.map(Some).chain([None]))
            .flat_map(|(text, value)| std::iter::once(text).chain(value))
    }
}

/// Renders the templates of one prompt, which share the limits.
pub(super) struct Renderer {
    values: Value,
    environment: Environment<'static>,
    used: Arc<Mutex<Used>>,
    steps: u64,
}

impl Renderer {
    pub(super) fn new<'v>(values: impl Iterator<Item = (&'v str, Piece<'v>)>) -> Renderer {
        let mut given = HashSet::new();
        let values = Value::from_pairs(values.map(|(name, piece)| {
            let text: Arc<str> = piece.as_str().into();
            if matches!(piece, Piece::Value(_)) {
                given.insert(Arc::clone(&text));
            }
            (name, Value::from(text))
        }));
        let used = Arc::default();
        Renderer {
            values,
            environment: environment(&used, given),
            used,
            steps: 0,
        }
    }

    /// The text of a message that begins in the line `first_line` of its file.
    ///
    /// # Errors
    /// A limit is exceeded.
    pub(super) fn render(
        &mut self,
        template: &Template,
        first_line: usize,
    ) -> Result<Rendered, Diagnostic> {
        self.environment.set_fuel(Some(MAX_STEPS - self.steps));
        let steps = self
            .environment
            .template_from_str(&template.0)
            .and_then(|template| {
                let captured =
                    template.render_captured_to(self.values.clone(), Output(&self.used))?;
                Ok(captured
                    .state()
                    .fuel_levels()
                    .map_or(0, |(consumed, _)| consumed))
            });
        self.steps += steps.map_err(|error| {
            let why = match error.kind() {
                ErrorKind::OutOfFuel => format!("it takes more than {MAX_STEPS} steps"),
                ErrorKind::WriteFailure => {
                    format!("the text becomes longer than {}", in_bytes(MAX_EXPANSION))
                }
                _ => detail(&error),
            };
            let line = first_line + error.line().unwrap_or(1).saturating_sub(1);
            let error = Diagnostic::new(Kind::TooLong, format!("its template fails: {why}"), "");
            error.at(Position { line, column: 1 })
        })?;
        let mut used = lock(&self.used);
        let (text, values) = (
            std::mem::take(&mut used.text),
            std::mem::take(&mut used.values),
        );
        let text = String::from_utf8(text).unwrap_or_default(); // a template writes nothing but texts
        let body = without_empty_ends(&text);
        let dropped = text.split_inclusive('\n').take(body.dropped);
        let start = dropped.map(str::len).sum();
        let end = start + body.text.len();
        let kept = |value: Range<usize>| value.start.clamp(start, end)..value.end.clamp(start, end);
        Ok(Rendered {
            values: values.into_iter().map(kept).collect(),
            range: start..end,
            text,
        })
    }
}

fn detail(error: &Error) -> String {
    error
        .detail()
        .map_or_else(|| error.kind().to_string(), str::to_owned)
}

/// Writes the text of a template, up to the limit for all texts of a prompt.
struct Output<'u>(&'u Mutex<Used>);

impl io::Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut used = lock(self.0);
        used.written += bytes.len();
        if used.written > MAX_EXPANSION {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        used.text.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What the templates of a prompt have used of their limits.
#[derive(Debug, Default)]
struct Used {
    /// How many bytes the filters made.
    made: usize,
    /// How many bytes the values have that were used.
    read: usize,
    /// How many bytes the texts of all messages have.
    written: usize,
    /// The text that is being written.
    text: Vec<u8>,
    /// Where in this text there are values of the call.
    values: Vec<Range<usize>>,
}

impl Used {
    /// # Errors
    /// The filters would have made too much.
    fn make(&mut self, length: usize) -> Result<(), Error> {
        count(
            &mut self.made,
            length,
            MAX_FILTERED,
            "its filters make texts",
        )
    }

    /// # Errors
    /// The template would have read too much.
    fn read(&mut self, length: usize) -> Result<(), Error> {
        count(&mut self.read, length, MAX_READ, "it uses values")
    }
}

fn count(total: &mut usize, length: usize, max: usize, what: &str) -> Result<(), Error> {
    *total = total.saturating_add(length);
    let error = || {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("{what} of more than {} in all", in_bytes(max)),
        )
    };
    if *total > max { Err(error()) } else { Ok(()) }
}

/// A value as text.
fn text(value: &Value) -> Cow<'_, str> {
    value
        .as_str()
        .map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// The text of a value, counted for a filter whose result is about as long: a change of case makes
/// a text at most three times as long.
fn counted<'v>(used: &mut Used, value: &'v Value) -> Result<Cow<'v, str>, Error> {
    let text = text(value);
    used.make(text.len())?;
    Ok(text)
}

/// The lines of a text without the empty ones.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// An environment that records where the output has values of the call. What a tag writes counts as
/// one if it equals one of `given`.
fn environment(used: &Arc<Mutex<Used>>, given: HashSet<Arc<str>>) -> Environment<'static> {
    let mut environment = Environment::empty();
    let it = Arc::clone(used);
    environment.set_formatter(move |output, _, value| {
        let text = text(value);
        let start = lock(&it).text.len();
        output.write_str(&text)?;
        if given.contains(&*text) {
            lock(&it).values.push(start..start + text.len());
        }
        Ok(())
    });
    for (name, filter) in FILTERS.into_iter().chain(ADDED) {
        let used = Arc::clone(used);
        environment.add_filter(name, move |value: Value, others: Rest<Value>| {
            filter(&mut lock(&used), &value, &others)
        });
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["lang", "tone"];

    fn rendered(body: &str, values: &[(&str, &str)]) -> Result<String, Diagnostic> {
        let (template, _) = Template::parse(body, &NAMES).unwrap();
        let value = |name: &'static str| {
            let given = values.iter().find(|(known, _)| *known == name);
            (name, Piece::Value(given.map_or("", |(_, value)| value)))
        };
        let text =
            Renderer::new(["lang", "tone", INPUT].map(value).into_iter()).render(&template, 1)?;
        Ok(text.pieces().map(Piece::as_str).collect())
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
            .1
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
            let (found, mistake) = Template::parse(body, &NAMES).unwrap_err().swap_remove(0);
            assert_eq!((found, mistake.text().as_str()), (at, want), "{body}");
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
            let (at, mistake) = Template::parse(&format!("a\n{{{{ {expression} }}}}"), &NAMES)
                .unwrap_err()
                .swap_remove(0);
            assert!(at >= 2 && mistake.fix == FIX, "{expression}: {mistake:?}");
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
            let (found, mistake) = Template::parse(body, &NAMES).unwrap_err().swap_remove(0);
            assert_eq!(found, at, "{body}: {mistake}");
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
            let (found, mistake) = Template::parse(&format!("a\n{body}"), &NAMES)
                .unwrap_err()
                .swap_remove(0);
            assert_eq!(found, 2, "{body}: {mistake}");
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
                .map(|(at, mistake)| (*at, mistake.message.as_str()))
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
            let (_, mistake) = Template::parse(&body, &NAMES).unwrap_err().swap_remove(0);
            assert!(mistake.message.starts_with(want), "{}", mistake.message);
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
