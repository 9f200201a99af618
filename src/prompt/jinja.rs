//! `engine: jinja`: bodies with conditions, loops and filters.
//!
//! minijinja renders them, with nothing but the filters of this file. Before that, [`Template::parse`] looks at each tag and refuses
//! everything else that minijinja knows, above all what builds a text within the template (`set`, `~`, `+`, macros): so only
//! output and filters make texts, and both have a limit.

use super::format::markdown::without_empty_ends;
use super::limits::{MAX_EXPANSION, MAX_FILTERED, MAX_READ, MAX_STEPS, MAX_TEMPLATE_NESTING, MAX_TEMPLATE_TOKENS};
use super::suggestion::closest;
use super::{INPUT, Piece, Placeholder};
use crate::wording::{alternatives, named, quoted};
use minijinja::value::Rest;
use minijinja::{Environment, Error, ErrorKind, Value};
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The filters of templates.
const FILTERS: [&str; 8] = ["capitalize", "default", "join", "length", "lower", "replace", "trim", "upper"];

/// The filters that [`Template::parse`] adds: one after each value, which counts it, and one after the list of a loop.
const READ: &str = "read";
const LINES: &str = "lines";

/// How many words and signs a tag may have: minijinja nests what it makes of them, on the stack.
const MAX_TAG: usize = 100;

/// What a loop knows of itself.
const LOOP: [&str; 5] = ["first", "index", "index0", "last", "length"];

const OPERATORS: [&str; 4] = ["and", "in", "not", "or"];
const CONSTANTS: [&str; 3] = ["false", "none", "true"];

/// Other spellings of them that minijinja reads, too.
const OTHER_CONSTANTS: [&str; 3] = ["False", "None", "True"];

const ARGUMENT: &str = "argument";

/// What to do about braces that are not of Jinja.
const RAW: &str = "put text in braces between `{% raw %}` and `{% endraw %}`";

/// What to do about a tag that is not supported.
const FIX: &str =
    "use `if`, `for`, comparisons and filters only; write text in braces between `{% raw %}` and `{% endraw %}`";

/// A body that was looked at: what minijinja gets. It has the same lines; a loop goes over the lines of a text, and each value is
/// counted when it is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template(String);

/// What is wrong with a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mistake {
    /// The byte of the body.
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) fix: String,
}

/// Why a template cannot be rendered.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// The line of the body, from 1; 0 if it is unknown.
    pub(super) line: usize,
    pub(super) message: String,
}

impl Template {
    /// Also where a value is used. `names` are those of the arguments.
    ///
    /// # Errors
    /// A tag is not closed or not supported, or has a name that is not declared.
    pub(super) fn parse(body: &str, names: &[&str]) -> Result<(Template, Vec<Placeholder>), Mistake> {
        let mut parser = Parser {
            body,
            names,
            at: 0,
            copied: 0,
            source: String::with_capacity(body.len()),
            placeholders: Vec::new(),
            count: 0,
            blocks: Vec::new(),
        };
        parser.body()?;
        let Parser { source, placeholders, .. } = parser;
        let environment = Environment::empty();
        environment.template_from_str(&source).map_err(|error| {
            let line = error.line().unwrap_or(1);
            let at = body.split_inclusive('\n').take(line - 1).map(str::len).sum();
            let detail = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
            Mistake { at, message: format!("the template has a mistake in this line: {detail}"), fix: FIX.to_owned() }
        })?;
        Ok((Template(source), placeholders))
    }
}

/// The text of a template, with its values.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    text: String,
    /// Without the empty lines at its start and end.
    range: Range<usize>,
    /// Where it is a value of the call.
    values: Vec<Range<usize>>,
}

impl Rendered {
    pub(super) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        let starts = std::iter::once(self.range.start).chain(self.values.iter().map(|value| value.end));
        let ends = self.values.iter().map(|value| value.start).chain([self.range.end]);
        let texts = starts.zip(ends).map(|(start, end)| Piece::Text(&self.text[start..end]));
        let values = self.values.iter().map(|value| Piece::Value(&self.text[value.clone()]));
        texts.zip(values.map(Some).chain([None])).flat_map(|(text, value)| std::iter::once(text).chain(value))
    }
}

/// Renders the templates of one prompt, which share the limits.
pub(super) struct Renderer {
    values: Value,
    environment: Environment<'static>,
    used: Arc<Used>,
    steps: u64,
    /// How long the texts before this one are.
    length: usize,
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
        Renderer { values, environment: environment(&used, given), used, steps: 0, length: 0 }
    }

    /// # Errors
    /// A limit is exceeded. That is known before the text is allocated.
    pub(super) fn render(&mut self, template: &Template) -> Result<Rendered, Failure> {
        let before = [&self.used.made, &self.used.read].map(|it| it.load(Ordering::Relaxed));
        self.render_to(template, io::sink())?;
        self.used.made.store(before[0], Ordering::Relaxed);
        self.used.read.store(before[1], Ordering::Relaxed);
        let mut text = Vec::with_capacity(self.used.written.load(Ordering::Relaxed));
        self.steps += self.render_to(template, &mut text)?;
        self.length += text.len();
        let text = String::from_utf8(text).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into());
        let (body, dropped) = without_empty_ends(&text);
        let start = text.split_inclusive('\n').take(dropped).map(str::len).sum();
        let range = start..start + body.len();
        let values = std::mem::take(&mut *lock(&self.used.values));
        let within =
            |value: Range<usize>| value.start.clamp(range.start, range.end)..value.end.clamp(range.start, range.end);
        let values = values.into_iter().map(within).collect();
        Ok(Rendered { text, range, values })
    }

    /// Returns how many steps it took.
    fn render_to(&mut self, template: &Template, writer: impl Write) -> Result<u64, Failure> {
        self.used.written.store(0, Ordering::Relaxed);
        lock(&self.used.values).clear();
        self.environment.set_fuel(Some(MAX_STEPS - self.steps));
        let writer = Limited { writer, max: MAX_EXPANSION - self.length, used: &self.used };
        let rendered = self.environment.template_from_str(&template.0).and_then(|template| {
            let captured = template.render_captured_to(self.values.clone(), writer)?;
            Ok(captured.state().fuel_levels().map_or(0, |(consumed, _)| consumed))
        });
        rendered.map_err(|error| {
            let message = match error.kind() {
                ErrorKind::OutOfFuel => format!("it takes more than {MAX_STEPS} steps"),
                ErrorKind::WriteFailure => format!("the text becomes longer than {MAX_EXPANSION} bytes"),
                _ => error.detail().map_or_else(|| error.kind().to_string(), str::to_owned),
            };
            Failure { line: error.line().unwrap_or(0), message }
        })
    }
}

/// Counts what is written, up to a limit.
struct Limited<'u, W> {
    writer: W,
    max: usize,
    used: &'u Used,
}

impl<W: Write> Write for Limited<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.used.written.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        if written > self.max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.writer.write_all(bytes)?;
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
    made: AtomicUsize,
    /// How many bytes the values had that were looked at.
    read: AtomicUsize,
    /// How much of this text is written.
    written: AtomicUsize,
    /// Where in this text there are values of the call.
    values: Mutex<Vec<Range<usize>>>,
}

impl Used {
    /// # Errors
    /// The filters would have made too much.
    fn make(&self, length: usize) -> Result<(), Error> {
        let made = self.made.load(Ordering::Relaxed).saturating_add(length);
        self.made.store(made, Ordering::Relaxed);
        let message = || format!("its filters make texts of more than {MAX_FILTERED} bytes");
        if made > MAX_FILTERED { Err(Error::new(ErrorKind::InvalidOperation, message())) } else { Ok(()) }
    }

    /// # Errors
    /// The template would have read too much.
    fn read(&self, length: usize) -> Result<(), Error> {
        let read = self.read.fetch_add(length, Ordering::Relaxed).saturating_add(length);
        let message = || format!("it uses values of more than {MAX_READ} bytes in all");
        if read > MAX_READ { Err(Error::new(ErrorKind::InvalidOperation, message())) } else { Ok(()) }
    }

    fn text(&self, text: Cow<'_, str>) -> Result<Value, Error> {
        self.make(text.len())?;
        Ok(Value::from(text.into_owned()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value as text.
fn text(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// The lines of a text without the empty ones, or the items of a list.
fn items(value: &Value) -> Result<Vec<Value>, Error> {
    let lines = |text: &str| -> Vec<Value> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.take(MAX_STEPS as usize + 1).map(Value::from).collect()
    };
    let items = match value.as_str() {
        Some(text) => lines(text),
        None => value.try_iter()?.take(MAX_STEPS as usize + 1).collect(),
    };
    if items.len() > MAX_STEPS as usize {
        let message = format!("a list has more than {MAX_STEPS} lines");
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    Ok(items)
}

/// `given`: the values of the call. What a tag writes is a value of the call if it is equal to one.
fn environment(used: &Arc<Used>, given: HashSet<Arc<str>>) -> Environment<'static> {
    let mut environment = Environment::empty();
    let of = |letters: &mut dyn Iterator<Item = char>| letters.map(char::len_utf8).sum::<usize>();
    let it = Arc::clone(used);
    environment.set_formatter(move |output, _, value| {
        let text = text(value);
        let start = it.written.load(Ordering::Relaxed);
        output.write_str(&text)?;
        if given.contains(&*text) {
            lock(&it.values).push(start..it.written.load(Ordering::Relaxed));
        }
        Ok(())
    });
    let it = Arc::clone(used);
    environment.add_filter(READ, move |value: Value| {
        it.read(value.as_str().map_or(0, str::len))?;
        Ok::<_, Error>(value)
    });
    let it = Arc::clone(used);
    environment.add_filter("upper", move |value: Value| {
        let value = text(&value);
        it.make(of(&mut value.chars().flat_map(char::to_uppercase)))?;
        Ok::<_, Error>(value.to_uppercase())
    });
    let it = Arc::clone(used);
    environment.add_filter("lower", move |value: Value| {
        let value = text(&value);
        it.make(of(&mut value.chars().flat_map(char::to_lowercase)))?;
        Ok::<_, Error>(value.to_lowercase())
    });
    let it = Arc::clone(used);
    environment.add_filter("capitalize", move |value: Value| {
        let value = text(&value);
        let mut letters = value.chars();
        let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
        it.make(first.len() + of(&mut letters.clone().flat_map(char::to_lowercase)))?;
        Ok::<_, Error>(first + &letters.as_str().to_lowercase())
    });
    let it = Arc::clone(used);
    environment.add_filter("trim", move |value: Value| it.text(text(&value).trim().into()));
    environment.add_filter("length", |value: Value| match value.as_str() {
        Some(text) => text.chars().count(),
        None => value.len().unwrap_or_else(|| text(&value).chars().count()),
    });
    let it = Arc::clone(used);
    environment.add_filter("default", move |value: Value, other: Rest<Value>| match other.first() {
        Some(other) if text(&value).is_empty() => it.text(text(other)),
        _ => it.text(text(&value)),
    });
    let it = Arc::clone(used);
    environment.add_filter("replace", move |value: Value, from: Value, to: Value| {
        let (value, from, to) = (text(&value), text(&from), text(&to));
        let count = value.matches(&*from).count();
        let added = count.saturating_mul(to.len());
        it.make((value.len() - count * from.len()).saturating_add(added))?;
        Ok::<_, Error>(value.replace(&*from, &to))
    });
    let it = Arc::clone(used);
    environment.add_filter("join", move |value: Value, separator: Rest<Value>| {
        let separator = separator.first().map(text).unwrap_or_default();
        let items = items(&value)?;
        let texts: Vec<Cow<'_, str>> = items.iter().map(text).collect();
        let length = texts.iter().map(|text| text.len()).sum::<usize>();
        it.make(length.saturating_add(texts.len().saturating_sub(1).saturating_mul(separator.len())))?;
        Ok::<_, Error>(texts.join(&separator))
    });
    let it = Arc::clone(used);
    environment.add_filter(LINES, move |value: Value| {
        it.make(value.as_str().map_or(0, str::len))?;
        items(&value).map(Value::from)
    });
    environment
}

/// A block that a tag begins, and the first byte of the tag.
struct Block<'b> {
    at: usize,
    kind: Kind<'b>,
}

#[derive(PartialEq)]
enum Kind<'b> {
    If,
    /// minijinja reads it as a condition in the one before it.
    Elif,
    /// With the name of each item.
    For(&'b str),
}

/// What was read last in a tag.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    /// An operator, or what opens parentheses or separates arguments.
    Operator,
    Pipe,
    Filter,
    /// The word `loop`.
    Loop,
    Dot,
    Value,
}

struct Parser<'b> {
    body: &'b str,
    names: &'b [&'b str],
    at: usize,
    /// Up to where the body is in the source of the template.
    copied: usize,
    source: String,
    placeholders: Vec<Placeholder>,
    /// How many words and signs the tags have so far.
    count: usize,
    blocks: Vec<Block<'b>>,
}

impl Block<'_> {
    /// The word of the tag that closes it.
    fn end(&self) -> &'static str {
        if let Kind::For(_) = self.kind { "endfor" } else { "endif" }
    }
}

impl<'b> Parser<'b> {
    fn rest(&self) -> &'b str {
        &self.body[self.at..]
    }

    fn copy(&mut self) {
        self.source.push_str(&self.body[self.copied..self.at]);
        self.copied = self.at;
    }

    fn body(&mut self) -> Result<(), Mistake> {
        let tags = |pair: &[u8]| matches!(pair, b"{{" | b"{%" | b"{#");
        while let Some(found) = self.rest().as_bytes().windows(2).position(tags) {
            self.at += found;
            let start = self.at;
            let open = &self.body[start..start + 2];
            self.at += 2;
            if open == "{#" {
                self.at += self.rest().find("#}").ok_or_else(|| never_closed(start, open))? + 2;
                continue;
            }
            if self.rest().starts_with('-') {
                self.at += 1;
            }
            let close = if open == "{{" { "}}" } else { "%}" };
            let is_raw = open == "{%" && self.tag(start)?;
            self.expression(start, open, close, is_raw)?;
            if is_raw {
                self.skip_raw(start)?;
            }
        }
        self.at = self.body.len();
        self.copy();
        match self.blocks.iter().rfind(|block| block.kind != Kind::Elif) {
            None => Ok(()),
            Some(block) => Err(Mistake {
                at: block.at,
                message: "the block is never closed".to_owned(),
                fix: format!(
                    "write {} after it; each message is a template of its own",
                    named(&format!("{{% {} %}}", block.end()))
                ),
            }),
        }
    }

    /// Reads the word of a tag, and what is only in this one. `true` for `raw`.
    fn tag(&mut self, start: usize) -> Result<bool, Mistake> {
        let (at, word) = self.word();
        match word {
            "if" => self.open(start, Kind::If)?,
            "elif" => self.open(start, Kind::Elif)?,
            "elsif" => {
                self.open(start, Kind::Elif)?;
                // minijinja's word is a letter shorter.
                self.at = at;
                self.copy();
                self.source.push_str("elif ");
                self.at += word.len();
                self.copied = self.at;
            }
            "for" => {
                let (at, item) = self.word();
                let (_, between) = self.word();
                let is_name =
                    !item.is_empty() && item != "loop" && !OPERATORS.contains(&item) && !CONSTANTS.contains(&item);
                if !is_name || between != "in" {
                    return Err(refused(at, "a loop is written `{% for item in NAME %}`".to_owned()));
                }
                self.copy();
                self.source.push_str(" (");
                self.open(start, Kind::For(item))?;
                // The item is no name in the list itself.
                let item = self.blocks.pop();
                self.list(start)?;
                self.blocks.extend(item);
            }
            "endif" | "endfor" => self.close(at, word)?,
            "else" => {}
            "raw" => return Ok(true),
            "include" | "render" => {
                let message =
                    format!("{} is not alone in its line, or the prompt has no `include: true`", quoted(word));
                let fix = "write the whole tag alone in a line, and `include: true` in the frontmatter";
                return Err(Mistake { at, message, fix: fix.to_owned() });
            }
            "" => return Err(refused(at, "the tag has no word".to_owned())),
            other => return Err(refused(at, format!("the tag {} is not supported", quoted(other)))),
        }
        Ok(false)
    }

    fn close(&mut self, at: usize, word: &str) -> Result<(), Mistake> {
        while self.blocks.pop_if(|block| block.kind == Kind::Elif).is_some() {}
        match self.blocks.pop() {
            Some(block) if block.end() == word => Ok(()),
            Some(block) => {
                let message = format!("{} is not the end of the block that it is in", quoted(word));
                Err(Mistake {
                    at,
                    message,
                    fix: format!("write {} before it", named(&format!("{{% {} %}}", block.end()))),
                })
            }
            None => {
                let message = format!("{} ends no block of this text", quoted(word));
                let fix = "delete it, or begin the block; each message is a template of its own";
                Err(Mistake { at, message, fix: fix.to_owned() })
            }
        }
    }

    fn open(&mut self, at: usize, kind: Kind<'b>) -> Result<(), Mistake> {
        self.blocks.push(Block { at, kind });
        if self.blocks.len() > MAX_TEMPLATE_NESTING {
            let message = format!("more than {MAX_TEMPLATE_NESTING} blocks inside each other");
            return Err(Mistake { at, message, fix: "write parts of it without a condition".to_owned() });
        }
        Ok(())
    }

    /// The list of a loop, up to the end of the tag, which becomes `(…)|lines`.
    fn list(&mut self, start: usize) -> Result<(), Mistake> {
        self.tokens(start, "{%", "%}", false)?;
        self.copy();
        self.source.extend([")|", LINES, " "]);
        Ok(())
    }

    /// The rest of a tag, and its end.
    fn expression(&mut self, start: usize, open: &str, close: &str, is_raw: bool) -> Result<(), Mistake> {
        self.tokens(start, open, close, is_raw)?;
        if self.rest().starts_with('-') {
            self.at += 1;
        }
        self.at += close.len();
        Ok(())
    }

    /// Reads the tokens before the end of a tag.
    fn tokens(&mut self, start: usize, open: &str, close: &str, is_empty: bool) -> Result<(), Mistake> {
        let mut last = Last::Nothing;
        let mut parentheses = 0;
        for count in 0.. {
            self.skip_spaces();
            if count > MAX_TAG {
                let message = format!("more than {MAX_TAG} words and signs in a tag");
                return Err(refused(self.at, message));
            }
            self.count += 1;
            if self.count > MAX_TEMPLATE_TOKENS {
                let message = format!("more than {MAX_TEMPLATE_TOKENS} words and signs in all tags");
                return Err(Mistake { at: self.at, message, fix: "divide the prompt among several files".to_owned() });
            }
            let rest = self.rest();
            let at = self.at;
            if last == Last::Loop && !rest.starts_with('.') {
                let fix = format!("write `loop.index`, or another of {}", alternatives(&LOOP));
                return Err(Mistake { at, message: "`loop` itself has no value".to_owned(), fix });
            }
            if rest.starts_with(close) || rest.strip_prefix('-').is_some_and(|rest| rest.starts_with(close)) {
                return Ok(());
            }
            let Some(first) = rest.chars().next() else { return Err(never_closed(start, open)) };
            if is_empty {
                return Err(refused(at, format!("{} is not part of this tag", quoted(&first.to_string()))));
            }
            if !matches!(last, Last::Pipe | Last::Dot)
                && let Some(name) = self.unusable(rest)
            {
                let message = format!("{} cannot be used as a name in a template", quoted(name));
                let fix =
                    "rename the argument: use the letters a to z, digits and `_`, and no word such as `and` or `true`";
                return Err(Mistake { at, message, fix: fix.to_owned() });
            }
            if first.is_ascii_alphabetic() || first == '_' {
                let (_, word) = self.word();
                last = self.name(at, word, last)?;
                continue;
            }
            let two = ["==", "!="].into_iter().find(|two| rest.starts_with(two));
            last = match first {
                '"' | '\'' => {
                    self.at += string_end(rest).ok_or_else(|| never_closed(at, &rest[..1]))?;
                    self.add_read();
                    Last::Value
                }
                _ if first.is_ascii_digit() => {
                    self.at += rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
                    Last::Value
                }
                _ if two.is_some() => {
                    self.at += 2;
                    Last::Operator
                }
                '|' | ',' | ')' => {
                    self.at += 1;
                    parentheses -= i32::from(first == ')');
                    match first {
                        '|' => Last::Pipe,
                        ',' => Last::Operator,
                        _ => Last::Value,
                    }
                }
                // After a value, it would be a call.
                '(' if !matches!(last, Last::Value | Last::Loop | Last::Dot) => {
                    self.at += 1;
                    parentheses += 1;
                    Last::Operator
                }
                '.' if last == Last::Loop => {
                    self.at += 1;
                    Last::Dot
                }
                _ => return Err(refused(at, format!("{} is not supported in a tag", quoted(&first.to_string())))),
            };
            if parentheses > MAX_TEMPLATE_NESTING as i32 {
                return Err(refused(at, format!("more than {MAX_TEMPLATE_NESTING} parentheses inside each other")));
            }
        }
        Ok(())
    }

    /// The argument with which a text begins, if a template reads its name as something else.
    fn unusable(&self, rest: &str) -> Option<&'b str> {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let begins = |name: &&&str| {
            name.starts_with(is_part) && rest.strip_prefix(**name).is_some_and(|after| !after.starts_with(is_part))
        };
        self.names.iter().find(|name| !is_usable(name) && begins(name)).copied()
    }

    /// What a word is in an expression.
    fn name(&mut self, at: usize, word: &'b str, last: Last) -> Result<Last, Mistake> {
        let unknown = |what: &str, known: &[&str]| {
            let fix = match closest(word, known.iter().copied()) {
                Some(close) => format!("did you mean {}?", named(close)),
                None if what == ARGUMENT => format!("write {}, or {RAW}", alternatives(known)),
                None => format!("write {}", alternatives(known)),
            };
            Err(Mistake { at, message: format!("no {what} named {}", quoted(word)), fix })
        };
        if last == Last::Pipe {
            return if FILTERS.contains(&word) { Ok(Last::Filter) } else { unknown("filter", &FILTERS) };
        }
        if last == Last::Dot {
            return if LOOP.contains(&word) { Ok(Last::Value) } else { unknown("value of `loop`", &LOOP) };
        }
        if OPERATORS.contains(&word) {
            return Ok(Last::Operator);
        }
        let is_in_loop = self.blocks.iter().any(|block| matches!(block.kind, Kind::For(_)));
        if word == "loop" && is_in_loop {
            return Ok(Last::Loop);
        }
        let is_item = self.blocks.iter().any(|block| block.kind == Kind::For(word));
        if CONSTANTS.contains(&word) {
            return Ok(Last::Value);
        }
        if is_item {
            self.add_read();
            return Ok(Last::Value);
        }
        if word == INPUT || self.names.contains(&word) {
            let range: Range<usize> = at..at + word.len();
            self.placeholders.push(Placeholder { name: word.to_owned(), range, stays: false });
            self.add_read();
            return Ok(Last::Value);
        }
        let names = self.names.iter().copied().filter(|name| is_usable(name) && *name != INPUT);
        let known: Vec<&str> = names.chain([INPUT]).collect();
        unknown(ARGUMENT, &known)
    }

    /// Counts the value that was read last whenever it is used.
    fn add_read(&mut self) {
        self.copy();
        self.source.extend(["|", READ]);
    }

    /// The next word, which may be empty, and its first byte.
    fn word(&mut self) -> (usize, &'b str) {
        self.skip_spaces();
        let (at, rest) = (self.at, self.rest());
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
        self.at += end;
        (at, &rest[..end])
    }

    fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_whitespace()).len();
    }

    /// Skips the text up to the end of `{% endraw %}`.
    fn skip_raw(&mut self, start: usize) -> Result<(), Mistake> {
        while let Some(found) = self.rest().find("{%") {
            self.at += found + 2;
            let inside = self.rest().strip_prefix('-').unwrap_or(self.rest()).trim_ascii_start();
            let after = inside.strip_prefix("endraw").map(str::trim_ascii_start);
            let after = after.and_then(|after| after.strip_prefix('-').unwrap_or(after).strip_prefix("%}"));
            if let Some(after) = after {
                self.at = self.body.len() - after.len();
                return Ok(());
            }
        }
        Err(never_closed(start, "{% raw %}"))
    }
}

/// Whether a template reads this as the name of an argument.
fn is_usable(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        && ![&OPERATORS[..], &CONSTANTS, &OTHER_CONSTANTS].concat().contains(&name)
}

/// The length of the text in quotes with which a text begins.
fn string_end(rest: &str) -> Option<usize> {
    let quote = rest.chars().next()?;
    let mut is_escaped = false;
    rest.char_indices().skip(1).find_map(|(at, letter)| {
        let ends = letter == quote && !is_escaped;
        is_escaped = letter == '\\' && !is_escaped;
        ends.then_some(at + 1)
    })
}

fn never_closed(at: usize, open: &str) -> Mistake {
    Mistake { at, message: format!("{} is never closed", quoted(open)), fix: FIX.to_owned() }
}

fn refused(at: usize, message: String) -> Mistake {
    Mistake { at, message, fix: FIX.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["lang", "tone"];

    fn rendered(body: &str, values: &[(&str, &str)]) -> Result<String, Failure> {
        let (template, _) = Template::parse(body, &NAMES).unwrap();
        let value = |name: &'static str| {
            let given = values.iter().find(|(known, _)| *known == name);
            (name, Piece::Value(given.map_or("", |(_, value)| value)))
        };
        let text = Renderer::new(["lang", "tone", INPUT].map(value).into_iter()).render(&template)?;
        Ok(text.pieces().map(Piece::as_str).collect())
    }

    #[track_caller]
    fn check(body: &str, values: &[(&str, &str)], want: &str) {
        assert_eq!(rendered(body, values).as_deref(), Ok(want), "{body}");
    }

    #[track_caller]
    fn refused(body: &str, at: usize, want: &str) {
        let mistake = Template::parse(body, &NAMES).unwrap_err();
        assert_eq!((mistake.at, format!("{}; {}", mistake.message, mistake.fix)), (at, want.to_owned()), "{body}");
    }

    #[test]
    fn conditions_loops_and_filters_are_those_of_jinja() {
        let body = "Review{% if lang %} this {{ lang|upper }} code{% endif %}, be {{ tone }}.\n{%- for l in input %}\n- {{ l }}{% endfor %}";
        check(
            body,
            &[("lang", "go"), ("tone", "kind"), ("input", "a\n\nb")],
            "Review this GO code, be kind.\n- a\n- b",
        );
        check(body, &[("lang", "{{ tone }}"), ("tone", "kind")], "Review this {{ TONE }} code, be kind.");
        check(body, &[("tone", "{% if %}<b>&")], "Review, be {% if %}<b>&.");
        check(
            "{% if lang == 'go' %}1{% elsif lang != \"c\" and not tone %}2{% else %}3{% endif %}",
            &[("lang", "x")],
            "2",
        );
        check("{% if 'x' in lang or (tone) %}1{% elif lang %}2{% endif %}", &[("lang", "abc")], "2");
        check(
            "{% for x in input %}{{ loop.index }}{{ loop.index0 }}{{ x }}{% if not loop.last %}/{{ loop.length }}{% endif %}{% else %}-{% endfor %}",
            &[("input", "a\nb")],
            "10a/221b",
        );
        check("{% for x in input|replace(\",\", \"\\n\") %}[{{ x|trim }}]{% endfor %}", &[("input", "a, b")], "[a][b]");
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
        let names: Vec<String> = template.unwrap().1.into_iter().map(|found| found.name).collect();
        assert_eq!(names, ["lang", "tone", "lang", "input"]);
    }

    #[test]
    fn a_name_that_is_not_declared_is_an_error_with_the_nearest_one() {
        refused("a {{ tune }}", 5, "no argument named `tune`; did you mean `tone`?");
        refused(
            "{% if x %}{% endif %}",
            6,
            "no argument named `x`; write `lang`, `tone` or `input`, or put text in braces between `{% raw %}` and `{% endraw %}`",
        );
        refused("{{ lang|uper }}", 8, "no filter named `uper`; did you mean `upper`?");
        refused(
            "{% for x in input %}{{ loop.indx }}{% endfor %}",
            28,
            "no value of `loop` named `indx`; did you mean `index`?",
        );
        refused(
            "{% for x in x %}{% endfor %}",
            12,
            "no argument named `x`; write `lang`, `tone` or `input`, or put text in braces between `{% raw %}` and `{% endraw %}`",
        );
        refused(
            "{{ loop.index }}",
            3,
            "no argument named `loop`; write `lang`, `tone` or `input`, or put text in braces between `{% raw %}` and `{% endraw %}`",
        );
    }

    #[test]
    fn an_argument_whose_name_means_something_else_in_a_template_is_an_error_where_it_is_used() {
        let names = ["größe", "a-b", "1", "True", "none", "and", "input"];
        for name in &names[..6] {
            for (before, after) in [("{{ ", " }}"), ("{{ input|default(", ") }}"), ("{% for x in ", " %}{% endfor %}")]
            {
                let mistake = Template::parse(&format!("{before}{name}{after}"), &names).unwrap_err();
                let want = (before.len(), format!("{} cannot be used as a name in a template", quoted(name)));
                assert_eq!((mistake.at, mistake.message), want);
            }
        }
        assert!(Template::parse("{{ 12 }}{{ input|upper }}{{ 'True' }}{{ Truer }}", &["1", "True", "Truer"]).is_ok());
        assert!(Template::parse("{{ x }}", &names).unwrap_err().fix.starts_with("write `input`, or put"));
    }

    #[test]
    fn a_loop_itself_has_no_value() {
        for tag in ["{{ loop }}", "{{ loop|length }}", "{% if loop", "{% for y in loop %}"] {
            let mistake = Template::parse(&format!("{{% for x in input %}}{tag}"), &NAMES).unwrap_err();
            assert!(mistake.message == "`loop` itself has no value" && mistake.fix.contains("loop.index"), "{tag}");
        }
        check("{% for x in input %}{{ loop .index }}{% endfor %}", &[("input", "a\nb")], "12");
    }

    #[test]
    fn what_builds_texts_or_needs_more_of_jinja_is_refused_at_its_place() {
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
            ("{{ lang ~ lang }}", 8),
            ("{{ 'x' * 400000000 }}", 7),
            ("{{ lang + lang }}", 8),
            ("{{ lang - 1 }}", 8),
            ("{{ lang / 2 }}", 8),
            ("{{ lang % 2 }}", 8),
            ("{{ lang[0] }}", 7),
            ("{{ lang.x }}", 7),
            ("{{ [lang] }}", 3),
            ("{{ {'a': 1} }}", 3),
            ("{{ lang(1) }}", 7),
            ("{{ (lang)(1) }}", 9),
            ("{{ lang < 1 }}", 8),
            ("{{+ lang }}", 2),
            ("{% if lang +%}", 11),
            ("{{ .Values.x }}", 3),
            ("${{ github.ref }}", 4),
            ("{% if", 0),
            ("{{ 'x }}", 3),
            ("{# x", 0),
            ("{% raw %}", 0),
            ("{% raw x %}{% endraw %}", 7),
            ("{% %}", 3),
            ("{% for x, y in input %}", 7),
            ("{% include 'x' %}", 3),
            ("{% if lang %}", 0),
            ("{% endif %}", 3),
            ("a{% for x in input %}{% endif %}", 24),
            ("{{ lang lang }}", 0),
            ("{{ lang is defined }}", 8),
            ("{{ lang if tone else 1 }}", 8),
            ("{{ }}", 0),
            ("{{ é }}", 3),
        ] {
            let mistake = Template::parse(body, &NAMES).unwrap_err();
            assert_eq!(mistake.at, at, "{body}: {}", mistake.message);
        }
        for long in ["not ", "lang == ", "lang|upper|", "lang, "] {
            let mistake = Template::parse(&format!("{{{{ {}lang }}}}", long.repeat(100_000)), &NAMES).unwrap_err();
            assert!(mistake.message.starts_with("more than 100 words") || long.contains("|"), "{}", mistake.message);
        }
        let chain = format!("{{% if lang %}}{}", "{% elif lang %}".repeat(100_000));
        assert!(Template::parse(&chain, &NAMES).unwrap_err().message.starts_with("more than 32 blocks"));
        let two = "{% if lang %}{% elif tone %}{% elsif input %}{% endif %}".repeat(40);
        assert!(Template::parse(&two, &NAMES).is_ok());
        let deep = "{% if lang %}".repeat(MAX_TEMPLATE_NESTING + 1);
        assert!(Template::parse(&deep, &NAMES).unwrap_err().message.starts_with("more than 32 blocks"));
        let deep = format!("{{{{ {}lang", "(".repeat(MAX_TEMPLATE_NESTING + 1));
        assert!(Template::parse(&deep, &NAMES).unwrap_err().message.starts_with("more than 32 parentheses"));
    }

    #[test]
    fn steps_and_bytes_are_limited() {
        let failure = |body: &str, input: &str| rendered(body, &[("input", input)]).unwrap_err();
        let lines = "x\n".repeat(1000);
        let nested = "{% for a in input %}\n{% for b in input %}{% endfor %}{% endfor %}";
        assert_eq!(failure(nested, &lines), Failure { line: 2, message: "it takes more than 100000 steps".to_owned() });
        let long = "x".repeat(100_000);
        let text = format!("{{% for a in input %}}{long}{{% endfor %}}");
        assert_eq!(failure(&text, &lines).message, "the text becomes longer than 67108864 bytes");
        let doubling = "{{ input|replace('', input)|replace('', input) }}";
        assert_eq!(failure(doubling, &lines).message, "its filters make texts of more than 16777216 bytes");
        let joined = format!("{{{{ input|join('{long}')|upper }}}}");
        assert_eq!(failure(&joined, &lines).message, "its filters make texts of more than 16777216 bytes");
        assert_eq!(
            failure("{% for a in input %}{% endfor %}", &"x\n".repeat(100_001)).message,
            "a list has more than 100000 lines"
        );
    }
}
