//! Streams of server-sent events: those that GET opens for legacy clients, and
//! `subscriptions/listen`.
//!
//! A stream is a channel of limited length between the notifier's thread and the connection. If a
//! client does not read, the channel is full, and the stream ends. The id of an event counts the
//! changes of this process: a client that comes back with another id, or without one after a
//! change, may have missed something, and is notified of all lists.

use super::budget::Budget;
use super::headers::EVENT_STREAM;
use super::proxy::Client;
use super::sessions::{self, SessionId};
use crate::jsonrpc::{Message, Notification, Request};
use crate::library::{Caller, Prefix};
use crate::lock::lock;
use crate::server::{self, Change, Listener, Reply, Server, Session};
use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame};
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use tokio::sync::{mpsc, watch};

/// How often a comment is sent, in seconds: proxies close connections on which nothing is sent for
/// a minute.
const COMMENT_EVERY: usize = 15;
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// How many changes a client may leave unread.
const MAX_UNREAD: usize = 64;

/// The first protocol version in which a stream begins with an event whose data is empty ("Sending
/// Messages to the Client"). Clients of older versions may take it for a message, and give up, as
/// Gemini CLI 0.61 does. An event without a data line is passed to no handler.
const FIRST_WITH_EMPTY_DATA: &str = "2025-11-25";

/// All streams that are open in this process.
pub(super) struct Streams {
    server: Arc<Server>,
    changes: Arc<ChangeCount>,
    open: Mutex<Vec<Weak<Stream>>>,
    memory: Budget,
    stopping: watch::Receiver<bool>,
}

/// Counts the changes of the library, so that the id of an event says what its client knows.
struct ChangeCount {
    /// The random key of the ids.
    process: RandomState,
    /// In seconds since 1970.
    started: u64,
    tallies: Mutex<Tallies>,
}

/// The changes that each caller may know of, by folder, such as `team-a/`; the empty one is the
/// whole library.
#[derive(Default)]
struct Tallies {
    /// Those of something in the folder.
    within: HashMap<String, Tally>,
    /// Those that may have changed anything in the folder.
    whole: HashMap<String, Tally>,
}

#[derive(Clone, Copy)]
struct Tally {
    count: u64,
    /// In seconds since 1970: the last change, or the second before the start of the process.
    last: u64,
}

impl Default for ChangeCount {
    fn default() -> ChangeCount {
        ChangeCount {
            process: RandomState::new(),
            started: sessions::now(),
            tallies: Mutex::default(),
        }
    }
}

impl ChangeCount {
    /// Returns the changes that a caller may know of.
    fn seen_by(&self, caller: &Caller) -> Tally {
        let prefix = caller.prefix.as_ref().map(Prefix::to_string);
        let folder = prefix.unwrap_or_default();
        let tallies = lock(&self.tallies);
        let above = folders_above(&folder).into_iter();
        let of_folder = tallies.within.get(&folder);
        let mut seen = Tally {
            count: 0,
            last: self.started - 1,
        };
        for tally in above
            .filter_map(|above| tallies.whole.get(above))
            .chain(of_folder)
        {
            seen.count += tally.count;
            seen.last = seen.last.max(tally.last);
        }
        seen
    }
}

impl Listener for ChangeCount {
    fn tell(&self, change: &Change) {
        let mut within = BTreeSet::new();
        for name in &change.prompts {
            within.extend(folders_above(name));
        }
        for folder in &change.folders {
            within.extend(folders_above(folder));
            within.insert(folder);
        }
        let whole = change.folders.iter().map(String::as_str);
        let mut tallies = lock(&self.tallies);
        count(&mut tallies.within, within);
        count(&mut tallies.whole, whole);
    }
}

/// Counts one change more for each of these folders.
fn count<'f>(tallies: &mut HashMap<String, Tally>, folders: impl IntoIterator<Item = &'f str>) {
    let last = sessions::now();
    for folder in folders {
        let tally = tallies.entry(folder.to_owned());
        let tally = tally.or_insert(Tally { count: 0, last });
        tally.count += 1;
        tally.last = last;
    }
}

/// Returns the folders that a prompt or a folder is in, each with a slash at its end, and the empty
/// one.
fn folders_above(path: &str) -> Vec<&str> {
    let mut above = Vec::new();
    for (start, _) in path.trim_end_matches('/').match_indices('/') {
        above.push(&path[..=start]);
    }
    if !path.is_empty() {
        above.push("");
    }
    above
}

/// A stream, between the notifier and the connection.
struct Stream {
    changes: Arc<ChangeCount>,
    client: Arc<Client>,
    caller: Caller,
    /// The legacy session that it belongs to.
    of: Option<u128>,
    session: Mutex<Session>,
    memory: Budget,
    /// `None` once it has ended.
    events: Mutex<Option<mpsc::Sender<Bytes>>>,
    /// Sent when the server ends.
    farewell: Bytes,
}

impl Stream {
    fn send(&self, events: Bytes) {
        let mut sender = lock(&self.events);
        if sender
            .as_ref()
            .is_some_and(|sender| !events.is_empty() && sender.try_send(events).is_err())
        {
            tracing::info!("a client does not read its notifications: its stream is closed");
            *sender = None;
        }
    }

    /// Sends an event for each notification; the last one of a legacy stream has an id.
    fn notify_of(&self, notifications: &[Notification]) {
        let mut events = String::new();
        for (at, notification) in notifications.iter().enumerate() {
            let json = notification.to_json();
            self.client.sent(json.as_bytes());
            if at + 1 == notifications.len() && self.of.is_some() {
                let _ = writeln!(events, "id: {}", self.id());
            }
            let _ = write!(events, "data: {json}\n\n");
        }
        match self.memory.count(events) {
            Ok(events) => self.send(events),
            Err(_) => *lock(&self.events) = None,
        }
    }

    /// The id of an event. It differs after each change that the caller may know of, in each
    /// process, and for each prefix.
    fn id(&self) -> String {
        let count = self.changes.seen_by(&self.caller).count;
        let id = (&self.caller.prefix, count);
        format!("{:016x}", self.changes.process.hash_one(id))
    }

    fn end(&self) {
        self.send(self.farewell.clone());
        *lock(&self.events) = None;
    }
}

impl Listener for Stream {
    fn tell(&self, change: &Change) {
        let notifications = lock(&self.session).notifications(change);
        self.notify_of(&notifications);
    }
}

/// The body of a response. The stream ends when it is dropped.
struct Receiver {
    events: mpsc::Receiver<Bytes>,
    _stream: Arc<Stream>,
}

impl HttpBody for Receiver {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.events
            .poll_recv(context)
            .map(|events| events.map(|events| Ok(Frame::data(events))))
    }
}

impl Streams {
    /// No stream is open yet, but changes are counted from now on.
    pub(super) fn new(
        server: Arc<Server>,
        memory: Budget,
        stopping: watch::Receiver<bool>,
    ) -> Streams {
        let changes = Arc::new(ChangeCount::default());
        server.add_listener(&(Arc::clone(&changes) as Arc<dyn Listener>));
        Streams {
            server,
            changes,
            open: Mutex::default(),
            memory,
            stopping,
        }
    }

    pub(super) fn count(&self) -> usize {
        lock(&self.open)
            .iter()
            .filter(|stream| stream.strong_count() > 0)
            .count()
    }

    /// Ends the streams that may no longer be open, which their caller and their session decide.
    pub(super) fn end_unless(&self, may_stay: impl Fn(&Caller, Option<u128>) -> bool) {
        lock(&self.open).retain(|stream| {
            let Some(stream) = stream.upgrade() else {
                return false;
            };
            let stays = may_stay(&stream.caller, stream.of);
            if !stays {
                stream.end();
            }
            stays
        });
    }

    /// Sends a comment to the streams that are due in this second.
    pub(super) fn comment(&self, second: usize) {
        let open = lock(&self.open);
        let streams = open
            .iter()
            .skip(second % COMMENT_EVERY)
            .step_by(COMMENT_EVERY);
        streams
            .filter_map(Weak::upgrade)
            .for_each(|stream| stream.send(COMMENT));
    }

    /// Opens the stream of a legacy session. `last_event` is the id of the last event that the
    /// client has received of an earlier stream.
    pub(super) fn open(
        &self,
        caller: Caller,
        client: &Arc<Client>,
        of: &SessionId,
        last_event: Option<&str>,
    ) -> Result<Response, Reply> {
        let first = |stream: &Stream, _: &mut Session| {
            let id = stream.id();
            let data = if of.version >= FIRST_WITH_EMPTY_DATA {
                "data: \n"
            } else {
                ""
            };
            stream.send(format!("id: {id}\nretry: 1000\n{data}\n").into());
            // A session from the future was made before the clock was set back.
            let last = self.changes.seen_by(&stream.caller).last;
            let may_have_missed = || of.made <= last || of.made > sessions::now();
            if last_event.map_or_else(may_have_missed, |last_event| last_event != id) {
                stream.notify_of(&server::all_lists_changed());
            }
            Ok(())
        };
        self.begin(
            Session::of_notifications(caller),
            client,
            Some(of.random),
            Bytes::new(),
            first,
        )
    }

    /// Handles a `subscriptions/listen`.
    ///
    /// # Errors
    /// The reply to a request that opens no stream.
    pub(super) fn listen(
        &self,
        session: Session,
        client: &Arc<Client>,
        request: Request,
    ) -> Result<Response, Reply> {
        let farewell = server::end_of_listen(&request.id);
        let first = |stream: &Stream, session: &mut Session| {
            match self.server.handle(session, Message::Request(request)) {
                Reply::Stream(acknowledgement) => stream.notify_of(&[acknowledgement]),
                reply => return Err(reply),
            }
            Ok(())
        };
        self.begin(
            session,
            client,
            None,
            format!("data: {}\n\n", farewell.as_json()).into(),
            first,
        )
    }

    /// Opens a stream, which is notified of changes after `first` has sent what precedes them.
    ///
    /// # Errors
    /// The error of `first`.
    fn begin(
        &self,
        session: Session,
        client: &Arc<Client>,
        of: Option<u128>,
        farewell: Bytes,
        first: impl FnOnce(&Stream, &mut Session) -> Result<(), Reply>,
    ) -> Result<Response, Reply> {
        let (sender, events) = mpsc::channel(MAX_UNREAD);
        let stream = Arc::new(Stream {
            changes: Arc::clone(&self.changes),
            client: Arc::clone(client),
            caller: (*session.caller).clone(),
            of,
            session: Mutex::new(session),
            memory: self.memory.clone(),
            events: Mutex::new(Some(sender)),
            farewell,
        });
        // Registered before it is acknowledged, so that no change is missed; locked until then, so
        // that no notification comes first.
        let mut session = lock(&stream.session);
        self.server
            .add_listener(&(Arc::clone(&stream) as Arc<dyn Listener>));
        first(&stream, &mut session)?;
        drop(session);
        let mut open = lock(&self.open);
        // The server sets `stopping` before it ends the streams in `open`, so none is missed.
        if *self.stopping.borrow() {
            stream.end();
        }
        open.push(Arc::downgrade(&stream));
        drop(open);
        // nginx would hold events before it passes them on.
        let no_buffer = (HeaderName::from_static("x-accel-buffering"), "no");
        let headers = [
            (CONTENT_TYPE, EVENT_STREAM),
            (CACHE_CONTROL, "no-cache"),
            no_buffer,
        ];
        Ok((
            headers,
            Body::new(Receiver {
                events,
                _stream: stream,
            }),
        )
            .into_response())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Name;

    #[test]
    fn a_caller_with_a_prefix_knows_only_of_the_changes_below_it() {
        let changes = ChangeCount::default();
        let all = Caller::local();
        let of_team_a = Caller {
            prefix: Some(Prefix::new("team-a/").unwrap()),
            ..Caller::local()
        };
        let prompts = |names: &[&str]| {
            let names = names.iter().map(|name| Name::new(name).unwrap());
            Change::of_prompts(names.collect())
        };
        let folder = |folder: &str| Change::of_folder(folder.to_owned());
        for (change, known, seen) in [
            (prompts(&["team-b/x", "team-ab/x", "x"]), 1, 0),
            (prompts(&["team-a/x", "team-a/y/z", "team-b/x"]), 2, 1),
            (prompts(&["team-b/team-a/x"]), 3, 1),
            (Change::anything(), 4, 2),
            (folder("team-b/"), 5, 2),
            (folder("team-b/team-a/"), 6, 2),
            (folder("team-a/"), 7, 3),
            (folder("team-a/x/"), 8, 4),
        ] {
            changes.tell(&change);
            assert_eq!(changes.seen_by(&all).count, known, "{change:?}");
            assert_eq!(changes.seen_by(&of_team_a).count, seen, "{change:?}");
        }
    }
}
