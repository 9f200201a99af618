//! Draws the picker on the terminal, and reads keys from it. Restores the terminal afterwards, even
//! after a panic or a signal.
//!
//! Uses the controlling terminal, because standard input and output may be pipes. An agent may have
//! left it in raw mode, in the alternate screen, or with focus and mouse reports enabled, so
//! nothing is assumed about its modes.

use super::frame::{Cursor, Frame, FrameLine};
use super::keys::{self, Key};
use crate::cli::interrupts::{self, KEYBOARD_SIGNALS};
use crate::cli::output::for_terminal;
use crate::lock::lock;
use anstyle::Style;
use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGHUP, SIGTERM};
use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Mutex, Once};
use std::{env, panic, thread};

/// Switches to the alternate screen, disables focus and mouse reports, enables bracketed paste,
/// disables line wrapping, and clears the screen.
const ENTER: &str = "\x1b[?1049h\x1b[?1000;1002;1003;1004;1006l\x1b[?2004h\x1b[?7l\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Resets all styles, and clears the screen.
const CLEAR: &str = "\x1b[0m\x1b[2J";
const CLEAR_ROW: &str = "\x1b[2K";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// The assumed size of a terminal that doesn't report one.
const DEFAULT_SIZE: Size = Size {
    columns: 80,
    rows: 24,
};

/// The maximum size of one key, which may be a pasted text, in bytes.
const MAX_KEY_BYTES: usize = 1_000_000;

/// What is needed to restore the terminal.
struct SavedTerminal {
    tty: File,
    modes: Termios,
    /// Escape sequences to write before the modes are restored.
    exit_sequence: String,
}

/// The terminal that has to be restored; `None` while it isn't in use.
static SAVED: Mutex<Option<SavedTerminal>> = Mutex::new(None);

/// Opens the controlling terminal.
///
/// # Errors
/// Fails if there is none.
fn open_tty() -> io::Result<File> {
    let tty = File::options().read(true).write(true).open("/dev/tty")?;
    tcgetattr(&tty)?;
    Ok(tty)
}

/// Returns whether there is a terminal that supports more than printing lines.
pub(in crate::cli) fn can_draw() -> bool {
    let is_dumb = env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    !is_dumb && open_tty().is_ok()
}

#[derive(Clone, Copy, PartialEq)]
struct Size {
    columns: usize,
    rows: usize,
}

/// The terminal while the picker uses it. Dropping this restores it.
pub(super) struct Terminal {
    tty: File,
    /// Bytes that the terminal has sent, and that aren't a complete key yet.
    received: Vec<u8>,
    drawn: DrawnScreen,
    has_colors: bool,
}

/// What the terminal shows, so that only changes have to be written.
#[derive(Default)]
struct DrawnScreen {
    /// The size of the terminal when it was last drawn; `None` before the first time.
    size: Option<Size>,
    rows: Vec<String>,
    cursor: Option<Cursor>,
}

impl DrawnScreen {
    /// Returns the output that changes the rows to `lines`; empty if they are the same already.
    /// After a change of the size, this is the whole screen.
    fn update_rows(&mut self, lines: Vec<FrameLine>, size: Size, has_colors: bool) -> String {
        let mut output = String::new();
        if self.size != Some(size) {
            self.size = Some(size);
            self.rows = vec![String::new(); size.rows];
            output += CLEAR;
        }
        let mut lines = lines.into_iter();
        for (index, drawn_row) in self.rows.iter_mut().enumerate() {
            let row = render(lines.next().unwrap_or_default(), has_colors);
            if *drawn_row != row {
                output += &format!("{}{CLEAR_ROW}{row}", cursor_sequence(index, 0));
                *drawn_row = row;
            }
        }
        output
    }
}

impl Terminal {
    /// Prepares the terminal for drawing. When it is restored, `exit_sequence` is written last, to
    /// enable the modes again that the agent needs.
    pub(super) fn new(exit_sequence: &str) -> io::Result<Terminal> {
        let mut tty = save_and_make_raw(format!("{LEAVE}{exit_sequence}"))?;
        tty.write_all(ENTER.as_bytes())?;
        let has_colors = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Terminal {
            tty,
            received: Vec::new(),
            drawn: DrawnScreen::default(),
            has_colors,
        })
    }

    fn current_size(&self) -> Size {
        match tcgetwinsize(&self.tty) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => Size {
                columns: size.ws_col.into(),
                rows: size.ws_row.into(),
            },
            _ => DEFAULT_SIZE,
        }
    }

    /// Draws the frame that `make_frame` returns for the given numbers of columns and rows. Writes
    /// only the rows that have changed, unless the terminal was resized.
    ///
    /// # Errors
    /// Fails if the terminal was closed. Then it must not be drawn again: what it shows is unknown.
    pub(super) fn draw(
        &mut self,
        make_frame: impl FnOnce(usize, usize) -> Frame,
    ) -> io::Result<()> {
        let size = self.current_size();
        let frame = make_frame(size.columns, size.rows);
        let row_output = self.drawn.update_rows(frame.lines, size, self.has_colors);
        let cursor_moves = self.drawn.cursor != frame.cursor;
        if row_output.is_empty() && !cursor_moves {
            return Ok(());
        }
        self.drawn.cursor = frame.cursor;
        // The cursor is hidden first, so that it doesn't flicker across the rows.
        let mut output = HIDE_CURSOR.to_owned() + &row_output;
        if let Some(Cursor { row, column }) = frame.cursor {
            output += &cursor_sequence(row, column);
            output += SHOW_CURSOR;
        }
        self.tty.write_all(output.as_bytes())
    }

    /// Waits for the next key. Meanwhile, redraws the frame about ten times per second, because the
    /// terminal may be resized, and more prompts may have been read.
    ///
    /// # Errors
    /// Fails if the terminal was closed, or a pasted text is too long.
    pub(super) fn read_key(
        &mut self,
        mut make_frame: impl FnMut(usize, usize) -> Frame,
    ) -> io::Result<Key> {
        let mut has_paused = false;
        loop {
            if let Some(key) = keys::take_key(&mut self.received, has_paused) {
                return Ok(key);
            }
            if self.received.len() > MAX_KEY_BYTES {
                return Err(io::Error::other(
                    "the pasted text is too long, or its end is missing",
                ));
            }
            self.draw(&mut make_frame)?;
            has_paused = !self.receive()?;
        }
    }

    /// Waits up to a tenth of a second for bytes, and appends them to `received`. Returns whether
    /// any have arrived.
    fn receive(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 4096];
        let byte_count = loop {
            match self.tty.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        if byte_count == 0 {
            tcgetattr(&self.tty)?; // fails if the terminal was closed, rather than just silent
        }
        self.received.extend(&bytes[..byte_count]);
        Ok(byte_count > 0)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Returns the escape sequence that moves the cursor to a zero-based row and column.
fn cursor_sequence(row: usize, column: usize) -> String {
    format!("\x1b[{};{}H", row + 1, column + 1) // terminals count from 1
}

/// Renders a line with escape sequences for its styles. Without colors, leaves out all styles.
fn render(mut line: FrameLine, has_colors: bool) -> String {
    if !has_colors {
        for (style, _) in &mut line {
            *style = Style::new();
        }
    }
    for_terminal(&line)
}

/// Asks a question on the terminal, and reads the answer without showing it. Returns the line.
///
/// # Errors
/// Fails if there is no terminal, if it was closed, or if the user presses Ctrl-D.
#[cfg_attr(
    not(feature = "openapi"),
    allow(dead_code, reason = "only the servers of teams have tokens")
)]
pub(in crate::cli) fn ask_for_secret(question: &str) -> io::Result<String> {
    let mut tty = save_and_change(String::new(), |modes| {
        modes.local_modes.remove(LocalModes::ECHO);
        modes.local_modes.insert(LocalModes::ECHONL); // the end of the line is shown
    })?;
    let mut line = String::new();
    let result = tty
        .write_all(question.as_bytes())
        .and_then(|()| BufReader::new(tty).read_line(&mut line));
    restore();
    if result? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line)
}

/// Opens the terminal, saves its modes, and switches to raw mode: keys arrive immediately and
/// aren't echoed. `exit_sequence` is written when the terminal is restored.
fn save_and_make_raw(exit_sequence: String) -> io::Result<File> {
    save_and_change(exit_sequence, |modes| {
        modes.make_raw();
        // A read returns after a tenth of a second, even without any bytes.
        modes.special_codes[SpecialCodeIndex::VMIN] = 0;
        modes.special_codes[SpecialCodeIndex::VTIME] = 1;
    })
}

/// Opens the terminal, saves its modes, and changes them until [`restore`] is called, which also
/// happens on a panic or a signal. Then `exit_sequence` is written.
fn save_and_change(exit_sequence: String, change: impl Fn(&mut Termios)) -> io::Result<File> {
    static HANDLERS: Once = Once::new();
    HANDLERS.call_once(restore_on_panic_or_signal);
    let tty = open_tty()?;
    let modes = tcgetattr(&tty)?;
    let mut changed = modes.clone();
    change(&mut changed);
    // Save the modes before changing them: a signal may arrive in between.
    *lock(&SAVED) = Some(SavedTerminal {
        tty: tty.try_clone()?,
        modes,
        exit_sequence,
    });
    // A signal must end the process only after its handler has restored the terminal.
    interrupts::ignore();
    tcsetattr(&tty, OptionalActions::Now, &changed)?;
    Ok(tty)
}

/// Restores the terminal. Returns whether it was in use.
fn restore() -> bool {
    let mut saved = lock(&SAVED); // held until the terminal is restored
    let Some(mut terminal) = saved.take() else {
        return false;
    };
    // Errors are ignored: they mean that the terminal was closed.
    let _ = terminal.tty.write_all(terminal.exit_sequence.as_bytes());
    let _ = tcsetattr(&terminal.tty, OptionalActions::Now, &terminal.modes);
    interrupts::allow();
    true
}

/// Installs handlers that restore the terminal on a panic, and before a signal kills the program.
fn restore_on_panic_or_signal() {
    let report_panic = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore(); // first, because the alternate screen would hide the report
        report_panic(panic);
    }));
    let Ok(mut signals) = Signals::new([SIGHUP, SIGTERM].into_iter().chain(KEYBOARD_SIGNALS))
    else {
        return;
    };
    // If the thread can't be started, signals are ignored, but the picker can still be closed.
    let _ = thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            let was_in_use = restore();
            // While the terminal isn't in use, `interrupts` decides.
            let is_decided_elsewhere = !was_in_use && KEYBOARD_SIGNALS.contains(&signal);
            if !is_decided_elsewhere {
                let _ = emulate_default_handler(signal); // only fails for unknown signals
            }
        }
    });
}
