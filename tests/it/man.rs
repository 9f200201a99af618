//! The manual page: clap_mangen generates it from the commands and options. It is committed in `docs/man`, for packagers and for
//! the program itself; a test fails if it is out of date.

use crate::client::{Client, golden};
use clap::{Arg, ArgAction, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

const ENVIRONMENT: [(&str, &str); 6] = [
    ("PROMPT_EXPANDER_PROMPTS", "Folders of prompts, separated as in PATH. The option --prompts overrides it."),
    ("VISUAL, EDITOR", "The editor for edit and new --edit; the first that is set counts."),
    ("PAGER", "The pager for long output on a terminal, instead of less; if it is empty, there is none."),
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
    ("0", "Success, also if you answer a question with n."),
    (
        "1",
        "Failure; standard error says why. check, edit and new: a file has an error. check --strict: a file has an error or a \
         warning. doctor: something is broken. install and uninstall: at least one agent failed.",
    ),
    ("2", "Invalid arguments."),
];

/// Defines an apostrophe, which groff would otherwise print as an accent, and turns hyphenation off, so that commands and names
/// can be copied.
const DEFINITIONS: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n.nr HY 0\n";

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

/// What follows the options in a help text: examples, and sections of plain text.
fn after_help(help: &str, heading: &str) -> String {
    let mut roff = Roff::new();
    let parts = help.split("\n\n").filter(|part| part.starts_with("  ") || part.contains(":\n"));
    for part in parts {
        let (title, lines) = part.split_once(":\n").filter(|_| !part.starts_with(' ')).unwrap_or(("", part));
        match title {
            "" => {}
            title if heading == "SH" => _ = roff.control("SH", [title.to_uppercase().as_str()]),
            title => _ = roff.control("PP", []).text([roman(format!("{title}:"))]),
        }
        if title.is_empty() || title.starts_with("Example") || lines.contains("prompt-expander ") {
            examples(&mut roff, lines);
        } else {
            roff.text([roman(lines.lines().map(str::trim).collect::<Vec<_>>().join(" "))]);
        }
    }
    rendered(|page| roff.to_writer(page))
}

/// Each command as it is, and its comment, which is in a second column of the help, below it.
fn examples(roff: &mut Roff, lines: &str) {
    let mut examples: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for line in lines.lines() {
        let text = line.trim_start();
        let (first, second) = text.split_once("  ").map_or((text, ""), |(first, second)| (first, second.trim()));
        match examples.last_mut() {
            Some((_, comment)) if line.starts_with("   ") && !comment.is_empty() => comment.push(text),
            Some((command, _)) if line.starts_with("   ") => command.push(line),
            _ => examples.push((vec![first], vec![second].into_iter().filter(|text| !text.is_empty()).collect())),
        }
    }
    for (command, comment) in examples {
        roff.control("PP", []).control("EX", []);
        for line in command {
            roff.text([roman(line)]);
        }
        roff.control("EE", []);
        if !comment.is_empty() {
            roff.control("RS", ["4"]).text([roman(comment.join(" "))]).control("RE", []);
        }
    }
}

/// The name of a command, and its options and arguments with their values, which the synopsis of clap_mangen lacks.
fn synopsis(command: &Command) -> String {
    let is_shown = |arg: &&Arg| !arg.is_hide_set() && arg.get_id() != "help";
    let options = command.get_arguments().filter(|arg| !arg.is_positional()).filter(is_shown);
    let words = options.chain(command.get_positionals().filter(is_shown)).map(|arg| {
        let names = arg.get_value_names().unwrap_or_default().iter().map(|name| format!("\\fI{}\\fR", escaped(name)));
        let values = names.filter(|_| arg.get_action().takes_values()).collect::<Vec<_>>().join("\\ ");
        let is_repeated = matches!(arg.get_action(), ArgAction::Append) || arg.get_num_args().unwrap().max_values() > 1;
        let option = match (arg.get_long(), values.as_str()) {
            (None, values) => values.to_owned(),
            (Some(long), "") => format!("\\fB\\-\\-{}\\fR", escaped(long)),
            (Some(long), values) => format!("\\fB\\-\\-{}\\fR\\ {values}", escaped(long)),
        };
        let option = if arg.is_last_set() { format!("\\-\\-\\ {option}") } else { option };
        let option = if arg.is_required_set() { option } else { format!("[{option}]") };
        format!("{option}{}\n", if is_repeated { "\\|.\\|.\\|." } else { "" })
    });
    let words: String = words.collect();
    let name = escaped(command.get_bin_name().unwrap_or(command.get_name()));
    let subcommand = if command.has_subcommands() { "[\\fICOMMAND\\fR]\n" } else { "" };
    format!(".SY \"{name}\"\n{words}{subcommand}.YS\n")
}

/// A hyphen in an option or a name is a minus sign, so that it can be copied.
fn escaped(text: &str) -> String {
    text.replace('-', "\\-").replace(' ', "\\ ")
}

fn page() -> String {
    let mut program = prompt_expander::cli::command();
    program.build();
    // Without the commit and its date, which `--version` prints.
    let source = concat!("prompt-expander ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(program.clone()).title("PROMPT-EXPANDER").source(source);
    let mut page = DEFINITIONS.to_owned() + &rendered(|page| man.render_title(page));
    page += ".ad l\n"; // without extra spaces between words
    page += &rendered(|page| man.render_name_section(page));
    page += &format!(".SH SYNOPSIS\n{}", synopsis(&program));
    page += &rendered(|page| man.render_description_section(page));
    page += &rendered(|page| man.render_options_section(page));
    page += ".SH COMMANDS\nThe options for all commands may also follow the name of a command.\n";
    let is_shown = |command: &&Command| command.get_name() != "help";
    let commands = program.get_subcommands().filter(is_shown);
    for command in
        commands.flat_map(|command| std::iter::once(command).chain(command.get_subcommands().filter(is_shown)))
    {
        let command = command.clone().mut_args(|option| {
            let is_common = option.get_id() == "help"
                || program
                    .get_arguments()
                    .any(|common| (common.get_id(), common.get_help()) == (option.get_id(), option.get_help()));
            option.hide(is_common)
        });
        let name = command.get_bin_name().unwrap().trim_start_matches("prompt-expander ");
        page += &format!(".SS {name}\n{}", synopsis(&command));
        let help = command.get_after_help().map(ToString::to_string);
        let man = Man::new(command);
        page += ".PP\n";
        page += &below_heading(&rendered(|page| man.render_description_section(page)));
        page += &below_heading(&rendered(|page| man.render_options_section(page)));
        if let Some(help) = help {
            page += &after_help(&help, "PP");
        }
    }
    page += &after_help(&program.get_after_help().unwrap().to_string(), "SH");
    page += &list("ENVIRONMENT", &ENVIRONMENT);
    page += &list("FILES", &FILES);
    page += &list("EXIT STATUS", &EXIT_STATUS);
    // Not every troff reads UTF-8.
    let in_ascii = |letter: char| match letter.is_ascii() {
        true => letter.to_string(),
        false => format!("\\[u{:04X}]", u32::from(letter)),
    };
    page.chars().map(in_ascii).collect()
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

/// What groff prints of the manual page on a terminal of this width, and its warnings; `None` where groff is not installed.
#[cfg(target_os = "linux")]
fn shown(columns: usize) -> Option<(String, String)> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/man/prompt-expander.1");
    let width = format!("-rLL={columns}n");
    let groff = std::process::Command::new("groff").args(["-man", "-Tutf8", "-ww", "-P-cbou", &width, file]).output();
    let groff = groff.ok()?;
    assert!(groff.status.success());
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some((text(groff.stdout), text(groff.stderr)))
}

#[cfg(target_os = "linux")]
#[test]
fn groff_has_no_warnings_about_the_manual_page() {
    let Some((_, warnings)) = shown(80) else { return };
    assert_eq!(warnings, "");
}

#[cfg(target_os = "linux")]
#[test]
fn every_line_of_the_manual_page_fits_80_columns() {
    let Some((page, _)) = shown(80) else { return };
    let long: Vec<&str> = page.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn the_synopsis_of_a_command_shows_the_values_of_its_options() {
    let page = page();
    for shown in ["[\\fB\\-\\-tag\\fR\\ \\fITAG\\fR]", "[\\fB\\-\\-arg\\fR\\ \\fINAME=VALUE\\fR]\\|.\\|.\\|."] {
        assert!(page.contains(shown), "{shown}");
    }
}
