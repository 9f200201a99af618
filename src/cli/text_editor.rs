//! Starts the user's editor and waits until it is closed.

use super::output::Reporter;
use crate::agents::Environment;
use crate::wording::named;
use anyhow::{Context, anyhow, ensure};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use tempfile::TempPath;

/// The variables that name the editor; the first that is set and not empty counts.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// What is started without those variables: the first that is installed. On Debian and its
/// derivatives, `editor` is the administrator's choice.
const DEFAULTS: &[&str] = if cfg!(windows) {
    &["notepad"]
} else {
    &["editor", "nano", "vi"]
};

/// Why a file may be unchanged when the editor ends.
pub(super) const WAIT: &str = "an editor with a window of its own needs an option that makes it wait until the file is \
                               closed, such as `code --wait`";

/// An editor that has ended.
pub(super) struct Ended {
    editor: String,
    pub(super) status: ExitStatus,
}

impl Ended {
    /// # Errors
    /// How it failed; the file may or may not have been saved.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let Ended { editor, status } = self;
        ensure!(status.success(), "the editor {editor} failed ({status})");
        Ok(())
    }
}

/// Opens a file in the user's editor, and waits until the editor ends.
///
/// # Errors
/// No editor could be started.
pub(super) fn open(file: &Path, reporter: &Reporter) -> anyhow::Result<Ended> {
    let is_chosen = |(_, value): &(&str, OsString)| !value.to_string_lossy().trim().is_empty();
    let mut chosen = VARIABLES
        .into_iter()
        .filter_map(|variable| Some((variable, env::var_os(variable)?)));
    match chosen.find(is_chosen) {
        Some((variable, value)) => open_with(&value, file, &format!("correct or unset {variable}")),
        None => default(file, reporter),
    }
}

/// Opens a file with the command of an editor, and waits until that ends.
///
/// # Errors
/// It could not be started; `fix` says what to do.
pub(super) fn open_with(value: &OsStr, file: &Path, fix: &str) -> anyhow::Result<Ended> {
    let words = words(value);
    let editor = named(&words[0].to_string_lossy());
    let program = find(&words[0]).map_err(|why| anyhow!("the editor {editor} {why}; {fix}"))?;
    let mut command = Command::new(program);
    command
        .args(&words[1..])
        .arg(file)
        .stdin(terminal())
        .stdout(terminal_output());
    // Ctrl-C reaches all processes of the terminal; only the editor should react to it.
    #[cfg(unix)]
    let interrupts = {
        let received = std::sync::Arc::default();
        [signal_hook::consts::SIGINT, signal_hook::consts::SIGQUIT]
            .map(|signal| signal_hook::flag::register(signal, std::sync::Arc::clone(&received)))
    };
    let status = command.status();
    #[cfg(unix)]
    interrupts
        .into_iter()
        .flatten()
        .for_each(|interrupt| _ = signal_hook::low_level::unregister(interrupt));
    Ok(Ended {
        status: status.with_context(|| format!("the editor {editor} cannot be started"))?,
        editor,
    })
}

/// A text after the user has changed it in the editor, and the temporary file that has it.
///
/// # Errors
/// The editor failed, or what it has saved is no text.
pub(super) fn edited(text: &str, reporter: &Reporter) -> anyhow::Result<(String, TempPath)> {
    let file = tempfile::Builder::new()
        .prefix("prompt-expander-")
        .suffix(".md")
        .tempfile()?
        .into_temp_path();
    fs::write(&file, text)?;
    open(&file, reporter)?.check()?;
    Ok((
        fs::read_to_string(&file).context("what the editor has saved cannot be read")?,
        file,
    ))
}

/// The file of a program, also of one with a suffix that Windows adds: `code` is `code.cmd` there.
fn find(program: &OsStr) -> Result<PathBuf, String> {
    let environment: Environment = env::vars_os().collect();
    environment.find_program(
        &program.to_string_lossy(),
        &env::current_dir().unwrap_or_default(),
    )
}

/// Whether the command of an editor is `prompt-expander compose`.
pub(super) fn is_compose(value: &OsStr) -> bool {
    let words = words(value);
    let program = Path::new(&words[0]).file_stem().unwrap_or_default();
    program
        .to_string_lossy()
        .starts_with(env!("CARGO_PKG_NAME"))
        && words.iter().any(|word| word == "compose")
}

/// The program and its arguments, split as by a shell, with quotes and backslashes. A value that is
/// the path of a file is one word, even with spaces, and so is one that a shell would not accept.
pub(super) fn words(value: &OsStr) -> Vec<OsString> {
    let text = value
        .to_str()
        .filter(|_| !Path::new(value).is_file())
        .unwrap_or_default();
    // On Windows, a backslash separates folders.
    let text = if cfg!(windows) {
        text.replace('\\', r"\\")
    } else {
        text.to_owned()
    };
    match shlex::split(&text).filter(|words| !words.is_empty()) {
        Some(words) => words.into_iter().map(OsString::from).collect(),
        None => vec![value.to_owned()],
    }
}

/// Starts one of the [`DEFAULTS`], and prints which.
fn default(file: &Path, reporter: &Reporter) -> anyhow::Result<Ended> {
    let fix = "set EDITOR to your editor, for example `EDITOR='code --wait'`";
    let has_terminal = io::stdout().is_terminal()
        && (io::stdin().is_terminal() || controlling_terminal().is_some());
    ensure!(
        cfg!(windows) || has_terminal,
        "an editor needs a terminal, and none is available; {fix}"
    );
    let editor = DEFAULTS.iter().find(|editor| find(editor.as_ref()).is_ok());
    let ended = open_with(
        editor
            .with_context(|| format!("no editor was found; {fix}"))?
            .as_ref(),
        file,
        fix,
    )?;
    reporter.note(&format!(
        "opened in {}, because neither VISUAL nor EDITOR is set",
        ended.editor
    ));
    Ok(ended)
}

/// The standard input of an editor: the terminal, even if this program's own standard input is a
/// pipe.
fn terminal() -> Stdio {
    match controlling_terminal() {
        Some(terminal) if !io::stdin().is_terminal() => terminal.into(),
        _ => Stdio::inherit(),
    }
}

/// The standard output of an editor: this program's own is for its result.
fn terminal_output() -> Stdio {
    let path = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };
    match fs::File::options().write(true).open(path) {
        _ if io::stdout().is_terminal() => Stdio::inherit(),
        Ok(terminal) => terminal.into(),
        Err(_) => io::stderr().into(),
    }
}

/// The terminal in which this process was started, even if its standard input is a pipe.
fn controlling_terminal() -> Option<fs::File> {
    fs::File::open(if cfg!(windows) { "CONIN$" } else { "/dev/tty" }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_may_have_arguments_and_spaces_in_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("My Editor");
        std::fs::write(&program, "").unwrap();
        let program = program.to_str().unwrap();
        let quoted = format!("'{program}' -n");
        for (value, want) in [
            ("vi", &["vi"][..]),
            (" code  --wait ", &["code", "--wait"]),
            (
                "emacs -nw --eval '(a b)'",
                &["emacs", "-nw", "--eval", "(a b)"],
            ),
            (program, &[program]),
            (&quoted, &[program, "-n"]),
            ("vi 'x", &["vi 'x"]),
        ] {
            assert_eq!(words(OsStr::new(value)), want, "{value}");
        }
    }
}
