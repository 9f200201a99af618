//! The team: its keys in the settings file.

use super::source::{TeamKeys, absolute};
use super::user_folders;
use crate::sources::{HeaderValue, SecretHeader, Team, check_base};
use std::path::Path;
use std::sync::Arc;

/// Returns the team that the keys name, if they name one. `folder` is that of the settings file.
///
/// # Errors
/// Why its address cannot be used.
pub(super) fn open(keys: TeamKeys, folder: &Path) -> Result<Option<Arc<Team>>, String> {
    let Some(url) = keys.url else {
        return Ok(None);
    };
    let url = check_base(url.trim()).map_err(|why| format!("`team` is not used: {why}"))?;
    let file = keys.token_file.map(|path| absolute(&path));
    let file = file.or_else(|| Some(folder.join("team-token")).filter(|file| file.exists()));
    #[cfg(unix)]
    if let Some(Ok(token)) = file.as_ref().map(std::fs::metadata)
        && std::os::unix::fs::PermissionsExt::mode(&token.permissions()) & 0o077 != 0
    {
        return Err(
            "`team` is not used: other users may read its token; run `chmod 600` on the file"
                .to_owned(),
        );
    }
    let value = keys
        .token_variable
        .map(HeaderValue::Variable)
        .or(file.map(HeaderValue::File));
    let token = value.map(|value| SecretHeader {
        name: "authorization".to_owned(),
        scheme: Some("Bearer".to_owned()),
        value,
    });
    let caches =
        user_folders::system_cache().ok_or("`team` is not used: the home directory is unknown")?;
    Ok(Some(Arc::new(Team::new(
        url,
        token.into_iter().collect(),
        &caches,
    ))))
}
