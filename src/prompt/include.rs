//! Includes: in a file with `include: true`, a line that is only `{{> path}}`,
//! `{% include "path" %}` or `{% render "path" %}` is replaced by the body of that file, before the
//! text is searched for placeholders. So a value can include nothing.
//!
//! Nothing is opened here: whoever reads the prompt's file reads the others too, as an
//! [`IncludeReader`].

use super::diagnostic::{Diagnostic, Position};
use super::file_text::decode_without_bom;
use super::limits::{MAX_FILE, MAX_INCLUDE_DEPTH, MAX_INCLUDES};
use crate::wording::format_size;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the files that one prompt includes.
pub trait IncludeReader {
    /// Returns the prompt's own file.
    fn own(&self) -> IncludedFile;

    /// Reads the file that `path` names in the file `from`.
    ///
    /// # Errors
    /// There is no such file, it may not be included, or it cannot be read. The position is added
    /// by the caller.
    fn read(
        &mut self,
        path: &str,
        from: &IncludedFile,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic>;
}

/// A file that is included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncludedFile {
    /// Its path below the prompts folder, `/`-separated and without symlinks; or `builtin:NAME`.
    pub name: String,
    /// Its whole path; or `builtin:NAME`.
    pub path: PathBuf,
}

/// A file that a prompt includes, with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// The file.
    pub file: IncludedFile,
    /// Its whole text, so that the prompt can be made elsewhere, too.
    pub text: Arc<str>,
}

/// Where the lines of a body come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LineOrigins {
    /// The included files, in the order in which they first appear.
    pub(super) files: Vec<Included>,
    /// In the order of the lines; empty if nothing is included.
    sections: Vec<Section>,
}

/// Lines that follow each other in a file and in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Section {
    /// The first of them, if the lines of the body were those of one file.
    line: usize,
    /// The same line in its file.
    line_in_file: usize,
    /// The index of the file; `None` for the prompt's own.
    file: Option<usize>,
}

/// Where a position of the body comes from.
pub(super) struct LineOrigin<'o> {
    /// The included file; `None` for the prompt's own.
    pub(super) file: Option<&'o IncludedFile>,
    /// The position in the file.
    pub(super) position: Position,
}

impl LineOrigins {
    /// Returns the file and the line that a position of the body comes from.
    ///
    /// If line 2 of a prompt includes a file of three lines, line 4 of the body is line 3 of that
    /// file, and line 5 of the body is line 3 of the prompt.
    pub(super) fn line_origin(&self, position: Position) -> LineOrigin<'_> {
        // The sections are in the order of the lines, so the last one that begins at or before the
        // line has it.
        let section_count = self
            .sections
            .partition_point(|section| section.line <= position.line);
        let Some(section) = self.sections[..section_count].last() else {
            return LineOrigin {
                file: None,
                position,
            };
        };
        LineOrigin {
            file: section.file.map(|file| &self.files[file].file),
            position: Position {
                line: section.line_in_file + (position.line - section.line),
                ..position
            },
        }
    }

    /// Returns a diagnostic about the body with the position in the file that the line comes from.
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

/// What is included of a file.
pub(super) struct IncludedPart {
    /// The text without the frontmatter.
    pub(super) body: String,
    /// The line of the file in which the body begins.
    pub(super) first_line: usize,
    /// Whether its lines include other files in turn.
    pub(super) includes: bool,
}

/// Returns the body of a prompt's file with everything that it includes, and where its lines come
/// from. `reader` reads the bytes of an included file, and `parse` finds the body in its text.
///
/// # Errors
/// Fails if a file cannot be included, or if a limit is exceeded.
pub(super) fn assemble(
    own_part: &IncludedPart,
    reader: &mut dyn IncludeReader,
    parse: fn(&str) -> Result<IncludedPart, Diagnostic>,
) -> Result<(String, LineOrigins), Diagnostic> {
    let own_file = reader.own();
    let mut assembly = Assembly {
        reader,
        parse,
        body: None,
        line: own_part.first_line,
        origins: LineOrigins::default(),
        count: 0,
        open: Vec::new(),
    };
    assembly.add_file(own_file, None, own_part)?;
    Ok((assembly.body.unwrap_or_default(), assembly.origins))
}

/// A body to which files are being added.
struct Assembly<'r> {
    reader: &'r mut dyn IncludeReader,
    /// Finds what is included in the text of a file.
    parse: fn(&str) -> Result<IncludedPart, Diagnostic>,
    /// The lines so far; `None` before the first line.
    body: Option<String>,
    /// The number of the next line of the body.
    line: usize,
    origins: LineOrigins,
    /// How many includes there were.
    count: usize,
    /// The files that are being added, each included by the one before it.
    open: Vec<OpenFile>,
}

/// A file that is being added.
struct OpenFile {
    file: IncludedFile,
    /// The number of its current line.
    line: usize,
}

impl Assembly<'_> {
    /// Adds the lines of a file, and those of the files that they include. The file has this index
    /// among the included files; `None` for the prompt's own.
    ///
    /// # Errors
    /// Fails at the first line that cannot be added, with the position of that line. Then the
    /// assembly cannot be used any more.
    fn add_file(
        &mut self,
        file: IncludedFile,
        index: Option<usize>,
        part: &IncludedPart,
    ) -> Result<(), Diagnostic> {
        self.open.push(OpenFile {
            file,
            line: part.first_line,
        });
        for (number, line) in (part.first_line..).zip(part.body.split('\n')) {
            if let Some(current) = self.open.last_mut() {
                current.line = number;
            }
            let content = if part.includes {
                IncludeLine::parse(line)
            } else {
                IncludeLine::Text(line)
            };
            let result = match content {
                IncludeLine::Include(path) => self.include(path),
                IncludeLine::Text(text) => self.add_line(text, index, number),
            };
            if let Err(error) = result {
                return Err(self.with_position(error, index, number, line));
            }
        }
        self.open.pop();
        Ok(())
    }

    /// Adds the position of a line to an error. An error about the file that the line includes has
    /// a position of its own, and keeps it. `file` is the index of the file that has the line;
    /// `None` for the prompt's own file.
    fn with_position(
        &self,
        mut error: Diagnostic,
        file: Option<usize>,
        number: usize,
        line: &str,
    ) -> Diagnostic {
        if error.position.is_some() || error.file.is_some() {
            return error;
        }
        let indentation = &line[..line.len() - line.trim_start().len()];
        error.position = Some(Position {
            line: number,
            column: 1 + indentation.chars().count(),
        });
        error.file = file.map(|index| self.origins.files[index].file.path.as_path().into());
        error
    }

    /// Adds the body of the file that a path names in the current file, with what it includes
    /// itself. A partial file, such as `_style.md`, may include others without `include: true`.
    fn include(&mut self, path: &str) -> Result<(), Diagnostic> {
        self.count += 1;
        self.check_limits()?;
        let Some(current) = self.open.last() else {
            return Ok(()); // not reached, because a line of an open file includes this one
        };
        let (file, bytes) = self.reader.read(path, &current.file)?;
        self.check_circle(&file)?;
        let text = decode_without_bom(&bytes).map_err(|error| in_file(&file, error))?;
        let mut part = (self.parse)(text).map_err(|error| in_file(&file, error))?;
        part.includes = part.includes || is_partial(&file.name);
        let index = self.index_of(&file, text);
        self.add_file(file, Some(index), &part)
    }

    /// Refuses one include too many, in all or inside each other.
    fn check_limits(&self) -> Result<(), Diagnostic> {
        if self.count > MAX_INCLUDES {
            return Err(Diagnostic::error(
                None,
                format!("more than {MAX_INCLUDES} files are included"),
                "write some of the texts into one file",
            ));
        }
        if self.open.len() > MAX_INCLUDE_DEPTH {
            let chain = self.chain_from(0);
            return Err(Diagnostic::error(
                None,
                format!("more than {MAX_INCLUDE_DEPTH} files include each other: {chain}"),
                "include the last file directly",
            ));
        }
        Ok(())
    }

    /// Refuses a file that includes itself, directly or through others.
    fn check_circle(&self, file: &IncludedFile) -> Result<(), Diagnostic> {
        for (index, open) in self.open.iter().enumerate() {
            if open.file.name == file.name {
                let chain = self.chain_from(index);
                return Err(Diagnostic::error(
                    None,
                    format!("the file includes itself: {chain} → {}", file.name),
                    "delete one of these includes",
                ));
            }
        }
        Ok(())
    }

    /// Returns the index of a file among the included files, to which it is added if it is new.
    fn index_of(&mut self, file: &IncludedFile, text: &str) -> usize {
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

    /// Adds a line of text to the body. It is the line `line_in_file` of the file with this index;
    /// `None` for the prompt's own.
    ///
    /// # Errors
    /// Fails if the body would be longer than [`MAX_FILE`].
    fn add_line(
        &mut self,
        line: &str,
        file: Option<usize>,
        line_in_file: usize,
    ) -> Result<(), Diagnostic> {
        if let Some(body) = &mut self.body {
            body.push('\n');
        }
        let body = self.body.get_or_insert_default();
        if body.len() + line.len() > MAX_FILE {
            let limit = format_size(MAX_FILE);
            return Err(Diagnostic::error(
                None,
                format!("the text is longer than {limit} with all that it includes"),
                "include less, and give the path of the material for the agent to read",
            ));
        }
        body.push_str(line);
        self.record_origin(file, line_in_file);
        self.line += 1;
        Ok(())
    }

    /// Records where the current line comes from, unless it continues the last section.
    fn record_origin(&mut self, file: Option<usize>, line_in_file: usize) {
        if let Some(last) = self.origins.sections.last()
            && last.file == file
            && last.line_in_file + (self.line - last.line) == line_in_file
        {
            return;
        }
        self.origins.sections.push(Section {
            line: self.line,
            line_in_file,
            file,
        });
    }

    /// Returns the open files from this one on: `a.md:3 → b.md:1`.
    fn chain_from(&self, first: usize) -> String {
        let mut steps = Vec::new();
        for OpenFile { file, line } in &self.open[first..] {
            steps.push(format!("{}:{line}", file.name));
        }
        steps.join(" → ")
    }
}

/// Attributes an error to the included file instead of the line that includes it.
fn in_file(file: &IncludedFile, error: Diagnostic) -> Diagnostic {
    Diagnostic {
        file: Some(file.path.as_path().into()),
        position: error.position.or(Some(Position::START)),
        ..error
    }
}

/// What a line of a file stands for.
enum IncludeLine<'l> {
    /// The body of the file that this path names.
    Include(&'l str),
    Text(&'l str),
}

impl IncludeLine<'_> {
    /// Parses a line of a file that includes others. A backslash before a tag makes it text, and is
    /// dropped.
    fn parse(line: &str) -> IncludeLine<'_> {
        let tag = line.trim();
        if let Some(path) = path_in(tag) {
            return IncludeLine::Include(path);
        }
        match tag.strip_prefix('\\') {
            Some(escaped) if path_in(escaped).is_some() => IncludeLine::Text(escaped),
            _ => IncludeLine::Text(line),
        }
    }
}

/// Returns the path in a tag that includes a file: `_style` in `{{> _style}}`,
/// `{% include "_style" %}` and `{%- render '_style' -%}`.
fn path_in(tag: &str) -> Option<&str> {
    if let Some(inside) = tag.strip_prefix("{{>") {
        let path = inside.strip_suffix("}}")?.trim();
        let is_path = !path.is_empty() && !path.contains(['{', '}']);
        return is_path.then_some(path);
    }
    let inside = tag.strip_prefix("{%")?.strip_suffix("%}")?;
    let inside = inside.strip_prefix('-').unwrap_or(inside);
    let inside = inside.strip_suffix('-').unwrap_or(inside).trim();
    let argument = match inside.strip_prefix("include") {
        Some(argument) => argument.trim_start(),
        None => inside.strip_prefix("render")?.trim_start(),
    };
    for quote in ['"', '\''] {
        if let Some(after_quote) = argument.strip_prefix(quote) {
            let path = after_quote.strip_suffix(quote)?;
            let is_path = !path.is_empty() && !path.contains(quote);
            return is_path.then_some(path);
        }
    }
    None
}

/// Returns whether a file of this program's own folders is only there to be included: its name, or
/// that of a folder that it is in, begins with `_`. `path` is below the prompts folder,
/// `/`-separated.
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

        fn read(
            &mut self,
            path: &str,
            _: &IncludedFile,
        ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
            let found = self.0.iter().find(|(name, _)| *name == path);
            let (name, text) =
                found.ok_or_else(|| Diagnostic::error(None, format!("no {path}"), "fix"))?;
            Ok((file(name), text.clone().into_bytes()))
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
                .starts_with("more than 8 files include each other: a.md:4 → _0:1")
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
            "b:1:1: the text is longer than 4 MiB with all that it includes",
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
