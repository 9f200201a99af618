//! The options that select a database of prompts.

use super::redacting_parser::RedactingParser;
use crate::sources::Address;
use crate::transport::http::secret_file::GuardedFile;
use anyhow::Context;
use clap::Args;
use std::env;
use std::path::{Path, PathBuf};

/// The environment variable that contains the address of the database.
const ADDRESS_VARIABLE: &str = "PROMPT_EXPANDER_STORE";

/// The environment variable that contains the path of a password file. PostgreSQL's own programs
/// use it, too.
const PASSWORD_FILE_VARIABLE: &str = "PGPASSFILE";

// No doc comment, because clap would print it.
#[derive(Debug, Default, Args)]
pub(super) struct StoreOptions {
    /// Use the prompts in this PostgreSQL database instead of prompts in folders, and read no
    /// settings file
    ///
    /// Don't put a password into this option, where other users of the machine could see it. Put
    /// the password into a file, and its path into the environment variable PGPASSFILE. Or put the
    /// whole address into the environment variable PROMPT_EXPANDER_STORE, or into a file for
    /// --store-file.
    #[arg(long, value_name = "URL", value_parser = RedactingParser(parse_store_address), conflicts_with = "store_file")]
    store: Option<Address>,
    /// Read the address of the database from this file, which must be readable only by you
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    store_file: Option<PathBuf>,
}

/// Parses a value of `--store`, e.g. `postgres://user@host/database`.
///
/// # Errors
/// Fails if the address is invalid, or contains a password, which other users could see in the
/// process list.
fn parse_store_address(text: &str) -> Result<Address, String> {
    let address = Address::parse(text)?;
    if address.has_password() {
        return Err(format!(
            "others can see a password there; give the address in {ADDRESS_VARIABLE} or --store-file"
        ));
    }
    Ok(address)
}

impl StoreOptions {
    /// Returns the address of the selected database, including its password from PGPASSFILE.
    ///
    /// # Errors
    /// Fails if no database is selected, or its address can't be read or parsed.
    pub(super) fn required_address(&self) -> anyhow::Result<Address> {
        let address = self.selected_address().map_err(anyhow::Error::msg)?;
        address.context("no store is given; choose one with --store URL")
    }

    /// Returns the address of the database to read prompts from, including its password from
    /// PGPASSFILE. Returns `None` if the prompts come from folders.
    ///
    /// `has_folders` says whether `--prompts` was passed. If so, the environment variable with an
    /// address is ignored.
    ///
    /// # Errors
    /// Fails if the address can't be read or parsed, or `--store` was passed along with
    /// `--prompts`.
    pub(super) fn address(&self, has_folders: bool) -> Result<Option<Address>, String> {
        if !has_folders {
            return self.selected_address();
        }
        let has_options = self.store.is_some() || self.store_file.is_some();
        if has_options {
            return Err("--store and --prompts exclude each other; leave out one".to_owned());
        }
        Ok(None)
    }

    /// Returns the address of the selected database, including its password from PGPASSFILE.
    /// Returns `None` if no database is selected.
    fn selected_address(&self) -> Result<Option<Address>, String> {
        let Some(address) = self.address_without_password()? else {
            return Ok(None);
        };
        let Some(password_file) = env::var_os(PASSWORD_FILE_VARIABLE) else {
            return Ok(Some(address));
        };
        let passwords = read_guarded_file(Path::new(&password_file), "file of PGPASSFILE")?;
        Ok(Some(address.with_passwords(&passwords)))
    }

    /// Returns the address from `--store`, `--store-file` or the environment variable, in this
    /// order of precedence. Doesn't read PGPASSFILE.
    fn address_without_password(&self) -> Result<Option<Address>, String> {
        if let Some(address) = &self.store {
            return Ok(Some(address.clone()));
        }
        if let Some(file) = &self.store_file {
            let url = read_guarded_file(file, "file of --store-file")?;
            return parse_address(&url, "--store-file").map(Some);
        }
        match env::var(ADDRESS_VARIABLE) {
            Ok(url) if !url.is_empty() => parse_address(&url, ADDRESS_VARIABLE).map(Some),
            _ => Ok(None),
        }
    }
}

/// Reads a file that contains a secret. In errors, the file is called `title`.
///
/// # Errors
/// Fails if the file can't be read, isn't UTF-8, or can be read by other users.
fn read_guarded_file(path: &Path, title: &str) -> Result<String, String> {
    let file = GuardedFile {
        path,
        title,
        repair: "it must be a text",
    };
    let bytes = file.read_secret()?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}

/// Parses the address of a database. An error begins with `origin`, e.g. `--store-file`.
fn parse_address(url: &str, origin: &str) -> Result<Address, String> {
    Address::parse(url).map_err(|problem| format!("{origin} is not valid: {problem}"))
}
