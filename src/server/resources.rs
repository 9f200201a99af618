//! `resources/list`, `resources/templates/list` and `resources/read`: the Markdown of each prompt, as it is on disk.
//!
//! A prompt's URI is `prompt://` and its name, percent-encoded (RFC 3986) but for `/`. A URI is decoded to a name, and
//! the library has the name or has it not: no part of a URI ever reaches the file system.

use super::lifecycle::Era;
use super::page::Page;
use super::prompts::{description, of_layer};
use crate::json::Object;
use crate::jsonrpc::Error;
use crate::library::{Details, Entry, View};
use crate::mcp;
use crate::prompt::{MAX_NAME, Name};
use crate::wording::quoted;
use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::json;

const SCHEME: &str = "prompt://";

/// RFC 6570: `+` lets `/` stand as it is.
pub(super) const TEMPLATE: &str = "prompt://{+name}";

/// The variable of the template.
pub(super) const VARIABLE: &str = "name";

/// The longest URI of a prompt, in bytes: each byte of its name may be encoded as three.
const MAX_URI: usize = SCHEME.len() + 3 * MAX_NAME;

const MIME_TYPE: &str = "text/markdown";

/// All but the unreserved characters of RFC 3986, section 2.3, and `/`.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The resource is unknown (revisions up to 2025-11-25, "Resources", "Error Handling"; later ones forbid it).
const RESOURCE_NOT_FOUND: i64 = -32002;

/// `resources/list`.
pub(super) fn list(library: &View, page: &Page) -> mcp::ListResourcesResult {
    let listing = library.list();
    let (resources, next_cursor) =
        page.fill(&listing.entries, |entry| entry.name(), |entry| Some(resource(entry, &entry.details().ok()?)));
    mcp::ListResourcesResult { resources, next_cursor }
}

fn resource(entry: &Entry<'_>, details: &Details) -> mcp::Resource {
    let name = entry.name();
    let modified = details.modified.and_then(|time| Timestamp::try_from(time).ok());
    mcp::Resource {
        uri: uri(name),
        name: name.to_string(),
        title: details.summary.title.clone(),
        description: of_layer(entry.layer(), description(name, details.summary.description.clone())),
        mime_type: MIME_TYPE,
        size: details.size as usize,
        annotations: modified
            .map(|time| mcp::Annotations { last_modified: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }),
    }
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

/// `resources/read`. A file that is text but no prompt is read all the same, so that it can be repaired.
///
/// # Errors
/// `-32602` for a `uri` that is no string; [`not_found`]; `-32603` for a file that cannot be read as text.
pub(super) fn read(library: &View, era: Era, params: &Object<'_>) -> Result<mcp::ReadResourceResult, Error> {
    let uri = uri_of(params)?;
    let file = name_of(library, uri).and_then(|name| library.raw(&name)).ok_or_else(|| not_found(era, uri))?;
    let text = file.map_err(Error::unreadable)?;
    let contents = mcp::TextResourceContents { uri: uri.to_owned(), mime_type: MIME_TYPE, text };
    Ok(mcp::ReadResourceResult { contents: [contents] })
}

/// The `uri` of a request.
///
/// # Errors
/// `-32602`, if it is no string.
pub(super) fn uri_of<'p>(params: &'p Object<'_>) -> Result<&'p str, Error> {
    params.required_text("uri").map_err(|unfit| Error::invalid_params(format!("`uri` {unfit}")))
}

/// The error for a URI that names no prompt.
pub(super) fn not_found(era: Era, uri: &str) -> Error {
    let message = format!("no resource {}; resources/list names all", quoted(uri));
    let error = match era {
        Era::Legacy => Error::new(RESOURCE_NOT_FOUND, message),
        Era::Modern => Error::invalid_params(message),
    };
    error.with_data(json!({ "uri": uri }))
}

/// The URI of the prompt with this name.
fn uri(name: &str) -> String {
    format!("{SCHEME}{}", utf8_percent_encode(name, ENCODED))
}

/// The names that a URI may mean: what it decodes to; and the text itself, since a client that fills in the template
/// leaves what looks encoded (`a%20b` in the name of a file) as it is. None, for a URI that cannot be ours.
pub(super) fn names(uri: &str) -> Vec<String> {
    let is_ours = |scheme: &&str| scheme.eq_ignore_ascii_case(SCHEME) && uri.len() <= MAX_URI;
    let Some(scheme) = uri.get(..SCHEME.len()).filter(is_ours) else {
        return Vec::new();
    };
    let text = &uri[scheme.len()..];
    let mut names: Vec<String> = percent_decode_str(text).decode_utf8().map(Into::into).into_iter().collect();
    if !names.iter().any(|name| name == text) {
        names.push(text.to_owned());
    }
    names
}

/// The name that a URI means: the first of those that it may mean for which there is a file.
pub(super) fn name_of(library: &View, uri: &str) -> Option<Name> {
    names(uri).into_iter().find_map(|name| Name::new(&name).ok().filter(|name| library.has(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_uri_is_ascii_and_keeps_the_slashes() {
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
        fn every_name_survives_the_way_to_a_uri_and_back(name in ".+") {
            let uri = uri(&name);
            prop_assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{}", uri);
            prop_assert_eq!(&names(&uri)[0], &name);
        }
    }
}
