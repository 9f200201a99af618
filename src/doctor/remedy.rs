//! The commands that put things right, as one types them.

use crate::client::{Arguments, Client, Registration, SERVER, Scope};

/// The command that registers us, in backticks.
pub(super) fn install(client: Client, scope: Scope) -> String {
    format!("`prompt-expander install {}{}`", client.name(), option(scope))
}

/// The command that takes us out again, in backticks.
pub(super) fn uninstall(client: Client, scope: Scope, name: &str) -> String {
    match scope {
        Scope::Local => format!("`claude mcp remove --scope local {name}`"),
        _ if name != SERVER => format!("take `{name}` out of the file"),
        _ => format!("`prompt-expander uninstall {}{}`", client.name(), option(scope)),
    }
}

fn option(scope: Scope) -> &'static str {
    if scope == Scope::Project { " --project" } else { "" }
}

/// The command that puts this program into the place of a registration, in backticks; what is said there of prompts stays.
pub(super) fn again(client: Client, server: &Registration) -> String {
    match (server.scope, server.name == SERVER) {
        (Scope::Local, true) => {
            let before = uninstall(client, server.scope, SERVER);
            format!("{before}, then `{}`", reinstall(client, server, ""))
        }
        (_, true) if !server.is_ours() => {
            format!("`prompt-expander install {}{} --replace`", client.name(), option(server.scope))
        }
        _ => format!("`{}`", reinstall(client, server, "")),
    }
}

/// The command that writes a registration of ours anew, with this option.
pub(super) fn reinstall(client: Client, server: &Registration, more: &str) -> String {
    let mut command = format!("prompt-expander install {}{}{more}", client.name(), option(server.scope));
    if server.is_ours() {
        let Arguments { of_library, others, .. } = Arguments::of(&server.args);
        for word in of_library {
            command.push_str(&format!(" {}", quoted_for_shell(&word)));
        }
        if !others.is_empty() {
            let others: Vec<String> = others.iter().map(|word| quoted_for_shell(word)).collect();
            command.push_str(&format!(" -- {}", others.join(" ")));
        }
    }
    command
}

fn quoted_for_shell(word: &str) -> String {
    shlex::try_quote(word).map_or_else(|_| word.to_owned(), Into::into)
}
