//! Which prompts a list shows: all, or those that match a query, best first. The only file that names nucleo_matcher.

use super::{Entry, Listing, Problem, View};
use crate::prompt::Summary;
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::cmp::Reverse;
use std::sync::Arc;

/// The longest query that is used, in characters; the rest is ignored.
const MAX_QUERY: usize = 200;

/// The weight of a match in a field, and the score that each letter of the query must have on average. A letter next to
/// the one before it scores 16 or more; in a long text, letters far apart mean nothing.
const NAME: Field = Field { weight: 4, min_score: 12 };
const TAG: Field = Field { weight: 3, min_score: 12 };
const TITLE: Field = Field { weight: 2, min_score: 12 };
const DESCRIPTION: Field = Field { weight: 1, min_score: 18 };

struct Field {
    weight: u32,
    min_score: u32,
}

/// The prompts that match a query and a tag.
#[derive(Debug)]
pub struct Selection<'v> {
    /// The best first; those that match equally well by name.
    pub found: Vec<(Entry<'v>, Arc<Summary>)>,
    /// The files and folders that were skipped, and the broken files, of which only the names are matched.
    pub problems: Vec<Problem>,
}

impl View {
    /// Reads all prompts, and selects those that match all words of a query and have a tag; all without either. Letter case,
    /// and a leading `#` of the tag, make no difference.
    pub fn select(&self, query: Option<&str>, tag: Option<&str>) -> Selection<'_> {
        let Listing { entries, skipped, problems } = self.list();
        let mut problems = [skipped, problems].concat();
        let mut query = query.map(Query::new);
        let mut found = Vec::new();
        for entry in entries {
            match entry.summary() {
                Ok(summary) if tag.is_some_and(|tag| !has_tag(&summary, tag)) => {}
                Ok(summary) => {
                    let score = query.as_mut().map_or(Some(0), |query| query.score(entry.name(), &summary));
                    found.extend(score.map(|score| (score, (entry, summary))));
                }
                Err(problem) => {
                    let is_match = query.as_mut().is_none_or(|query| query.score_name(entry.name()).is_some());
                    problems.extend(is_match.then_some(problem));
                }
            }
        }
        found.sort_by_key(|(score, _)| Reverse(*score)); // stable: equal matches stay sorted by name
        Selection { found: found.into_iter().map(|(_, found)| found).collect(), problems }
    }
}

fn has_tag(prompt: &Summary, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches('#').to_lowercase();
    let tag = bare(tag);
    prompt.tags.iter().any(|own| bare(own) == tag)
}

/// The words of a query. All must match, each in any of name, title, tags and description.
#[derive(Debug)]
struct Query {
    words: Vec<Atom>,
    matcher: Matcher,
}

impl Query {
    /// Letter case and accents make no difference.
    fn new(text: &str) -> Query {
        let end = text.char_indices().nth(MAX_QUERY).map_or(text.len(), |(at, _)| at);
        let word = |word| Atom::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy, false);
        Query {
            words: text[..end].split_whitespace().map(word).collect(),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
        }
    }

    /// How well a prompt matches; `None` if it does not. Without words, all match equally well.
    fn score(&mut self, name: &str, prompt: &Summary) -> Option<u32> {
        let (title, description) = (prompt.title.as_deref(), prompt.description.as_deref());
        let named =
            [(&NAME, name), (&TITLE, title.unwrap_or_default()), (&DESCRIPTION, description.unwrap_or_default())];
        let fields: Vec<_> = named.into_iter().chain(prompt.tags.iter().map(|tag| (&TAG, tag.as_str()))).collect();
        self.score_of(&fields)
    }

    /// How well a name alone matches.
    fn score_name(&mut self, name: &str) -> Option<u32> {
        self.score_of(&[(&NAME, name)])
    }

    fn score_of(&mut self, fields: &[(&Field, &str)]) -> Option<u32> {
        let matcher = &mut self.matcher;
        let mut buffer = Vec::new();
        let mut best = |word: &Atom| {
            let letters = word.needle_text().len() as u32;
            let scores = fields.iter().filter_map(|(field, text)| {
                let score = word.score(Utf32Str::new(text, &mut buffer), matcher)?;
                (u32::from(score) >= field.min_score * letters).then_some(field.weight * u32::from(score))
            });
            scores.max()
        };
        self.words.iter().map(&mut best).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Format, Name};

    /// The names that match, best first.
    fn found(query: &str) -> Vec<String> {
        let files = [
            ("git/commit", "---\ntitle: Commit message\ndescription: Write a message for the staged changes\n---\n"),
            ("review", "---\ndescription: Review a change and get its defects\ntags: [quality, git]\n---\n"),
            ("research", "---\ndescription: Research a topic in primary sources\n---\n"),
            ("café", "---\ndescription: Where to drink\n---\n"),
        ];
        let mut query = Query::new(query);
        let parse = |name, file: &str| Format::Markdown.parse(Name::new(name).unwrap(), file.as_bytes()).unwrap();
        let prompts = files.map(|(name, file)| (name, parse(name, file).summary()));
        let mut scored: Vec<(u32, String)> =
            prompts.iter().filter_map(|(name, prompt)| Some((query.score(name, prompt)?, name.to_string()))).collect();
        scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_match_in_the_name_beats_one_in_a_tag_a_title_or_a_description() {
        assert_eq!(found("git"), ["git/commit", "review"]);
        assert_eq!(found("commit"), ["git/commit"]);
        assert_eq!(found("message"), ["git/commit"]);
        assert_eq!(found("defects"), ["review"]);
    }

    #[test]
    fn a_missing_letter_another_letter_case_and_accents_still_match() {
        for (query, want) in [
            ("reserch", "research"),
            ("RSRCH", "research"),
            ("gitcommit", "git/commit"),
            ("gc", "git/commit"),
            ("cafe", "café"),
            ("staged", "git/commit"),
        ] {
            assert_eq!(found(query).first().map(String::as_str), Some(want), "{query}");
        }
    }

    #[test]
    fn every_word_must_match_and_letters_far_apart_do_not() {
        assert_eq!(found("git quality"), ["review"]);
        assert_eq!(found("git nothing"), [""; 0]);
        assert_eq!(found("rpy"), [""; 0]);
        assert_eq!(found("wmc"), [""; 0]);
        assert_eq!(found("").len(), 4);
        assert_eq!(found(&"x".repeat(100_000)), [""; 0]);
    }
}
