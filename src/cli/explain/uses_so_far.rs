//! How often the explained prompt was used.

use crate::cli::source_options::PromptSource;
use crate::library::Layer;
use crate::usage::{PromptUses, UsageCounts};
use jiff::civil::Date;
use serde::Serialize;

/// How often a prompt was used, as far as this is known.
#[derive(Serialize)]
pub(super) struct UsesSoFar {
    pub(super) uses: PromptUses,
    pub(super) counting_began: Date,
}

impl UsesSoFar {
    /// Reads the uses of a prompt. Returns `None` if no use of any prompt is known.
    pub(super) fn read(source: &PromptSource, layer: Layer, name: &str) -> Option<UsesSoFar> {
        let log = source.usage_log()?;
        let counts = UsageCounts::read(log.folder(), Date::MIN).ok()?;
        Some(UsesSoFar {
            uses: counts.of(layer, name),
            counting_began: counts.first_counted_day()?,
        })
    }
}
