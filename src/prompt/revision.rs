//! Revisions, which identify the contents of a prompt file.

use crate::wording::{hex, is_hex};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use sha2::{Digest, Sha256};
use std::fmt;
use std::str::FromStr;

/// Identifies the contents of a prompt file: the first half of their SHA-256 hash. Included files
/// are not part of it.
///
/// The same contents have the same revision on every machine. Clients should treat it as opaque.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision([u8; 16]);

/// Returns the SHA-256 hash of `bytes` as 64 lowercase hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

impl Revision {
    /// Returns the revision of a file with these contents.
    pub fn of_contents(bytes: &[u8]) -> Revision {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        Revision(std::array::from_fn(|index| digest[index]))
    }

    /// Returns the first 8 hexadecimal digits, for display.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// Formats the revision as 32 lowercase hexadecimal digits.
impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl FromStr for Revision {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Revision, &'static str> {
        // `from_str_radix` alone would also accept fewer digits, a sign and uppercase digits.
        match u128::from_str_radix(text, 16) {
            Ok(number) if is_hex(text, 32) => Ok(Revision(number.to_be_bytes())),
            _ => Err(
                "must be a revision: 32 lowercase hexadecimal digits, as shown in lists and results",
            ),
        }
    }
}

impl<'d> Deserialize<'d> for Revision {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Revision, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

impl Serialize for Revision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_the_first_half_of_the_sha_256_and_is_read_as_it_is_written() {
        let revision = Revision::of_contents(b"abc");
        assert_eq!(revision.to_string(), "ba7816bf8f01cfea414140de5dae2223");
        assert_eq!(revision.short(), "ba7816bf");
        assert_eq!(revision.to_string().parse(), Ok(revision));
        for invalid in [
            "",
            "ba7816bf",
            "BA7816BF8F01CFEA414140DE5DAE2223",
            "+a7816bf8f01cfea414140de5dae2223",
        ] {
            assert!(invalid.parse::<Revision>().is_err(), "{invalid}");
        }
    }
}
