//! The repository that a user names for `pack add`.

use crate::cli::output::display_path;
use crate::cli::source_options::absolute;
use crate::sources::pack::pack_lock::parse_folder;
use crate::wording::in_backticks;
use anyhow::{bail, ensure};
use std::path::Path;

/// A page of a web site such as GitHub or GitLab that shows a folder or a file of a repository.
struct WebPage {
    /// The address of the repository, e.g. `https://github.com/acme/prompts`.
    repository: String,
    /// The branch, tag or commit.
    reference: String,
    /// The folder that the page shows, or the folder with the file. Empty for the whole repository.
    folder: String,
}

/// What a page shows. After the address of the repository, its own address has a separator, a
/// branch, and the path of what it shows, as in `…/tree/main/git`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PageKind {
    Folder,
    File,
}

/// What web sites write between the address of a repository and the branch.
const PAGE_SEPARATORS: [(&str, PageKind); 5] = [
    ("/-/tree/", PageKind::Folder),
    ("/src/branch/", PageKind::Folder),
    ("/tree/", PageKind::Folder),
    ("/-/blob/", PageKind::File),
    ("/blob/", PageKind::File),
];

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

/// Fails if an address is one of a [`WebPage`]. The error says what is meant.
fn check_web_page(address: &str) -> anyhow::Result<()> {
    let Some(page) = parse_web_page(address) else {
        return Ok(());
    };
    let mut words = vec!["prompt-expander", "pack", "add", &page.repository];
    words.extend(["--ref", &page.reference]);
    if !page.folder.is_empty() {
        words.extend(["--path", &page.folder]);
    }
    let command = shlex::try_join(words)?;
    bail!(
        "{} is the address of a web page, not of a repository; use {}",
        in_backticks(address),
        in_backticks(&command)
    )
}

/// Parses the address of a page with one of the [`PAGE_SEPARATORS`]. The first one in the address
/// counts. Returns `None` if there is none, or no repository before it.
fn parse_web_page(address: &str) -> Option<WebPage> {
    let page = address.split(['?', '#']).next()?; // e.g. `#L3` for a line
    let mut first: Option<WebPage> = None;
    for (separator, kind) in PAGE_SEPARATORS {
        let Some((repository, shown)) = page.split_once(separator) else {
            continue;
        };
        let length = repository.len();
        if first
            .as_ref()
            .is_none_or(|first| length < first.repository.len())
        {
            first = Some(WebPage::new(repository, kind, shown));
        }
    }
    first.filter(|page| is_repository_url(&page.repository))
}

/// Returns whether an address has a site, an owner and a name, unlike `https://a.example`.
fn is_repository_url(address: &str) -> bool {
    match address.split_once("://") {
        Some(("https" | "http", path)) => path.split('/').count() >= 3,
        _ => false,
    }
}

impl WebPage {
    /// Creates the page of a repository that shows e.g. `main/git`, a branch and a folder.
    fn new(repository: &str, kind: PageKind, shown: &str) -> WebPage {
        let shown = shown.trim_end_matches('/');
        let (reference, mut folder) = shown.split_once('/').unwrap_or((shown, ""));
        if kind == PageKind::File {
            folder = folder.rsplit_once('/').map_or("", |(folder, _)| folder);
        }
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
            (
                format!("{page}/blob/main/tree/a b/c.md"),
                format!("{repository} --ref main --path 'tree/a b'`"),
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
