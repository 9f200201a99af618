//! The manual page: clap_mangen renders the commands and their options, and this test puts them
//! into one page. The page is committed in `docs/man`, for packagers and for the program itself.
//! The test fails if the page is out of date.

use crate::client::{Client, golden};
use clap::Command;
use clap_mangen::Man;

/// Returns the manual page, with a section for each command.
fn page() -> String {
    let mut program = prompt_expander::cli::command();
    program.build();
    let examples = program.get_after_help().unwrap().to_string();
    let mut page = text_of_program(&program);
    page += ".SH COMMANDS\n";
    for command in program.get_subcommands() {
        if command.get_name() != "help" {
            page += &section(command);
        }
    }
    page += ".SH EXAMPLES\n";
    page += &unfilled(&examples);
    ascii(&page)
}

/// Returns the sections of the program itself.
fn text_of_program(program: &Command) -> String {
    let man = Man::new(program.clone())
        .title("PROMPT-EXPANDER")
        // Without the commit and its date, which `--version` prints.
        .source(concat!("prompt-expander ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render_title(&mut page).unwrap();
    man.render_name_section(&mut page).unwrap();
    man.render_synopsis_section(&mut page).unwrap();
    man.render_description_section(&mut page).unwrap();
    man.render_options_section(&mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// Returns the section of a command, and the sections of its actions, such as `pack add`.
fn section(command: &Command) -> String {
    let man = Man::new(command.clone().mut_arg("help", |help| help.hide(true)));
    let mut text = Vec::new();
    man.render_synopsis_section(&mut text).unwrap();
    text.extend(b".PP\n");
    man.render_description_section(&mut text).unwrap();
    man.render_options_section(&mut text).unwrap();

    let name = command.get_bin_name().unwrap().replace('-', "\\-");
    let mut section = format!(".SS \"{name}\"\n");
    section += &without_headings(text);
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        // The page has the options for all commands at the beginning.
        let (examples, _) = examples
            .split_once("\n\n`prompt-expander --help`")
            .unwrap_or((&examples, ""));
        section += ".PP\n";
        section += &unfilled(examples);
    }
    for action in command.get_subcommands() {
        if action.get_name() != "help" {
            section += &self::section(action);
        }
    }
    section
}

/// Returns sections of clap_mangen without their headings and definitions.
fn without_headings(sections: Vec<u8>) -> String {
    let mut text = String::new();
    for line in String::from_utf8(sections).unwrap().lines() {
        if !line.starts_with(".SH ") && !line.starts_with(".ie ") && !line.starts_with(".el ") {
            text += line;
            text.push('\n');
        }
    }
    text
}

/// Returns a text whose lines stay as they are.
fn unfilled(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    // A dot or an apostrophe at the beginning of a line would begin a request.
    let text = text.replace("\n.", "\n\\&.").replace("\n'", "\n\\&'");
    format!(".nf\n{text}\n.fi\n")
}

/// Returns a page in ASCII, because not every troff reads UTF-8.
fn ascii(page: &str) -> String {
    let mut text = String::new();
    for letter in page.chars() {
        if letter.is_ascii() {
            text.push(letter);
        } else {
            text += &format!("\\[u{:04X}]", u32::from(letter));
        }
    }
    text
}

#[test]
fn the_manual_page_is_up_to_date_and_the_program_prints_it() {
    let page = page();
    golden("../docs/man/prompt-expander.1", &page);
    if std::env::var_os("UPDATE").is_none() {
        let ran = Client::new().arguments([]).run(["man"], ""); // prints the page that it was built with
        assert!(ran.status.success() && ran.stdout == page, "{}", ran.stderr);
    }
}

#[test]
fn the_manual_page_has_every_option_and_refers_to_no_other_page() {
    let page = page();
    let mut program = prompt_expander::cli::command();
    program.build();
    assert_has_options(&page, &program);
    assert!(!page.contains("(1)"), "there is only one page");
}

/// Checks that a page has every option that the help of a command and of its actions shows.
fn assert_has_options(page: &str, command: &Command) {
    for option in command
        .get_arguments()
        .filter(|option| !option.is_hide_set())
    {
        if let Some(name) = option.get_long() {
            let name = format!("\\-\\-{}", name.replace('-', "\\-"));
            assert!(page.contains(&name), "{name} of {}", command.get_name());
        }
    }
    for action in command.get_subcommands() {
        assert_has_options(page, action);
    }
}
