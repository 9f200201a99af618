//! A parser for options whose values may contain a secret.

use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};
use std::ffi::OsStr;

/// A parser of option values whose errors don't contain the value, because it may be a secret.
/// clap's own parsers repeat an invalid value.
///
/// It wraps the function that parses the value. That function's error says why the value is
/// invalid.
#[derive(Debug, Clone, Copy)]
pub(super) struct RedactingParser<T>(pub(super) fn(&str) -> Result<T, String>);

impl<T: Clone + Send + Sync + 'static> TypedValueParser for RedactingParser<T> {
    type Value = T;

    /// Parses a value. An error is, for example, `invalid value for '--store <URL>': it is not
    /// UTF-8`.
    fn parse_ref(
        &self,
        command: &Command,
        option: Option<&Arg>,
        value: &OsStr,
    ) -> Result<T, clap::Error> {
        let RedactingParser(parse) = self;
        let result = match value.to_str() {
            Some(text) => parse(text),
            None => Err("it is not UTF-8".to_owned()),
        };
        result.map_err(|problem| {
            let option = option.map(Arg::to_string).unwrap_or_default();
            let message = format!("invalid value for '{option}': {problem}\n");
            clap::Error::raw(ErrorKind::ValueValidation, message).with_cmd(command)
        })
    }
}
