//! The team: its keys in the settings file.

use super::source::{TeamKeys, absolute};
use super::user_folders;
use crate::sources::{HeaderValue, SecretHeader, Team, check_base};
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
    let url = check_base(url.trim()).map_err(|problem| format!("`team` is not used: {problem}"))?;
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

/// Returns where the token is: in a variable that a key names, in a file that a key names, or in
/// the file `team-token` next to the settings file, if there is one.
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

fn token_file(keys: &TeamKeys, folder: &Path) -> Option<PathBuf> {
    if let Some(file) = &keys.token_file {
        return Some(absolute(file));
    }
    let file = folder.join("team-token");
    file.exists().then_some(file)
}

#[cfg(unix)]
fn is_readable_by_others(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    let Ok(metadata) = file.metadata() else {
        return false;
    };
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(not(unix))]
fn is_readable_by_others(_: &Path) -> bool {
    false
}
