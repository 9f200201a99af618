//! Connections to PostgreSQL: the address, TLS, and how long anything may take.

use super::without_tls::without_tls;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::printable;
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Error, GenericClient, NoTls, Row};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;

/// How long connecting to one host may take.
const CONNECT: Duration = Duration::from_secs(2);

/// How long a statement may take.
pub(super) const STATEMENT: Duration = Duration::from_secs(3);

/// Whether the host takes writes; and the same limit for the server, which also ends a transaction
/// that is idle for so long, because it may hold the lock of all writers. All statements use the
/// tables of the schema that is given, or else of the one that the address names.
const SESSION: &str =
    "select current_setting('transaction_read_only'), set_config('statement_timeout', '3s', false),
    set_config('idle_in_transaction_session_timeout', '3s', false),
    set_config('search_path', coalesce($1, current_setting('search_path')), false)";

/// The schema of the tables, if the address names none. By default, PostgreSQL would look first in
/// one with the name of the role, which others may have made.
const SCHEMA: &str = "public";

/// The message `SSLRequest` of PostgreSQL's protocol.
const ASK_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// Where a database is, and who connects to it: for each of its hosts. `Config` never shows the
/// password.
#[derive(Debug, Clone)]
pub struct Address(Vec<Config>);

/// Without user, password and options.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self
            .0
            .iter()
            .map(place)
            .map(|(host, port)| format!("{host}:{port}"))
            .collect::<Vec<_>>();
        write!(
            f,
            "postgres://{}/{}",
            hosts.join(","),
            self.0.first().map_or("", database)
        )
    }
}

/// The host and the port.
fn place(config: &Config) -> (String, u16) {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => String::new(),
    };
    (host, config.get_ports().first().copied().unwrap_or(5432))
}

fn database(config: &Config) -> &str {
    config
        .get_dbname()
        .or(config.get_user())
        .unwrap_or_default()
}

impl Address {
    /// Parses `postgres://USER@HOST:PORT,HOST2:PORT/DATABASE?sslmode=require`.
    ///
    /// # Errors
    /// It is invalid. The reason is a clause that repeats nothing of it: it may have a password.
    pub fn parse(text: &str) -> Result<Address, String> {
        let parse = || {
            let (scheme, rest) = text.trim().split_once("://")?;
            let (user, rest) = rest
                .split_once('@')
                .map_or(("", rest), |(user, _)| rest.split_at(user.len() + 1));
            let (hosts, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
            if hosts.contains('@') {
                return None; // it is the end of a password, which must be written as `%40`
            }
            // Whoever asks for TLS gets a certificate checked in full.
            let rest = rest.replace("sslmode=verify-full", "sslmode=require");
            let config = |host| {
                format!("{scheme}://{user}{host}{rest}")
                    .parse::<Config>()
                    .ok()
            };
            let configs = hosts
                .split(',')
                .map(|host| config(host).filter(|config| !config.get_hosts().is_empty()));
            configs.collect::<Option<Vec<_>>>()
        };
        parse()
            .map(Address)
            .ok_or_else(|| "it is not an address such as postgres://USER@HOST/DATABASE".to_owned())
    }

    /// Returns what distinguishes the store from others: the hosts, the database, and the options,
    /// which may name a schema.
    pub(crate) fn without_login(&self) -> String {
        let options = self.0.first().and_then(Config::get_options);
        format!("{self} {}", options.unwrap_or_default())
    }

    /// Whether it has a password.
    pub fn has_password(&self) -> bool {
        self.0.iter().any(|config| config.get_password().is_some())
    }

    /// The same with its passwords from the text of a file, in the form of PostgreSQL's own
    /// programs: lines of `HOST:PORT:DATABASE:USER:PASSWORD`, in which `*` is anything, and `\`
    /// stands before a `:` or `\` of the password.
    #[must_use]
    pub fn with_passwords(mut self, file: &str) -> Address {
        for config in self
            .0
            .iter_mut()
            .filter(|config| config.get_password().is_none())
        {
            let (host, port) = place(config);
            let own = [
                &host,
                &port.to_string(),
                database(config),
                config.get_user().unwrap_or_default(),
            ];
            let password = file.lines().find_map(|line| {
                let (fields, password) = line
                    .match_indices(':')
                    .nth(3)
                    .map(|(at, _)| (&line[..at], &line[at + 1..]))?;
                let is_own = fields
                    .split(':')
                    .zip(own)
                    .all(|(field, own)| field == "*" || field == own);
                is_own.then(|| password.replace("\\:", ":").replace("\\\\", "\\"))
            });
            _ = password.map(|password| config.password(password));
        }
        self
    }

    /// Connects to the first host that takes writes. The receiver gets something for each
    /// notification, and ends with the connection.
    pub(super) async fn connect(&self) -> Result<(Client, UnboundedReceiver<()>), Diagnostic> {
        let mut last = Err(slow());
        for config in &self.0 {
            last = timeout(CONNECT, connect(config))
                .await
                .unwrap_or_else(|_| Err(slow()));
            if last.is_ok() {
                break;
            }
        }
        last
    }
}

/// Anything that bytes come from and go to.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Connects to a host, if it takes writes.
async fn connect(config: &Config) -> Result<(Client, UnboundedReceiver<()>), Diagnostic> {
    let stream = open(config)
        .await
        .map_err(|error| gone(&error.to_string()))?;
    let mut config = config.clone();
    config
        .ssl_mode(SslMode::Disable)
        .application_name("prompt-expander");
    let (client, mut connection) = within(CONNECT, config.connect_raw(stream, NoTls)).await?;
    let (sender, receiver) = unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                _ = sender.send(());
            }
        }
    });
    let schema = if names_schema(&config) {
        None
    } else {
        Some(SCHEMA)
    };
    match ask(&client, SESSION, &[(&schema, Type::TEXT)])
        .await?
        .first()
        .map(|row| row.get(0))
    {
        Some("off") => Ok((client, receiver)),
        _ => Err(gone("it takes no writes")),
    }
}

/// Returns whether the address sets `search_path` in its options.
fn names_schema(config: &Config) -> bool {
    let options = config.get_options().unwrap_or_default();
    let options = options.to_lowercase().replace('-', "_");
    options.contains("search_path")
}

/// Returns whether a server at this address must have TLS, if the one of the store asks for this.
/// Without a word, it must, unless it is on this machine.
fn requires_tls(mode: SslMode, server: IpAddr) -> bool {
    match mode {
        SslMode::Disable => false,
        SslMode::Require => true,
        _ => !server.to_canonical().is_loopback(),
    }
}

/// Opens a connection, over TLS if the address or the host wants it.
async fn open(config: &Config) -> io::Result<Box<dyn Stream>> {
    let (host, port) = place(config);
    #[cfg(unix)]
    if host.starts_with('/') {
        let socket = tokio::net::UnixStream::connect(format!("{host}/.s.PGSQL.{port}")).await?;
        return Ok(Box::new(without_tls(socket)));
    }
    let mut stream = TcpStream::connect((&*host, port)).await?;
    stream.set_nodelay(true)?;
    if config.get_ssl_mode() == SslMode::Disable {
        return Ok(Box::new(without_tls(stream)));
    }
    stream.write_all(&ASK_FOR_TLS).await?;
    if stream.read_u8().await? != b'S' {
        if requires_tls(config.get_ssl_mode(), stream.peer_addr()?.ip()) {
            return Err(io::Error::other(
                "the server does not offer TLS; turn it on there or, if nobody else can answer in its place, add sslmode=disable to the address",
            ));
        }
        return Ok(Box::new(without_tls(stream)));
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls = tls
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let tls = tls
        .with_platform_verifier()
        .map_err(io::Error::other)?
        .with_no_client_auth();
    let host = ServerName::try_from(host).map_err(io::Error::other)?;
    let stream = TlsConnector::from(Arc::new(tls)).connect(host, stream).await.map_err(|why| {
        let fix = "name the file with its authority in SSL_CERT_FILE, or add sslmode=disable to the address";
        io::Error::other(format!("no TLS connection: {why}; {fix}"))
    })?;
    Ok(Box::new(stream))
}

/// Waits for an answer, and not longer.
pub(super) async fn within<T>(
    time: Duration,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Diagnostic> {
    timeout(time, answer).await.map_or_else(
        |_| Err(slow()),
        |answered| answered.map_err(|error| failed(&error)),
    )
}

fn slow() -> Diagnostic {
    gone("it has not answered in time")
}

/// The rows of a statement with these parameters.
pub(super) async fn ask(
    client: &impl GenericClient,
    query: &str,
    of: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>, Diagnostic> {
    within(STATEMENT, client.query_typed(query, of)).await
}

/// The store cannot be asked now.
pub(super) fn gone(why: &str) -> Diagnostic {
    Diagnostic::new(
        Kind::Busy,
        format!("the store does not answer: {why}"),
        "try again",
    )
}

fn failed(error: &Error) -> Diagnostic {
    let Some(refused) = error.as_db_error() else {
        let mut why: &dyn std::error::Error = error;
        while let Some(cause) = why.source() {
            why = cause;
        }
        return gone(&why.to_string());
    };
    let message = format!("the database says: {}", printable(refused.message()));
    // Appendix A of PostgreSQL's documentation has the codes.
    let (kind, fix) = match refused.code().code() {
        "42P01" | "42703" => (
            Kind::Missing,
            "prepare the database with `prompt-expander store init`",
        ),
        "42501" => (
            Kind::NotWritable,
            "let the owner of the tables grant it, as docs/team.md says",
        ),
        "23505" => (
            Kind::Exists,
            "choose a name that differs from all others in more than letter case",
        ),
        "42P07" => (Kind::Clash, ""),
        "3D000" | "28000" | "28P01" => (
            Kind::Unreadable,
            "correct the address or the password of the store",
        ),
        _ => (Kind::Busy, "try again"), // it restarts, is full, waits for a lock or the like
    };
    Diagnostic::new(kind, message, fix)
}
