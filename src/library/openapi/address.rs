//! Which addresses a service may have, so that a document or a name server cannot make this program call a host that only this machine
//! can reach.

use super::operation::{Operation, Options};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::quoted;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use ureq::http::Uri;

/// The scheme, the host, the port and the beginning of the path of a service, and the addresses that may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    /// Without a slash at its end.
    url: String,
    allowed: Allowed,
}

/// What to do about an address that cannot be called.
const FIX: &str = "give the address with --openapi-base";

/// Who says what the base address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedBy {
    /// The document, which may be from anywhere.
    Document,
    /// The user, with `--openapi-base`.
    User,
}

/// The addresses that the host of a service may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// Those that everybody can reach.
    Public,
    /// Those of this machine.
    Loopback,
    /// All.
    All,
}

/// An address that is not [`Allowed`]. Its `Display` is a clause about the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused(String, Allowed);

impl Base {
    /// Reads the base address of a service. Without `allow_private`, its host must have public addresses, or must be this machine by the
    /// name that the user gives it.
    ///
    /// # Errors
    /// Why it cannot be one, worded to follow it, and what to do. The text is not repeated, as it may have a password.
    pub(super) fn new(text: &str, named_by: NamedBy, allow_private: bool) -> Result<Base, &'static str> {
        const NOT_ABSOLUTE: &str = "must be a whole address, such as `https://prompts.example.com/v1`";
        let uri: Uri = text.trim().parse().map_err(|_| NOT_ABSOLUTE)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(NOT_ABSOLUTE);
        };
        let is_encrypted = match scheme {
            "https" => true,
            "http" => false,
            _ => return Err("must begin with https://, or with http:// on this machine"),
        };
        if authority.as_str().contains('@') {
            return Err("must not have a user name or a password, which belong into a file for --openapi-header");
        }
        if uri.query().is_some() || text.contains('#') {
            return Err("must end with its path, without `?` or `#`");
        }
        let host = authority.host().to_ascii_lowercase();
        let has_valid_port =
            authority.as_str() == authority.host() || authority.port_u16().is_some_and(|port| port > 0);
        if host.is_empty() || !has_valid_port {
            return Err("must have a host, and a port from 1 to 65535 after the colon, or none");
        }
        let is_loopback = is_loopback(&host);
        if !is_encrypted && !is_loopback {
            return Err("is not encrypted, and not on this machine");
        }
        if is_loopback && named_by == NamedBy::Document && !allow_private {
            return Err("is on this machine, and only the user may name it");
        }
        let allowed = match (is_encrypted, is_loopback) {
            (false, _) => Allowed::Loopback,
            (true, _) if allow_private => Allowed::All,
            (true, true) => Allowed::Loopback,
            (true, false) => Allowed::Public,
        };
        let url = format!("{scheme}://{}{}", authority.as_str().to_ascii_lowercase(), uri.path().trim_end_matches('/'));
        Ok(Base { url, allowed })
    }

    /// The base address of the service that has an operation.
    ///
    /// # Errors
    /// There is none that may be called.
    pub(super) fn of(operation: &Operation, options: &Options) -> Result<Base, Diagnostic> {
        let named_by = if options.base.is_some() { NamedBy::User } else { NamedBy::Document };
        let base = operation.base.as_deref().unwrap_or_default();
        let service = |why| Diagnostic::new(Kind::Service, format!("the address of the service {why}"), FIX);
        Base::new(base, named_by, options.allow_private).map_err(service)
    }

    /// The address without a slash at its end.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// The addresses that its host may have.
    pub(super) fn allowed(&self) -> Allowed {
        self.allowed
    }
}

/// Whether a text can be the address of a service that the user names; or why not, without the text, which may have a password.
pub(crate) fn check_base(text: &str) -> Result<(), String> {
    Base::new(text, NamedBy::User, true).map(|_| ()).map_err(|why| format!("it {why}"))
}

impl Allowed {
    /// Checks an address of a host.
    ///
    /// # Errors
    /// It is not allowed.
    pub(super) fn check(self, host: &str, address: IpAddr) -> Result<(), Refused> {
        let is_allowed = match self {
            Allowed::Public => is_public(address),
            Allowed::Loopback => address.to_canonical().is_loopback(),
            Allowed::All => true,
        };
        if is_allowed {
            return Ok(());
        }
        let kind = if self == Allowed::Loopback { "of this machine" } else { "public" };
        let message = format!("its host {} has the address {address}, which is not {kind}", quoted(host));
        Err(Refused(message, self))
    }
}

impl Refused {
    /// What to do about it.
    pub(super) fn fix(&self) -> &'static str {
        match self.1 {
            Allowed::Loopback => "correct the address of the service",
            _ => "if that is meant, start with --openapi-allow-private",
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

/// Whether a host is this machine, by its name alone.
fn is_loopback(host: &str) -> bool {
    let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    host == "localhost"
        || host.ends_with(".localhost")
        || address.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Whether everybody can reach an address (IANA's registries of special-purpose addresses). One that stands for an IPv4 address is
/// as public as that.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let is_special = match address.octets() {
        [0 | 10 | 127, ..] => true,                       // this network, private, loopback
        [100, second, ..] => (64..128).contains(&second), // between a provider and its customers
        [169, 254, ..] => true,                           // link-local: metadata of cloud machines
        [172, second, ..] => (16..32).contains(&second),  // private
        [192, 0, 0 | 2, _] => true,                       // protocol assignments, documentation
        [192, 88, 99, _] => true,                         // relays of 6to4
        [192, 168, ..] => true,                           // private
        [198, 18 | 19, ..] => true,                       // benchmarks
        [198, 51, 100, _] | [203, 0, 113, _] => true,     // documentation
        [224..=255, ..] => true,                          // multicast, reserved, broadcast
        _ => false,
    };
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] => is_public_v4(v4(high, low)), // mapped
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(v4(high, low)), // translated (NAT64)
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),            // 6to4
        [0x2001, 0..=0x1ff, ..] => false,                                  // protocol assignments, Teredo
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,            // documentation
        [first, ..] => first & 0xe000 == 0x2000,                           // all that is global so far
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Result<Base, &'static str> {
        Base::new(text, NamedBy::User, false)
    }

    #[test]
    fn only_addresses_that_everybody_can_reach_are_public() {
        let public = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 169.253.0.1 172.15.0.1 \
            172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.255 2606:4700::1 \
            2001:200::1 ::ffff:1.1.1.1 64:ff9b::1.1.1.1 2002:101:101::1 2a00::1";
        let others = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.1.2.3 169.254.169.254 \
            172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 \
            198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: \
            ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 \
            64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:0:4136:e378::1 \
            2001:1ff::1 2001:db8::1 2002:7f00:1::1 2002:a9fe:a9fe:: 3fff::1 5f00::1 fc00::1 \
            fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1";
        for (addresses, is_public) in [(public, true), (others, false)] {
            for text in addresses.split(' ') {
                let address: IpAddr = text.parse().unwrap();
                assert_eq!(super::is_public(address), is_public, "{text}");
                assert_eq!(Allowed::Public.check("host", address).is_ok(), is_public, "{text}");
                assert!(Allowed::All.check("host", address).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_service_on_this_machine_has_only_addresses_of_this_machine() {
        for (text, is_loopback) in
            [("127.0.0.1", true), ("::1", true), ("::ffff:127.0.0.1", true), ("10.0.0.1", false), ("1.1.1.1", false)]
        {
            assert_eq!(Allowed::Loopback.check("localhost", text.parse().unwrap()).is_ok(), is_loopback, "{text}");
        }
    }

    #[test]
    fn a_base_address_is_encrypted_or_on_this_machine() {
        for (text, url, allowed) in [
            ("https://Prompts.Example.com/v1/", "https://prompts.example.com/v1", Allowed::Public),
            ("HTTPS://example.com", "https://example.com", Allowed::Public),
            ("https://example.com:8443//", "https://example.com:8443", Allowed::Public),
            ("http://localhost:8080/", "http://localhost:8080", Allowed::Loopback),
            ("http://a.localhost", "http://a.localhost", Allowed::Loopback),
            ("http://127.9.9.9/a", "http://127.9.9.9/a", Allowed::Loopback),
            ("http://[::1]:1", "http://[::1]:1", Allowed::Loopback),
            ("https://localhost", "https://localhost", Allowed::Loopback),
            ("https://10.0.0.1", "https://10.0.0.1", Allowed::Public),
        ] {
            let base = base(text).unwrap();
            assert_eq!((base.url(), base.allowed()), (url, allowed), "{text}");
        }
        for (text, why) in [
            ("", "must be a whole address"),
            ("/v1", "must be a whole address"),
            ("example.com", "must be a whole address"),
            ("https://", "must be a whole address"),
            ("https://exa mple", "must be a whole address"),
            ("https://{region}.example.com", "must be a whole address"),
            ("ftp://example.com", "must begin with https://"),
            ("http://example.com", "is not encrypted"),
            ("http://10.0.0.1", "is not encrypted"),
            ("http://localhost.example.com", "is not encrypted"),
            ("http://127.0.0.1.example.com", "is not encrypted"),
            ("https://ana:secret@example.com", "must not have a user name"),
            ("https://localhost@example.com", "must not have a user name"),
            ("https://example.com/?a=b", "without `?` or `#`"),
            ("https://example.com/#a", "without `?` or `#`"),
            ("https://example.com:0", "must have a host, and a port"),
            ("https://example.com:70000", "must have a host, and a port"),
        ] {
            let error = base(text).unwrap_err();
            assert!(error.contains(why) && !error.contains("secret"), "{text}: {error}");
        }
    }

    #[test]
    fn a_document_names_no_service_on_this_machine() {
        for text in ["http://localhost:8080", "https://127.0.0.1", "http://[::1]/"] {
            assert!(
                Base::new(text, NamedBy::Document, false).unwrap_err().contains("only the user may name it"),
                "{text}"
            );
            assert!(Base::new(text, NamedBy::Document, true).is_ok(), "{text}");
        }
        assert!(Base::new("https://example.com", NamedBy::Document, false).is_ok());
    }

    #[test]
    fn private_addresses_are_allowed_on_request_but_never_unencrypted() {
        let of = |text: &str| Base::new(text, NamedBy::Document, true).map(|base| base.allowed());
        assert_eq!(of("https://desk.internal"), Ok(Allowed::All));
        assert_eq!(of("https://localhost"), Ok(Allowed::All));
        assert_eq!(of("http://localhost"), Ok(Allowed::Loopback));
        assert!(of("http://10.0.0.1").is_err());
    }
}
