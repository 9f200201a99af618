//! Certificates that are made for a test, by an authority of its own.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::sync::Arc;

/// Who signs the certificates of a test.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Authority(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A certificate for `localhost`, unless that is changed, and its key, in PEM.
    pub(crate) fn issue(&self, change: impl FnOnce(&mut CertificateParams)) -> (String, String) {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        (
            pem(
                "CERTIFICATE",
                params.signed_by(&key, &self.0).unwrap().der(),
            ),
            pem("PRIVATE KEY", &key.serialize_der()),
        )
    }

    /// Its own certificate, which clients must trust.
    pub(crate) fn certificate(&self) -> &CertificateDer<'static> {
        self.0.der()
    }

    /// The same in PEM.
    pub(crate) fn pem(&self) -> String {
        pem("CERTIFICATE", self.certificate())
    }
}

pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        STANDARD.encode(der)
    )
}

/// How a server uses a certificate and its key, in PEM.
pub(crate) fn server_config((certificate, key): &(String, String)) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap();
    let config =
        ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth();
    Arc::new(config.with_single_cert(vec![certificate], key).unwrap())
}
