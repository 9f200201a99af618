//! The team: its keys in the settings file.

use super::source::absolute;
use super::user_folders;
use crate::sources::{HeaderValue, SecretHeader, Team, check_base};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

// The keys of the team. There are no options of these names.
#[derive(Debug, Default, Args)]
pub(super) struct TeamKeys {
    #[arg(long, value_name = "URL")]
    pub(super) team: Option<String>,
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    team_token_file: Option<PathBuf>,
    #[arg(long, value_name = "NAME")]
    team_token_env: Option<String>,
}

impl TeamKeys {
    /// The team, if there is one. `folder`: that of the settings file.
    ///
    /// # Errors
    /// Why its address cannot be used.
    pub(super) fn team(self, folder: &Path) -> Result<Option<Arc<Team>>, String> {
        let Some(url) = self.team else {
            return Ok(None);
        };
        let url = check_base(url.trim()).map_err(|why| format!("`team` is not used: {why}"))?;
        let file = self.team_token_file.map(|path| absolute(&path));
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
        let value = self
            .team_token_env
            .map(HeaderValue::Variable)
            .or(file.map(HeaderValue::File));
        let header = |value| SecretHeader {
            name: "authorization".to_owned(),
            scheme: Some("Bearer".to_owned()),
            value,
        };
        let token = value.map(header).into_iter().collect();
        let caches = user_folders::system_cache()
            .ok_or("`team` is not used: the home directory is unknown")?;
        Ok(Some(Arc::new(Team::new(url, token, &caches))))
    }
}
