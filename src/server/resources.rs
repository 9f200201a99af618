//! `resources/list`, `resources/templates/list` and `resources/read`: the prompts' Markdown source
//! files. `skills.rs` has those of skills.
//!
//! The URI of a prompt is `prompt://` followed by its name, percent-encoded (RFC 3986) except for
//! `/`. A URI is decoded to a name, which is then looked up in the library, so no part of a URI is
//! ever used as a path.

use super::context::Context;
use super::era::{Era, VOLATILE};
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

/// The resource template (RFC 6570). The `+` means that `/` isn't encoded.
pub(super) const URI_TEMPLATE: &str = "prompt://{+name}";

/// The variable in [`URI_TEMPLATE`].
pub(super) const TEMPLATE_VARIABLE: &str = "name";

pub(super) const MIME_TYPE: &str = "text/markdown";

/// Handles `resources/list`. Skips broken files and unedited drafts.
///
/// # Errors
/// Fails if the cursor is invalid.
pub(super) fn list(
    context: &Context,
    params: mcp::PaginatedParams<'_>,
) -> Result<mcp::ListResourcesResult, Failure> {
    let size = context.shared.settings.page_size;
    let page = Page::from_cursor("resources", size, params.cursor)?;
    let found = context.view().list().found;
    let (resources, next_cursor) = page.collect(&found, |found| &found.name, resource);
    Ok(mcp::ListResourcesResult {
        resources,
        next_cursor,
    })
}

/// Returns the list entry of a prompt, or `None` to skip it because it is broken or an unedited
/// draft.
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

/// Handles `resources/templates/list`.
///
/// # Errors
/// Fails if there is a cursor.
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

/// Handles `resources/read` of a prompt. Text files that aren't valid prompts can be read too, so
/// that they can be fixed. If no known prompt has this URI, asks the team's server for new ones.
///
/// # Errors
/// Fails if no prompt has this URI, or if the file can't be read as text.
pub(super) fn read(context: &Context, params: mcp::ResourceParams<'_>) -> Result<Outcome, Failure> {
    let uri = params.uri.to_owned();
    let era = context.era;
    let view = context.view();
    if let Some(found) = find(&view, &uri) {
        return Outcome::run_or_defer(found.layer, move || contents(&found, &uri, era));
    }
    if !view.has_team() {
        return Err(not_found(&uri));
    }
    Ok(Outcome::Deferred(Box::new(move || {
        let found = find_new(&view, &uri).ok_or_else(|| not_found(&uri))?;
        contents(&found, &uri, era)
    })))
}

/// Returns the result of `resources/read`: the text of a prompt's file, and its revision.
fn contents(found: &Found, uri: &str, era: Era) -> Result<Json, Failure> {
    let text = found.text().map_err(Failure::unavailable)?;
    let meta = meta(Revision::of_contents(text.as_bytes()));
    let contents =
        json!({ "contents": [{ "uri": uri, "mimeType": MIME_TYPE, "text": text, "_meta": meta }] });
    Ok(era.result(Json::from_text(contents.to_string()), Some(VOLATILE)))
}

/// Asks the team's server for the prompt with a URI, because no known prompt has it.
fn find_new(view: &View, uri: &str) -> Option<Found> {
    let name = names_from_uri(uri).into_iter().next()?;
    if view.refresh_for(&name) {
        find(view, uri)
    } else {
        None
    }
}

/// Finds the prompt with a URI.
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

/// Returns the metadata with the revision of a file (2025-06-18).
fn meta(revision: Revision) -> Value {
    json!({ "io.github.prompt-expander/revision": revision })
}

/// The maximum length of a description in lists, in characters. Some prompts have descriptions of
/// several thousand characters, and the whole list is passed to the model.
pub(super) const MAX_LISTED_DESCRIPTION: usize = 300;

/// Returns the description to show in lists. It starts with a
/// [label](crate::library::Layer::list_label) if the user didn't write the prompt.
pub(super) fn listed_description(found: &Found, own_description: Option<&str>) -> String {
    let shortened = own_description
        .map(|description| truncate_at_word(description, MAX_LISTED_DESCRIPTION).into_owned());
    let description = description_or_default(&found.name, shortened);
    format!("{}{description}", found.layer.list_label)
}

/// Returns the description of a prompt, or a default one, because some clients hide prompts without
/// a description.
pub(super) fn description_or_default(name: &str, own_description: Option<String>) -> String {
    own_description.unwrap_or_else(|| format!("The prompt {}", in_backticks(name)))
}

const SCHEME: &str = "prompt://";

/// The maximum length of a URI in bytes. Each byte of a name may be encoded as three.
const MAX_URI: usize = SCHEME.len() + 3 * MAX_NAME;

/// Creates the failure for a URI that belongs to no prompt.
pub(super) fn not_found(uri: &str) -> Failure {
    let text = format!("no resource {}; resources/list shows all", quoted(uri));
    Failure::new(FailureKind::UnknownResource, text).with_data(json!({ "uri": uri }))
}

/// Returns the URI of a prompt: `prompt://git/a%20b` for `git/a b`.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{}", encoded_path(name))
}

/// Returns the URI that identifies an attachment within a message. It can't be read on its own.
pub(super) fn uri_of_attachment(prompt: &str, attachment: &str) -> String {
    format!("{}?file={}", uri(prompt), encoded_path(attachment))
}

/// Returns the names that a URI may refer to, or none if it isn't a `prompt://` URI: `a b` and
/// `a%20b` for `prompt://a%20b`.
///
/// The undecoded text is also a candidate, because clients that fill in the template don't encode
/// what already looks encoded.
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
