//! TLS with a certificate and a key that are reloaded when their files change.

use super::secret_file::{GuardedFile, ReloadedValue};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{Error, ServerConfig};
use tokio_rustls::server::TlsStream;

const NEEDS_CERTIFICATE: &str = "--tls-cert needs a PEM file with `BEGIN CERTIFICATE`: the certificate of this server, then its \
                                 intermediate certificates";

const NEEDS_KEY: &str = "--tls-key needs a PEM file with `BEGIN PRIVATE KEY`, the key of the certificate; decrypt an encrypted one with \
                         `openssl pkey -in OLD -out NEW`";

/// Accepts TLS 1.2 and 1.3 connections for HTTP/1.1.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificate: Arc<Certificate>,
}

/// The server's certificate with its private key.
struct Certificate(ReloadedValue<CertifiedKey>);

impl Tls {
    /// Loads the certificate and its key from PEM files. Intermediate certificates may follow the
    /// server's own in the first file. `warn` is called with a message if a file later becomes
    /// invalid.
    ///
    /// # Errors
    /// Fails if a file can't be read or is invalid, or if the key doesn't belong to the
    /// certificate. The error says what to do.
    pub fn new(
        certificate_path: PathBuf,
        key_path: PathBuf,
        warn: fn(&str),
    ) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let load_provider = Arc::clone(&provider);
        let certified_key = ReloadedValue::new(
            move || load(&certificate_path, &key_path, &load_provider),
            warn,
        )?;
        let certificate = Arc::new(Certificate(certified_key));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&certificate) as _;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate,
        })
    }

    /// Reads the files again. Call this every second, on a thread that may block.
    pub(super) fn reload(&self) {
        self.certificate.0.reload();
    }

    /// Performs the handshake on a new connection.
    ///
    /// # Errors
    /// Fails if the handshake fails.
    pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        self.acceptor.accept(stream).await
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.current())
    }
}

/// Hides the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate")
    }
}

/// Loads the certificate, its intermediate certificates and its key.
///
/// # Errors
/// Fails if a file can't be read or is invalid, or if the key doesn't belong to the certificate.
/// The error says what to do. It never contains any part of the key.
fn load(
    certificate_path: &Path,
    key_path: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, String> {
    let certificate_file = GuardedFile {
        path: certificate_path,
        title: "certificate",
        repair: NEEDS_CERTIFICATE,
    };
    let key_file = GuardedFile {
        path: key_path,
        title: "key",
        repair: NEEDS_KEY,
    };
    let certificate_pem = certificate_file.read_public()?;
    let key_pem = key_file.read_secret()?;
    let certificate_path = certificate_path.display();
    let key_path = key_path.display();
    let chain = parse_certificates(&certificate_pem);
    if chain.is_empty() {
        return Err(format!(
            "{certificate_path} has no certificate; {NEEDS_CERTIFICATE}"
        ));
    }
    let Ok(private_key) = PrivateKeyDer::from_pem_slice(&key_pem) else {
        return Err(format!("{key_path} has no private key; {NEEDS_KEY}"));
    };
    match CertifiedKey::from_der(chain, private_key, provider) {
        Ok(certified_key) => Ok(certified_key),
        Err(Error::InconsistentKeys(_)) => Err(format!(
            "the key in {key_path} does not belong to the first certificate in {certificate_path}; give the key that does, and put \
             this server's own certificate first"
        )),
        Err(error @ Error::InvalidCertificate(_)) => Err(format!(
            "the certificate in {certificate_path} cannot be used: {error}; renew it"
        )),
        Err(error) => Err(format!(
            "the key in {key_path} cannot be used: {error}; {NEEDS_KEY}"
        )),
    }
}

/// Returns all certificates in a PEM file, in order. Returns none if any of them is invalid.
fn parse_certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    let mut chain = Vec::new();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let Ok(certificate) = certificate else {
            return Vec::new();
        };
        chain.push(certificate);
    }
    chain
}
