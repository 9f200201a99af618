//! The team: its keys in the settings file.

use super::source_options::{TeamKeys, absolute};
use super::user_folders;
use crate::sources::{HeaderValue, SecretHeader, Team, normalize_base_url};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the team whose address is in the keys; `None` if there is no address. `folder` is the
/// folder of the settings file.
///
/// # Errors
/// The address cannot be used, other users may read the token, or the home directory is unknown.
pub(super) fn open(keys: TeamKeys, folder: &Path) -> Result<Option<Arc<Team>>, String> {
    let Some(url) = &keys.url else {
        return Ok(None);
    };
    let url = normalize_base_url(url.trim())
        .map_err(|problem| format!("`team` is not used: {problem}"))?;
    let mut headers = Vec::new();
    if let Some(value) = token(&keys, folder)? {
        headers.push(SecretHeader {
            name: "authorization".to_owned(),
            scheme: Some("Bearer".to_owned()),
            value,
        });
    }
    let Some(caches) = user_folders::system_cache() else {
        return Err("`team` is not used: the home directory is unknown".to_owned());
    };
    Ok(Some(Arc::new(Team::new(url, headers, &caches))))
}

/// Returns where the team's token is: in the environment variable that a key names, else in the
/// file that a key names or, without such a key, the file `team-token` in `folder`, the folder of
/// the settings file. `None` if there is no token.
///
/// # Errors
/// Other users may read the file, even if the token is in a variable.
fn token(keys: &TeamKeys, folder: &Path) -> Result<Option<HeaderValue>, String> {
    let Some(file) = token_file(keys, folder) else {
        return Ok(keys.token_variable.clone().map(HeaderValue::Variable));
    };
    if is_readable_by_others(&file) {
        return Err(
            "`team` is not used: other users may read its token; run `chmod 600` on the file"
                .to_owned(),
        );
    }
    match &keys.token_variable {
        Some(variable) => Ok(Some(HeaderValue::Variable(variable.clone()))),
        None => Ok(Some(HeaderValue::File(file))),
    }
}

/// Returns the file with the team's token: the one that a key names, else `team-token` in the
/// folder of the settings file, if it exists.
fn token_file(keys: &TeamKeys, folder: &Path) -> Option<PathBuf> {
    if let Some(file) = &keys.token_file {
        return Some(absolute(file));
    }
    let file = folder.join("team-token");
    if file.exists() { Some(file) } else { None }
}

/// Returns whether the permissions of a file let other users read, change or run it. A missing file
/// does not.
#[cfg(unix)]
fn is_readable_by_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = file.metadata() else {
        return false;
    };
    const GROUP_AND_OTHERS: u32 = 0o077;
    metadata.permissions().mode() & GROUP_AND_OTHERS != 0
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}
