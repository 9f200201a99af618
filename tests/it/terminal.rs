//! The program at a terminal, which `script` of util-linux provides. Without `script`, the result
//! is `None`, and the test has nothing to check; in CI, that is a failure.

use crate::client::{Client, search_path};
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// Starts a shell command at a terminal of this width, with the variables and the folder of this
/// program.
pub(crate) fn started(program: &Command, columns: usize, line: &str) -> Option<Child> {
    let line = format!("stty cols {columns} rows 50; {line}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
        .current_dir(program.get_current_dir().unwrap())
        .env("TERM", "xterm");
    match command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() {
        Ok(child) => Some(child),
        Err(error) if std::env::var_os("CI").is_some() => panic!("script, of util-linux: {error}"),
        Err(_) => None,
    }
}

/// Runs a shell command, which finds the program by its name, while these keys are typed. Returns
/// what the terminal shows.
pub(crate) fn typed(client: &Client, columns: usize, line: &str, keys: &str) -> Option<String> {
    let mut program = client.command();
    program.env("PATH", search_path()).env_remove("ZDOTDIR");
    Some(seen(started(&program, columns, line)?, keys))
}

/// Runs the program on this client's library, with these variables, while these keys are typed.
/// Returns what the terminal shows.
pub(crate) fn ran(
    client: &Client,
    columns: usize,
    arguments: &str,
    variables: &[(&str, &str)],
    keys: &str,
) -> Option<String> {
    let mut program = client.command();
    program.envs(variables.iter().copied());
    let path = program.get_program().to_str().unwrap();
    let line = format!(
        "{path} {} {arguments}",
        client.library_arguments().join(" ")
    );
    Some(seen(started(&program, columns, &line)?, keys))
}

/// Types these keys, and returns all that the terminal shows until the command ends.
fn seen(mut child: Child, keys: &str) -> String {
    child
        .stdin
        .take()
        .unwrap()
        .write_all(keys.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).replace("\r\n", "\n")
}

/// A command at a terminal, whose keys are typed when it has shown something.
pub(crate) struct Typing {
    child: Child,
    seen: Vec<u8>,
    /// Up to where [`Typing::until`] has looked.
    read: usize,
}

impl Typing {
    /// Starts a shell command, in which `$PROGRAM` is the program with this client's library.
    pub(crate) fn started(client: &Client, columns: usize, line: &str) -> Option<Typing> {
        let program = client.command();
        let path = program.get_program().to_str().unwrap();
        let line = format!(
            "PROGRAM='{path} {}'; {line}",
            client.library_arguments().join(" ")
        );
        Some(Typing {
            child: started(&program, columns, &line)?,
            seen: Vec::new(),
            read: 0,
        })
    }

    /// Waits until the terminal shows this text, after what was waited for before. Returns all that
    /// was shown until then.
    pub(crate) fn until(&mut self, text: &str) -> String {
        loop {
            let mut windows = self.seen[self.read..].windows(text.len());
            if let Some(start) = windows.position(|window| window == text.as_bytes()) {
                let end = self.read + start + text.len();
                let shown = String::from_utf8_lossy(&self.seen[self.read..end]).into_owned();
                self.read = end;
                return shown;
            }
            let mut bytes = [0; 4096];
            let length =
                std::io::Read::read(self.child.stdout.as_mut().unwrap(), &mut bytes).unwrap();
            assert!(
                length > 0,
                "the end, before {text:?}: {}",
                String::from_utf8_lossy(&self.seen)
            );
            self.seen.extend(&bytes[..length]);
        }
    }

    pub(crate) fn keys(&mut self, keys: &str) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Waits until the command ends. Returns what was shown after the last [`Typing::until`].
    pub(crate) fn end(mut self) -> String {
        let mut rest = Vec::new();
        std::io::Read::read_to_end(self.child.stdout.as_mut().unwrap(), &mut rest).unwrap();
        self.child.wait().unwrap();
        self.seen.extend(rest);
        String::from_utf8_lossy(&self.seen[self.read..]).replace("\r\n", "\n")
    }
}
