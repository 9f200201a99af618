//! The options that choose a database of prompts.

use super::unrepeated::Unrepeated;
use crate::sources::Address;
use crate::transport::http::secret_file::GuardedFile;
use anyhow::Context;
use clap::Args;
use std::env;
use std::path::{Path, PathBuf};

/// The environment variable with the address of the database.
const VARIABLE: &str = "PROMPT_EXPANDER_STORE";

/// The environment variable of PostgreSQL's own programs with the path of a file with passwords.
const PASSWORDS: &str = "PGPASSFILE";

// Which database has the prompts, instead of folders.
#[derive(Debug, Default, Args)]
pub(super) struct StoreOptions {
    /// Use the prompts in this PostgreSQL database instead of those in folders, and read no
    /// settings file
    ///
    /// Leave a password out of the address, where others could see it: write it into the file that
    /// PGPASSFILE names, or put the whole address into the environment variable
    /// PROMPT_EXPANDER_STORE or into the file of --store-file.
    #[arg(long, value_name = "URL", value_parser = Unrepeated(address_of_option), conflicts_with = "store_file")]
    store: Option<Address>,
    /// The file with the address of the database, which only you may read
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    store_file: Option<PathBuf>,
}

/// Parses the address of a database, as `--store` takes it: `postgres://user@host/database`.
///
/// # Errors
/// The address is not valid, or has a password, which other users could see in the list of
/// processes.
fn address_of_option(text: &str) -> Result<Address, String> {
    let address = Address::parse(text)?;
    if address.has_password() {
        return Err(format!(
            "others can see a password there; give the address in {VARIABLE} or --store-file"
        ));
    }
    Ok(address)
}

impl StoreOptions {
    /// Returns the address of the chosen database, with the password that PGPASSFILE has for it.
    ///
    /// # Errors
    /// No database is chosen, or its address cannot be read or parsed.
    pub(super) fn required(&self) -> anyhow::Result<Address> {
        let address = self.chosen_database().map_err(anyhow::Error::msg)?;
        address.context("no store is given; choose one with --store URL")
    }

    /// Returns the address of the database that has the prompts, with the password that PGPASSFILE
    /// has for it; `None` if the prompts are in folders. `has_folders` is whether --prompts is
    /// given, which counts more than the environment variable with a database.
    ///
    /// # Errors
    /// The address cannot be read or parsed, or both --store and --prompts are given.
    pub(super) fn address(&self, has_folders: bool) -> Result<Option<Address>, String> {
        if !has_folders {
            return self.chosen_database();
        }
        let has_options = self.store.is_some() || self.store_file.is_some();
        if has_options {
            return Err("--store and --prompts exclude each other; leave out one".to_owned());
        }
        Ok(None)
    }

    /// Returns the address of the chosen database, with the password that PGPASSFILE has for it;
    /// `None` if no database is chosen.
    ///
    /// # Errors
    /// The address, or the file of PGPASSFILE, cannot be read or parsed.
    fn chosen_database(&self) -> Result<Option<Address>, String> {
        let Some(address) = self.address_without_passwords()? else {
            return Ok(None);
        };
        let Some(password_file) = env::var_os(PASSWORDS) else {
            return Ok(Some(address));
        };
        let passwords = read_text(Path::new(&password_file), "file of PGPASSFILE")?;
        Ok(Some(address.with_passwords(&passwords)))
    }

    /// Returns the address in --store, else in the file of --store-file, else in the environment
    /// variable; `None` without all three. The passwords of PGPASSFILE are not in it yet.
    fn address_without_passwords(&self) -> Result<Option<Address>, String> {
        if let Some(address) = &self.store {
            return Ok(Some(address.clone()));
        }
        if let Some(file) = &self.store_file {
            let text = read_text(file, "file of --store-file")?;
            return parse_address(&text, "--store-file").map(Some);
        }
        match env::var(VARIABLE) {
            Ok(text) if !text.is_empty() => parse_address(&text, VARIABLE).map(Some),
            _ => Ok(None),
        }
    }
}

/// Reads a file that only the user may read. `title` is its name in errors: `file of PGPASSFILE`.
///
/// # Errors
/// The file cannot be read, others may read it, or it is not UTF-8.
fn read_text(path: &Path, title: &str) -> Result<String, String> {
    let file = GuardedFile {
        path,
        title,
        repair: "it must be a text",
    };
    let bytes = file.read_secret()?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}

/// Parses the address of a database. In an error, `origin` says where the address is:
/// `--store-file`.
fn parse_address(text: &str, origin: &str) -> Result<Address, String> {
    Address::parse(text).map_err(|problem| format!("{origin} is not valid: {problem}"))
}
