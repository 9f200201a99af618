//! The manual page: clap_mangen generates it from the commands and options. It is committed in
//! `docs/man`, for packagers and for the program itself; the test fails if it is out of date.

use crate::client::{Client, assert_contains, golden};
use clap_mangen::Man;

fn page() -> String {
    let mut program = prompt_expander::cli::command();
    program.build();
    // Without the commit and its date, which `--version` prints.
    let source = concat!("prompt-expander ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    Man::new(program)
        .title("PROMPT-EXPANDER")
        .source(source)
        .render(&mut page)
        .unwrap();
    // Not every troff reads UTF-8.
    let in_ascii = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => format!("\\[u{:04X}]", u32::from(letter)),
    };
    String::from_utf8(page)
        .unwrap()
        .chars()
        .map(in_ascii)
        .collect()
}

#[test]
fn the_manual_page_is_up_to_date_and_the_program_prints_it() {
    let page = page();
    golden("../docs/man/prompt-expander.1", &page);
    assert_contains(&page, "prompt\\-expander\\-expand(1)");
    if std::env::var_os("UPDATE").is_none() {
        let ran = Client::new().arguments([]).run(["man"], ""); // prints the page that it was built with
        assert!(ran.status.success() && ran.stdout == page, "{}", ran.stderr);
    }
}
