//! Opens the connection to the team's server, which the settings file specifies.

use super::source_options::{TeamKeys, absolute};
use super::user_folders;
use crate::sources::{HeaderValue, SecretHeader, Team, normalize_base_url};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file with the token, next to the settings file.
pub(super) const TOKEN_FILE: &str = "team-token";

/// Opens the team that the settings file specifies. Returns `None` if it specifies none.
/// `settings_folder` contains the settings file.
///
/// # Errors
/// Fails if the address is invalid, other users can read the token, or the home directory is
/// unknown.
pub(super) fn open(keys: TeamKeys, settings_folder: &Path) -> Result<Option<Arc<Team>>, String> {
    let Some(url) = &keys.url else {
        return Ok(None);
    };
    let url = parse_url(url).map_err(|problem| format!("`team` is not used: {problem}"))?;
    let mut team = connection(url, token(&keys, settings_folder)?)
        .map_err(|problem| format!("`team` is not used: {problem}"))?;
    if let Some(mebibytes) = keys.cache_mebibytes {
        team = team.with_max_filled(mebibytes);
    }
    Ok(Some(Arc::new(team)))
}

/// Returns the base URL of a server whose address a person has written.
pub(super) fn parse_url(text: &str) -> Result<String, String> {
    let url = normalize_base_url(text.trim())?;
    // `serve --http` prints the address of its MCP endpoint, which people copy.
    Ok(url.strip_suffix("/mcp").unwrap_or(&url).to_owned())
}

/// Returns the connection to the server with this base URL, which is not used yet.
pub(super) fn connection(url: String, token: Option<HeaderValue>) -> Result<Team, String> {
    let mut headers = Vec::new();
    if let Some(value) = token {
        headers.push(SecretHeader {
            name: "authorization".to_owned(),
            scheme: Some("Bearer".to_owned()),
            value,
        });
    }
    let Some(caches) = user_folders::system_cache() else {
        return Err("the home directory is unknown".to_owned());
    };
    Ok(Team::new(url, headers, &caches))
}

/// Returns the source of the team's token: the environment variable in `team-token-env`, or else
/// the [`token_file`]. Returns `None` if there is neither.
///
/// # Errors
/// Fails if other users can read the file, even if the variable takes precedence.
fn token(keys: &TeamKeys, settings_folder: &Path) -> Result<Option<HeaderValue>, String> {
    let Some(file) = token_file(keys, settings_folder) else {
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

/// Returns the file in `team-token-file`, which defaults to `team-token` next to the settings file
/// if that exists.
fn token_file(keys: &TeamKeys, settings_folder: &Path) -> Option<PathBuf> {
    if let Some(file) = &keys.token_file {
        return Some(absolute(file));
    }
    let file = settings_folder.join(TOKEN_FILE);
    if file.exists() { Some(file) } else { None }
}

/// Returns whether the group or other users have any permissions on a file. Returns false if the
/// file doesn't exist.
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
