//! A line on standard error that shows how far a long command is. There is none in a pipe.
//!
//! The line appears after a second. A thread draws it, so that it also changes while the command
//! waits for something. After Ctrl-C, a message says how far the command was.

use super::messages::print_note;
use super::stream::draw_status_line;
use super::text::terminal_width_if;
use crate::lock::lock;
use crate::wording::{truncate, with_commas};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

/// How long a command runs before the line appears.
const DELAY: Duration = Duration::from_secs(1);

/// How often the line is drawn.
const INTERVAL: Duration = Duration::from_millis(100);

/// What the command does at the moment, or `None` if it shows no progress.
static CURRENT: Mutex<Option<Activity>> = Mutex::new(None);

/// Set by Ctrl-C.
static INTERRUPTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Shows the progress of an activity until it is dropped. There is at most one at a time, in
/// [`CURRENT`], where the thread that draws it finds it.
pub(crate) struct Progress(());

/// A part of a command that may take long.
struct Activity {
    /// What the command does, e.g. `importing prompts`.
    action: String,
    amount: Amount,
    /// What to do after Ctrl-C, as a sentence.
    advice: &'static str,
    started: Instant,
    /// Set while another program may ask the user something on the terminal.
    is_paused: bool,
    /// Set while the terminal shows the line, which must be erased in the end.
    is_drawn: bool,
}

/// How much of an activity is done.
enum Amount {
    Unknown,
    Count { done: usize, total: usize },
    Size(String),
}

impl Progress {
    /// Starts to show that the command is, e.g., `importing prompts`. `advice` is a sentence that
    /// says what to do after Ctrl-C. If standard error is no terminal, nothing is ever shown.
    pub(crate) fn start(action: impl Into<String>, advice: &'static str) -> Progress {
        static THREADS: Once = Once::new();
        if !io::stderr().is_terminal() {
            return Progress(());
        }
        *lock(&CURRENT) = Some(Activity::new(action.into(), advice));
        THREADS.call_once(|| {
            explain_interrupts();
            thread::spawn(draw_regularly);
        });
        Progress(())
    }

    /// Shows that nothing is done yet, out of `total` items.
    pub(crate) fn set_total(&self, total: usize) {
        if let Some(activity) = &mut *lock(&CURRENT) {
            activity.amount = Amount::Count { done: 0, total };
        }
    }

    /// Shows that one more item is done.
    pub(crate) fn advance(&self) {
        if let Some(activity) = &mut *lock(&CURRENT)
            && let Amount::Count { done, .. } = &mut activity.amount
        {
            *done += 1;
        }
    }

    /// Shows how much was received, e.g. `12 MiB`. Ends a [pause](Progress::pause), because a
    /// program that receives data has no more questions.
    pub(crate) fn set_size(&self, size: String) {
        if let Some(activity) = &mut *lock(&CURRENT) {
            activity.amount = Amount::Size(size);
            activity.is_paused = false;
        }
    }

    /// Erases the line until the next [`Progress::set_size`], so that another program can ask the
    /// user something, e.g. git for a password.
    pub(crate) fn pause(&self) {
        if let Some(activity) = &mut *lock(&CURRENT) {
            activity.is_paused = true;
            activity.erase();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Ctrl-C also ends programs that the command waits for, such as git. The command must not
        // report that as an error before the message of `explain_interrupts`, which ends it.
        while INTERRUPTED.load(Ordering::Relaxed) {
            thread::park();
        }
        if let Some(mut activity) = lock(&CURRENT).take() {
            activity.erase();
        }
    }
}

impl Activity {
    /// Returns an activity that starts now.
    fn new(action: String, advice: &'static str) -> Activity {
        Activity {
            action,
            amount: Amount::Unknown,
            advice,
            started: Instant::now(),
            is_paused: false,
            is_drawn: false,
        }
    }

    /// Returns the line to show, e.g. `importing prompts: 1,200 of 20,000`.
    fn line(&self) -> String {
        let action = &self.action;
        match &self.amount {
            Amount::Unknown => action.clone(),
            Amount::Count { done, total } => format!(
                "{action}: {} of {}",
                with_commas(*done),
                with_commas(*total)
            ),
            Amount::Size(size) => format!("{action}: {size}"),
        }
    }

    /// Returns what to say after Ctrl-C.
    fn stop_message(&self) -> String {
        format!("stopped while {}. {}", self.line(), self.advice)
    }

    /// Draws the line in place of the last one, unless the activity is paused or has just started.
    fn draw(&mut self) {
        let has_just_started = self.started.elapsed() < DELAY;
        if self.is_paused || has_just_started {
            return;
        }
        let columns = terminal_width_if(true).unwrap_or_default();
        // Without the last column, where some terminals wrap the line.
        draw_status_line(&truncate(&self.line(), columns.saturating_sub(1)));
        self.is_drawn = true;
    }

    /// Erases the line, if there is one.
    fn erase(&mut self) {
        if self.is_drawn {
            draw_status_line("");
            self.is_drawn = false;
        }
    }
}

/// Draws the line of the current activity, again and again.
fn draw_regularly() {
    loop {
        thread::sleep(INTERVAL);
        if let Some(activity) = &mut *lock(&CURRENT) {
            activity.draw();
        }
    }
}

/// Makes Ctrl-C print how far the current activity was before it ends the program.
#[cfg(unix)]
fn explain_interrupts() {
    use signal_hook::consts::SIGINT;
    use signal_hook::iterator::Signals;
    let Ok(mut signals) = Signals::new([SIGINT]) else {
        return; // Ctrl-C ends the program without a message
    };
    // If this fails, an error of git may come before the message.
    let _ = signal_hook::flag::register(SIGINT, Arc::clone(&INTERRUPTED));
    thread::spawn(move || {
        for signal in signals.forever() {
            if let Some(mut activity) = lock(&CURRENT).take() {
                activity.erase();
                print_note(&activity.stop_message());
            }
            crate::whole_file::remove_temporary_files();
            let _ = signal_hook::low_level::emulate_default_handler(signal); // ends the program
        }
    });
}

#[cfg(not(unix))]
fn explain_interrupts() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_and_the_message_after_ctrl_c_say_what_was_done_and_how_to_go_on() {
        let mut activity = Activity::new("importing prompts".to_owned(), "Run the command again.");
        assert_eq!(activity.line(), "importing prompts");
        activity.amount = Amount::Count {
            done: 1_200,
            total: 20_000,
        };
        assert_eq!(
            activity.stop_message(),
            "stopped while importing prompts: 1,200 of 20,000. Run the command again."
        );
        activity.amount = Amount::Size("3 MiB".to_owned());
        assert_eq!(activity.line(), "importing prompts: 3 MiB");
    }
}
