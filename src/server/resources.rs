//! `resources/list`, `resources/templates/list` and `resources/read`: the Markdown of each prompt,
//! as it is on disk.
//!
//! The URI of a prompt is `prompt://` and the name, percent-encoded (RFC 3986) except for `/`. A
//! URI is decoded to a name, which is then looked up in the library: no part of a URI is ever used
//! as a path.

use super::context::Context;
use super::era::VOLATILE;
use super::failure::{Failure, FailureKind};
use super::pagination::{self, Page};
use super::reply::Outcome;
use crate::jsonrpc::Json;
use crate::library::{Found, View};
use crate::mcp;
use crate::prompt::{MAX_NAME, Name, Revision};
use crate::wording::{encoded_path, in_backticks, quoted, truncate_at_word};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

/// RFC 6570: `+` means that `/` is not encoded.
pub(super) const URI_TEMPLATE: &str = "prompt://{+name}";

/// The variable of the template.
pub(super) const TEMPLATE_VARIABLE: &str = "name";

const MIME_TYPE: &str = "text/markdown";

/// `resources/list`. Broken files, and drafts that nobody has edited, are left out.
///
/// # Errors
/// The cursor is invalid.
pub(super) fn list(
    context: &Context,
    params: mcp::PaginatedParams<'_>,
) -> Result<mcp::ListResourcesResult, Failure> {
    let size = context.shared.settings.page_size;
    let page = Page::from_cursor("resources", size, params.cursor)?;
    let found = context.view().list().found;
    let (resources, next_cursor) = page.fill(&found, |found| &found.name, resource);
    Ok(mcp::ListResourcesResult {
        resources,
        next_cursor,
    })
}

/// Returns what a client sees of a prompt in the list, or `None` if the list leaves the prompt out.
fn resource(found: &Found) -> Option<mcp::Resource> {
    let info = found.info();
    let summary = info.summary.ok()?;
    if summary.is_unedited_draft {
        return None;
    }
    let modified = info
        .modified
        .and_then(|time| Timestamp::try_from(time).ok());
    Some(mcp::Resource {
        uri: uri(&found.name),
        name: found.name.to_string(),
        title: summary.title.clone(),
        description: listed_description(found, summary.description.as_deref()),
        mime_type: MIME_TYPE,
        size: info.size as usize,
        annotations: modified.map(last_modified),
        meta: info.revision.map(meta),
    })
}

fn last_modified(time: Timestamp) -> Value {
    json!({ "lastModified": time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() })
}

/// `resources/templates/list`.
///
/// # Errors
/// There is a cursor.
pub(super) fn templates(_: &Context, params: mcp::PaginatedParams<'_>) -> Result<Value, Failure> {
    pagination::reject_cursor(params)?;
    Ok(json!({ "resourceTemplates": [{
        "uriTemplate": URI_TEMPLATE,
        "name": "prompt",
        "title": "Prompt file",
        "description": "The Markdown source of a prompt, by the prompt's name",
        "mimeType": MIME_TYPE,
    }] }))
}

/// `resources/read`. A file that is text but not a valid prompt can be read, so that it can be
/// fixed.
///
/// # Errors
/// No prompt has this URI; the file cannot be read as text.
pub(super) fn read(context: &Context, params: mcp::ResourceParams<'_>) -> Result<Outcome, Failure> {
    let uri = params.uri.to_owned();
    let era = context.era;
    let found = find(&context.view(), &uri).ok_or_else(|| not_found(&uri))?;
    Outcome::now_or_later(found.layer, move || {
        let text = found.text().map_err(Failure::unavailable)?;
        let meta = meta(Revision::of_contents(text.as_bytes()));
        let contents = json!({ "contents": [{ "uri": uri, "mimeType": MIME_TYPE, "text": text, "_meta": meta }] });
        Ok(era.result(Json::from_text(contents.to_string()), Some(VOLATILE)))
    })
}

/// Returns the prompt that has a URI.
fn find(view: &View, uri: &str) -> Option<Found> {
    for name in names_from_uri(uri) {
        if let Ok(name) = Name::new(&name)
            && let Some(found) = view.get(&name)
        {
            return Some(found);
        }
    }
    None
}

/// Returns the metadata that says which content the file of a prompt has (2025-06-18).
fn meta(revision: Revision) -> Value {
    json!({ "io.github.prompt-expander/revision": revision })
}

/// The longest description in a list, in characters: some agents' prompts have descriptions of
/// several thousand, and the model gets the list whole.
pub(super) const MAX_LISTED_DESCRIPTION: usize = 300;

/// Returns the description of a prompt in a list. It begins with the
/// [mark](crate::library::Layer::mark) of a layer whose prompts the user did not write.
pub(super) fn listed_description(found: &Found, of_prompt: Option<&str>) -> String {
    let of_prompt = of_prompt
        .map(|description| truncate_at_word(description, MAX_LISTED_DESCRIPTION).into_owned());
    let description = description(&found.name, of_prompt);
    format!("{}{description}", found.layer.list_label)
}

/// Returns the description of a prompt, never empty, because some clients do not show a prompt
/// without one.
pub(super) fn description(name: &str, of_prompt: Option<String>) -> String {
    of_prompt.unwrap_or_else(|| format!("The prompt {}", in_backticks(name)))
}

const SCHEME: &str = "prompt://";

/// The longest URI of a prompt, in bytes: each byte of its name may be encoded as three.
const MAX_URI: usize = SCHEME.len() + 3 * MAX_NAME;

/// Returns the failure for a URI that no prompt has.
pub(super) fn not_found(uri: &str) -> Failure {
    let text = format!("no resource {}; resources/list shows all", quoted(uri));
    Failure::new(FailureKind::UnknownResource, text).with_data(json!({ "uri": uri }))
}

/// Returns the URI of the prompt with this name: `git/a b` → `prompt://git/a%20b`.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{}", encoded_path(name))
}

/// Returns the URI of an attachment, in a message; it cannot be read by itself.
pub(super) fn uri_of_attachment(prompt: &str, attachment: &str) -> String {
    format!("{}?file={}", uri(prompt), encoded_path(attachment))
}

/// Returns the names that a URI may identify: the decoded text, and the text itself, because a
/// client that fills in the template does not encode what already looks encoded (`a%20b` in the
/// name of a file). A URI of another scheme identifies no name.
///
/// `prompt://a%20b` → `a b`, `a%20b`
pub(super) fn names_from_uri(uri: &str) -> Vec<String> {
    let Some(scheme) = uri.get(..SCHEME.len()) else {
        return Vec::new();
    };
    if !scheme.eq_ignore_ascii_case(SCHEME) || uri.len() > MAX_URI {
        return Vec::new();
    }
    let text = &uri[SCHEME.len()..];
    match percent_decode_str(text).decode_utf8() {
        Ok(decoded) if decoded != text => vec![decoded.into_owned(), text.to_owned()],
        _ => vec![text.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_uri_is_ascii_and_its_slashes_are_not_encoded() {
        assert_eq!(uri("git/commit"), "prompt://git/commit");
        assert_eq!(
            uri("Über 100%?#[x]:\"@"),
            "prompt://%C3%9Cber%20100%25%3F%23%5Bx%5D%3A%22%40"
        );
        assert_eq!(names_from_uri("PROMPT://git/commit"), ["git/commit"]);
        assert_eq!(names_from_uri("prompt://a%20b"), ["a b", "a%20b"]);
        assert_eq!(names_from_uri("prompt://100%"), ["100%"]);
        assert_eq!(names_from_uri("prompt://%ff"), ["%ff"]);
        for other in ["", "prompt:", "prompt:/x", "file:///x", "x", "ünicode"] {
            assert_eq!(names_from_uri(other), [""; 0], "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_the_same_after_a_round_trip_through_its_uri(name in ".+") {
            let uri = uri(&name);
            prop_assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{}", uri);
            prop_assert_eq!(&names_from_uri(&uri)[0], &name);
        }
    }
}
