//! The terminal of the picker: drawn on, read, and restored as it was found, also after a panic or
//! a signal.
//!
//! It is the controlling terminal, so that standard input and output may be pipes. An agent may
//! have left it raw, with reports of focus and the mouse, on its alternate screen; so everything is
//! set here, and nothing is expected. A read waits a tenth of a second at most, and then looks at
//! the size and at what another thread has read.

use super::frame::{Cursor, Frame, FrameLine};
use super::keys::{self, Key};
use crate::cli::output::for_terminal;
use crate::lock::lock;
use anstyle::Style;
use rustix::termios::{
    OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Mutex, Once};
use std::{env, panic, thread};

/// The alternate screen; reports of focus and the mouse off, pasted texts marked; long lines are
/// cut.
const ENTER: &str = "\x1b[?1049h\x1b[?1000;1002;1003;1004;1006l\x1b[?2004h\x1b[?7l\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Clears the screen, and ends all styles.
const CLEAR: &str = "\x1b[0m\x1b[2J";
const CLEAR_ROW: &str = "\x1b[2K";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// The size that is used for a terminal that does not tell its own.
const USUAL_SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// How many bytes may be part of one key: of a text that is pasted.
const MAX_KEY: usize = 1_000_000;

/// A terminal as it was before the picker used it.
struct SavedTerminal {
    tty: File,
    modes: Termios,
    /// What to write at the end.
    farewell: String,
}

/// The terminal that is to be restored, while it is used.
static SAVED: Mutex<Option<SavedTerminal>> = Mutex::new(None);

/// Opens the controlling terminal, if there is one.
fn open() -> io::Result<File> {
    let tty = File::options().read(true).write(true).open("/dev/tty")?;
    tcgetattr(&tty)?;
    Ok(tty)
}

/// Returns whether there is a terminal, and it can do more than print lines.
pub(in crate::cli) fn can_draw() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !is_dumb && open().is_ok()
}

/// The columns and rows of a terminal.
#[derive(Clone, Copy, PartialEq)]
struct Size {
    columns: usize,
    rows: usize,
}

/// A terminal that is drawn on until this is dropped.
pub(super) struct Terminal {
    tty: File,
    received: Vec<u8>,
    /// The size at which `rows` was drawn.
    size: Size,
    /// What is shown in each row.
    rows: Vec<String>,
    cursor: Option<Cursor>,
    has_colors: bool,
}

impl Terminal {
    /// Begins to draw. `after` is written at the end: what the agent had switched on.
    pub(super) fn new(after: &str) -> io::Result<Terminal> {
        let mut tty = make_raw(format!("{LEAVE}{after}"))?;
        tty.write_all(ENTER.as_bytes())?;
        let has_colors = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Terminal {
            tty,
            received: Vec::new(),
            size: Size {
                columns: 0,
                rows: 0,
            },
            rows: Vec::new(),
            cursor: None,
            has_colors,
        })
    }

    /// Returns the size of the terminal, or a usual one if it is not known.
    fn current_size(&self) -> Size {
        match tcgetwinsize(&self.tty) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            _ => USUAL_SIZE,
        }
    }

    /// Draws the frame that `make_frame` makes for the columns and rows of the terminal. Only the
    /// rows that have changed since the last frame are written; all of them after the size of the
    /// terminal has changed.
    pub(super) fn draw(
        &mut self,
        make_frame: impl FnOnce(usize, usize) -> Frame,
    ) -> io::Result<()> {
        let size = self.current_size();
        let frame = make_frame(size.columns, size.rows);
        let mut output = String::new();
        if size != self.size {
            self.size = size;
            self.rows = vec![String::new(); size.rows];
            output += CLEAR;
        }
        let mut lines = frame.lines.into_iter();
        for (index, row) in self.rows.iter_mut().enumerate() {
            let line = rendered(lines.next().unwrap_or_default(), self.has_colors);
            if *row != line {
                output += &format!("{}{CLEAR_ROW}{line}", move_to(index, 0));
                *row = line;
            }
        }
        if output.is_empty() && self.cursor == frame.cursor {
            return Ok(());
        }
        self.cursor = frame.cursor;
        if let Some(Cursor { row, column }) = frame.cursor {
            output += &move_to(row, column);
            output += SHOW_CURSOR;
        }
        // The cursor is hidden while the rows are written.
        let output = HIDE_CURSOR.to_owned() + &output;
        self.tty.write_all(output.as_bytes())
    }

    /// Returns the next key. While it waits, draws the frame anew about ten times in a second,
    /// because the size of the terminal and the prompts that have been read may change.
    ///
    /// # Errors
    /// The terminal is gone, or a pasted text is too long.
    pub(super) fn key(
        &mut self,
        mut make_frame: impl FnMut(usize, usize) -> Frame,
    ) -> io::Result<Key> {
        let mut is_pause = false;
        loop {
            if let Some(key) = keys::next(&mut self.received, is_pause) {
                return Ok(key);
            }
            if self.received.len() > MAX_KEY {
                return Err(io::Error::other(
                    "the pasted text is too long, or its end is missing",
                ));
            }
            self.draw(&mut make_frame)?;
            is_pause = !self.receive()?;
        }
    }

    /// Waits a tenth of a second at most for bytes of keys, and adds them to `received`. Returns
    /// whether any have arrived.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let length = loop {
            match self.tty.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if length == 0 {
            tcgetattr(&self.tty)?; // fails if there are no bytes because the terminal is gone
        }
        self.received.extend(&bytes[..length]);
        Ok(length > 0)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Returns the escape sequence that moves the cursor to a place that is counted from 0. Terminals
/// count from 1.
fn move_to(row: usize, column: usize) -> String {
    format!("\x1b[{};{}H", row + 1, column + 1)
}

/// Returns a line with escape sequences for its styles or, without colors, with none.
fn rendered(mut line: FrameLine, has_colors: bool) -> String {
    if !has_colors {
        for (style, _) in &mut line {
            *style = Style::new();
        }
    }
    for_terminal(&line)
}

/// Saves the modes of the terminal, and makes it raw: keys arrive at once and are not shown, and a
/// read ends after a tenth of a second. `farewell` is written when the terminal is restored.
fn make_raw(farewell: String) -> io::Result<File> {
    static WATCH: Once = Once::new();
    WATCH.call_once(restore_before_the_end);
    let tty = open()?;
    let modes = tcgetattr(&tty)?;
    let mut raw = modes.clone();
    raw.make_raw();
    raw.special_codes[SpecialCodeIndex::VMIN] = 0;
    raw.special_codes[SpecialCodeIndex::VTIME] = 1;
    *lock(&SAVED) = Some(SavedTerminal {
        tty: tty.try_clone()?,
        modes,
        farewell,
    });
    tcsetattr(&tty, OptionalActions::Now, &raw)?;
    Ok(tty)
}

/// Restores the terminal. Returns whether it was in use.
fn restore() -> bool {
    let mut saved = lock(&SAVED); // until all is restored
    let Some(mut terminal) = saved.take() else {
        return false;
    };
    // A terminal that is gone needs nothing, so both errors are ignored.
    let _ = terminal.tty.write_all(terminal.farewell.as_bytes());
    let _ = tcsetattr(&terminal.tty, OptionalActions::Now, &terminal.modes);
    true
}

/// Makes sure that the terminal is restored before a panic is reported, since the report would be
/// gone with the screen, and before a signal ends the program.
fn restore_before_the_end() {
    let report_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        report_panic(panic);
    }));
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]) else {
        return;
    };
    // Without this thread, a signal is caught and does nothing; the picker still ends by its keys.
    let _ = thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            let was_in_use = restore();
            let is_sent_by_key = [SIGINT, SIGQUIT].contains(&signal); // Ctrl-C and Ctrl-\
            // While an editor has the terminal, a signal that a key sends is for the editor.
            let is_for_editor = is_sent_by_key && !was_in_use;
            if !is_for_editor {
                // This only fails for signals that do not exist.
                let _ = emulate_default_handler(signal);
            }
        }
    });
}
