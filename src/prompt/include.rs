//! Includes. In a file with `include: true`, a line that consists only of `{{> path}}`, `{% include
//! "path" %}` or `{% render "path" %}` is replaced by the body of the named file.
//!
//! Includes are resolved before placeholders are parsed, so a value can't include anything.
//!
//! This module doesn't open files: the code that reads the prompt's file also reads the included
//! ones, by implementing [`IncludeReader`].

use super::diagnostic::{Diagnostic, Position};
use super::file_text::decode_without_bom;
use super::limits::{MAX_FILE, MAX_INCLUDE_DEPTH, MAX_INCLUDES};
use crate::wording::format_size;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the files that a prompt includes.
pub trait IncludeReader {
    /// Returns the prompt's own file.
    fn own(&self) -> IncludedFile;

    /// Reads the file that `path` refers to in an include line of the file `from`.
    ///
    /// # Errors
    /// Fails if the file doesn't exist, may not be included, or can't be read. The caller adds the
    /// position of the include line.
    fn read(&mut self, path: &str, from: &IncludedFile) -> Result<FileToInclude, Diagnostic>;
}

/// A file that can be included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// The path relative to the prompts folder, `/`-separated and with symlinks resolved; or
    /// `builtin:NAME`.
    pub name: String,
    /// The full path, or `builtin:NAME`.
    pub path: PathBuf,
}

/// A file that was read to be included.
pub struct FileToInclude {
    /// The file.
    pub file: IncludedFile,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// An included file and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// The file.
    pub file: IncludedFile,
    /// The contents, so that the prompt can be assembled again elsewhere.
    pub text: Arc<str>,
}

/// Maps the lines of an assembled body to the files they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineOrigins {
    /// The included files, in order of first appearance.
    pub(super) files: Vec<Included>,
    /// Consecutive ranges of lines, in order; empty if nothing is included.
    sections: Vec<Section>,
}

/// A range of consecutive body lines that are also consecutive in one file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    /// The first line, counted as if the whole body were in the prompt's own file.
    line: usize,
    /// The number of the same line in its file.
    line_in_file: usize,
    source: LineSource,
}

/// The file that a body line comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LineSource {
    /// The prompt's own file.
    OwnFile,
    /// The included file with this index in [`LineOrigins::files`].
    Included(usize),
}

/// The source of a position in the body.
pub(super) struct LineOrigin<'o> {
    /// The included file, or `None` for the prompt's own file.
    pub(super) file: Option<&'o IncludedFile>,
    /// The position in that file.
    pub(super) position: Position,
}

impl LineOrigins {
    /// Returns the file, and the position in it, that a position in the body comes from.
    ///
    /// For example, if line 2 of a prompt includes a file of three lines, line 4 of the body is
    /// line 3 of that file, and line 5 of the body is line 3 of the prompt.
    pub(super) fn line_origin(&self, position: Position) -> LineOrigin<'_> {
        // The last section that starts at or before the line contains it.
        let count_until_line = self
            .sections
            .partition_point(|section| section.line <= position.line);
        let Some(section) = self.sections[..count_until_line].last() else {
            return LineOrigin {
                file: None,
                position,
            };
        };
        LineOrigin {
            file: self.included_file(section.source),
            position: Position {
                line: section.line_in_file + (position.line - section.line),
                ..position
            },
        }
    }

    /// Returns the included file that lines come from, or `None` for the prompt's own file.
    fn included_file(&self, source: LineSource) -> Option<&IncludedFile> {
        match source {
            LineSource::OwnFile => None,
            LineSource::Included(index) => Some(&self.files[index].file),
        }
    }

    /// Translates the position of a diagnostic about the body to the file that the line comes from.
    pub(super) fn locate(&self, mut diagnostic: Diagnostic) -> Diagnostic {
        if let Some(position) = diagnostic.position {
            let origin = self.line_origin(position);
            diagnostic.position = Some(origin.position);
            if let Some(file) = origin.file {
                diagnostic.file = Some(file.path.as_path().into());
            }
        }
        diagnostic
    }
}

/// The part of a file that is included.
pub(super) struct IncludedPart {
    /// The text after the frontmatter.
    pub(super) body: String,
    /// The line of the file where the body starts.
    pub(super) first_line: usize,
    /// Whether include lines in the body are resolved. If not, they are plain text.
    pub(super) expands_includes: bool,
}

/// A body whose include lines were replaced.
pub(super) struct AssembledBody {
    pub(super) text: String,
    /// Where its lines come from.
    pub(super) origins: LineOrigins,
}

/// Replaces all include lines in the body of a prompt's file.
///
/// `reader` reads an included file, and `parse` extracts the body from its text.
///
/// # Errors
/// Fails if a file can't be included or a limit is exceeded.
pub(super) fn assemble(
    own_part: &IncludedPart,
    reader: &mut dyn IncludeReader,
    parse: fn(&str) -> Result<IncludedPart, Diagnostic>,
) -> Result<AssembledBody, Diagnostic> {
    let own_file = reader.own();
    let mut assembly = Assembly {
        reader,
        parse,
        body: None,
        next_line: own_part.first_line,
        origins: LineOrigins::default(),
        include_count: 0,
        open_files: Vec::new(),
    };
    assembly.add_lines_of(&own_file, LineSource::OwnFile, own_part)?;
    Ok(AssembledBody {
        text: assembly.body.unwrap_or_default(),
        origins: assembly.origins,
    })
}

/// A body under construction.
struct Assembly<'r> {
    reader: &'r mut dyn IncludeReader,
    /// Extracts the body from the text of a file.
    parse: fn(&str) -> Result<IncludedPart, Diagnostic>,
    /// The lines so far, or `None` before the first line.
    body: Option<String>,
    /// The number that the next line of the body will have.
    next_line: usize,
    origins: LineOrigins,
    /// The number of includes so far.
    include_count: usize,
    /// The files being added, from the prompt's own file to the innermost include.
    open_files: Vec<OpenFile>,
}

/// A file whose lines are being added to the body.
struct OpenFile {
    file: IncludedFile,
    /// The line that is being added.
    current_line: usize,
}

impl Assembly<'_> {
    /// Adds the lines of a file to the body, including those of the files it includes.
    ///
    /// # Errors
    /// Fails at the first line that can't be added, with its position. The assembly must not be
    /// used afterwards, because `open_files` isn't restored.
    fn add_lines_of(
        &mut self,
        file: &IncludedFile,
        source: LineSource,
        part: &IncludedPart,
    ) -> Result<(), Diagnostic> {
        self.open_files.push(OpenFile {
            file: file.clone(),
            current_line: part.first_line,
        });
        for (line_number, line) in (part.first_line..).zip(part.body.split('\n')) {
            if let Some(open_file) = self.open_files.last_mut() {
                open_file.current_line = line_number;
            }
            let content = if part.expands_includes {
                IncludeLine::parse(line)
            } else {
                IncludeLine::Text(line)
            };
            let result = match content {
                IncludeLine::Include(path) => self.include(path, file),
                IncludeLine::Text(text) => self.add_line(text, source, line_number),
            };
            if let Err(error) = result {
                let position = start_of_text(line, line_number);
                return Err(self.with_missing_place(error, source, position));
            }
        }
        self.open_files.pop();
        Ok(())
    }

    /// Adds a place to an error that has none yet: a `position` in the file `source`.
    ///
    /// An error in the file that an include line names already has a place in that file, and is
    /// returned unchanged.
    fn with_missing_place(
        &self,
        mut error: Diagnostic,
        source: LineSource,
        position: Position,
    ) -> Diagnostic {
        let has_place = error.position.is_some() || error.file.is_some();
        if has_place {
            return error;
        }
        error.position = Some(position);
        let included_file = self.origins.included_file(source);
        error.file = included_file.map(|file| file.path.as_path().into());
        error
    }

    /// Adds the body of the file that `path` refers to in the file `from`.
    ///
    /// The limits and cycles are checked before the file is parsed, because its own includes are
    /// added recursively.
    fn include(&mut self, path: &str, from: &IncludedFile) -> Result<(), Diagnostic> {
        self.include_count += 1;
        self.check_limits()?;
        let FileToInclude { file, bytes } = self.reader.read(path, from)?;
        self.check_cycle(&file)?;
        let text = decode_without_bom(&bytes).map_err(|error| in_file(&file, error))?;
        let part = self.parse_part(&file, text)?;
        let index = self.index_in_origins(&file, text);
        self.add_lines_of(&file, LineSource::Included(index), &part)
    }

    /// Extracts the body from the text of an included file.
    fn parse_part(&self, file: &IncludedFile, text: &str) -> Result<IncludedPart, Diagnostic> {
        let mut part = (self.parse)(text).map_err(|error| in_file(file, error))?;
        if is_partial(&file.name) {
            // A partial such as `_style.md` doesn't need `include: true`.
            part.expands_includes = true;
        }
        Ok(part)
    }

    /// Fails if the current include exceeds the limit on their number or nesting.
    fn check_limits(&self) -> Result<(), Diagnostic> {
        if self.include_count > MAX_INCLUDES {
            return Err(Diagnostic::invalid(
                format!("more than {MAX_INCLUDES} files are included"),
                "write some of the texts into one file",
            ));
        }
        if self.open_files.len() > MAX_INCLUDE_DEPTH {
            let chain = self.format_chain(0);
            return Err(Diagnostic::invalid(
                format!("more than {MAX_INCLUDE_DEPTH} levels of nested includes: {chain}"),
                "include the last file directly",
            ));
        }
        Ok(())
    }

    /// Fails if a file would include itself, directly or indirectly.
    fn check_cycle(&self, file: &IncludedFile) -> Result<(), Diagnostic> {
        for (index, open) in self.open_files.iter().enumerate() {
            if open.file.name == file.name {
                let chain = self.format_chain(index);
                return Err(Diagnostic::invalid(
                    format!("the file includes itself: {chain} → {}", file.name),
                    "delete one of these includes",
                ));
            }
        }
        Ok(())
    }

    /// Returns the index of a file in [`LineOrigins::files`]. Adds the file if it is included for
    /// the first time.
    fn index_in_origins(&mut self, file: &IncludedFile, text: &str) -> usize {
        let files = &mut self.origins.files;
        if let Some(index) = files.iter().position(|included| included.file == *file) {
            return index;
        }
        files.push(Included {
            file: file.clone(),
            text: text.into(),
        });
        files.len() - 1
    }

    /// Adds a line of text, which is line `line_in_file` of `source`, to the body.
    ///
    /// # Errors
    /// Fails if the body would exceed [`MAX_FILE`].
    fn add_line(
        &mut self,
        line: &str,
        source: LineSource,
        line_in_file: usize,
    ) -> Result<(), Diagnostic> {
        if let Some(body) = &mut self.body {
            body.push('\n');
        }
        let body = self.body.get_or_insert_default();
        if body.len() + line.len() > MAX_FILE {
            let limit = format_size(MAX_FILE);
            return Err(Diagnostic::invalid(
                format!("the text is longer than {limit} including all included files"),
                "include less, and give the path of the material for the agent to read",
            ));
        }
        body.push_str(line);
        self.record_origin(source, line_in_file);
        self.next_line += 1;
        Ok(())
    }

    /// Records where the line `next_line` comes from. Starts a new section unless the line
    /// continues the last one.
    fn record_origin(&mut self, source: LineSource, line_in_file: usize) {
        if let Some(last) = self.origins.sections.last() {
            let following_line = last.line_in_file + (self.next_line - last.line);
            let continues_section = last.source == source && line_in_file == following_line;
            if continues_section {
                return;
            }
        }
        self.origins.sections.push(Section {
            line: self.next_line,
            line_in_file,
            source,
        });
    }

    /// Formats the chain of open files, starting at index `first`: `a.md:3 → b.md:1`.
    fn format_chain(&self, first: usize) -> String {
        let mut steps = Vec::new();
        for OpenFile { file, current_line } in &self.open_files[first..] {
            steps.push(format!("{}:{current_line}", file.name));
        }
        steps.join(" → ")
    }
}

/// Returns the position of the first character of a line that isn't whitespace.
fn start_of_text(line: &str, line_number: usize) -> Position {
    let indentation = &line[..line.len() - line.trim_start().len()];
    Position {
        line: line_number,
        column: 1 + indentation.chars().count(),
    }
}

/// Attributes an error to the included file, rather than to the line that includes it.
fn in_file(file: &IncludedFile, error: Diagnostic) -> Diagnostic {
    let position = error.position.unwrap_or(Position::START);
    Diagnostic {
        file: Some(file.path.as_path().into()),
        position: Some(position),
        ..error
    }
}

/// A line of a file that can include others.
enum IncludeLine<'l> {
    /// An include of the file at this path.
    Include(&'l str),
    Text(&'l str),
}

impl IncludeLine<'_> {
    /// Parses a line. A backslash before an include tag escapes it and is removed.
    fn parse(line: &str) -> IncludeLine<'_> {
        let tag = line.trim();
        if let Some(path) = parse_include_tag(tag) {
            return IncludeLine::Include(path);
        }
        match tag.strip_prefix('\\') {
            Some(escaped) if parse_include_tag(escaped).is_some() => IncludeLine::Text(escaped),
            _ => IncludeLine::Text(line),
        }
    }
}

/// Parses an include tag and returns the path: `_style` for `{{> _style}}`, `{% include "_style"
/// %}` and `{%- render '_style' -%}`.
fn parse_include_tag(tag: &str) -> Option<&str> {
    if let Some(after_open) = tag.strip_prefix("{{>") {
        let path = after_open.strip_suffix("}}")?.trim();
        let is_path = !path.is_empty() && !path.contains(['{', '}']);
        return is_path.then_some(path);
    }
    let statement = parse_block_tag(tag)?;
    let argument = match statement.strip_prefix("include") {
        Some(argument) => argument,
        None => statement.strip_prefix("render")?,
    };
    parse_quoted_path(argument.trim_start())
}

/// Returns what is inside a block tag of Jinja or Liquid: `include "a"` for `{%- include "a" -%}`.
fn parse_block_tag(tag: &str) -> Option<&str> {
    let inside = tag.strip_prefix("{%")?.strip_suffix("%}")?;
    let after_hyphen = inside.strip_prefix('-').unwrap_or(inside);
    let between_hyphens = after_hyphen.strip_suffix('-').unwrap_or(after_hyphen);
    Some(between_hyphens.trim())
}

/// Returns the path in single or double quotes that is all of a text.
fn parse_quoted_path(text: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(after_quote) = text.strip_prefix(quote) {
            let path = after_quote.strip_suffix(quote)?;
            let is_path = !path.is_empty() && !path.contains(quote);
            return is_path.then_some(path);
        }
    }
    None
}

/// Returns whether a file in one of our own folders exists only to be included: its name, or that
/// of a parent folder, starts with `_`. `path` is relative to the prompts folder and `/`-separated.
pub fn is_partial(path: &str) -> bool {
    path.split('/').any(|segment| segment.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Call, FileSuffix, Name, Prompt};

    /// Files by name; a path is that of a file.
    struct Files(Vec<(&'static str, String)>);

    fn file(name: &str) -> IncludedFile {
        IncludedFile {
            name: name.to_owned(),
            path: name.into(),
        }
    }

    impl IncludeReader for Files {
        fn own(&self) -> IncludedFile {
            file("a.md")
        }

        fn read(&mut self, path: &str, _: &IncludedFile) -> Result<FileToInclude, Diagnostic> {
            let found = self.0.iter().find(|(name, _)| *name == path);
            let (name, text) =
                found.ok_or_else(|| Diagnostic::invalid(format!("no {path}"), "fix"))?;
            Ok(FileToInclude {
                file: file(name),
                bytes: text.clone().into_bytes(),
            })
        }
    }

    fn parse(files: &[(&'static str, &str)]) -> Result<Prompt, Diagnostic> {
        let mut files = Files(
            files
                .iter()
                .map(|&(name, text)| (name, text.to_owned()))
                .collect(),
        );
        let own = files.0[0].1.clone();
        FileSuffix::OWN.parse(&Name::new("a").unwrap(), own.as_bytes(), Some(&mut files))
    }

    #[track_caller]
    fn check(files: &[(&'static str, &str)], want: &str) {
        let prompt = parse(files).unwrap();
        assert_eq!(prompt.expand(Call::Text("in")).unwrap().into_text(), want);
    }

    #[track_caller]
    fn refused(files: &[(&'static str, &str)], want: &str) {
        let error = parse(files).unwrap_err();
        let place = error
            .position
            .map(|at| format!(":{}:{}", at.line, at.column))
            .unwrap_or_default();
        let file = error
            .file
            .as_ref()
            .map_or_else(|| "a.md".to_owned(), |file| file.display().to_string());
        assert_eq!(format!("{file}{place}: {}", error.message), want);
    }

    const INCLUDE: &str = "---\ninclude: true\n---\n";

    #[test]
    fn a_line_that_is_only_an_include_becomes_the_body_of_the_file() {
        for tag in [
            "{{> b.md}}",
            "{{>b.md}}",
            "{% include \"b.md\" %}",
            "{%include 'b.md'%}",
            "  {%- render \"b.md\" -%} ",
        ] {
            let own = format!("{INCLUDE}Begin\n{tag}\nEnd {{{{input}}}}");
            check(
                &[
                    ("a.md", &own),
                    ("b.md", "---\ntitle: B\n---\r\n\r\nOne\r\n{{input}}\n\n"),
                ],
                "Begin\nOne\nin\nEnd in",
            );
        }
        for text in [
            "{{> b.md}} x",
            "`{{> b.md}}`",
            "{% include b.md %}",
            "{% include \"b.md\", x: 1 %}",
            "{{> }}",
            "{{> {b}}}",
        ] {
            let own = format!("{INCLUDE}{text}\n{{{{input}}}}");
            check(&[("a.md", &own), ("b.md", "B")], &format!("{text}\nin"));
        }
        check(
            &[("a.md", "{{> b.md}}\n{{input}}"), ("b.md", "B")],
            "{{> b.md}}\nin",
        );
        let escaped = format!("{INCLUDE}\\{{{{> b.md}}}}\n{{{{input}}}}");
        check(&[("a.md", &escaped), ("b.md", "B")], "{{> b.md}}\nin");
        let own = format!("{INCLUDE}{{{{> _b.md}}}}\n{{{{input}}}}");
        check(&[("a.md", &own), ("_b.md", "")], "\nin");
    }

    #[test]
    fn a_partial_includes_without_a_key_and_a_prompt_needs_it() {
        let own = format!("{INCLUDE}{{{{> b}}}}\n{{{{> _b}}}}\n{{{{> c}}}}");
        let nested = "{{> d}}";
        check(
            &[
                ("a.md", &own),
                ("b", nested),
                ("_b", nested),
                ("c", &format!("{INCLUDE}{nested}")),
                ("d", "D"),
            ],
            "{{> d}}\nD\nD\n\nin",
        );
    }

    #[test]
    fn a_value_can_include_nothing() {
        let prompt = parse(&[
            ("a.md", &format!("{INCLUDE}{{{{> b}}}}")),
            ("b", "{{input}}"),
        ])
        .unwrap();
        let value = "{{> b}}\n{% include \"b\" %}\n$ARGUMENTS {{input}}";
        assert_eq!(prompt.expand(Call::Text(value)).unwrap().into_text(), value);
    }

    #[test]
    fn a_cycle_is_an_error_with_its_chain() {
        let own = format!("{INCLUDE}\n{{{{> _b}}}}");
        refused(
            &[("a.md", &own), ("_b", "x\n {{> a.md}}")],
            "_b:2:2: the file includes itself: a.md:5 → _b:2 → a.md",
        );
        refused(
            &[("a.md", &format!("{INCLUDE}{{{{> a.md}}}}"))],
            "a.md:4:1: the file includes itself: a.md:4 → a.md",
        );
        let other = format!("{INCLUDE}{{{{> _b}}}}");
        refused(
            &[("a.md", &other), ("_b", "{{> _c}}"), ("_c", "{{> _b}}")],
            "_c:1:1: the file includes itself: _b:1 → _c:1 → _b",
        );
    }

    #[test]
    fn depth_number_and_size_are_limited() {
        const PARTIALS: [&str; 10] = ["_0", "_1", "_2", "_3", "_4", "_5", "_6", "_7", "_8", "_9"];
        let chain = |length: usize| {
            let mut files = vec![("a.md", format!("{INCLUDE}{{{{> _0}}}}"))];
            files.extend(
                (0..length - 1).map(|index| (PARTIALS[index], format!("{{{{> _{}}}}}", index + 1))),
            );
            files.push((PARTIALS[length - 1], "End".to_owned()));
            let files: Vec<_> = files
                .iter()
                .map(|(name, text)| (*name, text.as_str()))
                .collect();
            parse(&files)
        };
        assert_eq!(chain(MAX_INCLUDE_DEPTH).unwrap().messages[0].body(), "End");
        assert!(
            chain(MAX_INCLUDE_DEPTH + 1)
                .unwrap_err()
                .message
                .starts_with("more than 8 levels of nested includes: a.md:4 → _0:1")
        );
        let many = |count: usize| format!("{INCLUDE}{}", "{{> b}}\n".repeat(count));
        assert!(parse(&[("a.md", &many(MAX_INCLUDES)), ("b", "B")]).is_ok());
        refused(
            &[("a.md", &many(MAX_INCLUDES + 1)), ("b", "B")],
            "a.md:104:1: more than 100 files are included",
        );
        let large = "x".repeat(MAX_FILE / 2);
        refused(
            &[("a.md", &many(2)), ("b", &large)],
            "b:1:1: the text is longer than 4 MiB including all included files",
        );
    }

    #[test]
    fn positions_name_the_file_that_a_line_is_in() {
        let own = format!("{INCLUDE}One\n{{{{> _b}}}}\n{{{{inptu}}}}\n{{{{> _b}}}}");
        let prompt = parse(&[
            ("a.md", &own),
            ("_b", "---\ntitle: x\n---\n\nB\n {{imput}}"),
        ])
        .unwrap();
        let found: Vec<_> = prompt
            .warnings()
            .into_iter()
            .map(|warning| {
                (
                    warning.file.map(|file| file.display().to_string()),
                    warning.position.map(|at| (at.line, at.column)),
                )
            })
            .collect();
        let partial = Some("_b".to_owned());
        assert_eq!(
            found,
            [
                (partial.clone(), Some((6, 2))),
                (None, Some((6, 1))),
                (partial, Some((6, 2)))
            ]
        );
        assert_eq!(prompt.included().len(), 1);
        refused(
            &[("a.md", &format!("{INCLUDE}x\n{{{{> c}}}}"))],
            "a.md:5:1: no c",
        );
        refused(
            &[
                ("a.md", &format!("{INCLUDE}{{{{> c}}}}")),
                ("c", "---\nx: y\n"),
            ],
            "c:1:1: the frontmatter that line 1 opens with `---` is never closed",
        );
    }
}
