//! Prints the output of commands: with colors and columns on a terminal, as plain lines in a pipe.
//!
//! Only `stream.rs` writes to standard output and standard error.

mod columns;
mod messages;
mod progress;
mod stream;
mod table;
mod text;

pub(super) use crate::wording::{full_path, truncate};
pub(super) use columns::{LabeledRow, in_columns};
#[cfg(feature = "http")]
pub(super) use messages::print_unlabelled;
pub(super) use messages::{Reporter, is_help, print_note, print_warning};
pub(super) use progress::Progress;
pub(super) use stream::{
    Escaping, Styled, ask_terminal_to_copy, clipboard_sequence, for_terminal, log_stream, print,
    print_json, print_json_line, print_verbatim, protocol_stream, styled,
};
pub(super) use table::print_table;
pub(super) use text::{
    ADDED, ERROR, FAINT, HIGHLIGHT, NAME, REMOVED, WARNING, display_path, one_line, print_lines,
    problem_in_two_lines, problem_location, severity_label, terminal_width, without_usage,
    wrap_with_indent,
};
