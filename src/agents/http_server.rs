//! A server over HTTP: its URL, its token, and how the agents register both.

use super::edit::Entry;
use super::{Agent, Config, Registration};
use serde_json::{Map, Value, json};
use std::net::Ipv4Addr;

/// The path of MCP, with which the URL of a server over HTTP ends.
pub const MCP_PATH: &str = "/mcp";

/// The header of the token.
const AUTHORIZATION: &str = "Authorization";

/// Precedes the token in that header.
const BEARER: &str = "Bearer ";

/// The keys of an entry that say how to start a server, or are another name of `url`.
const OTHER_KEYS: [&str; 8] = ["type", "command", "args", "env", "environment", "env_vars", "cwd", "httpUrl"];

/// A server over HTTP to be registered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpServer {
    /// Its URL, as [`endpoint`] returns it.
    pub url: String,
    /// The environment variable with the token for it. `None`: an entry for the same URL keeps the token that it has.
    pub token_variable: Option<String>,
}

/// The token that an agent sends to a server over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// It is in this environment variable.
    Variable(String),
    /// It is in the config: this text, which may have variables in it.
    Text(String),
}

/// How an agent registers a server over HTTP.
pub(super) struct Http {
    /// What its own `mcp add` writes for a URL, without a token.
    pub(super) entry: fn(url: &str) -> Vec<(&'static str, Value)>,
    pub(super) token: TokenPlace,
}

/// Where an agent reads the token for a server over HTTP.
pub(super) enum TokenPlace {
    /// This key has the name of the variable.
    Key(&'static str),
    /// The header in `headers`, in which the name of the variable is between these two.
    Header(&'static str, &'static str),
    /// The same header, in which no variable is replaced.
    TextOnly,
}

impl Http {
    /// The entry for a server. `present` is the entry that it replaces, of which other headers stay.
    pub(super) fn entry(&self, config: &Config, server: &HttpServer, present: &Map<String, Value>) -> Entry {
        let set = (self.entry)(&server.url);
        let is_set = |key: &str| set.iter().any(|(known, _)| *known == key);
        let absent: Vec<&str> = OTHER_KEYS.into_iter().filter(|key| !is_set(key)).collect();
        let mut required: Vec<_> = set.into_iter().map(|(key, value)| (key, Some(value))).collect();
        match (&self.token, &server.token_variable) {
            (TokenPlace::Key(key), Some(variable)) => required.push((key, Some(json!(variable)))),
            (TokenPlace::Header(before, after), Some(variable)) => {
                let mut headers = present.get("headers").and_then(Value::as_object).cloned().unwrap_or_default();
                headers.retain(|name, _| !name.eq_ignore_ascii_case(AUTHORIZATION));
                headers.insert(AUTHORIZATION.to_owned(), json!(format!("{BEARER}{before}{variable}{after}")));
                required.push(("headers", Some(headers.into())));
            }
            (TokenPlace::TextOnly, Some(_)) | (_, None) => {}
        }
        required.extend(absent.into_iter().map(|key| (key, None)));
        Entry { required, initial: config.trust.map(|key| (key, json!(true))).into_iter().collect() }
    }

    /// The token of an entry.
    pub(super) fn token(&self, entry: &Map<String, Value>) -> Option<Token> {
        let of = |key: &str| {
            let headers = entry.get(key)?.as_object()?;
            let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION))?;
            Some(value.as_str()?.trim_start_matches(BEARER).to_owned())
        };
        match &self.token {
            TokenPlace::Key(key) => {
                let variable = entry.get(*key).and_then(Value::as_str).map(|name| Token::Variable(name.to_owned()));
                variable.or_else(|| of("http_headers").map(Token::Text))
            }
            TokenPlace::Header(before, after) => of("headers").map(|text| {
                let name = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                // Gemini CLI reads `${NAME}` as well.
                let name =
                    name.map(|name| name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(name));
                match name.filter(|name| is_variable(name)) {
                    Some(name) => Token::Variable(name.to_owned()),
                    None => Token::Text(text),
                }
            }),
            TokenPlace::TextOnly => of("headers").map(Token::Text),
        }
    }
}

impl Agent {
    /// Whether it reads the token for a server over HTTP from an environment variable.
    pub fn reads_token_variable(&self) -> bool {
        !matches!(self.config.http.token, TokenPlace::TextOnly)
    }
}

impl HttpServer {
    /// The options with which a hook asks it.
    pub(super) fn hook_options(&self) -> Vec<String> {
        let mut options = vec!["--http".to_owned(), self.url.clone()];
        if let Some(variable) = &self.token_variable {
            options.extend(["--token-env".to_owned(), variable.clone()]);
        }
        options
    }
}

impl Registration {
    /// Whether it is a server over HTTP as `install` registers one. Only the server can tell whether it is prompt-expander.
    pub fn is_http_server(&self) -> bool {
        self.url.as_deref().is_some_and(is_endpoint)
    }

    /// The same as what is to be registered. `None`: it is no such server.
    pub fn http_server(&self) -> Option<HttpServer> {
        let token_variable = match &self.token {
            Some(Token::Variable(name)) => Some(name.clone()),
            _ => None,
        };
        Some(HttpServer { url: self.url.clone().filter(|url| is_endpoint(url))?, token_variable })
    }
}

/// Whether a URL is one that [`endpoint`] could have returned.
pub(super) fn is_endpoint(url: &str) -> bool {
    url.ends_with(MCP_PATH) && endpoint(url).is_ok()
}

/// Whether a text can be the name of an environment variable.
pub fn is_variable(name: &str) -> bool {
    let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
    name.starts_with(is_first) && name.chars().all(|letter| is_first(letter) || letter.is_ascii_digit())
}

/// The URL of a server over HTTP, which may be given without `/mcp`. The path before that is kept, as a proxy may need it.
///
/// # Errors
/// Why it cannot be one, worded to follow it.
pub fn endpoint(text: &str) -> Result<String, String> {
    let Some((scheme, rest)) = text.split_once("://") else {
        return Err(format!(
            "must begin with https:// or http://, as in `http://{}`",
            if text.is_empty() { "127.0.0.1:3333" } else { text }
        ));
    };
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&scheme.as_str()) {
        return Err("must begin with https:// or http://".to_owned());
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("must not have a user name or a password; put the token into an environment variable, and name \
                    that with --token-env"
            .to_owned());
    }
    if path.contains(['?', '#']) {
        return Err("must end with its path, without `?` or `#`".to_owned());
    }
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-._~%:/[]!$&'()*+,;=@".contains(letter);
    if let Some(other) = rest.chars().find(|letter| !is_allowed(*letter)) {
        return Err(format!("must not contain the character `{}`", other.escape_default()));
    }
    let (host, port) = host_and_port(authority);
    let is_bracketed = |host: &str| host.strip_prefix('[').is_some_and(|rest| rest.ends_with(']'));
    if host.is_empty() || (host.contains([':', '[', ']']) && !is_bracketed(host)) {
        return Err("must have the name or the address of the server, as in `https://prompts.example.com`".to_owned());
    }
    if port.is_some_and(|port| port.parse::<u16>().map_or(true, |port| port == 0)) {
        return Err("must have a port from 1 to 65535 after the colon, or none".to_owned());
    }
    let path = path.trim_end_matches('/');
    let path = path.strip_suffix(MCP_PATH).unwrap_or(path).trim_end_matches('/');
    Ok(format!("{scheme}://{}{path}{MCP_PATH}", authority.to_ascii_lowercase()))
}

/// Whether what is sent to this URL can be read by others: it is not encrypted, and the server is not on this machine.
pub fn is_exposed(url: &str) -> bool {
    url.starts_with("http://") && !is_on_this_machine(url)
}

/// Whether the host in the URL of a server, as [`endpoint`] returns it, is this machine.
pub fn is_on_this_machine(url: &str) -> bool {
    let authority = url.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    let (host, _) = host_and_port(authority.unwrap_or_default());
    let is_loopback = |address: Ipv4Addr| address.is_loopback();
    host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || host.parse().is_ok_and(is_loopback)
}

fn host_and_port(authority: &str) -> (&str, Option<&str>) {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (authority, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_server_may_lack_its_path() {
        for (given, url) in [
            ("http://127.0.0.1:3333", "http://127.0.0.1:3333/mcp"),
            ("http://127.0.0.1:3333/", "http://127.0.0.1:3333/mcp"),
            ("http://127.0.0.1:3333/mcp", "http://127.0.0.1:3333/mcp"),
            ("http://127.0.0.1:3333/mcp/", "http://127.0.0.1:3333/mcp"),
            ("HTTPS://Prompts.Example.com", "https://prompts.example.com/mcp"),
            ("https://example.com/Team/prompts/", "https://example.com/Team/prompts/mcp"),
            ("https://example.com/prompts/mcp/", "https://example.com/prompts/mcp"),
            ("https://example.com/smcp", "https://example.com/smcp/mcp"),
            ("http://[::1]:3333", "http://[::1]:3333/mcp"),
        ] {
            assert_eq!(endpoint(given).as_deref(), Ok(url), "{given}");
            assert_eq!(endpoint(url).as_deref(), Ok(url), "{given}: twice");
            assert!(is_endpoint(url));
        }
    }

    #[test]
    fn what_cannot_be_the_url_of_a_server_is_refused_with_a_reason() {
        for (given, why) in [
            ("", "as in `http://127.0.0.1:3333`"),
            ("127.0.0.1:3333", "as in `http://127.0.0.1:3333`"),
            ("localhost", "as in `http://localhost`"),
            ("ws://localhost/ws", "must begin with https:// or http://"),
            ("file:///etc/passwd", "must begin with https:// or http://"),
            ("http://", "must have the name or the address"),
            ("http:///mcp", "must have the name or the address"),
            ("http://:3333", "must have the name or the address"),
            ("http://::1", "must have the name or the address"),
            ("http://[::1", "must have the name or the address"),
            ("http://host:0", "must have a port"),
            ("http://host:", "must have a port"),
            ("http://host:65536", "must have a port"),
            ("http://host:x", "must have a port"),
            ("http://ana:secret@host", "must not have a user name or a password"),
            ("http://token@host/mcp", "must not have a user name or a password"),
            ("http://host/mcp?token=t", "without `?` or `#`"),
            ("http://host#a", "without `?` or `#`"),
            ("http://a b", "must not contain the character ` `"),
            ("http://h\u{f6}st", "must not contain the character `\\u{f6}`"),
            ("http://host/\n", "must not contain the character `\\n`"),
            ("http://host/`id`", "must not contain the character ```"),
        ] {
            let error = endpoint(given).unwrap_err();
            assert!(error.contains(why), "{given}: {error}");
        }
    }

    #[test]
    fn the_token_of_an_entry_is_a_variable_or_a_text_that_the_agent_sends() {
        let variable = |name: &str| Some(Token::Variable(name.to_owned()));
        let text = |text: &str| Some(Token::Text(text.to_owned()));
        let header = |value: &str| json!({"headers": {"Authorization": value}});
        for (agent, entry, token) in [
            ("codex", json!({"bearer_token_env_var": "T"}), variable("T")),
            ("codex", json!({"http_headers": {"Authorization": "Bearer t"}}), text("t")),
            ("codex", header("Bearer t"), None),
            ("claude-code", header("Bearer ${T}"), variable("T")),
            ("claude-code", header("Bearer ${T:-t}"), text("${T:-t}")),
            ("claude-code", header("Bearer $T"), text("$T")),
            ("claude-code", json!({"headers": {"authorization": "Bearer ${T}"}}), variable("T")),
            ("gemini", header("Bearer $T"), variable("T")),
            ("gemini", header("Bearer ${T}"), variable("T")),
            ("vscode", header("Bearer ${env:T}"), variable("T")),
            ("vscode", header("Bearer ${input:t}"), text("${input:t}")),
            ("cursor", header("Bearer ${env:T}"), variable("T")),
            ("opencode", header("Bearer {env:T}"), variable("T")),
            ("zed", header("Bearer ${T}"), text("${T}")),
            ("zed", json!({}), None),
        ] {
            let read = Agent::named(agent).unwrap().config.http.token(entry.as_object().unwrap());
            assert_eq!(read, token, "{agent}: {entry}");
        }
    }

    #[test]
    fn only_plain_http_to_another_machine_can_be_read_by_others() {
        for (host, is_this_machine) in [
            ("127.0.0.1:3333", true),
            ("127.9.9.9", true),
            ("localhost", true),
            ("prompts.localhost:1", true),
            ("[::1]:3333", true),
            ("example.com", false),
            ("10.0.0.1", false),
            ("127.0.0.1.example.com", false),
            ("localhost.example.com", false),
        ] {
            let [plain, encrypted] = ["http", "https"].map(|scheme| format!("{scheme}://{host}/mcp"));
            assert_eq!([&plain, &encrypted].map(|url| is_on_this_machine(url)), [is_this_machine; 2], "{host}");
            assert_eq!([&plain, &encrypted].map(|url| is_exposed(url)), [!is_this_machine, false], "{host}");
        }
    }
}
