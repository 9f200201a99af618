//! Which addresses a service may have, so that a document or a name server cannot make this program
//! call a host that only this machine can reach.

use super::operation::{Operation, Options};
use crate::prompt::{Diagnostic, Kind};
use crate::wording::quoted;
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr};
use ureq::http::Uri;

/// The networks that are not [public](is_public).
const SPECIAL: &str = "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 \
                       192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 \
                       ::/3 2001::/23 2001:db8::/32 2002::/16 3fff::/20 4000::/2 8000::/1";

/// The scheme, the host, the port and the beginning of the path of a service, and the addresses
/// that may be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    /// Without a slash at its end.
    pub(super) url: String,
    /// The addresses that its host may have.
    pub(super) allowed: Allowed,
}

/// What to do about an address that cannot be called.
const FIX: &str = "give the address with --openapi-base";

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

impl Base {
    /// Reads the base address of a service. Without `allow_private`, its host must have public
    /// addresses, or must be this machine by the name that the user gives it.
    ///
    /// # Errors
    /// Why it cannot be one, as a clause that follows its name, with what to do. The text is not
    /// repeated, because it may have a password.
    pub(super) fn new(text: &str, allow_private: bool) -> Result<Base, &'static str> {
        const NOT_ABSOLUTE: &str =
            "must be a whole address, such as `https://prompts.example.com/v1`";
        let uri: Uri = text.trim().parse().map_err(|_| NOT_ABSOLUTE)?;
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(NOT_ABSOLUTE);
        };
        if text.contains(['@', '?', '#']) {
            return Err(
                "must not have a user name, a password (use a header, or a token), `?` or `#`",
            );
        }
        let is_encrypted = scheme == "https";
        let is_loopback = is_loopback(&authority.host().to_ascii_lowercase());
        if !is_encrypted && (scheme != "http" || !is_loopback) {
            return Err("must begin with https://, or with http:// on this machine");
        }
        let allowed = match (is_encrypted, is_loopback) {
            (false, _) => Allowed::Loopback,
            (true, _) if allow_private => Allowed::All,
            (true, true) => Allowed::Loopback,
            (true, false) => Allowed::Public,
        };
        let url = format!(
            "{scheme}://{}{}",
            authority.as_str().to_ascii_lowercase(),
            uri.path().trim_end_matches('/')
        );
        Ok(Base { url, allowed })
    }

    /// The base address of the service that has an operation.
    ///
    /// # Errors
    /// There is none that may be called.
    pub(super) fn of(operation: &Operation, options: &Options) -> Result<Base, Diagnostic> {
        let base = Base::new(&operation.base, options.allow_private);
        let why = match base {
            Ok(base) if options.base.is_some() => return Ok(base),
            Ok(_) if options.are_shared && !options.headers.is_empty() => {
                "is not given, and --openapi-header needs it if there are several documents"
            }
            Ok(base) if base.allowed == Allowed::Loopback && !options.allow_private => {
                "is on this machine, and only the user may name it"
            }
            Ok(base) => return Ok(base),
            Err(why) => why,
        };
        Err(Diagnostic::new(
            Kind::Service,
            format!("the address of the service {why}"),
            FIX,
        ))
    }
}

/// The address of a service that the user names, without a slash at its end.
///
/// # Errors
/// Why it cannot be one, without the text, which may have a password.
pub(crate) fn check_base(text: &str) -> Result<String, String> {
    Base::new(text, true)
        .map(|base| base.url)
        .map_err(|why| format!("it {why}"))
}

impl Allowed {
    /// Checks an address of a host.
    ///
    /// # Errors
    /// It is not allowed: a clause about the service.
    pub(super) fn check(self, host: &str, address: IpAddr) -> Result<(), String> {
        let (is_allowed, kind) = match self {
            Allowed::Public => (is_public(address), "public"),
            Allowed::Loopback => (address.to_canonical().is_loopback(), "of this machine"),
            Allowed::All => return Ok(()),
        };
        let why = || {
            format!(
                "its host {} has the address {address}, which is not {kind}",
                quoted(host)
            )
        };
        if is_allowed { Ok(()) } else { Err(why()) }
    }
}

/// Whether a host is this machine, by its name alone.
fn is_loopback(host: &str) -> bool {
    let address = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(host);
    host == "localhost"
        || host.ends_with(".localhost")
        || address
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Whether everybody can reach an address (IANA's registries of special-purpose addresses). One
/// that contains an IPv4 address, mapped or translated (NAT64), is as public as that. Those of 6to4
/// are not public, because its relays no longer exist.
fn is_public(address: IpAddr) -> bool {
    let address = match address.to_canonical() {
        IpAddr::V6(v6) => match v6.segments() {
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                IpAddr::V4(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
            }
            _ => IpAddr::V6(v6),
        },
        v4 => v4,
    };
    SPECIAL.split(' ').all(|network| {
        network
            .parse()
            .is_ok_and(|network: IpNet| !network.contains(&address))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> Result<Base, &'static str> {
        Base::new(text, false)
    }

    #[test]
    fn only_addresses_that_everybody_can_reach_are_public() {
        let public = "1.1.1.1 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 169.253.0.1 172.15.0.1 \
            172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.255 2606:4700::1 \
            2001:200::1 ::ffff:1.1.1.1 64:ff9b::1.1.1.1 2a00::1";
        let others = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 127.0.0.1 127.1.2.3 169.254.169.254 \
            172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 \
            198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 :: \
            ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:127.0.0.1 \
            64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1 2001::1 2001:0:4136:e378::1 \
            2001:1ff::1 2001:db8::1 2002:101:101::1 2002:7f00:1::1 2002:a9fe:a9fe:: 3fff::1 5f00::1 fc00::1 \
            fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 ff0e::1";
        for (addresses, is_public) in [(public, true), (others, false)] {
            for text in addresses.split(' ') {
                let address: IpAddr = text.parse().unwrap();
                assert_eq!(super::is_public(address), is_public, "{text}");
                assert_eq!(
                    Allowed::Public.check("host", address).is_ok(),
                    is_public,
                    "{text}"
                );
                assert!(Allowed::All.check("host", address).is_ok(), "{text}");
            }
        }
    }

    #[test]
    fn a_service_on_this_machine_has_only_addresses_of_this_machine() {
        for (text, is_loopback) in [
            ("127.0.0.1", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
            ("1.1.1.1", false),
        ] {
            assert_eq!(
                Allowed::Loopback
                    .check("localhost", text.parse().unwrap())
                    .is_ok(),
                is_loopback,
                "{text}"
            );
        }
    }

    #[test]
    fn a_base_address_is_encrypted_or_on_this_machine() {
        for (text, url, allowed) in [
            (
                "https://Prompts.Example.com/v1/",
                "https://prompts.example.com/v1",
                Allowed::Public,
            ),
            (
                "HTTPS://example.com",
                "https://example.com",
                Allowed::Public,
            ),
            (
                "https://example.com:8443//",
                "https://example.com:8443",
                Allowed::Public,
            ),
            (
                "http://localhost:8080/",
                "http://localhost:8080",
                Allowed::Loopback,
            ),
            (
                "http://a.localhost",
                "http://a.localhost",
                Allowed::Loopback,
            ),
            (
                "http://127.9.9.9/a",
                "http://127.9.9.9/a",
                Allowed::Loopback,
            ),
            ("http://[::1]:1", "http://[::1]:1", Allowed::Loopback),
            ("https://localhost", "https://localhost", Allowed::Loopback),
            ("https://10.0.0.1", "https://10.0.0.1", Allowed::Public),
        ] {
            let base = base(text).unwrap();
            assert_eq!((&*base.url, base.allowed), (url, allowed), "{text}");
        }
        for (text, why) in [
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
            let error = base(text).unwrap_err();
            assert!(
                error.contains(why) && !error.contains("secret"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_document_names_no_service_on_this_machine() {
        let of = |text: &str, options: &Options| {
            let (path, parameters) = ("/p".to_owned(), Vec::new());
            Base::of(
                &Operation {
                    method: "GET",
                    base: text.to_owned(),
                    path,
                    parameters,
                    has_object: false,
                },
                options,
            )
        };
        let private = Options {
            allow_private: true,
            ..Options::default()
        };
        for text in [
            "http://localhost:8080",
            "https://127.0.0.1",
            "http://[::1]/",
        ] {
            let error = of(text, &Options::default()).unwrap_err().message;
            assert!(error.contains("only the user may name it"), "{error}");
            assert!(of(text, &private).is_ok(), "{text}");
            assert!(
                of(
                    text,
                    &Options {
                        base: Some(text.to_owned()),
                        ..Options::default()
                    }
                )
                .is_ok(),
                "{text}"
            );
        }
        assert!(of("https://example.com", &Options::default()).is_ok());
    }

    #[test]
    fn private_addresses_are_allowed_on_request_but_never_unencrypted() {
        let of = |text: &str| Base::new(text, true).map(|base| base.allowed);
        assert_eq!(of("https://desk.internal"), Ok(Allowed::All));
        assert_eq!(of("https://localhost"), Ok(Allowed::All));
        assert_eq!(of("http://localhost"), Ok(Allowed::Loopback));
        assert!(of("http://10.0.0.1").is_err());
    }
}
