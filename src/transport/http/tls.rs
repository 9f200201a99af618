//! TLS: the certificate and its key, which are read again when they change.

use super::secret_file::{self, Watched};
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
struct Certificate(Watched<CertifiedKey>);

impl Tls {
    /// With the certificate, followed by the intermediate certificates, and the key, in PEM files.
    /// `warn` receives why a new version of them cannot be used.
    ///
    /// # Errors
    /// What is wrong with which file, and what to do.
    pub fn new(certificate: PathBuf, key: PathBuf, warn: fn(&str)) -> Result<Tls, String> {
        let provider = Arc::new(ring::default_provider());
        let of_loading = Arc::clone(&provider);
        let load = move || load(&certificate, &key, &of_loading);
        let certificate = Arc::new(Certificate(Watched::new(load, warn)?));
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config
            .map_err(|error| error.to_string())?
            .with_no_client_auth();
        let mut config =
            config.with_cert_resolver(Arc::clone(&certificate) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            certificate,
        })
    }

    /// Reads the files again if they have changed; to be called each second, where waiting is
    /// allowed.
    pub(super) fn refresh(&self) {
        self.certificate.0.refresh();
    }

    /// The handshake.
    ///
    /// # Errors
    /// It fails.
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

/// The certificates and the key in the two files.
///
/// # Errors
/// What is wrong with which file, and what to do.
fn load(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let certificates = secret_file::read(certificate, "certificate", NEEDS_CERTIFICATE, |_| false)?;
    let secret = secret_file::read(key, "key", NEEDS_KEY, |_| true)?;
    let (certificate, key) = (certificate.display(), key.display());
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(&certificates).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain =
        chain.ok_or_else(|| format!("{certificate} has no certificate; {NEEDS_CERTIFICATE}"))?;
    // The text of the error may be a part of the key.
    let der = PrivateKeyDer::from_pem_slice(&secret)
        .map_err(|_| format!("{key} has no private key; {NEEDS_KEY}"))?;
    CertifiedKey::from_der(chain, der, provider).map_err(|error| match error {
        Error::InconsistentKeys(_) => format!(
            "the key in {key} does not belong to the first certificate in {certificate}; give the key that does, and put this \
             server's own certificate first"
        ),
        Error::InvalidCertificate(_) => {
            format!("the certificate in {certificate} cannot be used: {error}; renew it")
        }
        _ => format!("the key in {key} cannot be used: {error}; {NEEDS_KEY}"),
    })
}
