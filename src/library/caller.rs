//! Who uses the library: what a caller may do, and which prompts exist for them.

use crate::prompt::Name;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, fs};

/// The header of a request by which the team layer of another machine asks. It sees no team layer,
/// so that a server cannot ask itself.
pub const TEAM_HEADER: &str = "x-prompt-expander-team";

/// Who sent a message. There is no default: it would grant rights to whoever was forgotten.
///
/// ```compile_fail,E0599
/// prompt_expander::library::Caller::default();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The token of the caller; `None` for the user of this machine.
    pub token: Option<Token>,
    /// What the caller may do.
    pub role: Role,
    /// Which prompts exist for the caller; `None` if all do.
    pub prefix: Option<Prefix>,
    /// Whether the prompts of the team exist for the caller. They are fetched with the token of the
    /// user of this machine.
    pub sees_team: bool,
}

/// Says which token somebody has, without the token itself.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Token {
    /// The first half of the SHA-256 of the token: the same after a restart, and on every server
    /// with this token.
    pub id: [u8; 16],
    /// The name of the token, for logs and people.
    pub name: Arc<str>,
}

/// Writes the name alone: with the id, a weak token can be guessed.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// What a caller may do. Each role includes those before it.
///
/// ```compile_fail,E0599
/// prompt_expander::library::Role::default();
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// To list, read and expand prompts.
    Read,
    /// To change prompts, too.
    Write,
    /// To operate the server, too.
    Admin,
}

impl Caller {
    /// Returns the user of this machine, for whom all prompts exist and who may do everything.
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
    /// All roles, the least first.
    pub const ALL: [Role; 3] = [Role::Read, Role::Write, Role::Admin];

    /// Returns the name of the role in a token file.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Write => "write",
            Role::Admin => "admin",
        }
    }
}

/// A folder such as `team-a/`: only the prompts whose names begin with it exist for a caller, under
/// these whole names.
///
/// The name alone decides, in all sources: a built-in prompt has no such name, and a prompt that is
/// there for the caller is overridden only by one that is there for them, too. What a prompt
/// includes or attaches is part of it, wherever that file is: who wrote the prompt has decided so.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Parses a prefix such as `team-a/`.
    ///
    /// # Errors
    /// The text is not a folder of prompts with a slash after it. The reason is a clause for a
    /// person.
    pub fn new(text: &str) -> Result<Prefix, &'static str> {
        // Without a slash, `team` would include `team-b/` and `teamwork`, which is hardly meant.
        let Some(folder) = text.strip_suffix('/') else {
            return Err("must end in a slash, such as `team-a/`");
        };
        if Name::new(folder).is_err() {
            return Err("must be a folder of prompts, such as `team-a/`");
        }
        Ok(Prefix(text.into()))
    }

    /// Returns whether the prompt of this name exists for the caller.
    pub fn contains(&self, name: &str) -> bool {
        name.starts_with(&*self.0)
    }

    /// Returns whether some prompts of a folder may exist for the caller. `folder` ends with a
    /// slash, and is empty for the folder of all prompts.
    ///
    /// For the prefix `team-a/`, these are the folders in it, such as `team-a/git/`, and the
    /// folders that contain it.
    pub(crate) fn overlaps(&self, folder: &str) -> bool {
        folder.starts_with(&*self.0) || self.0.starts_with(folder)
    }

    /// Returns whether a file is in the folder of this prefix below `prompts_folder`. `target` is
    /// the path of the file without symlinks.
    pub(crate) fn has_file(&self, prompts_folder: &Path, target: &Path) -> bool {
        match fs::canonicalize(prompts_folder.join(self.folder())) {
            Ok(prefix_folder) => target.starts_with(prefix_folder),
            // There is no such folder, so it has no file.
            Err(_) => false,
        }
    }

    /// Returns the prefix without its final slash: `team-a` for `team-a/`.
    pub(crate) fn folder(&self) -> &str {
        self.0.trim_end_matches('/')
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
