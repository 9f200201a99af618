//! Any texts are a prompt with partials, with and without `engine: jinja`, or a diagnostic; and any
//! expansion ends within its limits.

use prompt_expander::prompt::{
    Call, Diagnostic, FileSuffix, FileToInclude, IncludeReader, IncludedFile, Kind, MAX_EXPANSION,
    MAX_FILE, MAX_INCLUDES, Name, Piece, Prompt,
};
use std::collections::BTreeMap;

/// The prompt's own file, and the partials that it can include: `_0.md` and so on.
struct Files<'f> {
    files: Vec<(String, &'f str)>,
    reads: usize,
}

impl IncludeReader for Files<'_> {
    fn own(&self) -> IncludedFile {
        included(&self.files[0].0)
    }

    fn read(&mut self, path: &str, from: &IncludedFile) -> Result<FileToInclude, Diagnostic> {
        assert!(
            self.files.iter().any(|(name, _)| *name == from.name),
            "{from:?}"
        );
        self.reads += 1;
        let name = if path.ends_with(".md") {
            path.to_owned()
        } else {
            format!("{path}.md")
        };
        let found = self.files.iter().find(|(known, _)| *known == name);
        found
            .map(|(name, text)| FileToInclude {
                file: included(name),
                bytes: text.as_bytes().to_vec(),
            })
            .ok_or_else(|| {
                Diagnostic::new(Kind::NotFound, "there is no such file", "correct the path")
            })
    }
}

fn included(name: &str) -> IncludedFile {
    IncludedFile {
        name: name.to_owned(),
        path: name.into(),
    }
}

/// Reads sections between lines `===`: the input, the value of `a`, the body of the prompt, and
/// partials.
pub(super) fn check_bytes(case: &[u8]) {
    let case = String::from_utf8_lossy(case);
    let mut sections = case.split("\n===\n");
    let mut section = || sections.next().unwrap_or_default();
    let (input, a, body) = (section(), section(), section());
    check(body, &sections.collect::<Vec<_>>(), a, input);
}

/// Reads and expands a prompt with this body and these partials.
pub(super) fn check(body: &str, partials: &[&str], a: &str, input: &str) {
    for keys in [
        "",
        "messages: true\n",
        "engine: jinja\n",
        "engine: jinja\nmessages: true\n",
    ] {
        let file = format!(
            "---\n{keys}include: true\narguments: [a, {{name: b, default: \"B {{{{ a }}}}\"}}]\n---\n{body}"
        );
        let mut files = vec![("p.md".to_owned(), file.as_str())];
        files.extend(
            partials
                .iter()
                .enumerate()
                .map(|(index, text)| (format!("_{index}.md"), *text)),
        );
        let parse = || {
            let mut reader = Files {
                files: files.clone(),
                reads: 0,
            };
            let parsed =
                FileSuffix::OWN.parse(&Name::new("p").unwrap(), file.as_bytes(), Some(&mut reader));
            assert!(reader.reads <= MAX_INCLUDES);
            parsed
        };
        let parsed = parse();
        assert_eq!(parsed, parse(), "read twice");
        match parsed {
            Ok(prompt) => is_of(&prompt, &files, a, input),
            Err(diagnostic) => is_about(&diagnostic, &files),
        }
    }
}

fn is_of(prompt: &Prompt, files: &[(String, &str)], a: &str, input: &str) {
    assert!(
        prompt
            .messages
            .iter()
            .map(|message| message.body().len())
            .sum::<usize>()
            <= MAX_FILE
    );
    for file in prompt.included() {
        assert!(
            files.iter().any(|(name, _)| *name == file.file.name),
            "{file:?}"
        );
    }
    for warning in prompt.warnings() {
        is_about(&warning, files);
    }
    let values: BTreeMap<String, String> = [("a", a), ("input", input)]
        .map(|(name, value)| (name.into(), value.into()))
        .into();
    let call = Call::Named {
        values: &values,
        input: "",
        is_strict: false,
    };
    let expanded = prompt.expand(call);
    assert_eq!(expanded, prompt.expand(call), "expanded twice");
    match expanded {
        Ok(messages) => {
            let texts: Vec<String> = messages
                .messages
                .into_iter()
                .map(|message| message.text)
                .collect();
            assert!(texts.iter().map(String::len).sum::<usize>() <= MAX_EXPANSION);
            // What is said to be a value is one, or the part of it that is kept.
            let join = |pieces: &mut dyn Iterator<Item = Piece<'_>>| {
                let texts = pieces.map(|piece| {
                    if let Piece::Value(value) = piece {
                        assert!(a.contains(value) || input.contains(value), "{value:?}");
                    }
                    piece.as_str()
                });
                texts.collect()
            };
            let joined = prompt.expand_with(call, join).unwrap();
            assert!(
                joined
                    .messages
                    .into_iter()
                    .map(|message| message.text)
                    .eq(texts)
            );
        }
        Err(error) => {
            assert_eq!(error.kind, Kind::TooLong);
            let file = error
                .file
                .as_ref()
                .map_or("p.md", |file| file.to_str().unwrap());
            assert!(
                error
                    .position
                    .is_none_or(|at| (1..=lines(files, file)).contains(&at.line)),
                "{error}"
            );
        }
    }
}

/// The diagnostic says what and how in one line each, and where in which file.
fn is_about(diagnostic: &Diagnostic, files: &[(String, &str)]) {
    for text in [&diagnostic.message, &diagnostic.fix] {
        assert!(
            !text.is_empty()
                && !text.contains(|letter: char| letter.is_control() && letter != '\t'),
            "{text:?}"
        );
    }
    let file = diagnostic
        .file
        .as_ref()
        .map_or("p.md", |file| file.to_str().unwrap());
    let lines = lines(files, file);
    let Some(position) = diagnostic.position else {
        return;
    };
    assert!(
        (1..=lines).contains(&position.line) && position.column >= 1,
        "{file} {position:?}: {diagnostic}"
    );
}

/// How many lines a file has.
fn lines(files: &[(String, &str)], name: &str) -> usize {
    let (_, text) = files
        .iter()
        .find(|(known, _)| known == name)
        .expect("a known file");
    // YAML ends a line at a lone CR, and nothing else does.
    text.replace("\r\n", "\n").split(['\n', '\r']).count()
}
