//! Which prompts a list shows: all, or those that somebody may mean by a few words, fuzzy, best first. The only file that names
//! nucleo_matcher, and the only one in which two threads look at files.

use super::{Entry, Index, Listed, Problem};
use crate::prompt::Summary;
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::cmp::Reverse;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

/// The longest query that is read, in characters; the rest is ignored. Nobody types a longer one.
const MAX_QUERY: usize = 200;

/// What a match in a field is worth, and how well each letter must match. A letter in its place scores 16 or more; in a
/// long text, letters that lie far apart mean nothing.
const NAME: Field = Field { weight: 4, least: 12 };
const TAG: Field = Field { weight: 3, least: 12 };
const TITLE: Field = Field { weight: 2, least: 12 };
const DESCRIPTION: Field = Field { weight: 1, least: 18 };

/// From how many prompts on a second thread helps. To start it takes only as long as to look at fifty files; but what it has
/// read lies in a heap of its own, and with fewer files that costs each later list more than the first one gains.
const SHARED_FROM: usize = 2_000;

struct Field {
    weight: u32,
    least: u32,
}

/// What a library has for a query and a tag.
#[derive(Debug)]
pub struct Selection<'l> {
    /// The best first; those that match alike by name.
    pub found: Vec<(Entry<'l>, Arc<Listed>)>,
    /// What kept names from being seen; and the files that are no prompts, of which only the names can match.
    pub problems: Vec<Problem>,
}

impl<'l> Index<'l> {
    /// Reads all prompts, and leaves those that match the words of a query and have a tag. Without either, all are left. Of a
    /// tag, letter case and a leading `#` make no difference.
    pub fn select(self, query: Option<&str>, tag: Option<&str>) -> Selection<'l> {
        let mut problems = [self.unseen, self.problems].concat();
        let mut found = Vec::new();
        let looked = look_at_all(&self.entries, query, tag);
        for (entry, looked) in self.entries.into_iter().zip(looked) {
            match looked {
                Looked::Found(score, prompt) => found.push((score, (entry, prompt))),
                Looked::Problem(problem, true) => problems.push(*problem),
                Looked::Problem(_, false) | Looked::Other => {}
            }
        }
        found.sort_by_key(|(score, _)| Reverse(*score)); // stable: those that match alike stay sorted by name
        Selection { found: found.into_iter().map(|(_, found)| found).collect(), problems }
    }
}

/// What an entry turned out to be.
enum Looked {
    /// It matches so well.
    Found(u32, Arc<Listed>),
    /// It is no prompt; and whether its name matches.
    Problem(Box<Problem>, bool),
    /// It does not match.
    Other,
}

/// Looks at the entries, at half of many in another thread.
fn look_at_all(entries: &[Entry<'_>], query: Option<&str>, tag: Option<&str>) -> Vec<Looked> {
    let (first, second) = entries.split_at(if entries.len() < SHARED_FROM { 0 } else { entries.len() / 2 });
    thread::scope(|scope| {
        let help = || thread::Builder::new().spawn_scoped(scope, || look(first, query, tag)).ok(); // none is left
        let helper = if first.is_empty() { None } else { help() };
        let second = look(second, query, tag);
        let Some(helper) = helper else {
            let mut looked = look(first, query, tag);
            looked.extend(second);
            return looked;
        };
        let mut looked = helper.join().unwrap_or_else(|panic| resume_unwind(panic));
        looked.extend(second);
        // Two threads have two files open, and there may be a descriptor for one only: what was not read is tried again alone.
        let problems = (0..looked.len()).filter(|&index| matches!(looked[index], Looked::Problem(..)));
        let problems: Vec<usize> = problems.collect();
        let again = look(problems.iter().map(|&index| &entries[index]), query, tag);
        for (index, again) in problems.into_iter().zip(again) {
            looked[index] = again;
        }
        looked
    })
}

fn look<'e, 'l: 'e>(
    entries: impl IntoIterator<Item = &'e Entry<'l>>,
    query: Option<&str>,
    tag: Option<&str>,
) -> Vec<Looked> {
    let mut query = query.map(Query::new);
    let look = |entry: &Entry<'_>| match entry.listed() {
        Ok(prompt) if tag.is_some_and(|tag| !has_tag(&prompt.summary, tag)) => Looked::Other,
        Ok(prompt) => {
            let score = query.as_mut().map_or(Some(0), |query| query.score(entry.name(), &prompt.summary));
            score.map_or(Looked::Other, |score| Looked::Found(score, prompt))
        }
        Err(problem) => {
            let is_meant = query.as_mut().is_none_or(|query| query.score_name(entry.name()).is_some());
            Looked::Problem(Box::new(problem), is_meant)
        }
    };
    entries.into_iter().map(look).collect()
}

fn has_tag(prompt: &Summary, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches('#').to_lowercase();
    let tag = bare(tag);
    prompt.tags.iter().any(|own| bare(own) == tag)
}

/// The words that are looked for. All must match, each in any of name, title, tags and description.
#[derive(Debug)]
struct Query {
    words: Vec<Atom>,
    matcher: Matcher,
}

impl Query {
    /// Reads the words of a query; letter case and accents make no difference.
    fn new(text: &str) -> Query {
        let end = text.char_indices().nth(MAX_QUERY).map_or(text.len(), |(at, _)| at);
        let word = |word| Atom::new(word, CaseMatching::Ignore, Normalization::Smart, AtomKind::Fuzzy, false);
        Query {
            words: text[..end].split_whitespace().map(word).collect(),
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
        }
    }

    /// How well a prompt matches, the more the better; `None`, where it does not. Without words, all match alike.
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
                (u32::from(score) >= field.least * letters).then_some(field.weight * u32::from(score))
            });
            scores.max()
        };
        self.words.iter().map(&mut best).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::dir::parse;

    /// The names that match, best first.
    fn found(query: &str) -> Vec<String> {
        let files = [
            ("git/commit", "---\ntitle: Commit message\ndescription: Write a message for the staged changes\n---\n"),
            ("review", "---\ndescription: Review a change and get its defects\ntags: [quality, git]\n---\n"),
            ("research", "---\ndescription: Research a topic in primary sources\n---\n"),
            ("café", "---\ndescription: Where to drink\n---\n"),
        ];
        let mut query = Query::new(query);
        let prompts = files.map(|(name, file)| (name, parse(name, file.as_bytes()).unwrap().summary()));
        let mut scored: Vec<(u32, String)> =
            prompts.iter().filter_map(|(name, prompt)| Some((query.score(name, prompt)?, name.to_string()))).collect();
        scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        scored.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn names_go_before_tags_before_titles_before_descriptions() {
        assert_eq!(found("git"), ["git/commit", "review"]);
        assert_eq!(found("commit"), ["git/commit"]);
        assert_eq!(found("message"), ["git/commit"]);
        assert_eq!(found("defects"), ["review"]);
    }

    #[test]
    fn a_letter_too_few_another_case_and_accents_still_match() {
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
