//! The prompts that the picker lists. Their names are available immediately; a background thread
//! reads their titles and descriptions.

use crate::library::{Found, View, matches, search_text};
use crate::prompt::{Diagnostic, Summary};
use crate::usage::UsageCounts;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The title, description and tags of a prompt, or why its file is broken.
type SummaryResult = Result<Arc<Summary>, Box<Diagnostic>>;

/// A prompt that the background thread has read.
struct ReadPrompt {
    search_text: String,
    summary: SummaryResult,
}

/// The prompts to choose from.
pub(crate) struct Choices {
    pub(super) prompts: Arc<[Found]>,
    /// The summaries of those prompts that have been read, which are the first ones in `prompts`.
    pub(super) summaries: Vec<SummaryResult>,
    /// The text to search for each prompt. Until the prompt has been read, this is only its name.
    search_texts: Vec<String>,
    /// Receives the prompts that the background thread has read, in the order of `prompts`.
    read_prompts: Receiver<ReadPrompt>,
}

impl Choices {
    /// Lists all prompts of a view: first those that were used, the most used first, and then by
    /// layer, from the project's own to the built-in ones. Starts the background thread that reads
    /// their files.
    pub(crate) fn new(view: &View, uses: &UsageCounts) -> Choices {
        let mut prompts = view.list().found;
        prompts.sort_by_key(|found| found.layer); // stable, so each layer stays sorted by name
        uses.sort(&mut prompts);
        let prompts: Arc<[Found]> = prompts.into();
        let names = prompts.iter().map(|found| search_text(&found.name, None));
        let search_texts = names.collect();
        let (sender, read_prompts) = channel();
        let unread_prompts = Arc::clone(&prompts);
        // If the thread can't be started, only the names are searched.
        let _ = thread::Builder::new().spawn(move || read_all(&unread_prompts, &sender));
        Choices {
            prompts,
            summaries: Vec::new(),
            search_texts,
            read_prompts,
        }
    }

    /// Adds the summaries that have been read since the last call, without waiting for more.
    /// Returns whether there were any.
    pub(super) fn add_read_prompts(&mut self) -> bool {
        let old_len = self.summaries.len();
        for prompt in self.read_prompts.try_iter() {
            // The thread reads in order, so this is the next prompt.
            self.search_texts[self.summaries.len()] = prompt.search_text;
            self.summaries.push(prompt.summary);
        }
        self.summaries.len() > old_len
    }

    /// Returns the indices of the prompts that match a query, best match first.
    pub(super) fn search(&self, query: &str) -> Vec<usize> {
        matches(query, &self.search_texts)
    }
}

/// Reads the prompts in order, and sends them until the receiver is dropped.
fn read_all(prompts: &[Found], sender: &Sender<ReadPrompt>) {
    for found in prompts {
        let summary = found.info().summary;
        let search_text = search_text(&found.name, summary.as_deref().ok());
        let prompt = ReadPrompt {
            search_text,
            summary,
        };
        if sender.send(prompt).is_err() {
            return;
        }
    }
}
