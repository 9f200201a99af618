//! A parser for options whose values may contain a secret.

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use std::ffi::OsStr;

/// Parses the value of an option with a function. Unlike clap's own parsers, doesn't repeat the
/// value in errors, because it may contain a secret.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unrepeated<T>(pub(super) fn(&str) -> Result<T, String>);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Unrepeated<T> {
    type Value = T;

    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let parsed = match value.to_str() {
            Some(text) => (self.0)(text),
            None => Err("it is not UTF-8".to_owned()),
        };
        parsed.map_err(|problem| {
            let option = option.map(Arg::to_string).unwrap_or_default();
            let message = format!("invalid value for '{option}': {problem}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}
