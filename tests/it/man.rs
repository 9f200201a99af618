//! The manual page: clap_mangen generates it from the commands and options. It is committed in `docs/man`, for packagers and for
//! the program itself; a test fails if it is out of date.

use crate::client::{Client, golden};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

const ENVIRONMENT: [(&str, &str); 5] = [
    ("PROMPT_EXPANDER_PROMPTS", "Folders of prompts, separated as in PATH. The option --prompts overrides it."),
    ("VISUAL, EDITOR", "The editor for edit and new --edit; the first that is set counts."),
    ("XDG_CONFIG_HOME", "The configuration directory on Linux, instead of ~/.config."),
    (
        "CODEX_HOME, CLAUDE_CONFIG_DIR, GEMINI_CLI_HOME",
        "Where install and doctor look for the files of these agents, as the agents do.",
    ),
    ("NO_COLOR", "If set, output is not colored."),
];

const FILES: [(&str, &str); 3] = [
    ("~/.config/prompt-expander/prompts", "Your prompts, on Linux."),
    ("~/Library/Application Support/prompt-expander/prompts", "The same on macOS."),
    ("%APPDATA%\\prompt-expander\\prompts", "The same on Windows."),
];

const EXIT_STATUS: [(&str, &str); 3] = [
    ("0", "Success."),
    (
        "1",
        "Failure, and standard error says why; for check, edit and new, a file has an error; for doctor, something is broken.",
    ),
    ("2", "Invalid arguments."),
];

/// Defines an apostrophe, which groff would otherwise print as an accent.
const QUOTE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// A part of the page from clap_mangen, without the definitions that it repeats at the beginning of each part.
fn rendered(render: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut page = Vec::new();
    render(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let lines = page.lines().filter(|line| !line.starts_with(".ie ") && !line.starts_with(".el "));
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// A part without its headings.
fn below_heading(part: &str) -> String {
    part.lines().filter(|line| !line.starts_with(".SH ")).map(|line| format!("{line}\n")).collect()
}

fn list(heading: &str, items: &[(&str, &str)]) -> String {
    let mut roff = Roff::new();
    roff.control("SH", [heading]);
    for (term, text) in items {
        roff.control("TP", []).text([bold(*term)]).text([roman(*text)]);
    }
    rendered(|page| roff.to_writer(page))
}

/// The examples of a help text, each line as it is.
fn examples(help: &str, heading: &str) -> String {
    let mut roff = Roff::new();
    for part in help.split("\n\n") {
        let (title, lines) = match part.split_once('\n') {
            Some((title, lines)) if title.ends_with(':') => (Some(title.trim_end_matches(':')), lines),
            _ => (None, part),
        };
        match title {
            Some(title) if heading == "SH" => _ = roff.control("SH", [title.to_uppercase().as_str()]),
            Some(title) => _ = roff.control("PP", []).text([roman(format!("{title}:"))]),
            None => _ = roff.control("PP", []),
        }
        roff.control("EX", []);
        for line in lines.lines() {
            roff.text([roman(line)]);
        }
        roff.control("EE", []);
    }
    rendered(|page| roff.to_writer(page))
}

fn page() -> String {
    let mut program = prompt_expander::cli::command();
    program.build();
    let man = Man::new(program.clone().subcommand_value_name("COMMAND")).title("PROMPT-EXPANDER");
    let mut page = QUOTE.to_owned() + &rendered(|page| man.render_title(page));
    page += &rendered(|page| man.render_name_section(page));
    page += &rendered(|page| man.render_synopsis_section(page));
    page += &rendered(|page| man.render_description_section(page));
    page += &rendered(|page| man.render_options_section(page));
    page += ".SH COMMANDS\nCommands that use prompts also take \\fB\\-\\-prompts\\fR, \\fB\\-\\-project\\fR and \\fB\\-\\-no\\-builtin\\fR.\n";
    for command in program.get_subcommands().filter(|command| command.get_name() != "help") {
        let command = command.clone().mut_args(|option| {
            let is_common = option.get_id() == "help"
                || program
                    .get_arguments()
                    .any(|common| (common.get_id(), common.get_help()) == (option.get_id(), option.get_help()));
            option.hide(is_common)
        });
        let man = Man::new(command.clone());
        page += &format!(".SS {}\n", command.get_name());
        page += &below_heading(&rendered(|page| man.render_synopsis_section(page)));
        page += ".PP\n";
        page += &below_heading(&rendered(|page| man.render_description_section(page)));
        page += &below_heading(&rendered(|page| man.render_options_section(page)));
        if let Some(help) = command.get_after_help() {
            page += &examples(&help.to_string(), "PP");
        }
    }
    page += &examples(&program.get_after_help().unwrap().to_string(), "SH");
    page += &list("ENVIRONMENT", &ENVIRONMENT);
    page += &list("FILES", &FILES);
    page + &list("EXIT STATUS", &EXIT_STATUS)
}

#[test]
fn the_manual_page_is_up_to_date_and_the_program_prints_it() {
    let page = page();
    golden("../docs/man/prompt-expander.1", &page);
    let help = Client::new().arguments([]).run(["--help"], "").stdout;
    let commands = help.split("\nCommands:\n").nth(1).unwrap().lines().take_while(|line| !line.is_empty());
    // A continuation line has no name.
    let names = commands.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    for name in names.filter(|name| !["", "help"].contains(name)) {
        assert!(page.contains(&format!("\n.SS {name}\n")), "{name}");
    }
    if std::env::var_os("UPDATE").is_none() {
        let ran = Client::new().arguments([]).run(["man"], ""); // prints the page that it was built with
        assert!(ran.status.success() && ran.stdout == page, "{}", ran.stderr);
    }
}

/// Skipped where groff is not installed.
#[cfg(target_os = "linux")]
#[test]
fn groff_has_no_warnings_about_the_manual_page() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/man/prompt-expander.1");
    let groff = std::process::Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z", file]).output();
    let Ok(groff) = groff else { return };
    assert!(groff.status.success() && groff.stderr.is_empty(), "{}", String::from_utf8_lossy(&groff.stderr));
}
