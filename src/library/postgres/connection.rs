//! Connections to PostgreSQL: the address, TLS, and how long anything may take.

use crate::prompt::{Diagnostic, Kind};
use crate::wording::printable;
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Error, GenericClient, Row};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;

/// How long connecting to one host may take.
const CONNECT: Duration = Duration::from_secs(2);

/// How long a statement may take.
pub(super) const STATEMENT: Duration = Duration::from_secs(3);

/// The same for the server, which also ends a transaction that is idle for so long, because it may hold the lock of all writers.
const SESSION: &str = "set statement_timeout = '3s'; set idle_in_transaction_session_timeout = '3s'";

/// Where a database is, and who connects to it. `Config` never shows the password.
#[derive(Debug, Clone)]
pub struct Address(Config);

/// Without user, password and options.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts().map(|(host, port)| format!("{host}:{port}")).collect();
        write!(f, "postgres://{}/{}", hosts.join(","), self.database())
    }
}

impl Address {
    /// Parses `postgres://USER@HOST:PORT,HOST2:PORT/DATABASE?sslmode=require`, or the same as `host=HOST dbname=DATABASE`.
    ///
    /// # Errors
    /// It is invalid. The reason is a clause that repeats nothing of it: it may have a password.
    pub fn parse(text: &str) -> Result<Address, String> {
        let invalid = "it is not an address such as postgres://USER@HOST/DATABASE".to_owned();
        let mut config: Config = text.trim().parse().map_err(|_| invalid.clone())?;
        if config.get_hosts().is_empty() {
            return Err(invalid);
        }
        config.connect_timeout(CONNECT).target_session_attrs(TargetSessionAttrs::ReadWrite);
        config.application_name("prompt-expander");
        Ok(Address(config))
    }

    /// Whether it has a password.
    pub fn has_password(&self) -> bool {
        self.0.get_password().is_some()
    }

    /// The same with its password from the text of a file, in the form of PostgreSQL's own programs: lines of
    /// `HOST:PORT:DATABASE:USER:PASSWORD`, in which `*` is anything, and `\` stands before a `:` or `\` of the password.
    #[must_use]
    pub fn with_passwords(mut self, file: &str) -> Address {
        let own = [self.database(), self.0.get_user().unwrap_or_default()];
        let password = file.lines().find_map(|line| {
            let fields: Vec<&str> = line.splitn(5, ':').collect();
            let is = |at: usize, value: &str| fields[at] == "*" || fields[at] == value;
            let is_own = |(host, port): (String, u16)| is(0, &host) && is(1, &port.to_string());
            let is_for_it = fields.len() == 5 && is(2, own[0]) && is(3, own[1]) && self.hosts().any(is_own);
            is_for_it.then(|| fields[4].replace("\\:", ":").replace("\\\\", "\\"))
        });
        if let (false, Some(password)) = (self.has_password(), password) {
            self.0.password(password);
        }
        self
    }

    fn hosts(&self) -> impl Iterator<Item = (String, u16)> {
        let ports = self.0.get_ports();
        self.0.get_hosts().iter().enumerate().map(move |(index, host)| {
            let host = match host {
                Host::Tcp(name) => name.clone(),
                #[cfg(unix)]
                Host::Unix(folder) => folder.display().to_string(),
            };
            (host, ports.get(index).or(ports.first()).copied().unwrap_or(5432))
        })
    }

    fn database(&self) -> &str {
        self.0.get_dbname().or(self.0.get_user()).unwrap_or_default()
    }

    /// Connects to the first host that takes writes. The receiver gets something for each notification, and ends with the connection.
    pub(super) async fn connect(&self) -> Result<(Client, UnboundedReceiver<()>), Diagnostic> {
        let hosts = self.0.get_hosts().len() as u32;
        let (client, mut connection) = within(CONNECT * hosts, self.0.connect(Tls)).await?;
        let (sender, receiver) = unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if matches!(message, AsyncMessage::Notification(_)) {
                    _ = sender.send(());
                }
            }
        });
        within(STATEMENT, client.batch_execute(SESSION)).await?;
        Ok((client, receiver))
    }
}

/// Waits for an answer, and not longer.
pub(super) async fn within<T>(time: Duration, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Diagnostic> {
    match tokio::time::timeout(time, answer).await {
        Ok(answered) => answered.map_err(|error| failed(&error)),
        Err(_) => Err(gone("it has not answered in time")),
    }
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
    Diagnostic::new(Kind::Busy, format!("the store does not answer: {why}"), "try again")
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
        "42P01" | "42703" => (Kind::Missing, "prepare the database with `prompt-expander store init`"),
        "42501" => (Kind::NotWritable, "let the owner of the tables grant it, as docs/team.md says"),
        "23505" => (Kind::Exists, "choose a name that differs from all others in more than letter case"),
        "42P07" => (Kind::Clash, ""),
        "3D000" | "28000" | "28P01" => (Kind::Unreadable, "correct the address or the password of the store"),
        _ => (Kind::Busy, "try again"), // it restarts, is full, waits for a lock or the like
    };
    Diagnostic::new(kind, message, fix)
}

/// Makes TLS connections.
struct Tls;

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Handshake> {
        Ok(Handshake(host.to_owned()))
    }
}

/// The TLS handshake with one host. The certificates of the system are read only if the host wants one.
struct Handshake(String);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connect = async {
                let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
                let config = config.with_safe_default_protocol_versions().map_err(io::Error::other)?;
                let config = config.with_platform_verifier().map_err(io::Error::other)?.with_no_client_auth();
                let host = ServerName::try_from(self.0).map_err(io::Error::other)?;
                TlsConnector::from(Arc::new(config)).connect(host, stream).await
            };
            connect.await.map(Encrypted).map_err(|why: io::Error| {
                let fix = "name the file with its authority in SSL_CERT_FILE, or add sslmode=disable to the address";
                io::Error::other(format!("no TLS connection: {why}; {fix}"))
            })
        })
    }
}

/// An encrypted connection.
struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    /// The certificate was verified.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, to)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
