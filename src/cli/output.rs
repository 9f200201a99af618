//! The output of commands: colors and columns on a terminal, plain lines for scripts.
//!
//! Apart from help, which clap prints, only this module and the transport write to standard output.

mod messages;
mod rows;
mod text;

pub(super) use messages::{
    collect_messages, confirm, error, failure, note, note_if_any, print_messages, warning, warnings,
};
pub(super) use rows::{Row, write_rows};
pub(super) use text::{
    ADDED, ERROR, FAINT, MARK, NAME, REMOVED, WARNING, cut, full_path, one_line, print, print_json,
    print_lines, print_verbatim, problem_in_two_lines, shown, terminal_width, without_usage,
    wrapped,
};
