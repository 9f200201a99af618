//! Runs the user's editor.

#[cfg(unix)]
use super::interrupts;
use super::output::Reporter;
use crate::agents::Environment;
use crate::wording::in_backticks;
use anyhow::{Context, anyhow, ensure};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use tempfile::TempPath;

/// The environment variables that name the editor, in order of precedence.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// The editors to try if no variable is set, in order. On Debian and its derivatives, `editor` is
/// what the administrator chose.
const DEFAULTS: &[&str] = if cfg!(windows) {
    &["notepad"]
} else {
    &["editor", "nano", "vi"]
};

/// The hint for an editor that returned before the user could edit anything.
pub(super) const WAIT_HINT: &str =
    "if your editor returns at once, give it an option such as `code --wait`";

/// The exit status of a shell that has not found a program.
const SHELL_NOT_FOUND: i32 = 127;

/// Characters that have a meaning only for a shell. Quotes, backslashes and spaces are missing
/// because [`split`] handles them. The list is from git's `prepare_shell_cmd`.
const SHELL_CHARACTERS: &[u8] = b"|&;<>()$`*?[#~=%";

/// Commands of a shell that run another command, as in `exec vi`.
const SHELL_COMMANDS: [&str; 2] = ["exec ", "command "];

/// How an editor exited.
pub(super) struct EditorExit {
    /// The name of the editor, in backticks.
    editor: String,
    status: ExitStatus,
}

impl EditorExit {
    /// Returns an error if the editor failed. The file may have been saved anyway.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let EditorExit { editor, status } = self;
        ensure!(status.success(), "the editor {editor} failed ({status})");
        Ok(())
    }

    /// Returns the editor's exit code, or failure if a signal killed the editor. Codes above 255,
    /// which only exist on Windows, also become failure.
    pub(super) fn code(&self) -> ExitCode {
        match self.status.code().map(u8::try_from) {
            Some(Ok(code)) => ExitCode::from(code),
            _ => ExitCode::FAILURE,
        }
    }
}

/// Opens a file in the user's editor, and waits until the editor exits.
///
/// # Errors
/// Fails if no editor could be started.
pub(super) fn open(file: &Path, reporter: &Reporter) -> anyhow::Result<EditorExit> {
    for variable in VARIABLES {
        let command = env::var_os(variable).unwrap_or_default();
        if !command.to_string_lossy().trim().is_empty() {
            return open_with(&command, file, &format!("correct or unset {variable}"));
        }
    }
    open_default(file, reporter)
}

/// Opens a file with an editor's command line, such as `code --wait`, and waits until it exits.
///
/// # Errors
/// Fails if the editor could not be started. `fix` ends the message: what the user can do.
pub(super) fn open_with(command: &OsStr, file: &Path, fix: &str) -> anyhow::Result<EditorExit> {
    let words = words(command);
    let program = find_program(&words[0]).map_err(|error| {
        let name = in_backticks(&words[0].to_string_lossy());
        anyhow!("the editor {name} {error}; {fix}")
    })?;
    let editor = in_backticks(&command.to_string_lossy());
    let mut process = Command::new(program);
    process
        .args(&words[1..])
        .arg(file)
        .stdin(editor_input())
        .stdout(editor_output());
    let status = wait_without_interrupts(&mut process)
        .with_context(|| format!("the editor {editor} cannot be started"))?;
    ensure!(
        status.code() != Some(SHELL_NOT_FOUND),
        "the editor {editor} was not found; {fix}"
    );
    Ok(EditorExit { editor, status })
}

/// Runs a command, and ignores Ctrl-C from then on: the terminal sends the signal to this process,
/// too, but only the editor should react to it. After the editor has exited, the signal would end
/// this process before the user's text is saved.
#[cfg(unix)]
fn wait_without_interrupts(command: &mut Command) -> io::Result<ExitStatus> {
    interrupts::ignore();
    command.status()
}

#[cfg(not(unix))]
fn wait_without_interrupts(command: &mut Command) -> io::Result<ExitStatus> {
    command.status()
}

/// Text that the user has edited.
pub(super) struct EditedText {
    pub(super) text: String,
    /// The temporary file with the same text. It is deleted when this is dropped.
    pub(super) file: TempPath,
}

/// Lets the user edit `text` in a temporary file, and returns the result.
///
/// # Errors
/// Fails if the editor fails, or if the saved file is not valid UTF-8.
pub(super) fn edit_text(text: &str, reporter: &Reporter) -> anyhow::Result<EditedText> {
    let file = tempfile::Builder::new()
        .prefix("prompt-expander-")
        .suffix(".md")
        .tempfile()?
        .into_temp_path();
    fs::write(&file, text)?;
    open(&file, reporter)?.check()?;
    let text =
        fs::read_to_string(&file).context("the file that the editor saved cannot be read")?;
    Ok(EditedText { text, file })
}

/// Finds a program in `PATH`. On Windows, also tries the usual suffixes: `code` finds `code.cmd`.
fn find_program(program: &OsStr) -> Result<PathBuf, String> {
    let environment: Environment = env::vars_os().collect();
    let working_folder = env::current_dir().unwrap_or_default();
    environment.find_program(&program.to_string_lossy(), &working_folder)
}

/// Returns whether an editor's command line runs `prompt-expander compose`.
pub(super) fn is_compose(command: &OsStr) -> bool {
    let words = split(command);
    words.iter().any(|word| is_this_program(word)) && words.iter().any(|word| word == "compose")
}

/// Returns whether the path of a program, such as `/opt/bin/prompt-expander`, has the name of this
/// program.
fn is_this_program(path: &OsStr) -> bool {
    let name = Path::new(path).file_stem().unwrap_or_default();
    name.to_string_lossy().starts_with(env!("CARGO_PKG_NAME"))
}

/// Returns the program and the arguments that run a command line, such as that of an editor or a
/// pager. More arguments can be added at the end.
///
/// Except on Windows, a command line that [needs a shell](needs_shell) is run as git does it:
/// `X=1 vi` becomes `sh -c 'X=1 vi "$@"' 'X=1 vi'`, where the last word is the shell's `$0`. Other
/// command lines are only [split], so that a missing program can be reported.
pub(super) fn words(command: &OsStr) -> Vec<OsString> {
    if !needs_shell(command) || cfg!(windows) || Path::new(command).is_file() {
        return split(command);
    }
    let mut script = command.to_owned();
    script.push(r#" "$@""#);
    vec!["sh".into(), "-c".into(), script, command.to_owned()]
}

/// Returns whether a command line has a meaning only for a shell: it contains one of the
/// [`SHELL_CHARACTERS`], or begins with one of the [`SHELL_COMMANDS`].
fn needs_shell(command: &OsStr) -> bool {
    let bytes = command.as_encoded_bytes();
    bytes.iter().any(|byte| SHELL_CHARACTERS.contains(byte))
        || SHELL_COMMANDS
            .iter()
            .any(|word| bytes.starts_with(word.as_bytes()))
}

/// Splits a command line into the program and its arguments, with a shell's quotes and backslashes:
/// `code --wait` is `code` and `--wait`.
///
/// The path of an existing file is not split, even if it contains spaces. Neither is a command line
/// that a shell would reject. The result is never empty.
fn split(command: &OsStr) -> Vec<OsString> {
    let unsplit = vec![command.to_owned()];
    let Some(text) = command.to_str() else {
        return unsplit;
    };
    if Path::new(text).is_file() {
        return unsplit;
    }
    let text = if cfg!(windows) {
        text.replace('\\', r"\\") // on Windows, a backslash separates folders
    } else {
        text.to_owned()
    };
    match shlex::split(&text) {
        Some(words) if !words.is_empty() => words.into_iter().map(OsString::from).collect(),
        _ => unsplit,
    }
}

/// Opens a file with the first installed editor of [`DEFAULTS`], and tells the user which it was.
fn open_default(file: &Path, reporter: &Reporter) -> anyhow::Result<EditorExit> {
    let fix = "set EDITOR to your editor, for example `EDITOR='code --wait'`";
    ensure!(
        cfg!(windows) || has_terminal(),
        "an editor needs a terminal, and none is available; {fix}"
    );
    let editor = DEFAULTS
        .iter()
        .find(|editor| find_program(editor.as_ref()).is_ok())
        .with_context(|| format!("no editor was found; {fix}"))?;
    let exit = open_with(editor.as_ref(), file, fix)?;
    reporter.note(&format!(
        "opened in {}, because neither VISUAL nor EDITOR is set",
        exit.editor
    ));
    Ok(exit)
}

/// Returns whether there is a terminal for an editor to run in.
fn has_terminal() -> bool {
    io::stdout().is_terminal() && (io::stdin().is_terminal() || controlling_terminal().is_some())
}

/// Returns the editor's standard input: the terminal, even if our own standard input is a pipe.
fn editor_input() -> Stdio {
    match controlling_terminal() {
        Some(terminal) if !io::stdin().is_terminal() => terminal.into(),
        _ => Stdio::inherit(),
    }
}

/// Returns the editor's standard output: the terminal, even if our own standard output is a pipe.
fn editor_output() -> Stdio {
    if io::stdout().is_terminal() {
        return Stdio::inherit();
    }
    let path = if cfg!(windows) { "CONOUT$" } else { "/dev/tty" };
    match fs::File::options().write(true).open(path) {
        Ok(terminal) => terminal.into(),
        Err(_) => io::stderr().into(),
    }
}

/// Opens the controlling terminal of this process for reading.
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
            ("emacs -nw -f 'a b'", &["emacs", "-nw", "-f", "a b"]),
            (program, &[program]),
            (&quoted, &[program, "-n"]),
            ("vi 'x", &["vi 'x"]),
        ] {
            assert_eq!(words(OsStr::new(value)), want, "{value}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_shell_runs_what_only_a_shell_understands_and_the_path_is_an_argument() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("a=b editor");
        std::fs::write(&program, "").unwrap();
        assert_eq!(words(program.as_os_str()), [program.as_os_str()]);
        for (command, want) in [
            ("X=1 printf %s", "a $b;\n"),
            ("$PRINTF", "a $b;\n"),
            ("exec printf %s", "a $b;\n"),
            ("command printf %s", "a $b;\n"),
            ("false || printf '<%s>'", "<a $b;\n>"),
        ] {
            let words = words(OsStr::new(command));
            let output = Command::new(&words[0])
                .args(&words[1..])
                .arg("a $b;\n")
                .env("PRINTF", "printf %s")
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap(), want, "{command}");
        }
        assert!(is_compose(OsStr::new("X=1 ~/prompt-expander compose")));
        assert!(!is_compose(OsStr::new("vi prompt-expander")));
    }
}
