//! The options that choose a database of prompts.

use super::unrepeated::Unrepeated;
use crate::sources::Address;
use crate::transport::http::secret_file;
use anyhow::Context;
use clap::Args;
use std::path::{Path, PathBuf};

/// The environment variable with the address of the database.
const VARIABLE: &str = "PROMPT_EXPANDER_STORE";

/// That of PostgreSQL's own programs with the file of passwords.
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

/// The address that `--store` takes.
fn address(text: &str) -> Result<Address, String> {
    let address = Address::parse(text)?;
    match address.has_password() {
        true => Err(format!(
            "others can see a password there; give the address in {VARIABLE} or --store-file"
        )),
        false => Ok(address),
    }
}

impl StoreOptions {
    /// Returns these options, or those after the command if there are any.
    pub(super) fn followed_by(self, after: StoreOptions) -> StoreOptions {
        if after.store.is_some() || after.store_file.is_some() {
            after
        } else {
            self
        }
    }

    pub(super) fn required(&self) -> anyhow::Result<Address> {
        self.address(false)
            .context("no store is given; choose one with --store URL")?
            .map_err(anyhow::Error::msg)
    }

    /// The database that is chosen. Folders that are given count more than the environment
    /// variable.
    pub(super) fn address(&self, has_folders: bool) -> Option<Result<Address, String>> {
        let read = |path: &Path, what| {
            let bytes = secret_file::read(path, what, "it must be a text", |_| true)?;
            String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))
        };
        let parse = |text: &str, of: &str| {
            Address::parse(text).map_err(|why| format!("{of} is not valid: {why}"))
        };
        let variable = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
        let address = match (&self.store, &self.store_file, variable) {
            (None, None, _) if has_folders => return None,
            _ if has_folders => {
                Err("--store and --prompts exclude each other; leave out one".to_owned())
            }
            (Some(address), ..) => Ok(address.clone()),
            (None, Some(file), _) => {
                read(file, "file of --store-file").and_then(|text| parse(&text, "--store-file"))
            }
            (None, None, Some(text)) => parse(&text, VARIABLE),
            (None, None, None) => return None,
        };
        Some(
            address.and_then(|address| match std::env::var_os(PASSWORDS) {
                Some(file) => {
                    Ok(address.with_passwords(&read(Path::new(&file), "file of PGPASSFILE")?))
                }
                None => Ok(address),
            }),
        )
    }
}
