//! `serve --http`: the server over HTTP, for many clients.

use super::options::Serve;
use crate::cli::append;
use crate::cli::output::{self, Reporter};
use crate::cli::source_options::PromptSource;
use crate::cli::user_folders;
use crate::library::{Caller, Role};
use crate::server::{LongestWait, Server};
use crate::transport::Tap;
use crate::transport::http::MCP_PATH;
use crate::transport::http::auth::Access;
use crate::transport::http::client_limits::{
    DEFAULT_MAX_BODY_BYTES, RateLimit, RateLimits, parse_bytes,
};
use crate::transport::http::origin::{AllowedHost, AllowedOrigin, AllowedSites};
use crate::transport::http::proxy::parse_proxy;
use crate::transport::http::secret_file::GuardedFile;
use crate::transport::http::tls::Tls;
use crate::transport::http::tokens::TokenLine;
use crate::transport::http::{self, Keys, Options};
use crate::whole_file::{FileAccess, PendingFile};
use crate::wording::{in_backticks, path_in_backticks};
use anyhow::{Context, anyhow, bail};
use clap::Args;
use ipnet::IpNet;
use std::env;
use std::io::{self, IsTerminal};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The environment variable with the key, or two keys in two lines.
const KEY_VARIABLE: &str = "PROMPT_EXPANDER_KEY";

// The options of the server over HTTP.
#[derive(Debug, Args)]
#[group(id = "http_options")]
pub(in super::super) struct Http {
    /// Serve over HTTP at this address, instead of over standard input and output
    ///
    /// If you pass only a port, the address is 127.0.0.1, which only this machine can reach. With
    /// port 0, the system chooses a free port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(super) http: Option<String>,
    /// The file with the key that signs session ids; use the same key for all servers behind one
    /// address
    ///
    /// A second line can hold the previous key. Instead of this option, you can put the key into
    /// the environment variable PROMPT_EXPANDER_KEY. Without either, the server creates a key, and
    /// stores it in your state directory (~/.local/state/prompt-expander on Linux), so that
    /// sessions survive a restart.
    #[arg(long, value_name = "FILE", requires = "http")]
    key: Option<PathBuf>,
    /// Only accept requests with a bearer token from this file; required if other machines can
    /// reach the address
    ///
    /// Each line begins with a token, or with `sha256:` and the hash of a token. The rest of the
    /// line says what the token may do. `prompt-expander token add` prints such lines. When the
    /// file changes, the server reads it again. Without this option, everyone on this machine can
    /// read your prompts.
    #[arg(long, value_name = "FILE", requires = "http")]
    token_file: Option<PathBuf>,
    /// Serve over HTTPS with the certificates in this PEM file: that of the server first, then the
    /// intermediate ones
    ///
    /// The server reads this file and the file of --tls-key again when they change.
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The PEM file with the certificate's private key; must be readable only by you
    #[arg(long, value_name = "FILE", requires = "http", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Trust what a proxy at this address, or in this network, says about its clients; can be
    /// repeated
    ///
    /// The proxy uses the headers X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. Limits
    /// for each address then apply to the address of the client instead of the proxy.
    #[arg(long, value_name = "ADDR[/BITS]", requires = "http", value_parser = parse_proxy)]
    trusted_proxy: Vec<IpNet>,
    /// Also accept requests whose Host header has this name, such as the public name of a proxy;
    /// can be repeated
    ///
    /// The server always accepts `localhost` and the address that it listens on.
    #[arg(long, value_name = "NAME[:PORT]", requires = "http")]
    allow_host: Vec<AllowedHost>,
    /// Also accept requests from web pages of this origin, such as `https://app.example.com`; can
    /// be repeated
    ///
    /// Web pages served from this machine are always allowed. Programs other than browsers are not
    /// affected.
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    allow_origin: Vec<AllowedOrigin>,
    /// How many messages a client may send, such as `600/minute` or
    /// `prompts/list=30/minute,burst=5`; can be repeated
    ///
    /// The limit applies to each token or, without tokens, to each address. A limit for one method
    /// applies in addition to the limit for all messages. `burst` is how many messages may arrive
    /// at once after a pause; by default, it is the number for a minute. Without this option, there
    /// is no limit.
    #[arg(long, value_name = "[METHOD=]N/minute[,burst=B]", requires = "http")]
    rate_limit: Vec<RateLimit>,
    /// The maximum length of a request's body, in bytes or with a unit, such as `1MiB`; 32 MiB by
    /// default
    #[arg(long, value_name = "BYTES", requires = "http", value_parser = parse_bytes)]
    max_body: Option<usize>,
}

/// Who may edit prompts.
enum Editing {
    /// Everybody who has the token in this file.
    WithOwnToken(StoredSecret),
    /// Those whose token in the file of --token-file has the role `write` or `admin`.
    ByRole,
    Nobody,
}

impl Editing {
    /// Returns the end of the startup message, which follows the URL of the page: the fragment with
    /// the token for edits, if any, and whether editing is on.
    fn description(&self) -> String {
        match self {
            // Print the token only on a terminal, not into a log. A browser doesn't send the
            // fragment of a URL.
            Editing::WithOwnToken(StoredSecret { text, .. }) if io::stderr().is_terminal() => {
                format!("#token={text}; editing is on")
            }
            Editing::WithOwnToken(StoredSecret { path, .. }) => format!(
                "; editing is on\nthe token for edits is the first word in {}",
                path.display()
            ),
            Editing::ByRole => {
                "; editing is on for tokens with the role `write` or `admin`".to_owned()
            }
            Editing::Nobody => "; editing is off, and `--edit` turns it on".to_owned(),
        }
    }
}

impl Http {
    /// Serves at this address until the process is stopped.
    pub(super) fn serve(
        self,
        address: &str,
        source: &PromptSource,
        serve: &Serve,
        reporter: &Reporter,
    ) -> anyhow::Result<()> {
        let address = socket_address(address)?;
        self.require_tokens(address)?;
        append::ignore_hangups();
        // Printed only when the server is listening, below the line with its address.
        let mut warnings = Vec::new();
        let tap = serve.open_tap().unwrap_or_else(|problem| {
            warnings.push(problem);
            None
        });
        let editing = self.editing(serve)?;
        let options = self.options(address, &editing, tap, &mut warnings)?;
        let library = serve.library(source);
        let settings = serve.server_settings(LongestWait::Folders);
        let server = Server::new(Arc::clone(&library), settings);
        let scheme = if options.tls.is_some() {
            "https"
        } else {
            "http"
        };
        // The closure runs once the server is listening. `address` then has the actual port.
        let served = http::serve(Arc::new(server), options, |address| {
            let editing = editing.description();
            output::print_unlabelled(&format!(
                "listening on {scheme}://{address}{MCP_PATH}\nthe page is at {scheme}://{address}/{editing}"
            ));
            serve.start_log(reporter);
            reporter.warn_all(library.view().problems()); // e.g. a missing folder
            reporter.warn_all(warnings);
        });
        served.map_err(|error| {
            anyhow!("cannot serve on {address}: {error}; choose another address or port")
        })
    }

    /// Fails if other machines can reach the address, but no tokens are required.
    fn require_tokens(&self, address: SocketAddr) -> anyhow::Result<()> {
        if address.ip().is_loopback() || self.token_file.is_some() {
            return Ok(());
        }
        bail!(
            "{address} can be reached from other machines, where anyone could read your prompts; add --token-file FILE with a \
             line from `prompt-expander token add NAME`, or listen on 127.0.0.1:{port}",
            port = address.port()
        );
    }

    /// Decides who may edit prompts. With --token-file, the roles of the tokens decide, even
    /// without --edit.
    fn editing(&self, serve: &Serve) -> anyhow::Result<Editing> {
        if self.token_file.is_some() {
            Ok(Editing::ByRole)
        } else if serve.edit {
            Ok(Editing::WithOwnToken(edit_token()?))
        } else {
            Ok(Editing::Nobody)
        }
    }

    /// Builds the options of the transport, and adds `warnings` for the user. `tap` is the log of
    /// all messages, if there is one.
    fn options(
        self,
        address: SocketAddr,
        editing: &Editing,
        tap: Option<Tap>,
        warnings: &mut Vec<String>,
    ) -> anyhow::Result<Options> {
        if !self.trusted_proxy.is_empty() && self.token_file.is_none() {
            warnings.push(
                "everyone who can reach the proxy can read your prompts; add --token-file, unless the proxy authenticates its users"
                    .to_owned(),
            );
        }
        let keys = self.keys(warnings)?;
        let access = access(editing, self.token_file).map_err(anyhow::Error::msg)?;
        let tls = tls(self.tls_cert, self.tls_key)?;
        Ok(Options {
            address,
            tls,
            trusted_proxies: self.trusted_proxy,
            keys,
            max_body_bytes: self.max_body.unwrap_or(DEFAULT_MAX_BODY_BYTES),
            access,
            sites: AllowedSites {
                listen_address: address.ip(),
                hosts: self.allow_host,
                origins: self.allow_origin,
            },
            rate_limits: RateLimits::new(self.rate_limit),
            tap: tap.map(Arc::new),
        })
    }

    /// Returns the keys that sign session ids: from --key, otherwise from [`KEY_VARIABLE`],
    /// otherwise from the state folder.
    fn keys(&self, warnings: &mut Vec<String>) -> anyhow::Result<Keys> {
        if let Some(path) = &self.key {
            let key_file = GuardedFile {
                path,
                title: "key",
                repair: "--key needs a file with a key, or with two in two lines",
            };
            let keys = key_file.read_secret().map_err(anyhow::Error::msg)?;
            return parse_keys(keys, &path_in_backticks(path));
        }
        match env::var_os(KEY_VARIABLE) {
            Some(key) if !key.is_empty() => parse_keys(key.into_encoded_bytes(), KEY_VARIABLE),
            _ => stored_keys(warnings),
        }
    }
}

/// Loads the certificate and its key, or returns `None` to serve plain HTTP. The command line
/// requires that there are both or neither.
fn tls(certificate: Option<PathBuf>, key: Option<PathBuf>) -> anyhow::Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (certificate, key) else {
        return Ok(None);
    };
    let tls = Tls::new(certificate, key, output::print_warning).map_err(anyhow::Error::msg)?;
    Ok(Some(tls))
}

/// Returns which requests are accepted, and with which role. Without --token-file, requests need no
/// token, except to edit.
fn access(editing: &Editing, token_file: Option<PathBuf>) -> Result<Access, String> {
    let (token_file, role_without_token) = match editing {
        Editing::ByRole => (token_file, None),
        // Without the token, the client may be another user of this machine.
        Editing::WithOwnToken(secret) => (Some(secret.path.clone()), Some(Role::Read)),
        Editing::Nobody => (None, Some(Caller::local().role)),
    };
    let anonymous = role_without_token.map(|role| Caller {
        role,
        sees_team: false,
        ..Caller::local()
    });
    Access::new(token_file, anonymous, output::print_warning)
}

/// Parses one or two keys. `origin` is where they come from, for errors.
fn parse_keys(keys: Vec<u8>, origin: &str) -> anyhow::Result<Keys> {
    let text = String::from_utf8(keys).with_context(|| format!("{origin} is not UTF-8"))?;
    Keys::parse(&text).map_err(|problem| anyhow!("{origin} is not a valid key: {problem}"))
}

/// Returns the key in the state folder, which is generated on the first start. If it can't be
/// stored, adds a warning, and returns a random key that is lost when the server stops.
fn stored_keys(warnings: &mut Vec<String>) -> anyhow::Result<Keys> {
    let key = match read_or_create_secret("session-key", Keys::generate) {
        Ok(secret) => secret.text,
        Err(reason) => {
            warnings.push(format!(
                "the key of session ids cannot be stored ({reason}): clients have to connect anew after a restart; give \
                 --key to avoid that"
            ));
            Keys::generate().map_err(anyhow::Error::msg)?
        }
    };
    parse_keys(key.into_bytes(), "the stored key of session ids")
}

/// A secret that the program generated and stores in a file.
struct StoredSecret {
    path: PathBuf,
    text: String,
}

/// Returns the token in the state folder that edits require if there is no --token-file. It is
/// generated on the first start.
fn edit_token() -> anyhow::Result<StoredSecret> {
    let StoredSecret { path, text } =
        read_or_create_secret("edit-token", new_edit_token).map_err(|reason| {
            anyhow!("the token for edits cannot be stored ({reason}); give --token-file, or leave out --edit")
        })?;
    // The file is a token file: the token is followed by its name and role.
    let token = text.split_whitespace().next().unwrap_or_default();
    Ok(StoredSecret {
        path,
        text: token.to_owned(),
    })
}

/// Generates a token for edits, and returns its line in a token file.
fn new_edit_token() -> Result<String, String> {
    let generated = TokenLine::generate("edit", Role::Admin, None, None)?;
    Ok(generated.token + " name=edit role=admin\n")
}

/// Reads the secret in a file of the program's state folder. If there is no such file, creates it
/// with a secret from `generate`.
///
/// # Errors
/// Fails with a message that names the folder if the secret can't be stored or read, e.g. because
/// other users can read the file.
fn read_or_create_secret(
    file_name: &str,
    generate: impl FnOnce() -> Result<String, String>,
) -> Result<StoredSecret, String> {
    let folder = user_folders::state().ok_or("the home directory is unknown")?;
    read_or_create_secret_in(&folder, file_name, generate)
        .map_err(|error| format!("{}: {error}", folder.display()))
}

/// Reads the secret in a file of `folder`, which is the state folder except in tests. If there is
/// no such file, creates it with a secret from `generate`.
fn read_or_create_secret_in(
    folder: &Path,
    file_name: &str,
    generate: impl FnOnce() -> Result<String, String>,
) -> io::Result<StoredSecret> {
    let path = folder.join(file_name);
    if !path.exists() {
        let secret = generate().map_err(io::Error::other)?;
        create_secret_file(&path, &secret)?;
    }
    // Read it even if it was just created: another server may have stored its own secret first.
    read_secret_file(path)
}

/// Creates a file with a secret that only its owner can read. If the file exists by now, keeps it.
fn create_secret_file(path: &Path, secret: &str) -> io::Result<()> {
    let new_file = PendingFile::write(path, secret.as_bytes(), FileAccess::Private)?;
    match new_file.create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Reads a file with a secret.
///
/// # Errors
/// Fails if the file can't be read, or if other users can read or change it.
fn read_secret_file(path: PathBuf) -> io::Result<StoredSecret> {
    let file = GuardedFile {
        path: &path,
        title: "file",
        repair: "remove it to get a new one",
    };
    let bytes = file.read_secret().map_err(io::Error::other)?;
    let text = String::from_utf8(bytes).map_err(io::Error::other)?;
    Ok(StoredSecret { path, text })
}

/// Parses the address of --http. A port alone, as in `3333` or `:3333`, is on the loopback address.
fn socket_address(text: &str) -> anyhow::Result<SocketAddr> {
    let port = text.strip_prefix(':').unwrap_or(text);
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let advice = "write an address and a port, such as 127.0.0.1:3333";
    let mut addresses = text.to_socket_addrs().map_err(|error| {
        anyhow!(
            "--http {} is not an address: {error}; {advice}",
            in_backticks(text)
        )
    })?;
    addresses
        .next()
        .ok_or_else(|| anyhow!("--http {} names no address; {advice}", in_backticks(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_port_alone_is_on_this_machine() {
        for (text, want) in [
            ("3333", "127.0.0.1:3333"),
            (":0", "127.0.0.1:0"),
            ("127.0.0.2:80", "127.0.0.2:80"),
            ("[::1]:80", "[::1]:80"),
            ("0.0.0.0:80", "0.0.0.0:80"),
        ] {
            assert_eq!(
                socket_address(text).unwrap(),
                want.parse().unwrap(),
                "{text}"
            );
        }
        for text in [
            "",
            "127.0.0.1",
            "127.0.0.1:",
            "127.0.0.1:65536",
            "http://127.0.0.1:80",
            "::1",
        ] {
            let error = socket_address(text).unwrap_err().to_string();
            assert!(error.contains("127.0.0.1:3333"), "{text}: {error}");
        }
    }

    #[test]
    fn a_stored_secret_is_made_once_and_only_its_owner_can_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("state/prompt-expander");
        let StoredSecret { path, text } =
            read_or_create_secret_in(&folder, "key", Keys::generate).unwrap();
        let again = read_or_create_secret_in(&folder, "key", Keys::generate).unwrap();
        assert_eq!(again.text, text);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                0o600
            );
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
            assert!(
                read_or_create_secret_in(&folder, "key", Keys::generate).is_err(),
                "others could have read it"
            );
        }
    }
}
