//! TLS: the certificate and its key, which are read again when they change.

use super::secret_file;
use sha2::{Digest, Sha256};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::client::verify_server_cert_signed_by_trust_anchor;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use tokio_rustls::rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error, InconsistentKeys, RootCertStore, ServerConfig};
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

impl Tls {
    /// With the certificate, followed by the intermediate certificates, and the key, in PEM files. `warn` receives why a new version of
    /// them cannot be used.
    ///
    /// # Errors
    /// What is wrong with which file, and what to do.
    pub fn new(certificate: PathBuf, key: PathBuf, warn: fn(&str)) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let files = Files { certificate, key };
        let text = files.read()?;
        let shown = Mutex::new(Arc::new(files.parse(&text, &provider)?));
        let last = Mutex::new(Ok(text.hash));
        let certificate = Arc::new(Certificate { files, provider: Arc::clone(&provider), shown, last, warn });
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?.with_no_client_auth();
        let mut config = config.with_cert_resolver(Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), certificate })
    }

    /// Reads the files again if they have changed; to be called each second, where waiting is allowed.
    pub(super) fn refresh(&self) {
        self.certificate.refresh();
    }

    /// The handshake.
    ///
    /// # Errors
    /// It fails.
    pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> io::Result<TlsStream<S>> {
        self.acceptor.accept(stream).await
    }
}

/// The certificate that the server shows, and its files.
struct Certificate {
    files: Files,
    provider: Arc<CryptoProvider>,
    shown: Mutex<Arc<CertifiedKey>>,
    /// What was last read, as a hash, or why it cannot be used.
    last: Mutex<Result<[u8; 32], String>>,
    /// Receives why a new version cannot be used, once for each reason.
    warn: fn(&str),
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

/// What is in the two files, with its hash.
struct Text {
    certificate: Vec<u8>,
    key: Vec<u8>,
    hash: [u8; 32],
}

impl Certificate {
    fn refresh(&self) {
        let text = self.files.read();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let now = text.as_ref().map(|text| text.hash).map_err(String::clone);
        if *last == now {
            return;
        }
        match text.and_then(|text| self.files.parse(&text, &self.provider)) {
            Ok(new) => {
                tracing::info!("read the changed TLS certificate");
                *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
            }
            Err(reason) => (self.warn)(&format!("{reason}; until then, the previous certificate is used")),
        }
        *last = now;
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.shown.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

/// Never shows the key.
impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.files.certificate.fmt(f)
    }
}

impl Files {
    fn read(&self) -> Result<Text, String> {
        let certificate = secret_file::read(&self.certificate, "certificate", NEEDS_CERTIFICATE, |_| false)?;
        let key = secret_file::read(&self.key, "key", NEEDS_KEY, |_| true)?;
        let hash = Sha256::new().chain_update(&certificate).chain_update([0]).chain_update(&key);
        Ok(Text { hash: hash.finalize().into(), certificate, key })
    }

    /// # Errors
    /// What is wrong with which file, and what to do.
    fn parse(&self, text: &Text, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
        let (certificate, key) = (self.certificate.display(), self.key.display());
        let chain: Result<Vec<CertificateDer<'static>>, _> =
            CertificateDer::pem_slice_iter(&text.certificate).collect();
        let chain = chain.ok().filter(|chain| !chain.is_empty());
        let chain = chain.ok_or_else(|| format!("{certificate} has no certificate; {NEEDS_CERTIFICATE}"))?;
        check_dates(&self.certificate, &chain)?;
        // The text of the error may be a part of the key.
        let der =
            PrivateKeyDer::from_pem_slice(&text.key).map_err(|_| format!("{key} has no private key; {NEEDS_KEY}"))?;
        let loaded = provider.key_provider.load_private_key(der);
        let loaded = loaded.map_err(|error| format!("the key in {key} cannot be used: {error}; {NEEDS_KEY}"))?;
        let certified = CertifiedKey::new(chain, loaded);
        match certified.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
            Err(Error::InconsistentKeys(_)) => Err(format!(
                "the key in {key} does not belong to the first certificate in {certificate}; give the key that does, and put this \
                 server's own certificate first"
            )),
            Err(error) => Err(unusable(&self.certificate, &error)),
        }
    }
}

/// # Errors
/// The first certificate has expired, or is not valid yet.
fn check_dates(path: &Path, chain: &[CertificateDer<'_>]) -> Result<(), String> {
    let Some(first) = chain.first() else { return Ok(()) };
    let first = ParsedCertificate::try_from(first).map_err(|error| unusable(path, &error))?;
    // Without a root, no certificate is trusted; but that is looked at last.
    match verify_server_cert_signed_by_trust_anchor(&first, &RootCertStore::empty(), &[], UnixTime::now(), &[]) {
        Err(
            error @ Error::InvalidCertificate(
                CertificateError::ExpiredContext { .. } | CertificateError::NotValidYetContext { .. },
            ),
        ) => Err(unusable(path, &error)),
        _ => Ok(()),
    }
}

fn unusable(certificate: &Path, error: &Error) -> String {
    format!("the certificate in {} cannot be used: {error}; renew it", certificate.display())
}
