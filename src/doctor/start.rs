//! What a program finds when a client starts it: its environment, and where the program is.
//!
//! Codex, Claude Code and Gemini CLI were measured (`docs/clients`); the others are known to pass everything on.

use crate::client::Client;
use crate::wording::named;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The variables of a program, by name.
pub type Environment = Vec<(OsString, OsString)>;

/// What Codex passes on to a server, besides what the config names.
const OF_CODEX: &[&str] = &[
    // Unix
    "HOME",
    "LANG",
    "LC_ALL",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "__CF_USER_TEXT_ENCODING",
    // Windows, by its source
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
    // Certificates
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// Parts of names that Gemini CLI takes for those of secrets, and does not pass on.
const SECRET_TO_GEMINI: &[&str] =
    &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "KEY", "AUTH", "CREDENTIAL", "CREDS", "PRIVATE", "CERT"];

/// What a server gets of the environment `own` of the client, before the config adds to it.
pub(super) fn passed_on(client: Client, own: &Environment, project: &Path) -> Environment {
    let mut environment: Environment = own.iter().filter(|(name, _)| passes(client, name)).cloned().collect();
    match client {
        Client::ClaudeCode => set(&mut environment, "CLAUDE_PROJECT_DIR", project.as_os_str()),
        Client::GeminiCli => set(&mut environment, "GEMINI_CLI", OsStr::new("1")),
        Client::Codex | Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => {}
    }
    environment
}

/// Whether a client passes a variable on to a server.
fn passes(client: Client, name: &OsStr) -> bool {
    let Some(name) = name.to_str().map(str::to_uppercase) else { return client != Client::Codex };
    match client {
        Client::Codex => OF_CODEX.contains(&name.as_str()),
        Client::GeminiCli => !SECRET_TO_GEMINI.iter().any(|part| name.contains(part)),
        Client::ClaudeCode | Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => true,
    }
}

/// Sets a variable, whether it is there or not.
pub(super) fn set(environment: &mut Environment, name: &str, value: &OsStr) {
    environment.retain(|(known, _)| !is_name(known, name));
    environment.push((name.into(), value.to_owned()));
}

/// The value of a variable.
pub(super) fn get<'e>(environment: &'e Environment, name: &str) -> Option<&'e OsStr> {
    environment.iter().find(|(known, _)| is_name(known, name)).map(|(_, value)| value.as_os_str())
}

fn is_name(known: &OsStr, name: &str) -> bool {
    if cfg!(windows) { known.eq_ignore_ascii_case(name) } else { known == name }
}

/// A value of a config with the variables in it replaced, as the client does. What is not set stays as it is written.
pub(super) fn with_variables(client: Client, text: &str, environment: &Environment, project: &Path) -> String {
    let open = match client {
        Client::GeminiCli => "$", // `$NAME` as well
        Client::Opencode => "{env:",
        _ => "${",
    };
    if matches!(client, Client::Codex | Client::Zed) {
        return text.to_owned();
    }
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        let found = match (open, after.strip_prefix('{')) {
            ("$", Some(braced)) => braced.split_once('}'),
            ("$", None) => {
                let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                Some(after.split_at(after.find(|letter| !is_of_name(letter)).unwrap_or(after.len())))
            }
            _ => after.split_once('}'),
        };
        let Some((name, behind)) = found else { break };
        expanded.push_str(before);
        let of_environment = |name: &str| get(environment, name).map(|value| value.to_string_lossy().into_owned());
        let value = match (client, name) {
            (Client::VsCode | Client::Cursor, "workspaceFolder") => Some(project.display().to_string()),
            (Client::VsCode | Client::Cursor, "userHome") => {
                of_environment(if cfg!(windows) { "USERPROFILE" } else { "HOME" })
            }
            (Client::VsCode | Client::Cursor, name) => name.strip_prefix("env:").and_then(of_environment),
            (_, name) => match name.split_once(":-") {
                Some((name, default)) => of_environment(name).or_else(|| Some(default.to_owned())),
                None => of_environment(name),
            },
        };
        match value {
            Some(value) => expanded.push_str(&value),
            None => expanded.push_str(&rest[before.len()..rest.len() - behind.len()]),
        }
        rest = behind;
    }
    expanded + rest
}

/// Where a command is that a client would start in `folder` with this environment.
///
/// # Errors
/// It cannot be started: why, as what follows the command in a sentence.
pub(super) fn find(command: &str, environment: &Environment, folder: &Path) -> Result<PathBuf, String> {
    let endings = endings(environment);
    if command.is_empty() {
        return Err("is empty".to_owned());
    }
    if has_separator(command) {
        let path = folder.join(command);
        let candidates = endings.iter().map(|ending| with_ending(&path, ending));
        let found = candidates.clone().find(|candidate| what_is_wrong(candidate).is_none());
        return match found {
            Some(found) => Ok(found),
            None if command.starts_with("~/") => Err("cannot be started: no shell is there to know `~`".to_owned()),
            None => Err(what_is_wrong(&path).unwrap_or_default().to_owned()),
        };
    }
    let Some(listed) = get(environment, "PATH") else { return Err("is not found: the client has no PATH".to_owned()) };
    let folders = std::env::split_paths(listed).filter(|folder| !folder.as_os_str().is_empty());
    let mut candidates =
        folders.flat_map(|place| endings.iter().map(move |ending| with_ending(&place.join(command), ending)));
    candidates
        .find(|candidate| what_is_wrong(&folder.join(candidate)).is_none())
        .map(|found| folder.join(found))
        .ok_or_else(|| "is in no folder of PATH".to_owned())
}

/// Whether it is a path, not a name to be looked up on `PATH`.
pub(super) fn has_separator(command: &str) -> bool {
    command.contains(std::path::is_separator)
}

/// Whether a program that was found in `folder` is another one in another folder: it is named so, or `PATH` is.
pub(super) fn is_of_folder(command: &str, program: &Path, environment: &Environment, folder: &Path) -> bool {
    if has_separator(command) {
        return Path::new(command).is_relative();
    }
    let is_there =
        |place: PathBuf| program.parent().is_some_and(|parent| parent.components().eq(folder.join(place).components()));
    let Some(listed) = get(environment, "PATH") else { return false };
    std::env::split_paths(listed).any(|place| place.is_relative() && is_there(place))
}

/// What may stand behind the name of a program.
fn endings(environment: &Environment) -> Vec<String> {
    if !cfg!(windows) {
        return vec![String::new()];
    }
    let listed = get(environment, "PATHEXT").map(|listed| listed.to_string_lossy().into_owned());
    let listed = listed.unwrap_or_else(|| ".COM;.EXE;.BAT;.CMD".to_owned());
    std::iter::once(String::new()).chain(listed.split(';').map(str::to_owned)).collect()
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

/// Why a file is no program.
fn what_is_wrong(path: &Path) -> Option<&'static str> {
    let Ok(metadata) = path.metadata() else {
        return Some(if path.is_symlink() { "is a link to what is not there" } else { "does not exist" });
    };
    if metadata.is_dir() {
        return Some("is a directory");
    }
    #[cfg(unix)]
    if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o111 == 0 {
        return Some("is not executable");
    }
    None
}

/// The program with its arguments, as one types them, in backticks.
pub(super) fn shown(program: &str, arguments: &[String]) -> String {
    let words = || [program].into_iter().chain(arguments.iter().map(String::as_str));
    named(&shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn each_client_passes_on_what_it_was_seen_to() {
        let own =
            environment(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/x"), ("MY_API_KEY", "k"), ("SSL_CERT_FILE", "c")]);
        let names = |client| {
            let passed = passed_on(client, &own, Path::new("/p"));
            passed.iter().map(|(name, _)| name.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(Client::Codex), "HOME SSL_CERT_FILE");
        assert_eq!(names(Client::ClaudeCode), "HOME XDG_CONFIG_HOME MY_API_KEY SSL_CERT_FILE CLAUDE_PROJECT_DIR");
        assert_eq!(names(Client::GeminiCli), "HOME XDG_CONFIG_HOME GEMINI_CLI");
        assert_eq!(names(Client::Zed), "HOME XDG_CONFIG_HOME MY_API_KEY SSL_CERT_FILE");
    }

    #[test]
    fn variables_are_replaced_where_the_client_replaces_them() {
        let own = environment(&[("HOME", "/h"), ("USERPROFILE", "/h"), ("A", "a")]);
        for (client, text, want) in [
            (Client::Codex, "${HOME}/x", "${HOME}/x"),
            (Client::ClaudeCode, "${A}/${B:-b}/${C}/$A", "a/b/${C}/$A"),
            (Client::VsCode, "${userHome}/${env:A}/${workspaceFolder}/${input:x}", "/h/a//p/${input:x}"),
            (Client::Opencode, "{env:A}/${A}", "a/${A}"),
            (Client::GeminiCli, "${A", "${A"),
            (Client::GeminiCli, "/$A/$A_/$/${A}$A", "/a/$A_/$/aa"),
        ] {
            assert_eq!(with_variables(client, text, &own, Path::new("/p")), want, "{client:?}");
        }
    }
}
