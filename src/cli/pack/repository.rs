//! The repository that a user names for `pack add`.

use crate::cli::output::display_path;
use crate::cli::source_options::absolute;
use crate::sources::pack::pack_lock::parse_folder;
use crate::wording::in_backticks;
use anyhow::{bail, ensure};
use percent_encoding::percent_decode_str;
use std::path::Path;

/// A page of a web site such as GitHub or GitLab that shows something in a repository.
struct WebPage {
    /// The address of the repository, e.g. `https://github.com/acme/prompts`.
    repository: String,
    /// The branch, tag or commit. Empty if the page is about none, as `…/issues` is.
    reference: String,
    /// The folder that the page shows, or the folder with the file. Empty for the whole repository.
    folder: String,
}

/// What a page shows, and so what its address ends with after the address of the repository.
#[derive(Clone, Copy)]
enum PageKind {
    /// Ends with a branch and a folder, as in `…/tree/main/git`.
    Folder,
    /// Ends with a branch and a file, as in `…/blob/main/git/commit.md`.
    File,
    /// Ends with a commit or a tag, as in `…/releases/tag/v1.0`.
    Version,
}

/// What web sites write between the address of a repository and the rest of the address of a page.
const PAGE_SEPARATORS: [(&str, PageKind); 16] = [
    ("/-/tree/", PageKind::Folder),
    ("/src/branch/", PageKind::Folder),
    ("/src/tag/", PageKind::Folder),
    ("/src/commit/", PageKind::Folder),
    ("/tree/", PageKind::Folder),
    ("/-/blob/", PageKind::File),
    ("/-/raw/", PageKind::File),
    ("/raw/branch/", PageKind::File),
    ("/blob/", PageKind::File),
    ("/raw/", PageKind::File),
    ("/-/commit/", PageKind::Version),
    ("/-/tags/", PageKind::Version),
    ("/-/releases/", PageKind::Version),
    ("/releases/tag/", PageKind::Version),
    ("/commit/", PageKind::Version),
    ("/commits/", PageKind::Version),
];

/// Has the files of the repositories on GitHub, as in `…/acme/prompts/main/git/commit.md`.
const GITHUB_FILES: &str = "https://raw.githubusercontent.com/";

/// The sites where a repository has an owner and a name, and all longer addresses are pages.
const SITES_OF_OWNERS: [&str; 3] = ["github.com", "codeberg.org", "bitbucket.org"];

/// Returns the address for git of the repository that the user has named. The path of a local
/// folder becomes absolute.
///
/// # Errors
/// The address is one of a web page, or there is no such folder: the error says which address is
/// probably meant. Or a local folder isn't a git repository.
pub(super) fn full_address(address: &str) -> anyhow::Result<String> {
    check_web_page(address)?;
    let path = absolute(Path::new(address));
    if address.contains("://") {
        return Ok(address.to_owned());
    }
    if path.is_dir() {
        // A bare repository has `HEAD` at its root.
        let is_repository = path.join(".git").exists() || path.join("HEAD").exists();
        ensure!(
            is_repository,
            "{} is not a git repository; to use its prompts as they are, add the folder to `prompts` in config.toml",
            display_path(&path)
        );
        return Ok(path.to_string_lossy().into_owned());
    }
    let is_ssh_address = address.contains(':'); // as in `git@host:acme/prompts`
    if is_ssh_address || path.exists() {
        return Ok(address.to_owned());
    }
    let named = in_backticks(address);
    let Some(url) = probable_url(address) else {
        bail!(
            "there is no folder {named}; name the address of a repository, such as `https://github.com/acme/prompts`"
        );
    };
    check_web_page(&url)?;
    bail!("there is no folder {named}; did you mean `prompt-expander pack add {url}`?")
}

/// Returns the URL that is probably meant by an address without a scheme: `https://a.example/x` for
/// `a.example/x`, and `https://github.com/acme/prompts` for `acme/prompts`. Returns `None` if it
/// looks like neither.
fn probable_url(address: &str) -> Option<String> {
    let address = address.trim_end_matches('/');
    let (first, rest) = address.split_once('/')?;
    if first.is_empty() || rest.is_empty() || first.starts_with(['.', '~']) {
        return None; // a path such as `../prompts`
    }
    if first.contains('.') {
        return Some(format!("https://{address}"));
    }
    if rest.contains('/') {
        return None; // an owner and a repository are two words
    }
    Some(format!("https://github.com/{address}"))
}

/// Fails if an address is one of a [`WebPage`] or of an owner. The error says what is meant.
fn check_web_page(address: &str) -> anyhow::Result<()> {
    let problem = format!(
        "{} is the address of a web page, not of a repository",
        in_backticks(address)
    );
    ensure!(
        !is_owner_page(address),
        "{problem}; name the address of a repository, such as `https://github.com/acme/prompts`"
    );
    let Some(page) = parse_web_page(address) else {
        return Ok(());
    };
    let mut words = vec!["prompt-expander", "pack", "add", &page.repository];
    if !page.reference.is_empty() {
        words.extend(["--ref", &page.reference]);
    }
    if !page.folder.is_empty() {
        words.extend(["--path", &page.folder]);
    }
    let command = shlex::try_join(words)?;
    bail!("{problem}; use {}", in_backticks(&command))
}

/// Returns the parts of a web address without its query and fragment: `github.com`, `acme` and
/// `prompts` for `https://github.com/acme/prompts/?tab=readme`. Other addresses have no parts.
fn web_address_parts(address: &str) -> Vec<&str> {
    let web_address = address
        .strip_prefix("https://")
        .or_else(|| address.strip_prefix("http://"))
        .unwrap_or_default();
    let end = web_address.find(['?', '#']).unwrap_or(web_address.len());
    let parts = web_address[..end].split('/');
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns `true` if an address is one of a site's front page, or of a page about an owner of
/// repositories, e.g. `https://github.com/acme` or `https://github.com/orgs/acme/people`.
fn is_owner_page(address: &str) -> bool {
    match web_address_parts(address).as_slice() {
        [site] | [site, _] => SITES_OF_OWNERS.contains(site) || *site == "gitlab.com",
        ["github.com", "orgs", ..] => true,
        _ => false,
    }
}

/// Parses the address of a page about a repository. Returns `None` if it is not one.
fn parse_web_page(address: &str) -> Option<WebPage> {
    let page = address.split(['?', '#']).next()?; // e.g. `#L3` for a line
    if let Some(path) = page.strip_prefix(GITHUB_FILES) {
        let mut parts = path.splitn(3, '/');
        let repository = format!("https://github.com/{}/{}", parts.next()?, parts.next()?);
        return Some(WebPage::new(&repository, PageKind::File, parts.next()?));
    }
    if let Some(page) = parse_page_with_version(page) {
        return Some(page);
    }
    let parts = web_address_parts(address);
    let site = *parts.first()?;
    let repository = if SITES_OF_OWNERS.contains(&site) && parts.len() > 3 {
        format!("https://{}", parts[..3].join("/"))
    } else if let Some((repository, _)) = page.split_once("/-/") {
        repository.to_owned() // on GitLab, e.g. `…/-/issues`
    } else if page != address {
        page.to_owned() // e.g. `…?tab=readme`
    } else {
        return None;
    };
    Some(WebPage::new(&repository, PageKind::Version, ""))
}

/// Parses the address of a page with one of the [`PAGE_SEPARATORS`]. The first one in the address
/// counts. Returns `None` if there is none, or no repository before it.
fn parse_page_with_version(page: &str) -> Option<WebPage> {
    let mut first: Option<WebPage> = None;
    for (separator, kind) in PAGE_SEPARATORS {
        let Some((repository, shown)) = page.split_once(separator) else {
            continue;
        };
        let found = WebPage::new(repository, kind, shown);
        if first
            .as_ref()
            .is_none_or(|first| found.repository.len() < first.repository.len())
        {
            first = Some(found);
        }
    }
    // A repository has an owner and a name, so `https://a.example/tree/x` is not a page.
    first.filter(|page| web_address_parts(&page.repository).len() >= 3)
}

impl WebPage {
    /// Creates the page of a repository that shows e.g. `main/git`, a branch and a folder. It is
    /// percent-encoded, so `main/my%20prompts` is the folder `my prompts`.
    fn new(repository: &str, kind: PageKind, shown: &str) -> WebPage {
        let shown = percent_decode_str(shown.trim_end_matches('/')).decode_utf8_lossy();
        // Links to a file on GitHub may have the full name of a branch, `refs/heads/main`.
        let shown = shown
            .strip_prefix("refs/heads/")
            .or_else(|| shown.strip_prefix("refs/tags/"))
            .unwrap_or(&shown);
        let (first, rest) = shown.split_once('/').unwrap_or((shown, ""));
        let (reference, folder) = match kind {
            PageKind::Folder => (first, rest),
            PageKind::File => (
                first,
                rest.rsplit_once('/').map_or("", |(folder, _)| folder),
            ),
            PageKind::Version => (shown, ""), // a tag may contain a slash
        };
        WebPage {
            repository: repository.to_owned(),
            reference: reference.to_owned(),
            folder: folder.to_owned(),
        }
    }
}

/// Checks the folder that a user has typed, and returns it as the lock has it: `prompts` for
/// `./prompts/`. For `.`, returns an empty text, which stands for the whole repository.
///
/// # Errors
/// The folder isn't inside the repository.
pub(super) fn parse_typed_folder(text: &str) -> Result<String, String> {
    let folder = text.trim_start_matches("./").trim_end_matches('/');
    let is_whole_repository = text.starts_with('.') && matches!(folder, "" | ".");
    if is_whole_repository {
        return Ok(String::new());
    }
    parse_folder(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_probably_meant_otherwise_is_refused_with_the_command() {
        let repository = "prompt-expander pack add https://github.com/acme/prompts";
        let with_path = format!("{repository} --ref main --path prompts/git`");
        let page = "https://github.com/acme/prompts";
        for (address, want) in [
            (format!("{page}/tree/main/prompts/git"), with_path.clone()),
            (format!("{page}/tree/main/prompts/git/"), with_path.clone()),
            (
                format!("{page}/blob/main/prompts/git/a.md#L3"),
                with_path.clone(),
            ),
            (
                format!("{page}/-/tree/main/prompts/git?x=y"),
                with_path.clone(),
            ),
            (
                format!("{page}/-/blob/main/prompts/git/a.md"),
                with_path.clone(),
            ),
            (
                format!("{page}/src/branch/main/prompts/git"),
                with_path.clone(),
            ),
            (
                "github.com/acme/prompts/tree/main/prompts/git".to_owned(),
                with_path,
            ),
            (format!("{page}/tree/v2"), format!("{repository} --ref v2`")),
            (
                format!("{page}/blob/v2/a.md"),
                format!("{repository} --ref v2`"),
            ),
            (format!("{page}/pull/3"), format!("use `{repository}`")),
            (format!("{page}/issues"), format!("use `{repository}`")),
            (format!("{page}?tab=readme"), format!("use `{repository}`")),
            (format!("{page}#readme"), format!("use `{repository}`")),
            (
                format!("{page}/-/merge_requests/3"),
                format!("use `{repository}`"),
            ),
            (
                format!("{page}/commit/abc"),
                format!("{repository} --ref abc`"),
            ),
            (
                format!("{page}/releases/tag/v1.0"),
                format!("{repository} --ref v1.0`"),
            ),
            (
                format!("{page}/blob/main/tree/a%20b/c.md"),
                format!("{repository} --ref main --path 'tree/a b'`"),
            ),
            (
                "https://raw.githubusercontent.com/acme/prompts/refs/heads/main/git/a.md"
                    .to_owned(),
                format!("{repository} --ref main --path git`"),
            ),
            (
                "https://github.com/acme".to_owned(),
                "is the address of a web page, not of a repository; name the".to_owned(),
            ),
            (
                "https://github.com/orgs/acme/repositories".to_owned(),
                "is the address of a web page, not of a repository; name the".to_owned(),
            ),
            (
                "acme/prompts".to_owned(),
                format!("did you mean `{repository}`?"),
            ),
            (
                "github.com/acme/prompts/".to_owned(),
                format!("did you mean `{repository}`?"),
            ),
            (
                "./nowhere/x".to_owned(),
                "such as `https://github.com/acme/prompts`".to_owned(),
            ),
            (
                "nowhere".to_owned(),
                "such as `https://github.com/acme/prompts`".to_owned(),
            ),
        ] {
            let error = full_address(&address).unwrap_err().to_string();
            assert!(error.contains(&want), "{address}: {error}");
        }
        for address in [
            "https://a.example/tree/x",
            "https://a.example/x",
            "https://github.com/acme/prompts/",
            "https://gitlab.com/acme/team/issues",
            "git@host:acme/prompts.git",
            "file:///a/b/tree.git",
        ] {
            assert_eq!(full_address(address).unwrap(), address);
        }
    }

    #[test]
    fn a_typed_folder_may_begin_with_a_dot_and_end_with_a_slash() {
        for (typed, want) in [
            ("prompts", Some("prompts")),
            ("prompts/", Some("prompts")),
            ("./prompts", Some("prompts")),
            ("./a/b//", Some("a/b")),
            (".", Some("")),
            ("./", Some("")),
            ("", None),
            ("/", None),
            ("/prompts", None),
            ("../x", None),
            ("a/../x", None),
        ] {
            assert_eq!(parse_typed_folder(typed).ok().as_deref(), want, "{typed}");
        }
    }
}
