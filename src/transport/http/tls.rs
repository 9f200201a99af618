//! TLS: the certificate and its key, which are read again when they change, and what a connection begins with.

use super::READ_BY_CLIENT_WITHIN;
use super::refusal::Refusal;
use super::secret_file;
use super::write_timeout::WriteTimeout;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{self, HeaderValue, StatusCode};
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::{self, PemObject};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error, InconsistentKeys, RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

/// How long a client may take for the handshake.
pub(super) const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);

const NEEDS_CERTIFICATE: &str = "--tls-cert needs a PEM file with `BEGIN CERTIFICATE`: the certificate of this server, then its \
                                 intermediate certificates";

const NEEDS_KEY: &str = "--tls-key needs a PEM file with `BEGIN PRIVATE KEY`, the key of the certificate";

/// The server's side of TLS 1.2 and 1.3, for HTTP/1.1.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificate: Arc<Certificate>,
}

/// What a connection turned out to be.
pub(super) enum Accepted {
    Tls(Box<TlsStream<WriteTimeout<TcpStream>>>),
    /// HTTP without TLS.
    Plain(WriteTimeout<TcpStream>),
}

impl Tls {
    /// With the certificate, followed by the intermediate certificates, and the key, in PEM files. `warn` receives why a new version of
    /// them cannot be used.
    ///
    /// # Errors
    /// What is wrong with which file, and what to do.
    pub fn new(certificate: PathBuf, key: PathBuf, warn: fn(&str)) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let certificate = Arc::new(Certificate::open(certificate, key, Arc::clone(&provider), warn)?);
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_no_client_auth();
        let mut config = config.with_cert_resolver(Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
    }

    /// Reads the files again if they have changed; to be called each second.
    pub(super) fn refresh(&self) {
        self.certificate.refresh();
    }

    /// The handshake.
    ///
    /// # Errors
    /// It fails.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<Accepted> {
        let mut first = [0];
        stream.peek(&mut first).await?;
        // A method, such as `POST`; a handshake begins with the byte 22.
        if first[0].is_ascii_uppercase() {
            return Ok(Accepted::Plain(WriteTimeout::new(stream, READ_BY_CLIENT_WITHIN)));
        }
        // Below TLS, which takes what is written into a buffer of its own.
        Ok(Accepted::Tls(Box::new(self.acceptor.accept(WriteTimeout::new(stream, READ_BY_CLIENT_WITHIN)).await?)))
    }
}

/// The response to HTTP without TLS.
pub(super) async fn explain() -> http::Response<Body> {
    let refusal =
        Refusal::new(StatusCode::BAD_REQUEST, "this server uses HTTPS; write https:// in its URL, not http://");
    refusal.with_header(CONNECTION, HeaderValue::from_static("close")).into_text()
}

/// The certificate that the server shows, and its files.
struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    state: Mutex<State>,
    /// Receives why a new version cannot be used, once for each reason.
    warn: fn(&str),
}

struct State {
    shown: Arc<CertifiedKey>,
    /// Of the files that `shown` is from.
    hash: [u8; 32],
    /// What was found when the files were last read, if they had changed.
    changed: Option<Result<[u8; 32], String>>,
    warned: Option<String>,
}

/// What is in the two files, with its hash.
struct Files {
    certificate: Vec<u8>,
    key: Vec<u8>,
    hash: [u8; 32],
}

impl Certificate {
    fn open(
        certificate: PathBuf,
        key: PathBuf,
        provider: Arc<CryptoProvider>,
        warn: fn(&str),
    ) -> Result<Certificate, String> {
        let files = read(&certificate, &key)?;
        let shown = Arc::new(parse(&certificate, &key, &files, &provider)?);
        let state = State { shown, hash: files.hash, changed: None, warned: None };
        Ok(Certificate { certificate, key, provider, state: Mutex::new(state), warn })
    }

    fn refresh(&self) {
        let files = read(&self.certificate, &self.key);
        let mut state = self.lock();
        let found = files.as_ref().map(|files| files.hash).map_err(String::clone);
        if found.as_ref() == Ok(&state.hash) {
            state.changed = None;
            match check_dates(&self.certificate, &state.shown.cert) {
                Ok(()) => state.warned = None,
                Err(reason) => self.warn(&mut state, &reason),
            }
        } else if state.changed.as_ref() != Some(&found) {
            // Whoever replaces the files may not be done with it.
            state.changed = Some(found);
        } else {
            let parsed = files.and_then(|files| {
                let parsed = parse(&self.certificate, &self.key, &files, &self.provider)?;
                Ok((parsed, files.hash))
            });
            match parsed {
                Ok((shown, hash)) => {
                    tracing::info!("read the changed TLS certificate");
                    *state = State { shown: Arc::new(shown), hash, changed: None, warned: None };
                }
                Err(reason) => {
                    let reason = format!("{reason}; until then, the previous certificate is used");
                    self.warn(&mut state, &reason);
                }
            }
        }
    }

    fn warn(&self, state: &mut State, reason: &str) {
        if state.warned.as_deref() != Some(reason) {
            (self.warn)(reason);
            state.warned = Some(reason.to_owned());
        }
    }

    /// A panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.lock().shown))
    }
}

/// Never shows the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("certificate", &self.certificate).finish_non_exhaustive()
    }
}

fn read(certificate: &Path, key: &Path) -> Result<Files, String> {
    let (certificate, _) = secret_file::read(certificate, "certificate", NEEDS_CERTIFICATE)?;
    let key = secret_file::read_key(key, "TLS key", NEEDS_KEY)?;
    let hash =
        Sha256::new().chain_update(certificate.len().to_le_bytes()).chain_update(&certificate).chain_update(&key);
    Ok(Files { hash: hash.finalize().into(), certificate, key })
}

/// # Errors
/// What is wrong with which file, and what to do.
fn parse(certificate: &Path, key: &Path, files: &Files, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let (certificate_shown, key_shown) = (certificate.display(), key.display());
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&files.certificate)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{certificate_shown} is damaged ({error}); {NEEDS_CERTIFICATE}"))?;
    if chain.is_empty() {
        return Err(format!("{certificate_shown} has no certificate; {NEEDS_CERTIFICATE}"));
    }
    let der = PrivateKeyDer::from_pem_slice(&files.key).map_err(|error| match error {
        pem::Error::NoItemsFound if is_encrypted(&files.key) => {
            format!("the key in {key_shown} is encrypted; decrypt it with `openssl pkey -in OLD -out NEW`")
        }
        pem::Error::NoItemsFound => format!("{key_shown} has no private key; {NEEDS_KEY}"),
        // Its text may be that of a line, and so a part of the key.
        _ => format!("{key_shown} is damaged; {NEEDS_KEY}"),
    })?;
    check_dates(certificate, &chain)?;
    let key = provider.key_provider.load_private_key(der).map_err(|error| {
        format!("the key in {key_shown} cannot be used ({error}); use an RSA key of 2048 bits or more, or an ECDSA or Ed25519 key")
    })?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => Err(format!(
            "the key in {key_shown} does not belong to the first certificate in {certificate_shown}; give the key that does, and \
             put this server's own certificate first"
        )),
        Err(error) => Err(unusable(certificate, &error)),
    }
}

fn is_encrypted(key: &[u8]) -> bool {
    String::from_utf8_lossy(key).contains("ENCRYPTED")
}

/// # Errors
/// The first certificate has expired, or is not valid yet.
fn check_dates(path: &Path, chain: &[CertificateDer<'_>]) -> Result<(), String> {
    let Some(first) = chain.first() else { return Ok(()) };
    let first = ParsedCertificate::try_from(first).map_err(|error| unusable(path, &error))?;
    // Without a root, no certificate is trusted; but that is looked at last.
    let checked = verify_server_cert_signed_by_trust_anchor(&first, &RootCertStore::empty(), &[], UnixTime::now(), &[]);
    let shown = path.display();
    match checked {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            Err(format!("the certificate in {shown} expired on {}; renew it", date(not_after)))
        }
        Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => Err(format!(
            "the certificate in {shown} is not valid before {}; wait until then, or correct this machine's clock",
            date(not_before)
        )),
        _ => Ok(()),
    }
}

fn unusable(certificate: &Path, error: &Error) -> String {
    format!("the certificate in {} cannot be used: {error}; get another one", certificate.display())
}

fn date(time: UnixTime) -> String {
    let timestamp = i64::try_from(time.as_secs()).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    timestamp.map_or_else(|| "an unknown date".to_owned(), |timestamp| timestamp.to_string())
}
