//! Which prompts a list shows: all, or those that match a query, best first.

use super::source::{Found, Info, Listing};
use super::view::View;
use crate::prompt::{COLONS, Diagnostic, Severity, Summary, fold};
use memchr::memmem::Finder;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};
use unicode_normalization::UnicodeNormalization;

/// The longest query that is used, in characters; the rest is ignored.
const MAX_QUERY: usize = 200;

/// How many prompts are read at once: what lists show of 100,000 takes more memory than what is
/// kept of them.
const PART: usize = 1_000;

/// The least number of prompts that two threads share: to start one takes as long as to look at
/// some 50 files.
const SHARED: usize = 200;

/// The longest word that may be misspelled, in characters.
const MAX_MISSPELLED: usize = 64;

/// The prompts that match a query and a tag.
#[derive(Debug, Clone)]
pub struct Selection {
    /// The best first; those that match equally well by name. Of broken files, only the names are
    /// matched.
    pub found: Vec<Found>,
    /// The files and folders that were skipped, and the broken files that were
    /// [read](Selection::read).
    pub problems: Vec<Diagnostic>,
}

impl Selection {
    /// What lists show of the prompts. They are read meanwhile, and the broken ones become
    /// problems.
    pub fn read(&mut self) -> impl Iterator<Item = (&Found, Arc<Summary>, Info)> {
        let Selection { found, problems } = self;
        infos(found).filter_map(|(found, info)| match info.summary.clone() {
            Ok(summary) => Some((found, summary, info)),
            Err(problem) => {
                problems.push(Diagnostic {
                    name: Some(found.name.clone()),
                    ..*problem
                });
                None
            }
        })
    }
}

impl View {
    /// Selects the prompts that match all words of a query and have a tag; without query and tag,
    /// all. Letter case and a leading `#` of the tag make no difference.
    pub fn select(&self, query: Option<&str>, tag: Option<&str>) -> Selection {
        let Listing {
            mut found,
            mut problems,
            ..
        } = self.list();
        problems.retain(|problem| problem.severity() == Severity::Error);
        if query.is_some() || tag.is_some() {
            let has_tag = |summary: &Summary| tag.is_none_or(|tag| has_tag(summary, tag));
            // One text, of more than it takes: many small ones would leave holes in memory.
            let (mut texts, mut ends, mut tagged) = (
                String::with_capacity(512 * found.len()),
                vec![0],
                Vec::new(),
            );
            for (found, info) in
                infos(&found).filter(|(_, info)| info.summary.as_deref().map_or(true, has_tag))
            {
                texts += &search_text(&found.name, info.summary.as_deref().ok());
                ends.push(texts.len());
                tagged.push(found.clone());
            }
            let texts: Vec<&str> = ends
                .windows(2)
                .map(|ends| &texts[ends[0]..ends[1]])
                .collect();
            let costs = costs(query.unwrap_or_default(), &texts, or_misspelled)
                .into_iter()
                .zip(tagged);
            let mut matching: Vec<_> = costs
                .filter_map(|(cost, found)| Some((cost?, found)))
                .collect();
            matching.sort_by_key(|(cost, _)| *cost); // stable: equal matches stay sorted by name
            found = matching.into_iter().map(|(_, found)| found).collect();
        }
        Selection { found, problems }
    }
}

/// Reads what lists show of these prompts. Two threads share many: with two idle cores, the first
/// list of 1,000 prompts takes 12 ms instead of 19, most of them in the parser.
fn infos(found: &[Found]) -> impl Iterator<Item = (&Found, Info)> {
    found.chunks(PART).flat_map(|part| {
        let (half, other_half) = part.split_at(if part.len() < SHARED {
            part.len()
        } else {
            part.len() / 2
        });
        let read = |half: &[Found]| half.iter().map(|found| found.info()).collect::<Vec<Info>>();
        let infos = thread::scope(|scope| {
            let start = || {
                thread::Builder::new()
                    .spawn_scoped(scope, || read(other_half))
                    .ok()
            };
            let thread = if other_half.is_empty() { None } else { start() };
            let mut infos = read(half);
            let join = |thread: ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            // The system may refuse another thread.
            infos.extend(thread.map_or_else(|| read(other_half), join));
            infos
        });
        part.iter().zip(infos)
    })
}

/// Whether a prompt has a tag. Letter case, and a leading `#`, make no difference.
pub(crate) fn has_tag(prompt: &Summary, tag: &str) -> bool {
    let bare = |tag: &str| tag.trim().trim_start_matches('#').to_lowercase();
    let tag = bare(tag);
    prompt.tags.iter().any(|own| bare(own) == tag)
}

/// The texts of a prompt in which words are searched, in the form of [`plain`]: the name, the tags,
/// the title and the description. Each ends with a line break, which no word contains, and a NUL is
/// between two fields. They are one string, because 10,000 prompts are searched at each key. A
/// broken file, or one that is not read yet, has only its name.
pub fn search_text(name: &str, prompt: Option<&Summary>) -> String {
    let lines = |field: &[String]| {
        field
            .iter()
            .map(|text| plain(text) + "\n")
            .collect::<String>()
    };
    let fields = prompt.map(|prompt| {
        [
            &*prompt.tags,
            prompt.title.as_slice(),
            prompt.description.as_slice(),
        ]
    });
    fields
        .into_iter()
        .flatten()
        .fold(plain(name) + "\n", |texts, field| {
            texts + "\0" + &lines(field)
        })
}

/// The rank of the name.
const NAME: usize = 0;

/// How well a word matches a text, the best first: after the rank of the field, it decides the
/// order of the matches.
#[derive(Clone, Copy)]
enum Kind {
    Whole,
    Prefix,
    /// A part of a name that is not at the beginning of a word.
    Substring,
    Misspelled,
}

/// The name in the text of a prompt.
fn name(prompt: &str) -> &str {
    prompt.split_once('\n').map_or(prompt, |(name, _)| name)
}

/// The least cost of a match; `None` if there is none. `kind` is how the word matches a text of the
/// field of this rank.
fn cost(prompt: &str, kind: impl Fn(usize, &str) -> Option<Kind>) -> Option<u32> {
    // What matches in one field costs less than any match in the next.
    prompt.split('\0').enumerate().find_map(|(rank, texts)| {
        texts
            .lines()
            .filter_map(|text| Some(4 * rank as u32 + kind(rank, text)? as u32))
            .min()
    })
}

/// The indices of the prompts that match a query while it is typed, the best first; equal matches
/// keep their order.
///
/// A word matches as in a list, but for one that is in no prompt: its letters may be scattered in a
/// name (`gco` is `git/commit`), and a misspelling is looked for in names only, since that is done
/// at each key.
pub fn matches(query: &str, prompts: &[String]) -> Vec<usize> {
    let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
    let costs = costs(query, &prompts, |word, prompts| {
        let of_names = |is_match: &dyn Fn(&str) -> bool| -> Vec<Option<u32>> {
            prompts
                .iter()
                .map(|prompt| is_match(name(prompt)).then_some(Kind::Misspelled as u32))
                .collect()
        };
        let scattered = of_names(&|name| is_scattered(word, name));
        if scattered.iter().any(Option::is_some) {
            scattered
        } else {
            of_names(&misspelled(word))
        }
    });
    let mut matching: Vec<(u32, usize)> = costs
        .into_iter()
        .enumerate()
        .filter_map(|(index, cost)| Some((cost?, index)))
        .collect();
    matching.sort_unstable();
    matching.into_iter().map(|(_, index)| index).collect()
}

/// Whether a text has these letters in their order.
fn is_scattered(letters: &str, text: &str) -> bool {
    let mut rest = text.chars();
    letters
        .chars()
        .all(|letter| rest.any(|other| other == letter))
}

/// What each prompt costs as an answer to a query; the best match costs least. `None` if a prompt
/// does not match all words.
///
/// A word matches as it is written, anywhere in a name and from the beginning of a word in the
/// other fields. For a word that is in no prompt at all, `otherwise` gives the costs. A word that
/// begins with a colon is the beginning of a name.
fn costs(
    query: &str,
    prompts: &[&str],
    otherwise: impl Fn(&str, &[&str]) -> Vec<Option<u32>>,
) -> Vec<Option<u32>> {
    let end = query
        .char_indices()
        .nth(MAX_QUERY)
        .map_or(query.len(), |(at, _)| at);
    let mut sums = vec![Some(0); prompts.len()];
    for word in query[..end].split_whitespace() {
        let costs: Vec<Option<u32>> = if word.starts_with(COLONS) {
            let beginning = plain(&fold(word));
            prompts
                .iter()
                .map(|prompt| {
                    name(prompt)
                        .replace(':', "/")
                        .starts_with(&beginning)
                        .then_some(0)
                })
                .collect()
        } else {
            let word = plain(word);
            let word = word
                .trim_start_matches('#')
                .trim_matches(['"', '\'', ',', '.', ';', '?', '!']);
            if word.is_empty() {
                continue;
            }
            let finder = Finder::new(word);
            let exact = |prompt: &&str| {
                finder.find(prompt.as_bytes())?;
                cost(prompt, |rank, text| exact(word, &finder, rank, text))
            };
            let exact: Vec<_> = prompts.iter().map(exact).collect();
            match exact.iter().any(Option::is_some) {
                true => exact,
                false => otherwise(word, prompts),
            }
        };
        for (sum, cost) in sums.iter_mut().zip(costs) {
            *sum = sum.zip(cost).map(|(sum, cost)| sum + cost);
        }
    }
    sums
}

/// The costs of a word that is in no prompt: a misspelling is assumed.
fn or_misspelled(word: &str, prompts: &[&str]) -> Vec<Option<u32>> {
    let misspelled = misspelled(word);
    prompts
        .iter()
        .map(|prompt| {
            cost(prompt, |_, text| {
                misspelled(text).then_some(Kind::Misspelled)
            })
        })
        .collect()
}

/// A text in which letter case, accents and full-width forms make no difference.
fn plain(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let is_accent = |letter: &char| matches!(letter, '\u{300}'..='\u{36f}');
    text.nfkd()
        .filter(|letter| !is_accent(letter))
        .nfc()
        .collect::<String>()
        .to_lowercase()
}

/// How a word is contained in a text, if it is.
fn exact(word: &str, finder: &Finder<'_>, rank: usize, text: &str) -> Option<Kind> {
    let kinds = finder.find_iter(text.as_bytes()).map(|at| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        match is_boundary(before.chars().next_back(), word.chars().next()) {
            true if is_boundary(word.chars().next_back(), after.chars().next()) => Kind::Whole,
            true => Kind::Prefix,
            false => Kind::Substring,
        }
    });
    kinds
        .filter(|kind| rank == NAME || !matches!(kind, Kind::Substring))
        .min_by_key(|kind| *kind as usize)
}

/// Whether a word begins or ends between two characters. In Japanese and other scripts without
/// spaces it may do so anywhere.
fn is_boundary(before: Option<char>, after: Option<char>) -> bool {
    let (Some(before), Some(after)) = (before, after) else {
        return true;
    };
    !before.is_alphanumeric()
        || !after.is_alphanumeric()
        || is_unspaced(before)
        || is_unspaced(after)
}

/// Whether a letter is of a script that writes no spaces between words: Thai, Lao, Burmese, Khmer,
/// kana and Han.
fn is_unspaced(letter: char) -> bool {
    matches!(
        letter,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// Whether a text, or a word of it, is a misspelling of a word: with one edit in a word of 4 to 7
/// letters, two in a longer one. A misspelled number would be another number, so numbers match only
/// exactly.
fn misspelled(word: &str) -> impl Fn(&str) -> bool {
    let length = word.chars().count();
    let allowed = match length {
        _ if word.contains(|letter: char| letter.is_numeric() || is_unspaced(letter)) => 0,
        4..=7 => 1,
        8..=MAX_MISSPELLED => 2,
        _ => 0,
    };
    move |text| {
        let is_near = |known: &str| {
            known.chars().count().abs_diff(length) <= allowed
                && strsim::osa_distance(word, known) <= allowed
        };
        // An edit adds or changes one letter. So few texts are left for the distance, which takes
        // far longer.
        let has_letters = || {
            word.chars()
                .filter(|letter| !text.contains(*letter))
                .count()
                <= allowed
        };
        let words = || text.split(|letter: char| !letter.is_alphanumeric());
        allowed > 0 && has_letters() && words().chain([text]).any(is_near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Name, Prompt};

    /// The names that match, best first.
    fn found(query: &str) -> Vec<&'static str> {
        let files = [
            ("café", "---\ndescription: Where to drink\n---\n"),
            (
                "decide",
                "---\ndescription: Get it done, weighing the options in turn\ntitle: Decide\n---\n",
            ),
            (
                "git/commit",
                "---\ntitle: Commit message\ndescription: Write a message for the staged changes\n---\n",
            ),
            (
                "legit",
                "---\ndescription: Tell whether a digital offer is real\n---\n",
            ),
            (
                "research",
                "---\ndescription: Research a topic in primary sources\n---\n",
            ),
            (
                "review",
                "---\ndescription: Review a change and get its defects\ntags: [quality, git]\n---\n",
            ),
            (
                "要約",
                "---\ndescription: 長い文章を短くまとめるガイド。PDFも可。\n---\n",
            ),
        ];
        let parse =
            |name, file: &str| Prompt::parse(Name::new(name).unwrap(), file.as_bytes()).unwrap();
        let prompts =
            files.map(|(name, file)| search_text(name, Some(&parse(name, file).summary())));
        let prompts = prompts.each_ref().map(String::as_str);
        let costs = costs(query, &prompts, or_misspelled)
            .into_iter()
            .zip(files.map(|(name, _)| name));
        let mut found: Vec<_> = costs
            .filter_map(|(cost, name)| Some((cost?, name)))
            .collect();
        found.sort();
        found.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn a_word_of_a_query_matches_words_and_not_scattered_letters() {
        assert_eq!(found("git"), ["git/commit", "legit", "review"]);
        for scattered in ["dcd", "gc", "rsrch", "wmc"] {
            assert_eq!(found(scattered), [""; 0], "{scattered}");
        }
        assert_eq!(found("stage"), ["git/commit"], "the beginning of a word");
        assert_eq!(
            found("tage"),
            [""; 0],
            "a part of a name alone may be anywhere in it"
        );
        assert_eq!(found("sear"), ["research"]);
    }

    #[test]
    fn letters_that_are_typed_in_a_picker_may_be_scattered_in_a_name() {
        let names = ["decide", "git/commit", "legit", "research", "review"];
        let prompts = names.map(|name| search_text(name, None));
        for (typed, want) in [
            ("", &names[..]),
            ("git", &["git/commit", "legit"]),
            ("gco", &["git/commit"]),
            ("rv", &["review"]),
            ("re", &["research", "review"]),
            ("reserch", &["research"]),
            ("vr", &[]),
        ] {
            let found: Vec<&str> = matches(typed, &prompts)
                .into_iter()
                .map(|index| names[index])
                .collect();
            assert_eq!(found, want, "{typed}");
        }
    }

    #[test]
    fn the_field_decides_the_order_and_in_a_field_how_much_of_a_word_matches() {
        let files = [
            ("a", "description: xyz"),
            ("b", "description: a xyz"),
            ("c", "description: xyz1"),
            ("d", "description: d\ntitle: xyz"),
            ("e", "tags: [xyz]"),
            ("wxyz", ""),
            ("xyzw", ""),
            ("f/xyz", ""),
        ];
        let fields = files.map(|(name, frontmatter)| {
            let file = format!("---\n{frontmatter}\n---\nB");
            search_text(
                name,
                Some(
                    &Prompt::parse(Name::new(name).unwrap(), file.as_bytes())
                        .unwrap()
                        .summary(),
                ),
            )
        });
        let mut found: Vec<_> = costs("xyz", &fields.each_ref().map(String::as_str), or_misspelled)
            .into_iter()
            .zip(files.map(|(name, _)| name))
            .collect();
        found.sort();
        assert_eq!(
            found.iter().map(|(_, name)| *name).collect::<Vec<_>>(),
            ["f/xyz", "xyzw", "wxyz", "e", "d", "a", "b", "c"]
        );
    }

    #[test]
    fn a_misspelling_is_assumed_only_of_a_word_that_is_in_no_prompt() {
        for (query, want) in [
            ("reserch", &["research"][..]),
            ("comit", &["git/commit"]),
            ("gitcommit", &["git/commit"]),
            ("defcets", &["review"]),
            ("descripton", &[]),
            ("gti", &[]),
            ("real", &["legit"]),
            ("rael", &["legit"]),
            ("2024", &[]),
            (&"x".repeat(100_000), &[]),
        ] {
            assert_eq!(found(query), want, "{query:.20}");
        }
    }

    #[test]
    fn accents_letter_case_and_full_width_letters_make_no_difference() {
        for query in [
            "cafe",
            "CAFE\u{301}",
            "caf\u{e9}",
            "ｃａｆｅ",
            ":cafe",
            "：Café",
        ] {
            assert_eq!(found(query), ["café"], "{query}");
        }
    }

    #[test]
    fn a_word_with_a_colon_is_the_beginning_of_a_name() {
        assert_eq!(found(":re"), ["research", "review"]);
        assert_eq!(found("：re quality"), ["review"]);
        assert_eq!(found(":git:c"), ["git/commit"]);
        assert_eq!(found(":commit"), [""; 0]);
        assert_eq!(found(":").len(), 7);
    }

    #[test]
    fn words_of_a_script_without_spaces_are_found_anywhere() {
        for query in [
            "要約",
            "文章",
            "まとめる",
            "ガイド",
            "カ\u{3099}イト\u{3099}",
            "pdf",
        ] {
            assert_eq!(found(query), ["要約"], "{query}");
        }
        assert_eq!(found("カイト"), [""; 0]);
        assert_eq!(found("要点"), [""; 0]);
    }

    #[test]
    fn every_word_must_match_and_punctuation_around_it_is_ignored() {
        assert_eq!(found("git quality"), ["review"]);
        assert_eq!(found("#git, \"defects\"?"), ["review"]);
        assert_eq!(found("git nothing"), [""; 0]);
        assert_eq!(found("").len(), 7);
        assert_eq!(found(" ? ").len(), 7);
    }
}
