//! The files of a client that name servers or hooks, each read once.

use super::{Client, Config, ConfigError, Hook, Scope, Surroundings, is_same_file};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a client has on disk that says something of servers or hooks.
#[derive(Debug)]
pub struct Files<'s> {
    /// Whose they are.
    pub client: Client,
    surroundings: &'s Surroundings,
    /// Those that are there, or why one cannot be read.
    read: BTreeMap<PathBuf, Result<Config, ConfigError>>,
}

impl Client {
    /// Reads its files, those of the user and those of the project.
    pub fn read_files(self, surroundings: &Surroundings) -> Files<'_> {
        let mut read = BTreeMap::new();
        // In the home directory, what would be the project's is the user's.
        for scope in [Scope::User, Scope::Project] {
            let configs = self.configs(scope, surroundings).into_iter().map(|path| (path, self.syntax()));
            let settings = self.hook_files(scope, surroundings).into_iter().map(|path| (path, self.hook_syntax()));
            for (path, syntax) in configs.chain(settings) {
                if !read.contains_key(&path)
                    && let Some(config) = Config::read_as(syntax, self, scope, path.clone()).transpose()
                {
                    read.insert(path, config);
                }
            }
        }
        Files { client: self, surroundings, read }
    }
}

impl Files<'_> {
    /// The file of this path, if it is one of them and is there.
    pub(super) fn at(&self, path: &Path) -> Option<Result<&Config, &ConfigError>> {
        self.read.get(path).map(Result::as_ref)
    }

    /// Those that name servers in a scope, in the order of [`Client::configs`]; or why one cannot be read. Where the project's
    /// files are the user's, as in the home directory, they are only that.
    pub fn configs(&self, scope: Scope) -> impl Iterator<Item = Result<&Config, &ConfigError>> {
        self.of_scope(scope, Client::configs)
    }

    /// The same of those that hold hooks and other settings. What goes before another comes first.
    pub fn settings(&self, scope: Scope) -> impl Iterator<Item = Result<&Config, &ConfigError>> {
        self.of_scope(scope, Client::hook_files)
    }

    fn of_scope(
        &self,
        scope: Scope,
        paths: fn(Client, Scope, &Surroundings) -> Vec<PathBuf>,
    ) -> impl Iterator<Item = Result<&Config, &ConfigError>> {
        let of = |scope| paths(self.client, scope, self.surroundings);
        let users = if scope == Scope::Project { of(Scope::User) } else { Vec::new() };
        let own = of(scope).into_iter().filter(move |path| !users.iter().any(|user| is_same_file(user, path)));
        own.filter_map(|path| self.at(&path))
    }

    /// The hooks in a scope that run our program, and why a file of hooks could not be read.
    pub(super) fn own_hooks(&self, scope: Scope) -> (Vec<Hook>, Vec<&ConfigError>) {
        let Some(event) = self.client.hook_event() else { return (Vec::new(), Vec::new()) };
        let (mut hooks, mut errors) = (Vec::new(), Vec::new());
        for read in self.settings(scope) {
            match read {
                Ok(config) => hooks.extend(config.hooks(event).into_iter().filter(Hook::is_ours)),
                Err(error) => errors.push(error),
            }
        }
        (hooks, errors)
    }

    /// Whether our hook is registered in this scope.
    pub fn has_hook(&self, scope: Scope) -> bool {
        !self.own_hooks(scope).0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The scopes of the servers, and of the hooks.
    fn scopes(home: &Path, project: &Path) -> (Vec<Scope>, Vec<Scope>) {
        let surroundings =
            Surroundings { home: Some(home.to_owned()), project: project.to_owned(), ..Surroundings::default() };
        let files = Client::GeminiCli.read_files(&surroundings);
        let both = || [Scope::Project, Scope::User].into_iter();
        let servers = both().flat_map(|scope| {
            let configs = files.configs(scope).flatten();
            configs.flat_map(|config| config.registrations(scope, &surroundings).unwrap()).collect::<Vec<_>>()
        });
        let hooks = both().flat_map(|scope| files.own_hooks(scope).0);
        (servers.map(|server| server.scope).collect(), hooks.map(|hook| hook.scope).collect())
    }

    #[test]
    fn what_would_be_the_projects_in_the_home_directory_is_the_users_and_only_that() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        let text = r#"{"mcpServers": {"prompts": {"command": "x"}},
            "hooks": {"BeforeAgent": [{"hooks": [{"command": "prompt-expander hook gemini"}]}]}}"#;
        for folder in [&home, &project] {
            fs::create_dir_all(folder.join(".gemini")).unwrap();
            fs::write(folder.join(".gemini/settings.json"), text).unwrap();
        }
        let both = vec![Scope::Project, Scope::User];
        assert_eq!(scopes(&home, &project), (both.clone(), both));
        assert_eq!(scopes(&home, &home), (vec![Scope::User], vec![Scope::User]));
        #[cfg(unix)]
        {
            let link = folder.path().join("link");
            std::os::unix::fs::symlink(&home, &link).unwrap();
            assert_eq!(scopes(&home, &link), (vec![Scope::User], vec![Scope::User]));
        }
    }

    #[test]
    fn one_file_says_what_is_the_users_everywhere_and_in_a_project() {
        let folder = tempfile::tempdir().unwrap();
        let text =
            r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"b": {"command": "y"}}}}}"#;
        fs::write(folder.path().join(".claude.json"), text).unwrap();
        let surroundings =
            Surroundings { home: Some(folder.path().to_owned()), project: "/p".into(), ..Surroundings::default() };
        let files = Client::ClaudeCode.read_files(&surroundings);
        for (scope, want) in [(Scope::User, "a"), (Scope::Local, "b")] {
            let config = files.configs(scope).next().unwrap().unwrap();
            let servers = config.registrations(scope, &surroundings).unwrap();
            let servers: Vec<_> = servers.iter().map(|server| (server.name.as_str(), server.scope)).collect();
            assert_eq!(servers, [(want, scope)]);
        }
        assert_eq!(files.read.len(), 1);
    }
}
