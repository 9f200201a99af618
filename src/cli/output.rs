//! The output of commands: colors and columns on a terminal, plain lines for scripts.
//!
//! Apart from help, which clap prints, only this module and the transport write to standard output.

mod messages;
mod pager;
mod paths;
mod text;

pub(super) use messages::{
    collect_messages, confirm, error, failure, note, note_if_any, print_messages, report, warning,
};
pub(super) use pager::{print_paged, turn_pager_off};
pub(super) use paths::{abbreviated, path_text};
pub(super) use text::{
    ADDED, ERROR, FAINT, NAME, REMOVED, WARNING, fit, full_path, in_lines, one_line, print, print_json, print_line,
    print_verbatim, problem_in_a_paragraph, problem_in_two_lines, shown, terminal_width, width, without_usage, wrapped,
};
