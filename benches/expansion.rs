//! How long do the two steps of an expansion take, in memory: a file becomes a prompt, and a prompt
//! with an input becomes a text?
//!
//! In a conversation the first is done once for each change of a file, the second for each request.

mod common;

use common::prompts::{long, mebibyte, small};
use divan::Bencher;
use divan::counter::BytesCount;
use prompt_expander::prompt::{Call, Diagnostic, Name, Prompt};

fn main() {
    divan::main();
}

/// A prompt file, and what it is expanded with.
struct Case {
    name: &'static str,
    file: String,
    input: String,
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

fn cases() -> [Case; 3] {
    let input = "solid-state batteries".to_owned();
    [
        Case {
            name: "small",
            file: small(),
            input: input.clone(),
        },
        Case {
            name: "8 KiB",
            file: long(),
            input,
        },
        // As file a body of that length, as input one that is pasted.
        Case {
            name: "1 MiB",
            file: format!("---\ntitle: Large\n---\n{}", mebibyte()),
            input: mebibyte(),
        },
    ]
}

#[divan::bench(args = cases())]
fn parse(bencher: Bencher<'_, '_>, case: &Case) {
    let bencher = bencher.counter(BytesCount::new(case.file.len()));
    bencher.bench(|| parsed(case));
}

#[divan::bench(args = cases())]
fn expand(bencher: Bencher<'_, '_>, case: &Case) {
    let prompt = parsed(case).expect("a prompt");
    bencher
        .counter(BytesCount::new(case.input.len()))
        .bench(|| prompt.expand(Call::Text(&case.input)));
}

fn parsed(case: &Case) -> Result<Prompt, Diagnostic> {
    Prompt::parse(Name::new("research").expect("a name"), case.file.as_bytes())
}
