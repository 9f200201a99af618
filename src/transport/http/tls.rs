//! TLS: the certificate and its key, which are read again when they change.

use super::secret_file::{GuardedFile, WatchedValue};
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

/// The server's side of TLS 1.2 and 1.3, for HTTP/1.1.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    certificate: Arc<Certificate>,
}

/// The certificate that the server shows.
struct Certificate(WatchedValue<CertifiedKey>);

impl Tls {
    /// Returns TLS with the files of the certificate, which intermediate certificates may follow,
    /// and of the key, both in PEM. `warn` receives why a new version of them cannot be used.
    ///
    /// # Errors
    /// The problem of a file, and what to do.
    pub fn new(certificate: PathBuf, key: PathBuf, warn: fn(&str)) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let load_provider = Arc::clone(&provider);
        let watched = WatchedValue::new(move || load(&certificate, &key, &load_provider), warn)?;
        let certificate = Arc::new(Certificate(watched));
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

    /// Reads the files again. To be called each second, on a thread that may wait.
    pub(super) fn refresh(&self) {
        self.certificate.0.refresh();
    }

    /// Does the handshake on a new connection.
    ///
    /// # Errors
    /// The handshake fails.
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

/// Never shows the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate")
    }
}

/// Reads the certificates and the key from their files.
///
/// # Errors
/// The problem of a file, and what to do. A message never has a part of the key.
fn load(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let certificate_file = GuardedFile {
        path: certificate,
        title: "certificate",
        repair: NEEDS_CERTIFICATE,
    };
    let key_file = GuardedFile {
        path: key,
        title: "key",
        repair: NEEDS_KEY,
    };
    let certificate_pem = certificate_file.read_public()?;
    let key_pem = key_file.read_secret()?;
    let (certificate, key) = (certificate.display(), key.display());
    let chain = parse_certificates(&certificate_pem);
    if chain.is_empty() {
        return Err(format!(
            "{certificate} has no certificate; {NEEDS_CERTIFICATE}"
        ));
    }
    let Ok(private_key) = PrivateKeyDer::from_pem_slice(&key_pem) else {
        return Err(format!("{key} has no private key; {NEEDS_KEY}"));
    };
    match CertifiedKey::from_der(chain, private_key, provider) {
        Ok(certified) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => Err(format!(
            "the key in {key} does not belong to the first certificate in {certificate}; give the key that does, and put this \
             server's own certificate first"
        )),
        Err(error @ Error::InvalidCertificate(_)) => Err(format!(
            "the certificate in {certificate} cannot be used: {error}; renew it"
        )),
        Err(error) => Err(format!(
            "the key in {key} cannot be used: {error}; {NEEDS_KEY}"
        )),
    }
}

/// Returns the certificates of a PEM file; none if one of them is damaged.
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
