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
    #[arg(long, value_name = "URL", value_parser = Unrepeated(address), conflicts_with = "store_file")]
    store: Option<Address>,
    /// The file with the address of the database, which only you may read
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    store_file: Option<PathBuf>,
}

/// Parses the address of a database, as `--store` takes it: without a password.
fn address(text: &str) -> Result<Address, String> {
    let address = Address::parse(text)?;
    if address.has_password() {
        return Err(format!(
            "others can see a password there; give the address in {VARIABLE} or --store-file"
        ));
    }
    Ok(address)
}

impl StoreOptions {
    /// Returns the database that is chosen, with the password that PGPASSFILE has for it.
    pub(super) fn required(&self) -> anyhow::Result<Address> {
        let address = self.address(false).map_err(anyhow::Error::msg)?;
        address.context("no store is given; choose one with --store URL")
    }

    /// Returns the database that is chosen, with the password that PGPASSFILE has for it; `None` if
    /// none is chosen. Folders that are given count more than the environment variable.
    ///
    /// # Errors
    /// The address cannot be read or parsed, or --prompts is given, too.
    pub(super) fn address(&self, has_folders: bool) -> Result<Option<Address>, String> {
        let is_given = self.store.is_some() || self.store_file.is_some();
        if has_folders && is_given {
            return Err("--store and --prompts exclude each other; leave out one".to_owned());
        }
        if has_folders {
            return Ok(None);
        }
        let Some(address) = self.address_without_passwords()? else {
            return Ok(None);
        };
        let Some(passwords) = env::var_os(PASSWORDS) else {
            return Ok(Some(address));
        };
        let passwords = read_text(Path::new(&passwords), "file of PGPASSFILE")?;
        Ok(Some(address.with_passwords(&passwords)))
    }

    /// Returns the address in --store, --store-file or the environment variable.
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

/// Reads a file that only the user may read. `title` is its name in errors.
fn read_text(path: &Path, title: &str) -> Result<String, String> {
    let file = GuardedFile {
        path,
        title,
        repair: "it must be a text",
    };
    let bytes = file.read_secret()?;
    String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
}

/// Parses an address. `origin` says in an error where it comes from.
fn parse_address(text: &str, origin: &str) -> Result<Address, String> {
    Address::parse(text).map_err(|problem| format!("{origin} is not valid: {problem}"))
}
