//! Restricts the addresses that a service may have, so that neither a document nor a name server
//! can make this program call a host in a private network.

use super::operation::{OpenApiOptions, Operation};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::quoted;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr};
use ureq::http::Uri;

/// The networks that are not [public](is_public), separated by spaces.
const SPECIAL_NETWORKS: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 \
    172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 \
    198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 \
    ::/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 4000::/2 8000::/1";

/// The base address of a service: the scheme, the host, the port, and a prefix of the path.
#[derive(Debug)]
pub(super) struct BaseUrl {
    /// Without a trailing slash.
    pub(super) url: String,
    is_https: bool,
    /// Whether the host is this machine, e.g. `localhost`.
    is_local: bool,
}

/// The IP addresses that the host of a service may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedAddresses {
    Public,
    Loopback,
    All,
}

impl BaseUrl {
    /// Parses a base address such as `https://prompts.example.com/v1`.
    ///
    /// # Errors
    /// Returns the reason why the address is invalid, as a clause that follows "the address". It
    /// doesn't quote the address, which may contain a password.
    fn parse(text: &str) -> Result<BaseUrl, &'static str> {
        const NOT_ABSOLUTE: &str = "must be a whole address, such as `https://prompts.example.com`";
        let uri: Uri = text.trim().parse().map_err(|_| NOT_ABSOLUTE)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(NOT_ABSOLUTE);
        };
        if text.contains(['@', '?', '#']) {
            return Err(
                "must not have a user name, a password (use a header, or a token), `?` or `#`",
            );
        }
        let authority_text = authority.as_str().to_ascii_lowercase();
        let path = uri.path().trim_end_matches('/');
        let base = BaseUrl {
            url: format!("{scheme}://{authority_text}{path}"),
            is_https: scheme == "https",
            is_local: is_local_host(&authority.host().to_ascii_lowercase()),
        };
        let is_local_http = scheme == "http" && base.is_local;
        if !base.is_https && !is_local_http {
            return Err("must begin with https://, or with http:// on this machine");
        }
        Ok(base)
    }

    /// Returns the base address of an operation's service.
    ///
    /// # Errors
    /// The address is invalid, or it comes from the document although the user must set it: because
    /// it is on this machine, or because secret headers are sent to it.
    pub(super) fn for_operation(
        operation: &Operation,
        options: &OpenApiOptions,
    ) -> Result<BaseUrl, Diagnostic> {
        let base = BaseUrl::parse(&operation.base).map_err(base_error)?;
        if options.base.is_some() {
            return Ok(base); // the user has set it
        }
        // Otherwise, each document could have the secrets of the others sent to it.
        if options.are_shared && !options.headers.is_empty() {
            return Err(base_error(
                "is not given, and headers need it if there are several documents",
            ));
        }
        if base.is_local && !options.allow_private {
            return Err(base_error(
                "is on this machine, and only the user may name it",
            ));
        }
        Ok(base)
    }

    /// Returns the IP addresses that the host may have.
    pub(super) fn allowed_addresses(&self, options: &OpenApiOptions) -> AllowedAddresses {
        if options.allow_private && self.is_https {
            AllowedAddresses::All
        } else if self.is_local {
            AllowedAddresses::Loopback
        } else {
            AllowedAddresses::Public
        }
    }
}

/// Returns the error for an address that cannot be called. `reason` is a clause such as "must begin
/// with https://".
fn base_error(reason: &str) -> Diagnostic {
    Diagnostic::new(
        Kind::Service,
        format!("the address of the service {reason}"),
        "give it as the `base` of the document in config.toml",
    )
}

/// Checks a base address that the user has set, and returns it without a trailing slash.
///
/// # Errors
/// Returns the reason why the address is invalid. It doesn't quote the address, which may contain a
/// password.
pub(crate) fn normalize_base_url(text: &str) -> Result<String, String> {
    let base = BaseUrl::parse(text).map_err(|reason| format!("it {reason}"))?;
    Ok(base.url)
}

impl AllowedAddresses {
    /// Checks an IP address that `host` was resolved to.
    ///
    /// # Errors
    /// Returns the reason why the address is not allowed, as a clause about the service.
    pub(super) fn check(self, host: &str, address: IpAddr) -> Result<(), String> {
        let (is_allowed, required) = match self {
            AllowedAddresses::All => return Ok(()),
            AllowedAddresses::Public => (is_public(address), "public"),
            AllowedAddresses::Loopback => (address.to_canonical().is_loopback(), "of this machine"),
        };
        if is_allowed {
            return Ok(());
        }
        let host = quoted(host);
        Err(format!(
            "its host {host} has the address {address}, which is not {required}"
        ))
    }
}

/// Returns whether a host of a URL is this machine, e.g. `localhost` or `[::1]`.
fn is_local_host(host: &str) -> bool {
    if host == "localhost" || host.ends_with(".localhost") {
        return true;
    }
    let ip_text = host.trim_start_matches('[').trim_end_matches(']');
    ip_text
        .parse()
        .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Returns whether an address is globally reachable, according to IANA's registries of
/// special-purpose addresses.
///
/// For an IPv6 address that embeds an IPv4 address, the IPv4 address decides. 6to4 addresses are
/// not public, because the relays no longer exist.
fn is_public(address: IpAddr) -> bool {
    let address = extract_embedded_ipv4(address);
    for network_text in SPECIAL_NETWORKS.split(' ') {
        let Ok(network) = network_text.parse::<IpNet>() else {
            return false;
        };
        if network.contains(&address) {
            return false;
        }
    }
    true
}

/// Extracts the IPv4 address from an IPv4-mapped (`::ffff:10.0.0.1`) or NAT64 (`64:ff9b::10.0.0.1`)
/// address. Returns any other address unchanged.
fn extract_embedded_ipv4(address: IpAddr) -> IpAddr {
    let address = address.to_canonical();
    if let IpAddr::V6(v6) = address
        && let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = v6.segments()
    {
        return Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)).into();
    }
    address
}

#[cfg(test)]
mod tests {
    use super::super::operation::{HeaderValue, SecretHeader};
    use super::*;

    fn private_allowed() -> OpenApiOptions {
        OpenApiOptions {
            allow_private: true,
            ..OpenApiOptions::default()
        }
    }

    #[test]
    fn only_addresses_that_everybody_can_reach_are_public() {
        let public = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 169.253.0.1 \
            172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.255 \
            2606:4700::1 2001:200::1 ::ffff:1.1.1.1 64:ff9b::1.1.1.1 2a00::1";
        let special = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.1.2.3 \
            169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 \
            198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 \
            255.255.255.255 :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 \
            ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe \
            64:ff9b:1::1 100::1 2001::1 2001:0:4136:e378::1 2001:1ff::1 2001:db8::1 \
            2002:101:101::1 2002:7f00:1::1 2002:a9fe:a9fe:: 3fff::1 5f00::1 fc00::1 \
            fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1";
        for (addresses, is_public) in [(public, true), (special, false)] {
            for text in addresses.split(' ') {
                let address: IpAddr = text.parse().unwrap();
                let checked = AllowedAddresses::Public.check("host", address);
                assert_eq!(checked.is_ok(), is_public, "{text}");
                let checked = AllowedAddresses::All.check("host", address);
                assert!(checked.is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_service_on_this_machine_has_only_addresses_of_this_machine() {
        for (text, is_allowed) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
            ("1.1.1.1", false),
        ] {
            let checked = AllowedAddresses::Loopback.check("localhost", text.parse().unwrap());
            assert_eq!(checked.is_ok(), is_allowed, "{text}");
        }
    }

    #[test]
    fn a_base_address_is_https_or_on_this_machine() {
        use AllowedAddresses::{Loopback, Public};
        for (text, url, allowed) in [
            (
                "https://Prompts.Example.com/v1/",
                "https://prompts.example.com/v1",
                Public,
            ),
            ("HTTPS://example.com", "https://example.com", Public),
            (
                "https://example.com:8443//",
                "https://example.com:8443",
                Public,
            ),
            ("http://localhost:8080/", "http://localhost:8080", Loopback),
            ("http://a.localhost", "http://a.localhost", Loopback),
            ("http://127.9.9.9/a", "http://127.9.9.9/a", Loopback),
            ("http://[::1]:1", "http://[::1]:1", Loopback),
            ("https://localhost", "https://localhost", Loopback),
            ("https://10.0.0.1", "https://10.0.0.1", Public),
        ] {
            let base = BaseUrl::parse(text).unwrap();
            assert_eq!(base.url, url);
            let options = OpenApiOptions::default();
            assert_eq!(base.allowed_addresses(&options), allowed, "{text}");
        }
    }

    #[test]
    fn an_invalid_base_address_is_refused_without_repeating_it() {
        for (text, reason) in [
            ("", "must be a whole address"),
            ("/v1", "must be a whole address"),
            ("example.com", "must be a whole address"),
            ("https://exa mple", "must be a whole address"),
            ("ftp://localhost", "must begin with https://"),
            ("http://example.com", "must begin with https://"),
            ("http://10.0.0.1", "must begin with https://"),
            ("http://localhost.example.com", "must begin with https://"),
            ("http://127.0.0.1.example.com", "must begin with https://"),
            (
                "https://ana:secret@example.com",
                "must not have a user name",
            ),
            ("http://localhost@example.com", "must not have a user name"),
            ("https://example.com/?a=b", "`?` or `#`"),
            ("https://example.com/#a", "`?` or `#`"),
        ] {
            let error = BaseUrl::parse(text).unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }

    fn base_of_document(url: &str, options: &OpenApiOptions) -> Result<BaseUrl, Diagnostic> {
        let operation = Operation {
            method: "GET",
            base: url.to_owned(),
            path: "/p".to_owned(),
            parameters: Vec::new(),
            has_object_body: false,
        };
        BaseUrl::for_operation(&operation, options)
    }

    #[test]
    fn a_document_names_no_service_on_this_machine() {
        for url in [
            "http://localhost:8080",
            "https://127.0.0.1",
            "http://[::1]/",
        ] {
            let error = base_of_document(url, &OpenApiOptions::default()).unwrap_err();
            assert!(
                error.message.contains("only the user may name it"),
                "{error}"
            );
            assert!(base_of_document(url, &private_allowed()).is_ok(), "{url}");
            let named_by_user = OpenApiOptions {
                base: Some(url.to_owned()),
                ..OpenApiOptions::default()
            };
            assert!(base_of_document(url, &named_by_user).is_ok(), "{url}");
        }
        assert!(base_of_document("https://example.com", &OpenApiOptions::default()).is_ok());
    }

    #[test]
    fn headers_for_several_documents_need_the_address_that_they_are_for() {
        let header = SecretHeader {
            name: "A".to_owned(),
            scheme: None,
            value: HeaderValue::Variable("HOME".to_owned()),
        };
        let shared = OpenApiOptions {
            headers: vec![header],
            are_shared: true,
            ..OpenApiOptions::default()
        };
        let error = base_of_document("https://example.com", &shared).unwrap_err();
        let message = "the address of the service is not given, and headers need it if \
                       there are several documents";
        assert_eq!(error.message, message);
    }

    #[test]
    fn private_addresses_are_allowed_on_request_but_never_unencrypted() {
        for (text, allowed) in [
            ("https://desk.internal", AllowedAddresses::All),
            ("https://localhost", AllowedAddresses::All),
            ("http://localhost", AllowedAddresses::Loopback),
        ] {
            let base = BaseUrl::parse(text).unwrap();
            assert_eq!(base.allowed_addresses(&private_allowed()), allowed);
        }
    }
}
