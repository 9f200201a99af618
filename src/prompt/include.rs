//! Includes: in a file with `include: true`, a line that is only `{{> path}}`,
//! `{% include "path" %}` or `{% render "path" %}` is replaced by the body of that file, before the
//! text is searched for placeholders. So a value can include nothing.
//!
//! Nothing is opened here: whoever reads the prompt's file reads the others too, as an
//! [`IncludeReader`].

use super::diagnostic::{Diagnostic, Position};
use super::limits::{MAX_FILE, MAX_INCLUDE_DEPTH, MAX_INCLUDES};
use super::text::text_of;
use crate::wording::in_bytes;
use std::path::PathBuf;
use std::sync::Arc;

/// Reads the files that one prompt includes.
pub trait IncludeReader {
    /// The prompt's own file.
    fn own(&self) -> IncludedFile;

    /// The file that `path` names in the file `from`, and its bytes.
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
pub(super) struct Origins {
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

impl Origins {
    /// The file that a line of the body comes from, `None` for the prompt's own, and the position
    /// there.
    pub(super) fn of(&self, position: Position) -> (Option<&IncludedFile>, Position) {
        let index = self
            .sections
            .partition_point(|section| section.line <= position.line);
        let Some(section) = index.checked_sub(1).map(|index| &self.sections[index]) else {
            return (None, position);
        };
        let line = section.line_in_file + (position.line - section.line);
        (
            section.file.map(|file| &self.files[file].file),
            Position { line, ..position },
        )
    }

    /// A diagnostic about the body, with the position in the file that the line comes from.
    pub(super) fn locate(&self, diagnostic: Diagnostic) -> Diagnostic {
        let Some((file, position)) = diagnostic.position.map(|position| self.of(position)) else {
            return diagnostic;
        };
        let file = file
            .map(|file| file.path.as_path().into())
            .or(diagnostic.file);
        Diagnostic {
            position: Some(position),
            file,
            ..diagnostic
        }
    }
}

/// The body of a file with everything that it includes.
///
/// # Errors
/// A file cannot be included, or a limit is exceeded.
pub(super) fn assemble(
    whole: &Part,
    reader: &mut dyn IncludeReader,
    read: fn(&str) -> Result<Part, Diagnostic>,
) -> Result<(String, Origins), Diagnostic> {
    let own = reader.own();
    let mut assembly = Assembly {
        reader,
        read,
        body: None,
        line: whole.first_line,
        origins: Origins::default(),
        count: 0,
        open: Vec::new(),
    };
    assembly.add(&whole.body, whole.first_line, own, None, true)?;
    Ok((assembly.body.unwrap_or_default(), assembly.origins))
}

/// What is included of a file.
pub(super) struct Part {
    pub(super) body: String,
    /// The line of the file in which the body begins.
    pub(super) first_line: usize,
    /// Whether its lines include other files in turn.
    pub(super) includes: bool,
}

struct Assembly<'r> {
    reader: &'r mut dyn IncludeReader,
    /// Reads the text of a file.
    read: fn(&str) -> Result<Part, Diagnostic>,
    /// `None` before the first line.
    body: Option<String>,
    /// The number of the next line.
    line: usize,
    origins: Origins,
    /// How many includes there were.
    count: usize,
    /// The files that are being added, each included by the one before it, with its current line.
    open: Vec<(IncludedFile, usize)>,
}

impl Assembly<'_> {
    /// Adds the body of a file. `includes`: whether lines that include another file do so.
    fn add(
        &mut self,
        body: &str,
        first_line: usize,
        own: IncludedFile,
        index: Option<usize>,
        includes: bool,
    ) -> Result<(), Diagnostic> {
        let file = index.map(|_| own.path.as_path().into());
        self.open.push((own, first_line));
        for (number, line) in (first_line..).zip(body.split('\n')) {
            if let Some((_, current)) = self.open.last_mut() {
                *current = number;
            }
            let position = Position {
                line: number,
                column: 1 + line.chars().take_while(|it| it.is_whitespace()).count(),
            };
            let tag = line.trim();
            let escaped = tag
                .strip_prefix('\\')
                .filter(|tag| includes && path(tag).is_some());
            let result = match path(tag).filter(|_| includes) {
                Some(path) => self.include(path),
                None => self.add_line(escaped.unwrap_or(line), index, number),
            };
            // The error of a file that is included in turn has its own place.
            result.map_err(
                |error| match error.position.is_some() || error.file.is_some() {
                    true => error,
                    false => Diagnostic {
                        position: Some(position),
                        file: file.clone(),
                        ..error
                    },
                },
            )?;
        }
        self.open.pop();
        Ok(())
    }

    fn include(&mut self, path: &str) -> Result<(), Diagnostic> {
        self.count += 1;
        if self.count > MAX_INCLUDES {
            let message = format!("more than {MAX_INCLUDES} files are included");
            return Err(Diagnostic::error(
                None,
                message,
                "write some of the texts into one file",
            ));
        }
        if self.open.len() > MAX_INCLUDE_DEPTH {
            let message = format!(
                "more than {MAX_INCLUDE_DEPTH} files include each other: {}",
                self.chain(0)
            );
            return Err(Diagnostic::error(
                None,
                message,
                "include the last file directly",
            ));
        }
        let Some((from, _)) = self.open.last() else {
            return Ok(());
        };
        let (file, bytes) = self.reader.read(path, from)?;
        if let Some(first) = self
            .open
            .iter()
            .position(|(open, _)| open.name == file.name)
        {
            let message = format!(
                "the file includes itself: {} → {}",
                self.chain(first),
                file.name
            );
            return Err(Diagnostic::error(
                None,
                message,
                "delete one of these includes",
            ));
        }
        let within = |error: Diagnostic| Diagnostic {
            file: Some(file.path.as_path().into()),
            // The whole file is wrong, and not the line that includes it.
            position: error.position.or(Some(Position::START)),
            ..error
        };
        let text = text_of(&bytes).map_err(within)?;
        let part = (self.read)(text).map_err(within)?;
        let includes = part.includes || is_partial(&file.name);
        let known = self
            .origins
            .files
            .iter()
            .position(|known| known.file == file);
        let index = known.unwrap_or_else(|| {
            self.origins.files.push(Included {
                file: file.clone(),
                text: text.into(),
            });
            self.origins.files.len() - 1
        });
        self.add(&part.body, part.first_line, file, Some(index), includes)
    }

    fn add_line(
        &mut self,
        line: &str,
        file: Option<usize>,
        line_in_file: usize,
    ) -> Result<(), Diagnostic> {
        let body = match &mut self.body {
            None => self.body.insert(String::new()),
            Some(body) => {
                body.push('\n');
                body
            }
        };
        if body.len() + line.len() > MAX_FILE {
            let message = format!(
                "the text is longer than {} with all that it includes",
                in_bytes(MAX_FILE)
            );
            let fix = "include less, and give the path of the material for the agent to read";
            return Err(Diagnostic::error(None, message, fix));
        }
        body.push_str(line);
        let sections = &mut self.origins.sections;
        let continues = |last: &Section| {
            last.file == file && last.line_in_file + (self.line - last.line) == line_in_file
        };
        if !sections.last().is_some_and(continues) {
            sections.push(Section {
                line: self.line,
                line_in_file,
                file,
            });
        }
        self.line += 1;
        Ok(())
    }

    /// The open files from this one on: `a.md:3 → b.md:1`.
    fn chain(&self, first: usize) -> String {
        let steps: Vec<String> = self.open[first..]
            .iter()
            .map(|(file, line)| format!("{}:{line}", file.name))
            .collect();
        steps.join(" → ")
    }
}

/// The path in a tag.
fn path(tag: &str) -> Option<&str> {
    if let Some(inside) = tag.strip_prefix("{{>") {
        let path = inside.strip_suffix("}}")?.trim();
        return (!path.is_empty() && !path.contains(['{', '}'])).then_some(path);
    }
    let inside = tag.strip_prefix("{%")?.strip_suffix("%}")?;
    let inside = inside.strip_prefix('-').unwrap_or(inside);
    let inside = inside.strip_suffix('-').unwrap_or(inside).trim();
    let quoted = inside
        .strip_prefix("include")
        .or_else(|| inside.strip_prefix("render"))?
        .trim_start();
    let quote = quoted
        .chars()
        .next()
        .filter(|quote| matches!(quote, '"' | '\''))?;
    let path = quoted[1..].strip_suffix(quote)?;
    (!path.is_empty() && !path.contains(quote)).then_some(path)
}

/// Whether a file of this program's own folders is only there to be included: its name, or that of
/// a folder that it is in, begins with `_`. `path` is below the prompts folder, `/`-separated.
pub fn is_partial(path: &str) -> bool {
    path.split('/').any(|segment| segment.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Call, FileName, Name, Prompt};

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
        FileName::OWN.parse(&Name::new("a").unwrap(), own.as_bytes(), Some(&mut files))
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
