//! The URIs of prompts: `prompt://` and the name, percent-encoded (RFC 3986) except for `/`. A URI is decoded to a name, which is then
//! looked up in the library: no part of a URI is ever used as a path.

use super::context::{Failure, FailureKind};
use crate::prompt::MAX_NAME;
use crate::wording::quoted;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::json;

const SCHEME: &str = "prompt://";

/// The longest URI of a prompt, in bytes: each byte of its name may be encoded as three.
const MAX_URI: usize = SCHEME.len() + 3 * MAX_NAME;

/// All characters except `/` and the unreserved ones of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The failure for a URI of no prompt.
pub(super) fn not_found(uri: &str) -> Failure {
    let text = format!("no resource {}; resources/list shows all", quoted(uri));
    Failure::new(FailureKind::UnknownResource, text).with_data(json!({ "uri": uri }))
}

/// The URI of the prompt with this name.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(name, ENCODED))
}

/// The URI of an attachment, in a message; it cannot be read by itself.
pub(super) fn uri_of_attachment(prompt: &str, attachment: &str) -> String {
    format!("{}?file={}", uri(prompt), utf8_percent_encode(attachment, ENCODED))
}

/// The names that a URI may identify: the decoded text, and the text itself, because a client that fills in the template does
/// not encode what already looks encoded (`a%20b` in the name of a file). None for a URI of another scheme.
pub(super) fn names(uri: &str) -> Vec<String> {
    let is_valid = |scheme: &&str| scheme.eq_ignore_ascii_case(SCHEME) && uri.len() <= MAX_URI;
    let Some(scheme) = uri.get(..SCHEME.len()).filter(is_valid) else {
        return Vec::new();
    };
    let text = &uri[scheme.len()..];
    let mut names: Vec<String> = percent_decode_str(text).decode_utf8().map(Into::into).into_iter().collect();
    if !names.iter().any(|name| name == text) {
        names.push(text.to_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_uri_is_ascii_and_its_slashes_are_not_encoded() {
        assert_eq!(uri("git/commit"), "prompt://git/commit");
        assert_eq!(uri("Über 100%?#[x]:\"@"), "prompt://%C3%9Cber%20100%25%3F%23%5Bx%5D%3A%22%40");
        assert_eq!(names("PROMPT://git/commit"), ["git/commit"]);
        assert_eq!(names("prompt://a%20b"), ["a b", "a%20b"]);
        assert_eq!(names("prompt://100%"), ["100%"]);
        assert_eq!(names("prompt://%ff"), ["%ff"]);
        for other in ["", "prompt:", "prompt:/x", "file:///x", "x", "ünicode"] {
            assert_eq!(names(other), [""; 0], "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_the_same_after_a_round_trip_through_its_uri(name in ".+") {
            let uri = uri(&name);
            prop_assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{}", uri);
            prop_assert_eq!(&names(&uri)[0], &name);
        }
    }
}
