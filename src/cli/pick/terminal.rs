//! The terminal of the picker: drawn on, read, and restored as it was found, also after a panic or a signal.
//!
//! It is the controlling terminal, so that standard input and output may be pipes. An agent may have left it raw, with reports of
//! focus and the mouse, on its alternate screen; so everything is set here, and nothing is expected. A read waits a tenth of a second at
//! most, and then looks at the size, at signals and at what another thread has read.

use super::frame::{Frame, Line};
use super::keys::{self, Key};
use rustix::termios::{
    ControlModes, InputModes, LocalModes, OptionalActions, OutputModes, SpecialCodeIndex, Termios, tcgetattr,
    tcgetwinsize, tcsetattr,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{SigId, flag, low_level};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};

/// The alternate screen; reports of focus and the mouse off, pasted texts marked; long lines are cut.
const ENTER: &str = "\x1b[?1049h\x1b[?1000;1002;1003;1004;1006l\x1b[?2004h\x1b[?7l\x1b[H\x1b[2J";
const LEAVE: &str = "\x1b[0m\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The signals that end the program.
const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// How the terminal was found, while it is used.
static FOUND: Mutex<Option<Found>> = Mutex::new(None);

struct Found {
    tty: File,
    modes: Termios,
    /// What to write at the end.
    leave: String,
}

/// The terminal, for questions and answers.
pub(super) fn lines() -> io::Result<(Box<dyn BufRead>, Box<dyn Write>)> {
    Ok((Box::new(BufReader::new(open()?)), Box::new(open()?)))
}

/// The controlling terminal, if there is one.
fn open() -> io::Result<File> {
    let tty = File::options().read(true).write(true).open("/dev/tty")?;
    tcgetattr(&tty)?;
    Ok(tty)
}

/// Whether the terminal can do no more than print lines.
pub(super) fn is_plain() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}

/// A terminal that is drawn on until this is dropped.
pub(super) struct Terminal {
    tty: File,
    received: Vec<u8>,
    /// What is shown in each row, and the size that it was drawn for.
    shown: Vec<String>,
    size: (usize, usize),
    has_colors: bool,
    signal: Arc<AtomicUsize>,
    registered: Vec<SigId>,
}

/// What happened.
pub(super) enum Event {
    Key(Key),
    /// Nothing, for a moment.
    Quiet,
    /// The terminal is gone, or a signal arrived that ends the program.
    Ended,
}

impl Terminal {
    /// Begins to draw. `after` is written at the end: what the agent had switched on.
    pub(super) fn new(after: &str) -> io::Result<Terminal> {
        let tty = open()?;
        set(&tty, &format!("{LEAVE}{after}"), |modes| {
            modes.make_raw();
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 1;
        })?;
        let signal = Arc::new(AtomicUsize::new(0));
        let register = |number| flag::register_usize(number, Arc::clone(&signal), number as usize);
        let registered = SIGNALS.into_iter().filter_map(|number| register(number).ok()).collect();
        let has_colors = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let mut terminal =
            Terminal { tty, received: Vec::new(), shown: Vec::new(), size: (0, 0), has_colors, signal, registered };
        terminal.tty.write_all(ENTER.as_bytes())?;
        Ok(terminal)
    }

    /// The columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        let size = tcgetwinsize(&self.tty).map_or((0, 0), |size| (size.ws_col, size.ws_row));
        if size.0 == 0 || size.1 == 0 { (80, 24) } else { (size.0.into(), size.1.into()) }
    }

    /// Shows a frame that was made for this size: writes the rows that are different.
    pub(super) fn draw(&mut self, frame: &Frame, size: (usize, usize)) -> io::Result<()> {
        let mut text = "\x1b[?25l".to_owned();
        if size != self.size {
            (self.size, self.shown) = (size, Vec::new());
            text += "\x1b[0m\x1b[2J";
        }
        self.shown.resize(size.1, String::new());
        for (row, shown) in self.shown.iter_mut().enumerate() {
            let line = frame.lines.get(row).map(|line| self::line(line, self.has_colors)).unwrap_or_default();
            if *shown != line {
                let _ = write!(text, "\x1b[{};1H\x1b[2K{line}", row + 1);
                *shown = line;
            }
        }
        if let Some((row, column)) = frame.cursor {
            let _ = write!(text, "\x1b[{};{}H\x1b[?25h", row + 1, column + 1);
        }
        self.tty.write_all(text.as_bytes())
    }

    /// Waits for a key, a tenth of a second at most.
    pub(super) fn next(&mut self) -> Event {
        let mut is_all = false;
        loop {
            if self.signal.load(Ordering::Relaxed) != 0 {
                return Event::Ended;
            }
            if let Some(key) = keys::next(&mut self.received, is_all) {
                return Event::Key(key);
            }
            if is_all {
                return Event::Quiet;
            }
            let mut bytes = [0; 4096];
            match self.tty.read(&mut bytes) {
                // A terminal that is gone gives nothing either.
                Ok(0) if tcgetattr(&self.tty).is_err() => return Event::Ended,
                Ok(0) => is_all = true,
                Ok(length) => self.received.extend(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Event::Ended,
            }
        }
    }

    /// Restores the terminal; and ends the program if a signal has asked for that.
    pub(super) fn end(self) {
        let signal = self.signal.load(Ordering::Relaxed);
        drop(self);
        if signal != 0 {
            let _ = low_level::emulate_default_handler(signal as i32);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore();
        self.registered.drain(..).for_each(|id| _ = low_level::unregister(id));
    }
}

/// A terminal that reads and writes lines until this is dropped, even if an agent has left it raw.
pub(super) struct Lines;

impl Lines {
    pub(super) fn new() -> io::Result<Lines> {
        set(&open()?, "", |modes| {
            modes.input_modes |= InputModes::ICRNL;
            modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
            modes.local_modes |= LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN;
            modes.control_modes |= ControlModes::CREAD;
        })?;
        Ok(Lines)
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        restore();
    }
}

/// Changes the modes of a terminal, after it was noted how they are.
fn set(tty: &File, leave: &str, change: impl FnOnce(&mut Termios)) -> io::Result<()> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore(); // otherwise the report would be gone with the screen
            report(panic);
        }));
    });
    let modes = tcgetattr(tty)?;
    let mut changed = modes.clone();
    change(&mut changed);
    let found = Found { tty: tty.as_fd().try_clone_to_owned()?.into(), modes, leave: leave.to_owned() };
    *FOUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    Ok(tcsetattr(tty, OptionalActions::Now, &changed)?)
}

fn restore() {
    if let Some(Found { mut tty, modes, leave }) = FOUND.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = tty.write_all(leave.as_bytes());
        let _ = tcsetattr(&tty, OptionalActions::Now, &modes);
    }
}

/// The text of a line, with its styles or without.
fn line(line: &Line, has_colors: bool) -> String {
    let part = |(style, text): &(anstyle::Style, String)| match has_colors {
        true => format!("{style}{text}{style:#}"),
        false => text.clone(),
    };
    line.iter().map(part).collect()
}
