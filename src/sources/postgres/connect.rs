//! Connections to PostgreSQL: the address, TLS, and how long anything may take.

use super::without_tls::without_tls;
use crate::prompt::{Diagnostic, Kind};
use crate::wording::printable;
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io::{self, ErrorKind};
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
use tokio_rustls::client::TlsStream;
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

/// A parameter of a statement, and its type.
pub(super) type SqlParameter<'p> = (&'p (dyn ToSql + Sync), Type);

/// Where a database is, and who connects to it: for each of its hosts. `Config` never shows the
/// password.
#[derive(Debug, Clone)]
pub struct Address(Vec<Config>);

impl fmt::Display for Address {
    /// Writes the address without user, password and options: `postgres://HOST:PORT/DATABASE`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hosts = Vec::new();
        for config in &self.0 {
            hosts.push(format!("{}:{}", host(config), port(config)));
        }
        let database = self.0.first().map_or("", database);
        write!(f, "postgres://{}/{database}", hosts.join(","))
    }
}

/// Returns the host of a configuration with one host, or the folder of its Unix socket.
fn host(config: &Config) -> String {
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => String::new(),
    }
}

/// Returns the port of a config that has one host.
fn port(config: &Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(5432)
}

/// Returns the name of the database. By default, it is that of the user.
fn database(config: &Config) -> &str {
    let name = config.get_dbname().or(config.get_user());
    name.unwrap_or_default()
}

/// Splits the address of a database with several hosts into a configuration for each host; `None`
/// if the address is invalid. `postgres://ana@a,b:5433/prompts` → those of
/// `postgres://ana@a/prompts` and `postgres://ana@b:5433/prompts`.
fn parse_configs(address: &str) -> Option<Vec<Config>> {
    let (scheme, after_scheme) = address.split_once("://")?;
    let login_end = after_scheme.find('@').map_or(0, |at| at + 1);
    let (login, after_login) = after_scheme.split_at(login_end);
    let hosts_end = after_login.find(['/', '?']).unwrap_or(after_login.len());
    let (hosts, after_hosts) = after_login.split_at(hosts_end);
    if hosts.contains('@') {
        return None; // it is the end of a password, which must be written as `%40`
    }
    // Whoever asks for TLS gets a certificate checked in full.
    let after_hosts = after_hosts.replace("sslmode=verify-full", "sslmode=require");
    let mut configs = Vec::new();
    for host in hosts.split(',') {
        let address_of_host = format!("{scheme}://{login}{host}{after_hosts}");
        let config: Config = address_of_host.parse().ok()?;
        if config.get_hosts().is_empty() {
            return None;
        }
        configs.push(config);
    }
    Some(configs)
}

/// Returns the password in a line such as `HOST:PORT:DATABASE:USER:PASSWORD`, if the line is for
/// this config.
fn password_in_line(line: &str, config: &Config) -> Option<String> {
    let port = port(config).to_string();
    let user = config.get_user().unwrap_or_default();
    let mut unread = line;
    for expected in [&host(config), &port, database(config), user] {
        let (field, after_field) = unread.split_once(':')?;
        if field != "*" && field != expected {
            return None;
        }
        unread = after_field;
    }
    let password = unread.replace("\\:", ":");
    Some(password.replace("\\\\", "\\"))
}

impl Address {
    /// Parses `postgres://USER@HOST:PORT,HOST2:PORT/DATABASE?sslmode=require`.
    ///
    /// # Errors
    /// It is invalid. The reason is a clause that repeats nothing of it: it may have a password.
    pub fn parse(text: &str) -> Result<Address, String> {
        match parse_configs(text.trim()) {
            Some(configs) => Ok(Address(configs)),
            None => Err("it is not an address such as postgres://USER@HOST/DATABASE".to_owned()),
        }
    }

    /// Returns what distinguishes the store from others: the hosts, the database, and the options,
    /// which may name a schema.
    pub(crate) fn without_login(&self) -> String {
        let options = self.0.first().and_then(Config::get_options);
        format!("{self} {}", options.unwrap_or_default())
    }

    /// Returns whether the address has a password.
    pub fn has_password(&self) -> bool {
        self.0.iter().any(|config| config.get_password().is_some())
    }

    /// Returns the address with passwords from the text of a file, in the form of PostgreSQL's own
    /// programs: lines of `HOST:PORT:DATABASE:USER:PASSWORD`, in which `*` is anything, and `\`
    /// stands before a `:` or `\` of the password.
    #[must_use]
    pub fn with_passwords(mut self, file: &str) -> Address {
        for config in &mut self.0 {
            if config.get_password().is_some() {
                continue;
            }
            let mut passwords = file
                .lines()
                .filter_map(|line| password_in_line(line, config));
            if let Some(password) = passwords.next() {
                config.password(password);
            }
        }
        self
    }

    /// Connects to the first host that takes writes.
    pub(super) async fn connect(&self) -> Result<Connection, Diagnostic> {
        let mut last_error = timed_out();
        for config in &self.0 {
            match timeout(CONNECT, connect(config)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => last_error = error,
                Err(_) => last_error = unreachable_host(config, &ErrorKind::TimedOut.into()),
            }
        }
        Err(last_error)
    }
}

/// A connection to a host that takes writes.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Gets something for each notification, and ends with the connection.
    pub(super) notifications: UnboundedReceiver<()>,
}

/// Anything that bytes come from and go to.
trait DatabaseStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> DatabaseStream for S {}

/// Connects to a host, and checks that it accepts writes, unlike a read-only replica.
async fn connect(config: &Config) -> Result<Connection, Diagnostic> {
    let stream = open_stream(config)
        .await
        .map_err(|error| unreachable_host(config, &error))?;
    let mut config = config.clone();
    // `open_stream` has set up TLS already, if it is needed.
    config
        .ssl_mode(SslMode::Disable)
        .application_name("prompt-expander");
    let (client, mut connection) = within(CONNECT, config.connect_raw(stream, NoTls)).await?;
    let (sender, notifications) = unbounded_channel();
    // Drives the connection, and passes on that something was notified.
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                _ = sender.send(());
            }
        }
    });
    if !prepare_session(&client, &config).await? {
        return Err(no_answer("it takes no writes"));
    }
    Ok(Connection {
        client,
        notifications,
    })
}

/// Sets the time limits of the session and, unless the address names a schema, our search path.
/// Returns whether the host accepts writes.
async fn prepare_session(client: &Client, config: &Config) -> Result<bool, Diagnostic> {
    let schema = if names_schema(config) {
        None
    } else {
        Some(SCHEMA)
    };
    let rows = ask(client, SESSION, &[(&schema, Type::TEXT)]).await?;
    let Some(row) = rows.first() else {
        return Ok(false);
    };
    let is_read_only: &str = row.get(0);
    Ok(is_read_only == "off")
}

/// Returns whether the address sets `search_path` in its options.
fn names_schema(config: &Config) -> bool {
    let options = config.get_options().unwrap_or_default();
    let options = options.to_lowercase().replace('-', "_");
    options.contains("search_path")
}

/// Returns whether a server at this address must offer TLS. If the address of the store says
/// nothing about it, the server must, unless it is on this machine.
fn requires_tls(mode: SslMode, server: IpAddr) -> bool {
    match mode {
        SslMode::Disable => false,
        SslMode::Require => true,
        _ => !server.to_canonical().is_loopback(),
    }
}

/// Opens a connection, over TLS if the host offers it, unless the address says `sslmode=disable`.
async fn open_stream(config: &Config) -> io::Result<Box<dyn DatabaseStream>> {
    let host = host(config);
    let port = port(config);
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
    let offers_tls = stream.read_u8().await? == b'S';
    if offers_tls {
        return Ok(Box::new(with_tls(stream, host).await?));
    }
    if requires_tls(config.get_ssl_mode(), stream.peer_addr()?.ip()) {
        return Err(io::Error::other(
            "the server does not offer TLS; turn it on there or, if nobody else can answer in its \
             place, add sslmode=disable to the address",
        ));
    }
    Ok(Box::new(without_tls(stream)))
}

/// Begins TLS on a connection to a host, whose certificate is checked as the system does it.
async fn with_tls(stream: TcpStream, host: String) -> io::Result<TlsStream<TcpStream>> {
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_platform_verifier()
        .map_err(io::Error::other)?
        .with_no_client_auth();
    let host_name = ServerName::try_from(host).map_err(io::Error::other)?;
    let connecting = TlsConnector::from(Arc::new(config)).connect(host_name, stream);
    connecting.await.map_err(|error| {
        io::Error::other(format!(
            "no TLS connection: {error}; name the file with its authority in SSL_CERT_FILE, or add \
             sslmode=disable to the address"
        ))
    })
}

/// Waits for an answer of the database, for at most this time.
pub(super) async fn within<T>(
    time: Duration,
    answer: impl Future<Output = Result<T, Error>>,
) -> Result<T, Diagnostic> {
    match timeout(time, answer).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(database_error(&error)),
        Err(_) => Err(timed_out()),
    }
}

/// Returns the error for a store that is too slow.
fn timed_out() -> Diagnostic {
    no_answer("it has not answered in time")
}

/// Runs a statement with these parameters, and returns the rows that it gives.
pub(super) async fn ask(
    client: &impl GenericClient,
    statement: &str,
    parameters: &[SqlParameter<'_>],
) -> Result<Vec<Row>, Diagnostic> {
    within(STATEMENT, client.query_typed(statement, parameters)).await
}

/// Returns the error for a store that cannot be asked now.
pub(super) fn no_answer(reason: &str) -> Diagnostic {
    Diagnostic::new(
        Kind::Busy,
        format!("the store does not answer: {reason}"),
        "try again",
    )
}

/// Returns the error for a host that cannot be connected to.
fn unreachable_host(config: &Config, error: &io::Error) -> Diagnostic {
    let message = format!(
        "the store at {}:{} does not answer: {error}",
        host(config),
        port(config)
    );
    let fix = match error.kind() {
        ErrorKind::Other => "", // an error about TLS, which says what to do
        _ => "is PostgreSQL running there?",
    };
    Diagnostic::new(Kind::Busy, message, fix)
}

/// Returns the error for a statement that the database refused, or did not get.
fn database_error(error: &Error) -> Diagnostic {
    let Some(refusal) = error.as_db_error() else {
        return no_answer(&first_cause(error).to_string());
    };
    // Appendix A of PostgreSQL's documentation has the codes.
    let (kind, fix) = match refusal.code().code() {
        "42P01" | "42703" => (
            Kind::NotFound,
            "prepare the database with `prompt-expander store init`",
        ),
        "42501" => (
            Kind::NotWritable,
            "let the owner of the tables grant it, as docs/team.md says",
        ),
        "23505" => (
            Kind::AlreadyExists,
            "choose a name that differs from all others in more than letter case",
        ),
        "42P07" => (Kind::NameCollision, ""),
        "3D000" | "28000" | "28P01" => (
            Kind::Unreadable,
            "correct the address or the password of the store",
        ),
        _ => (Kind::Busy, "try again"), // it restarts, is full, waits for a lock or the like
    };
    let message = format!("the database says: {}", printable(refusal.message()));
    Diagnostic::new(kind, message, fix)
}

/// Returns the root cause of an error: the last one in its chain of sources.
fn first_cause<'e>(error: &'e (dyn std::error::Error + 'static)) -> &'e dyn std::error::Error {
    let mut cause = error;
    while let Some(earlier) = cause.source() {
        cause = earlier;
    }
    cause
}
