//! Connections to PostgreSQL: the address, TLS, timeouts and errors.

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

/// The time to connect to one host.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The time to wait for the result of a statement.
pub(super) const STATEMENT_TIMEOUT: Duration = Duration::from_secs(3);

/// Prepares a session, and returns whether it is read-only.
///
/// The server also applies [`STATEMENT_TIMEOUT`], and to idle transactions, too, because they may
/// hold the lock of all writers. `$1` is the schema to use; null for the one in the address.
const PREPARE_SESSION: &str =
    "select current_setting('transaction_read_only') as read_only, set_config('statement_timeout', '3s', false),
    set_config('idle_in_transaction_session_timeout', '3s', false),
    set_config('search_path', coalesce($1, current_setting('search_path')), false)";

/// The schema of the tables, unless the address sets another one.
///
/// PostgreSQL's own default would first search a schema with the name of the role, which somebody
/// else may have created.
const DEFAULT_SCHEMA: &str = "public";

/// The message `SSLRequest` of PostgreSQL's protocol.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A parameter of a statement, and its type.
pub(super) type SqlParameter<'p> = (&'p (dyn ToSql + Sync), Type);

/// The address of a database, with the login. It has one [`Config`] for each host.
///
/// The `Debug` output of `Config` doesn't contain the password.
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

/// Returns the host name, or the folder of the Unix socket.
fn host(config: &Config) -> String {
    match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => String::new(),
    }
}

fn port(config: &Config) -> u16 {
    config.get_ports().first().copied().unwrap_or(5432)
}

/// Returns the name of the database, which defaults to the name of the user.
fn database(config: &Config) -> &str {
    let name = config.get_dbname().or(config.get_user());
    name.unwrap_or_default()
}

/// Parses an address into a configuration for each host, or returns `None` if it is invalid.
///
/// E.g., `postgres://ana@a,b:5433/prompts` has the configurations of `postgres://ana@a/prompts` and
/// `postgres://ana@b:5433/prompts`.
fn parse_configs(address: &str) -> Option<Vec<Config>> {
    let (scheme, after_scheme) = address.split_once("://")?;
    let login_end = after_scheme.find('@').map_or(0, |at| at + 1);
    let (login, after_login) = after_scheme.split_at(login_end);
    let hosts_end = after_login.find(['/', '?']).unwrap_or(after_login.len());
    let (hosts, after_hosts) = after_login.split_at(hosts_end);
    if hosts.contains('@') {
        return None; // the password contains an `@` that isn't escaped as `%40`
    }
    // `Config` doesn't know `verify-full`. It is the same as `require`, because this program always
    // verifies the certificate.
    let after_hosts = after_hosts.replace("sslmode=verify-full", "sslmode=require");
    let mut configs = Vec::new();
    for host in hosts.split(',') {
        let host_address = format!("{scheme}://{login}{host}{after_hosts}");
        let config: Config = host_address.parse().ok()?;
        if config.get_hosts().is_empty() {
            return None;
        }
        configs.push(config);
    }
    Some(configs)
}

/// Parses a line `HOST:PORT:DATABASE:USER:PASSWORD` of a password file. Returns the password if the
/// other fields match `config`.
fn find_password_in_line(line: &str, config: &Config) -> Option<String> {
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
    /// Parses an address such as `postgres://USER@HOST:PORT,HOST2:PORT/DATABASE?sslmode=require`.
    ///
    /// # Errors
    /// Returns the reason why the address is invalid, as a clause. It doesn't quote the address,
    /// which may contain a password.
    pub fn parse(text: &str) -> Result<Address, String> {
        match parse_configs(text.trim()) {
            Some(configs) => Ok(Address(configs)),
            None => Err("it is not an address such as postgres://USER@HOST/DATABASE".to_owned()),
        }
    }

    /// Returns a string that identifies the store: its hosts, its database, and its options, which
    /// may set a schema.
    pub(crate) fn without_login(&self) -> String {
        let options = self.0.first().and_then(Config::get_options);
        format!("{self} {}", options.unwrap_or_default())
    }

    /// Returns whether the address contains a password.
    pub fn has_password(&self) -> bool {
        self.0.iter().any(|config| config.get_password().is_some())
    }

    /// Adds the passwords in `password_file`, which is the contents of a `.pgpass` file.
    ///
    /// Each line is `HOST:PORT:DATABASE:USER:PASSWORD`. A `*` matches anything, the first matching
    /// line wins, and `\` escapes a `:` or `\` in the password.
    #[must_use]
    pub fn with_passwords(mut self, password_file: &str) -> Address {
        for config in &mut self.0 {
            if config.get_password().is_some() {
                continue;
            }
            let mut lines = password_file.lines();
            if let Some(password) = lines.find_map(|line| find_password_in_line(line, config)) {
                config.password(password);
            }
        }
        self
    }

    /// Connects to the first host that accepts writes.
    pub(super) async fn connect(&self) -> Result<Connection, Diagnostic> {
        let mut last_error = timeout_error();
        for config in &self.0 {
            match timeout(CONNECT_TIMEOUT, connect_to_host(config)).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => last_error = error,
                Err(_) => last_error = unreachable_host(config, &ErrorKind::TimedOut.into()),
            }
        }
        Err(last_error)
    }
}

/// A connection to a host that accepts writes.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Receives an item for each notification. Closed when the connection is lost.
    pub(super) notifications: UnboundedReceiver<()>,
}

/// A byte stream to the database: TCP, TLS, or a Unix socket.
trait DatabaseStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> DatabaseStream for S {}

/// Connects to a host and prepares the session.
///
/// # Errors
/// The host is unreachable, refuses the login, or is a read-only replica.
async fn connect_to_host(config: &Config) -> Result<Connection, Diagnostic> {
    let stream = open_stream(config)
        .await
        .map_err(|error| unreachable_host(config, &error))?;
    let mut config = config.clone();
    // `open_stream` has set up TLS already, if necessary.
    config
        .ssl_mode(SslMode::Disable)
        .application_name("prompt-expander");
    let connecting = config.connect_raw(stream, NoTls);
    let (client, mut connection) = with_timeout(CONNECT_TIMEOUT, connecting).await?;
    let (sender, notifications) = unbounded_channel();
    // The client works only while this task polls the connection.
    tokio::spawn(async move {
        while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
            if matches!(message, AsyncMessage::Notification(_)) {
                _ = sender.send(());
            }
        }
    });
    prepare_session(&client, &config).await?;
    Ok(Connection {
        client,
        notifications,
    })
}

/// Sets the time limits and the search path of a session. Fails if the host is read-only.
async fn prepare_session(client: &Client, config: &Config) -> Result<(), Diagnostic> {
    let schema = if sets_search_path(config) {
        None
    } else {
        Some(DEFAULT_SCHEMA)
    };
    let rows = query(client, PREPARE_SESSION, &[(&schema, Type::TEXT)]).await?;
    let read_only_setting: Option<&str> = rows.first().map(|row| row.get("read_only"));
    if read_only_setting == Some("off") {
        Ok(())
    } else {
        Err(unavailable_error("it is read-only"))
    }
}

/// Returns whether the options in the address set `search_path`. PostgreSQL ignores the letter case
/// of a setting, and accepts `-` for `_`.
fn sets_search_path(config: &Config) -> bool {
    let options = config.get_options().unwrap_or_default();
    let options = options.to_lowercase().replace('-', "_");
    options.contains("search_path")
}

/// Returns whether to reject a server that doesn't offer TLS. Without `sslmode` in the address, TLS
/// is required unless the server is on this machine.
fn requires_tls(mode: SslMode, server: IpAddr) -> bool {
    match mode {
        SslMode::Disable => false,
        SslMode::Require => true,
        _ => !server.to_canonical().is_loopback(),
    }
}

/// Opens a stream to the host. Uses TLS if the server offers it, unless the address has
/// `sslmode=disable`.
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
    stream.write_all(&SSL_REQUEST).await?;
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

/// Starts TLS on a stream, and verifies the certificate of `host` with the system's verifier.
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

/// Waits for a result of the database, and converts its error. Fails after `time`.
pub(super) async fn with_timeout<T>(
    time: Duration,
    result: impl Future<Output = Result<T, Error>>,
) -> Result<T, Diagnostic> {
    match timeout(time, result).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(database_error(&error)),
        Err(_) => Err(timeout_error()),
    }
}

/// Runs a statement, and returns its rows.
pub(super) async fn query(
    client: &impl GenericClient,
    statement: &str,
    parameters: &[SqlParameter<'_>],
) -> Result<Vec<Row>, Diagnostic> {
    let result = client.query_typed(statement, parameters);
    with_timeout(STATEMENT_TIMEOUT, result).await
}

/// Returns the error for a store that didn't answer in time.
fn timeout_error() -> Diagnostic {
    unavailable_error("it has not answered in time")
}

/// Returns the error for a store that cannot be used at the moment, because of `reason`.
pub(super) fn unavailable_error(reason: &str) -> Diagnostic {
    Diagnostic::new(
        Kind::Busy,
        format!("the store does not answer: {reason}"),
        "try again",
    )
}

/// Returns the error for a host that could not be connected to.
fn unreachable_host(config: &Config, error: &io::Error) -> Diagnostic {
    let message = format!(
        "the store at {}:{} does not answer: {error}",
        host(config),
        port(config)
    );
    let fix = match error.kind() {
        ErrorKind::Other => "", // an error about TLS, whose message contains the fix
        _ => "is PostgreSQL running there?",
    };
    Diagnostic::new(Kind::Busy, message, fix)
}

/// Converts an error of the database, or of the connection to it.
fn database_error(error: &Error) -> Diagnostic {
    let Some(db_error) = error.as_db_error() else {
        return unavailable_error(&root_cause(error).to_string());
    };
    // The codes are listed in appendix A of PostgreSQL's documentation.
    let (kind, fix) = match db_error.code().code() {
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
        // E.g., the database is restarting, is out of space, or timed out waiting for a lock.
        _ => (Kind::Busy, "try again"),
    };
    let message = format!("the database says: {}", printable(db_error.message()));
    Diagnostic::new(kind, message, fix)
}

/// Returns the last error in the chain of sources.
fn root_cause<'e>(error: &'e (dyn std::error::Error + 'static)) -> &'e dyn std::error::Error {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause
}
