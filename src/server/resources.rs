//! `resources/list`, `resources/templates/list` and `resources/read`: the Markdown of each prompt, as it is on disk.
//!
//! A prompt's URI is `prompt://` and its name, percent-encoded (RFC 3986) except for `/`. A URI is decoded to a name, which
//! is then looked up in the library: no part of a URI is ever used as a path.

use super::editing::Seen;
use super::lifecycle::{Failure, FailureKind};
use super::page::Page;
use super::prompts::listed_description;
use crate::library::{Entry, FileInfo, Listing, Revision, View};
use crate::mcp;
use crate::prompt::{MAX_NAME, Name};
use crate::wording::quoted;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::json;

const SCHEME: &str = "prompt://";

/// RFC 6570: `+` means that `/` is not encoded.
pub(super) const TEMPLATE: &str = "prompt://{+name}";

/// The variable of the template.
pub(super) const VARIABLE: &str = "name";

/// The longest URI of a prompt, in bytes: each byte of its name may be encoded as three.
const MAX_URI: usize = SCHEME.len() + 3 * MAX_NAME;

const MIME_TYPE: &str = "text/markdown";

/// All characters except `/` and the unreserved ones of RFC 3986, section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// `resources/list`.
pub(super) fn list(view: &View, page: &Page, seen: &mut Seen) -> mcp::ListResourcesResult {
    let listing = view.list();
    let (resources, next_cursor) = page.fill(&listing.entries, |entry| entry.name(), |entry| resource(entry, seen));
    mcp::ListResourcesResult { resources, next_cursor }
}

/// `None` for a broken file, and for a template that was not changed.
fn resource(entry: &Entry<'_>, seen: &mut Seen) -> Option<mcp::Resource> {
    let FileInfo { summary, revision, size, modified, .. } = entry.info();
    let (name, summary) = (entry.name(), summary.ok().filter(|summary| !summary.is_template)?);
    seen.record(name, revision);
    let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
    Some(mcp::Resource {
        uri: uri(name),
        name: name.to_string(),
        title: summary.title.clone(),
        description: listed_description(entry, summary.description.as_deref()),
        mime_type: MIME_TYPE,
        size: size as usize,
        annotations: modified
            .map(|time| mcp::Annotations { last_modified: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }),
        meta: revision.map(meta),
    })
}

/// `resources/templates/list`.
pub(super) fn templates() -> mcp::ListResourceTemplatesResult {
    mcp::ListResourceTemplatesResult {
        resource_templates: [mcp::ResourceTemplate {
            uri_template: TEMPLATE,
            name: "prompt",
            title: "Prompt file",
            description: "The Markdown source of a prompt, by the prompt's name",
            mime_type: MIME_TYPE,
        }],
    }
}

/// `resources/read`. A file that is text but not a valid prompt can be read, so that it can be fixed.
///
/// # Errors
/// Those of [`not_found`]; the file cannot be read as text.
pub(super) fn read(
    view: &View,
    params: mcp::ResourceParams<'_>,
    seen: &mut Seen,
) -> Result<mcp::ReadResourceResult, Failure> {
    let uri = params.uri.to_owned();
    let file = name_of(view, &uri).and_then(|name| Some((view.raw(&name)?, name)));
    let (file, name) = file.ok_or_else(|| not_found(&uri))?;
    let text = file.map_err(|problem| Failure::new(FailureKind::Unavailable, problem))?;
    let revision = Revision::of(text.as_bytes());
    seen.record(&name, Some(revision));
    let meta = Some(meta(revision));
    Ok(mcp::ReadResourceResult { contents: [mcp::TextResourceContents { uri, mime_type: MIME_TYPE, text, meta }] })
}

fn meta(revision: Revision) -> mcp::RevisionMeta {
    mcp::RevisionMeta { revision: revision.to_string() }
}

/// The failure for a URI of no prompt.
pub(super) fn not_found(uri: &str) -> Failure {
    let text = format!("no resource {}; resources/list shows all", quoted(uri));
    Failure::new(FailureKind::UnknownResource, text).with_data(json!({ "uri": uri }))
}

/// The URI of the prompt with this name.
fn uri(name: &str) -> String {
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

/// The name that a URI identifies: the first possible one that has a file.
pub(super) fn name_of(view: &View, uri: &str) -> Option<Name> {
    names(uri).into_iter().find_map(|name| Name::new(&name).ok().filter(|name| view.locate(name).is_some()))
}

/// A hash of the content of the file that a URI identifies, which may be broken; `None` if there is none.
pub(super) fn content_hash(listing: &Listing<'_>, uri: &str) -> Option<u64> {
    let entries = &listing.entries;
    let find = |name: String| entries.binary_search_by(|entry| entry.name().as_str().cmp(&name)).ok();
    names(uri).into_iter().find_map(find).map(|index| entries[index].fingerprint().content)
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
