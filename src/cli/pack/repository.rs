//! The repository that a user names for `pack add`.

use crate::cli::output::display_path;
use crate::cli::source_options::absolute;
use crate::sources::pack::pack_lock::parse_folder;
use crate::wording::in_backticks;
use anyhow::{bail, ensure};
use std::path::Path;

/// A page of a web site such as GitHub or GitLab that shows a folder or a file of a repository.
struct WebPage<'a> {
    /// The address of the repository, e.g. `https://github.com/acme/prompts`.
    repository: &'a str,
    /// The branch, tag or commit.
    reference: &'a str,
    /// The folder that the page shows, or the folder with the file. Empty for the whole repository.
    folder: &'a str,
}

/// How web sites separate the address of a repository from a folder or file in it, which follows
/// with its branch, as in `https://github.com/acme/prompts/tree/main/git`. Longer ones come first.
const WEB_SEPARATORS: [&str; 6] = [
    "/-/tree/",
    "/-/blob/",
    "/src/branch/",
    "/src/tag/",
    "/tree/",
    "/blob/",
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

/// Fails if an address is one of a [`WebPage`]. The error says which command is meant.
fn check_web_page(address: &str) -> anyhow::Result<()> {
    let Some(page) = parse_web_page(address) else {
        return Ok(());
    };
    let mut command = format!(
        "prompt-expander pack add {} --ref {}",
        page.repository, page.reference
    );
    if !page.folder.is_empty() {
        command += " --path ";
        command += page.folder;
    }
    bail!(
        "{} is the address of a web page, not of a repository; use {}",
        in_backticks(address),
        in_backticks(&command)
    )
}

/// Parses the address of a page that shows a folder or a file of a repository. Returns `None` if it
/// is not one.
fn parse_web_page(address: &str) -> Option<WebPage<'_>> {
    let address = address.split(['?', '#']).next()?; // e.g. `#L3` for a line
    for separator in WEB_SEPARATORS {
        let Some((repository, shown)) = address.split_once(separator) else {
            continue;
        };
        let (_, host_and_path) = repository.split_once("://")?;
        // A repository has an owner and a name, so `https://a.example/tree/x` is not a page.
        if host_and_path.split('/').count() < 3 {
            return None;
        }
        let shown = shown.trim_end_matches('/');
        let (reference, path) = shown.split_once('/').unwrap_or((shown, ""));
        let is_file = separator.ends_with("/blob/");
        let folder = if is_file {
            path.rsplit_once('/').map_or("", |(folder, _)| folder)
        } else {
            path
        };
        return Some(WebPage {
            repository,
            reference,
            folder,
        });
    }
    None
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
