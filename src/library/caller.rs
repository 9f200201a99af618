//! Who uses the library, what they may do, and which prompts they can see.

use crate::prompt::Name;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

/// The header that marks requests for the team layer of another machine. Such requests don't see
/// the server's own team layer, so that a server never asks itself.
pub const TEAM_HEADER: &str = "x-prompt-expander-team";

/// The sender of a request. Deliberately has no `Default`, because forgetting to set it would grant
/// rights.
///
/// ```compile_fail,E0599
/// prompt_expander::library::Caller::default();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The caller's token. `None` for the local user.
    pub token: Option<Token>,
    /// What the caller may do.
    pub role: Role,
    /// Limits which prompts the caller can see. `None` means all.
    pub prefix: Option<Prefix>,
    /// Whether the caller can see the team's prompts, which are fetched with the local user's
    /// token.
    pub sees_team: bool,
}

/// Identifies a token without containing it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token {
    /// The first half of the token's SHA-256 hash. It stays the same across restarts, and on every
    /// server that has this token.
    pub id: [u8; 16],
    /// The name of the token, for logs and users.
    pub name: Arc<str>,
}

/// Only writes the name, because the id would make it possible to guess a weak token.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// What a caller may do. Each role includes the previous ones.
///
/// ```compile_fail,E0599
/// prompt_expander::library::Role::default();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// List, read and expand prompts.
    Read,
    /// Also change prompts.
    Write,
    /// Also operate the server.
    Admin,
}

impl Caller {
    /// Returns the local user, who can see every prompt and do everything.
    pub fn local() -> Caller {
        Caller {
            token: None,
            role: Role::Admin,
            prefix: None,
            sees_team: true,
        }
    }
}

impl Role {
    /// All roles, in ascending order.
    pub const ALL: [Role; 3] = [Role::Read, Role::Write, Role::Admin];

    /// Returns the name of the role, as used in token files.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

/// A folder such as `team-a/` that a caller is limited to. Prompts keep their full names.
///
/// Only the name decides, in every source. So built-in prompts are never visible to such a caller,
/// and a visible prompt can only be overridden by another visible one. Whatever a visible prompt
/// includes or attaches is visible as part of it, because the author of the prompt chose to share
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Parses a prefix such as `team-a/`.
    ///
    /// # Errors
    /// Fails if it isn't a valid folder followed by a slash. The error is a clause for a message.
    pub fn new(text: &str) -> Result<Prefix, &'static str> {
        // Without the slash, `team` would also match `team-b/` and `teamwork`, probably by mistake.
        let Some(folder) = text.strip_suffix('/') else {
            return Err("must end in a slash, such as `team-a/`");
        };
        if Name::new(folder).is_err() {
            return Err("must be a folder of prompts, such as `team-a/`");
        }
        Ok(Prefix(text.into()))
    }

    /// Returns whether the caller can see the prompt with this name.
    pub fn contains(&self, name: &str) -> bool {
        name.starts_with(&*self.0)
    }

    /// Returns whether the caller may see some prompts in `folder`, which is `""` or ends with a
    /// slash. For the prefix `team-a/`, these are the folders inside it, such as `team-a/git/`, and
    /// those that contain it.
    pub(crate) fn overlaps(&self, folder: &str) -> bool {
        folder.starts_with(&*self.0) || self.0.starts_with(folder)
    }

    /// Returns whether a file is in this folder below `prompts_folder`. `target` is the path of the
    /// file without symlinks.
    pub(crate) fn has_file(&self, prompts_folder: &Path, target: &Path) -> bool {
        match fs::canonicalize(prompts_folder.join(self.folder())) {
            Ok(prefix_folder) => target.starts_with(prefix_folder),
            Err(_) => false, // the folder doesn't exist
        }
    }

    /// Returns the prefix without its trailing slash: `team-a`.
    pub(crate) fn folder(&self) -> &str {
        self.0.trim_end_matches('/')
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
