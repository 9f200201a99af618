//! `resources/list`, `resources/templates/list` and `resources/read`: the Markdown of each prompt,
//! as it is on disk.
//!
//! The URI of a prompt is `prompt://` and the name, percent-encoded (RFC 3986) except for `/`. A
//! URI is decoded to a name, which is then looked up in the library: no part of a URI is ever used
//! as a path.

use super::context::Context;
use super::era::FRESH;
use super::failure::{Failure, FailureKind};
use super::pagination::{self, Page};
use super::reply::Outcome;
use crate::jsonrpc::Json;
use crate::library::{Found, Info};
use crate::mcp;
use crate::prompt::{MAX_NAME, Name, Revision};
use crate::wording::{encoded_path, named, quoted, shortened};
use jiff::Timestamp;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

/// RFC 6570: `+` means that `/` is not encoded.
pub(super) const TEMPLATE: &str = "prompt://{+name}";

/// The variable of the template.
pub(super) const VARIABLE: &str = "name";

const MIME_TYPE: &str = "text/markdown";

/// `resources/list`.
///
/// # Errors
/// The cursor is invalid.
pub(super) fn list(
    context: &Context,
    params: mcp::PaginatedParams<'_>,
) -> Result<mcp::ListResourcesResult, Failure> {
    let page = Page::requested(
        "resources",
        context.shared.settings.page_size,
        params.cursor,
    )?;
    let view = context.view();
    let (resources, next_cursor) = page.fill(&view.list().found, |found| &found.name, resource);
    Ok(mcp::ListResourcesResult {
        resources,
        next_cursor,
    })
}

/// `None` for a broken file, and for a template that was not changed.
fn resource(found: &Found) -> Option<mcp::Resource> {
    let Info {
        summary,
        revision,
        size,
        modified,
    } = found.info();
    let (name, summary) = (
        &found.name,
        summary.ok().filter(|summary| !summary.is_unedited_draft)?,
    );
    let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
    Some(mcp::Resource {
        uri: uri(name),
        name: name.to_string(),
        title: summary.title.clone(),
        description: listed_description(found, summary.description.as_deref()),
        mime_type: MIME_TYPE,
        size: size as usize,
        annotations: modified
            .map(|time| json!({ "lastModified": time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() })),
        meta: revision.map(meta),
    })
}

/// `resources/templates/list`.
///
/// # Errors
/// There is a cursor.
pub(super) fn templates(_: &Context, params: mcp::PaginatedParams<'_>) -> Result<Value, Failure> {
    pagination::only_page(params)?;
    Ok(json!({ "resourceTemplates": [{
        "uriTemplate": TEMPLATE,
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
/// Those of [`not_found`]; the file cannot be read as text.
pub(super) fn read(context: &Context, params: mcp::ResourceParams<'_>) -> Result<Outcome, Failure> {
    let (uri, view, era) = (params.uri.to_owned(), context.view(), context.era);
    let found = names(&uri)
        .into_iter()
        .find_map(|name| view.get(&Name::new(&name).ok()?));
    let found = found.ok_or_else(|| not_found(&uri))?;
    Outcome::now_or_later(found.layer, move || {
        let text = found
            .text()
            .map_err(|problem| Failure::new(FailureKind::Unavailable, problem))?;
        let meta = meta(Revision::of(text.as_bytes()));
        let contents = json!({ "contents": [{ "uri": uri, "mimeType": MIME_TYPE, "text": text, "_meta": meta }] });
        Ok(era.result(Json::written(contents.to_string()), Some(FRESH)))
    })
}

/// Which content the file of a prompt has (2025-06-18).
fn meta(revision: Revision) -> Value {
    json!({ "io.github.prompt-expander/revision": revision })
}

/// The longest description in a list, in characters: some agents' prompts have descriptions of
/// several thousand, and the model gets the list whole.
pub(super) const MAX_LISTED_DESCRIPTION: usize = 300;

/// The description of a prompt in a list, which [marks](crate::library::Layer::mark) a project's
/// prompt and a remote one.
pub(super) fn listed_description(found: &Found, of_prompt: Option<&str>) -> String {
    let of_prompt =
        of_prompt.map(|description| shortened(description, MAX_LISTED_DESCRIPTION).into_owned());
    let description = description(&found.name, of_prompt);
    format!("{}{description}", found.layer.mark)
}

/// The description of a prompt, never empty, because some clients do not show a prompt without one.
pub(super) fn description(name: &str, description: Option<String>) -> String {
    description.unwrap_or_else(|| format!("The prompt {}", named(name)))
}

const SCHEME: &str = "prompt://";

/// The longest URI of a prompt, in bytes: each byte of its name may be encoded as three.
const MAX_URI: usize = SCHEME.len() + 3 * MAX_NAME;

/// The failure for a URI of no prompt.
pub(super) fn not_found(uri: &str) -> Failure {
    let text = format!("no resource {}; resources/list shows all", quoted(uri));
    Failure::new(FailureKind::UnknownResource, text).with_data(json!({ "uri": uri }))
}

/// The URI of the prompt with this name.
pub(super) fn uri(name: &str) -> String {
    format!("{SCHEME}{}", encoded_path(name))
}

/// The URI of an attachment, in a message; it cannot be read by itself.
pub(super) fn uri_of_attachment(prompt: &str, attachment: &str) -> String {
    format!("{}?file={}", uri(prompt), encoded_path(attachment))
}

/// The names that a URI may identify: the decoded text, and the text itself, because a client that
/// fills in the template does not encode what already looks encoded (`a%20b` in the name of a
/// file). None for a URI of another scheme.
pub(super) fn names(uri: &str) -> Vec<String> {
    let is_valid = |scheme: &&str| scheme.eq_ignore_ascii_case(SCHEME) && uri.len() <= MAX_URI;
    let Some(scheme) = uri.get(..SCHEME.len()).filter(is_valid) else {
        return Vec::new();
    };
    let text = &uri[scheme.len()..];
    let mut names: Vec<String> = percent_decode_str(text)
        .decode_utf8()
        .map(Into::into)
        .into_iter()
        .collect();
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
        assert_eq!(
            uri("Über 100%?#[x]:\"@"),
            "prompt://%C3%9Cber%20100%25%3F%23%5Bx%5D%3A%22%40"
        );
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
