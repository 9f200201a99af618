//! The terminal of the picker: drawn on, read, and restored as it was found, also after a panic or
//! a signal.
//!
//! It is the controlling terminal, so that standard input and output may be pipes. An agent may
//! have left it raw, with reports of focus and the mouse, on its alternate screen; so everything is
//! set here, and nothing is expected. A read waits a tenth of a second at most, and then looks at
//! the size and at what another thread has read.

use super::frame::Frame;
use super::keys::{self, Key};
use crate::cli::output::for_terminal;
use anstyle::Style;
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios,
    tcgetattr, tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{iterator::Signals, low_level::emulate_default_handler};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Mutex, Once, PoisonError};
use std::{env, panic, thread};

/// The alternate screen; reports of focus and the mouse off, pasted texts marked; long lines are
/// cut.
const ENTER: &str = "\x1b[?1049h\x1b[?1000;1002;1003;1004;1006l\x1b[?2004h\x1b[?7l\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

/// How many bytes may be part of one key: of a text that is pasted.
const MAX_KEY: usize = 1_000_000;

/// The terminal while it is used, with the modes that it had before, and what to write at the end.
static FOUND: Mutex<Option<(File, Termios, String)>> = Mutex::new(None);

/// The controlling terminal, if there is one.
fn open() -> io::Result<File> {
    let tty = File::options().read(true).write(true).open("/dev/tty")?;
    tcgetattr(&tty)?;
    Ok(tty)
}

/// Whether a picker can be shown.
pub(in crate::cli) fn has_terminal() -> bool {
    open().is_ok()
}

/// Whether the terminal can do no more than print lines.
pub(super) fn is_plain() -> bool {
    env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// A terminal that is drawn on until this is dropped.
pub(super) struct Terminal {
    tty: File,
    received: Vec<u8>,
    /// What is shown in each row, for a terminal with so many columns and rows.
    shown: Vec<String>,
    size: (usize, usize),
    cursor: Option<(usize, usize)>,
    has_colors: bool,
}

impl Terminal {
    /// Begins to draw. `after` is written at the end: what the agent had switched on.
    pub(super) fn new(after: &str) -> io::Result<Terminal> {
        let mut tty = set(&format!("{LEAVE}{after}"), |modes| {
            modes.make_raw();
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 1;
        })?;
        tty.write_all(ENTER.as_bytes())?;
        let has_colors = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Ok(Terminal {
            tty,
            received: Vec::new(),
            shown: Vec::new(),
            size: (0, 0),
            cursor: None,
            has_colors,
        })
    }

    /// Shows the frame that is made for so many columns and rows: writes the rows that are
    /// different.
    pub(super) fn draw(&mut self, frame: impl FnOnce(usize, usize) -> Frame) -> io::Result<()> {
        let size =
            tcgetwinsize(&self.tty).map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()));
        let size = if size.0 == 0 || size.1 == 0 {
            (80, 24)
        } else {
            size
        };
        let frame = frame(size.0, size.1);
        let mut text = String::new();
        if size != self.size {
            (self.size, self.shown) = (size, vec![String::new(); size.1]);
            text += "\x1b[0m\x1b[2J";
        }
        let mut lines = frame.lines.into_iter();
        for (row, shown) in self.shown.iter_mut().enumerate() {
            let mut parts = lines.next().unwrap_or_default();
            if !self.has_colors {
                parts
                    .iter_mut()
                    .for_each(|(style, _)| *style = Style::new());
            }
            let line = for_terminal(&parts);
            if *shown != line {
                let _ = write!(text, "\x1b[{};1H\x1b[2K{line}", row + 1);
                *shown = line;
            }
        }
        if text.is_empty() && self.cursor == frame.cursor {
            return Ok(());
        }
        self.cursor = frame.cursor;
        let cursor = frame
            .cursor
            .map(|(row, column)| format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1));
        self.tty
            .write_all(format!("\x1b[?25l{text}{}", cursor.unwrap_or_default()).as_bytes())
    }

    /// Waits for a key, and draws the frame meanwhile.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(super) fn key(&mut self, mut frame: impl FnMut(usize, usize) -> Frame) -> io::Result<Key> {
        let mut is_all = false;
        loop {
            if let Some(key) = keys::next(&mut self.received, is_all) {
                return Ok(key);
            }
            if self.received.len() > MAX_KEY {
                return Err(io::Error::other(
                    "what was pasted is too long, or its end is missing",
                ));
            }
            self.draw(&mut frame)?;
            let mut bytes = [0; 4096];
            let length = match self.tty.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                read => read?,
            };
            if length == 0 {
                tcgetattr(&self.tty)?; // a terminal that is gone gives nothing either
            }
            is_all = length == 0;
            self.received.extend(&bytes[..length]);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
    }
}

/// A terminal that reads and writes lines until this is dropped, even if an agent has left it raw.
pub(super) struct Lines {
    pub(super) input: Box<dyn BufRead>,
    pub(super) output: Box<dyn Write>,
}

impl Lines {
    pub(super) fn new() -> io::Result<Lines> {
        let tty = set("", |modes| {
            modes.input_modes |= InputModes::ICRNL;
            modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
            modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
            modes.control_modes |= ControlModes::CREAD;
        })?;
        Ok(Lines {
            input: Box::new(BufReader::new(tty.try_clone()?)),
            output: Box::new(tty),
        })
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        restore();
    }
}

/// Changes the modes of the terminal, after saving the present ones.
fn set(leave: &str, change: impl FnOnce(&mut Termios)) -> io::Result<File> {
    static WATCH: Once = Once::new();
    WATCH.call_once(watch);
    let tty = open()?;
    let modes = tcgetattr(&tty)?;
    let mut changed = modes.clone();
    change(&mut changed);
    *FOUND.lock().unwrap_or_else(PoisonError::into_inner) =
        Some((tty.try_clone()?, modes, leave.to_owned()));
    tcsetattr(&tty, OptionalActions::Now, &changed)?;
    Ok(tty)
}

/// Restores the terminal; returns whether it was used.
fn restore() -> bool {
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner); // until all is restored
    let Some((mut tty, modes, leave)) = found.take() else {
        return false;
    };
    let _ = tty.write_all(leave.as_bytes());
    let _ = tcsetattr(&tty, OptionalActions::Now, &modes);
    true
}

/// Restores the terminal before a panic is reported, since the report would be gone with the
/// screen, and before a signal ends the program.
fn watch() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        restore();
        report(panic);
    }));
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM]) else {
        return;
    };
    let _ = thread::Builder::new().spawn(move || {
        for signal in signals.forever() {
            // While an editor has the terminal, keys that send a signal are for the editor.
            if restore() || ![SIGINT, SIGQUIT].contains(&signal) {
                let _ = emulate_default_handler(signal);
            }
        }
    });
}
