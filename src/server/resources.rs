//! `resources/list`, `resources/templates/list` and `resources/read`: the Markdown of each prompt, as it is on disk.

use super::context::{Context, Failure, FailureKind};
use super::cursor::{self, Page};
use super::prompts::listed_description;
use super::uri;
use crate::library::{Found, Info};
use crate::mcp;
use crate::prompt::{Name, Revision};
use jiff::Timestamp;

/// RFC 6570: `+` means that `/` is not encoded.
pub(super) const TEMPLATE: &str = "prompt://{+name}";

/// The variable of the template.
pub(super) const VARIABLE: &str = "name";

const MIME_TYPE: &str = "text/markdown";

/// `resources/list`.
///
/// # Errors
/// The cursor is invalid.
pub(super) fn list(context: &Context, params: mcp::PaginatedParams<'_>) -> Result<mcp::ListResourcesResult, Failure> {
    let page = Page::requested("resources", context.shared.settings.page_size, params.cursor)?;
    let view = context.view();
    let (resources, next_cursor) = page.fill(&view.list().found, |found| &found.name, resource);
    Ok(mcp::ListResourcesResult { resources, next_cursor })
}

/// `None` for a broken file, and for a template that was not changed.
fn resource(found: &Found) -> Option<mcp::Resource> {
    let Info { summary, revision, size, modified } = found.info();
    let (name, summary) = (&found.name, summary.ok().filter(|summary| !summary.is_template)?);
    let modified = modified.and_then(|time| Timestamp::try_from(time).ok());
    Some(mcp::Resource {
        uri: uri::uri(name),
        name: name.to_string(),
        title: summary.title.clone(),
        description: listed_description(found, summary.description.as_deref()),
        mime_type: MIME_TYPE,
        size: size as usize,
        annotations: modified
            .map(|time| mcp::Annotations { last_modified: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() }),
        meta: revision.map(meta),
    })
}

/// `resources/templates/list`.
///
/// # Errors
/// There is a cursor.
pub(super) fn templates(
    _: &Context,
    params: mcp::PaginatedParams<'_>,
) -> Result<mcp::ListResourceTemplatesResult, Failure> {
    cursor::only_page(params)?;
    Ok(mcp::ListResourceTemplatesResult {
        resource_templates: [mcp::ResourceTemplate {
            uri_template: TEMPLATE,
            name: "prompt",
            title: "Prompt file",
            description: "The Markdown source of a prompt, by the prompt's name",
            mime_type: MIME_TYPE,
        }],
    })
}

/// `resources/read`. A file that is text but not a valid prompt can be read, so that it can be fixed.
///
/// # Errors
/// Those of [`uri::not_found`]; the file cannot be read as text.
pub(super) fn read(context: &Context, params: mcp::ResourceParams<'_>) -> Result<mcp::ReadResourceResult, Failure> {
    let (uri, view) = (params.uri, context.view());
    let found = uri::names(uri).into_iter().find_map(|name| view.get(&Name::new(&name).ok()?));
    let text = found
        .ok_or_else(|| uri::not_found(uri))?
        .text()
        .map_err(|problem| Failure::new(FailureKind::Unavailable, problem))?;
    let meta = Some(meta(Revision::of(text.as_bytes())));
    let contents = [mcp::TextResourceContents { uri: uri.to_owned(), mime_type: MIME_TYPE, text, meta }];
    Ok(mcp::ReadResourceResult { contents })
}

fn meta(revision: Revision) -> mcp::RevisionMeta {
    mcp::RevisionMeta { revision: revision.to_string() }
}
