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
use crate::library::Caller;
use crate::lock::lock;
use crate::server::{self, Change, Listener, Reply, Server, Session};
use axum::body::{Body, Bytes};
use axum::http::HeaderName;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame};
use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
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
    change_count: Arc<ChangeCount>,
    open: Mutex<Vec<Weak<Stream>>>,
    memory: Budget,
    stopping: watch::Receiver<bool>,
}

/// Counts the changes of the library, so that the id of an event says what its client knows.
struct ChangeCount {
    /// The random key of the ids.
    process: RandomState,
    /// When the process started, in seconds since 1970.
    started: u64,
    folders: Mutex<FolderCounts>,
}

/// Counts by folder, such as `team-a/`. The folder `""` is the whole library.
#[derive(Default)]
struct FolderCounts {
    /// The changes of all prompts and folders below a folder, and of the folder itself.
    inside: HashMap<String, ChangeSummary>,
    /// The changes of the folder itself. They may concern everything that is in it.
    entire: HashMap<String, ChangeSummary>,
}

/// How many changes there were, and when the last one was.
#[derive(Clone, Copy)]
struct ChangeSummary {
    count: u64,
    /// The time of the last change, in seconds since 1970. Without any change, the second before
    /// the process started.
    last: u64,
}

impl ChangeSummary {
    /// Includes the changes of another summary, if there is one.
    fn add(&mut self, other: Option<&ChangeSummary>) {
        if let Some(other) = other {
            self.count += other.count;
            self.last = self.last.max(other.last);
        }
    }
}

impl Default for ChangeCount {
    fn default() -> ChangeCount {
        ChangeCount {
            process: RandomState::new(),
            started: sessions::now(),
            folders: Mutex::default(),
        }
    }
}

impl ChangeCount {
    /// Returns a summary of all changes that a caller may know of: those inside the folder of the
    /// caller's prefix, and those of an entire folder above it.
    ///
    /// With the prefix `team-a/`, a change of the prompt `team-a/x` counts, and one of the entire
    /// library, but not one of the prompt `team-b/x`.
    fn seen_by(&self, caller: &Caller) -> ChangeSummary {
        let folder = match &caller.prefix {
            Some(prefix) => prefix.to_string(),
            None => String::new(),
        };
        let mut summary = ChangeSummary {
            count: 0,
            last: self.started - 1,
        };
        let counts = lock(&self.folders);
        for parent in folders_above(&folder) {
            summary.add(counts.entire.get(parent));
        }
        summary.add(counts.inside.get(&folder));
        summary
    }
}

impl Listener for ChangeCount {
    /// Counts a change once for each folder that it concerns: a change of the prompt `team-a/x`
    /// for `team-a/` and for `""`, the whole library.
    fn tell(&self, change: &Change) {
        let mut inside = BTreeSet::new();
        for name in &change.prompts {
            inside.extend(folders_above(name));
        }
        for folder in &change.folders {
            inside.extend(folders_above(folder));
            inside.insert(folder);
        }
        let entire = change.folders.iter().map(String::as_str);
        let mut counts = lock(&self.folders);
        count_change(&mut counts.inside, inside);
        count_change(&mut counts.entire, entire);
    }
}

/// Adds one change, at the present time, to the summary of each of these folders.
fn count_change<'f>(
    summaries: &mut HashMap<String, ChangeSummary>,
    folders: impl IntoIterator<Item = &'f str>,
) {
    let last = sessions::now();
    for folder in folders {
        let summary = summaries
            .entry(folder.to_owned())
            .or_insert(ChangeSummary { count: 0, last });
        summary.count += 1;
        summary.last = last;
    }
}

/// Returns the folders above a prompt or a folder, each with a slash at its end, and `""` for the
/// whole library.
///
/// - `a/b/c` → `a/`, `a/b/` and `""`
/// - `a/b/` → `a/` and `""`
/// - `""` → nothing
fn folders_above(path: &str) -> Vec<&str> {
    let mut folders = Vec::new();
    for (slash, _) in path.trim_end_matches('/').match_indices('/') {
        folders.push(&path[..=slash]);
    }
    if !path.is_empty() {
        folders.push("");
    }
    folders
}

/// A stream, between the notifier and the connection.
pub(super) struct Stream {
    change_count: Arc<ChangeCount>,
    client: Arc<Client>,
    pub(super) caller: Caller,
    /// The random bits of the id of the legacy session that the stream belongs to. `None` for the
    /// stream of a `subscriptions/listen`.
    pub(super) legacy_session: Option<u128>,
    session: Mutex<Session>,
    memory: Budget,
    /// `None` once the stream has ended.
    events: Mutex<Option<mpsc::Sender<Bytes>>>,
    /// The event that is sent when the server ends the stream; empty for none.
    final_event: Bytes,
}

impl Stream {
    /// Sends the text of events, such as `data: {}\n\n`. If the client has left too many unread,
    /// the stream ends. Nothing is sent once it has ended.
    fn send(&self, events: Bytes) {
        let mut sender = lock(&self.events);
        let Some(channel) = &*sender else { return };
        if !events.is_empty() && channel.try_send(events).is_err() {
            tracing::info!("a client does not read its notifications: its stream is closed");
            *sender = None;
        }
    }

    /// Sends an event for each notification, such as `data: {"jsonrpc":"2.0",…}\n\n`. On a legacy
    /// stream, the last event has an id. If the events do not fit into memory, the stream ends.
    fn send_notifications(&self, notifications: &[Notification]) {
        let last = notifications.len().saturating_sub(1);
        let mut events = String::new();
        for (index, notification) in notifications.iter().enumerate() {
            let json = notification.to_json();
            self.client.sent(json.as_bytes());
            if index == last && self.legacy_session.is_some() {
                events += &format!("id: {}\n", self.id());
            }
            events += &format!("data: {json}\n\n");
        }
        match self.memory.count(events) {
            Ok(events) => self.send(events),
            Err(_) => *lock(&self.events) = None,
        }
    }

    /// Sends the first event of a legacy stream. `last_event` is the id of the last event that the
    /// client has received from an earlier stream. If the client may have missed a change since
    /// then, it is notified of all lists.
    fn send_first_event(&self, session: &SessionId, last_event: Option<&str>) {
        let id = self.id();
        let data = if session.version >= FIRST_WITH_EMPTY_DATA {
            "data: \n"
        } else {
            ""
        };
        self.send(format!("id: {id}\nretry: 1000\n{data}\n").into());
        let may_have_missed = match last_event {
            Some(last_event) => last_event != id,
            None => {
                let last_change = self.change_count.seen_by(&self.caller).last;
                // A session from the future was made before the clock was set back.
                let is_from_future = session.created > sessions::now();
                session.created <= last_change || is_from_future
            }
        };
        if may_have_missed {
            self.send_notifications(&server::all_lists_changed());
        }
    }

    /// Returns the id of the next event, such as `0123456789abcdef`. The id differs after each
    /// change that the caller may know of, in each process, and for each prefix.
    fn id(&self) -> String {
        let count = self.change_count.seen_by(&self.caller).count;
        let hash = self
            .change_count
            .process
            .hash_one((&self.caller.prefix, count));
        format!("{hash:016x}")
    }

    /// Sends the final event, and ends the stream.
    fn end(&self) {
        self.send(self.final_event.clone());
        *lock(&self.events) = None;
    }
}

impl Listener for Stream {
    /// Sends the notifications of a change that the client has subscribed to.
    fn tell(&self, change: &Change) {
        let notifications = lock(&self.session).notifications(change);
        self.send_notifications(&notifications);
    }
}

/// The body of a response. The stream ends when its body is dropped.
struct EventBody {
    events: mpsc::Receiver<Bytes>,
    stream: Arc<Stream>,
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    /// Returns the next events as soon as there are any, or `None` once the stream has ended.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let events = ready!(self.events.poll_recv(context));
        Poll::Ready(events.map(|events| Ok(Frame::data(events))))
    }
}

impl Streams {
    /// Returns an empty set of streams, and begins to count the changes of the server's library.
    ///
    /// `memory` limits the events that clients have not read. `stopping` becomes `true` when the
    /// server is told to stop; a stream that opens later ends at once.
    pub(super) fn new(
        server: Arc<Server>,
        memory: Budget,
        stopping: watch::Receiver<bool>,
    ) -> Streams {
        let change_count = Arc::new(ChangeCount::default());
        let listener: Arc<dyn Listener> = Arc::clone(&change_count) as _;
        server.add_listener(&listener);
        Streams {
            server,
            change_count,
            open: Mutex::default(),
            memory,
            stopping,
        }
    }

    /// Returns how many streams are open.
    pub(super) fn count(&self) -> usize {
        let open = lock(&self.open);
        open.iter()
            .filter(|stream| stream.strong_count() > 0)
            .count()
    }

    /// Ends all streams for which `may_continue` returns `false`.
    pub(super) fn retain(&self, may_continue: impl Fn(&Stream) -> bool) {
        lock(&self.open).retain(|stream| {
            let Some(stream) = stream.upgrade() else {
                return false;
            };
            let continues = may_continue(&stream);
            if !continues {
                stream.end();
            }
            continues
        });
    }

    /// Ends all streams.
    pub(super) fn end_all(&self) {
        self.retain(|_| false);
    }

    /// Sends a comment to every fifteenth stream. If this is called each second, every stream gets
    /// one in [`COMMENT_EVERY`] seconds: in second 2, those at the indexes 2, 17, 32 and so on.
    pub(super) fn comment(&self, second: usize) {
        let open = lock(&self.open);
        let first = second % COMMENT_EVERY;
        for stream in open.iter().skip(first).step_by(COMMENT_EVERY) {
            if let Some(stream) = stream.upgrade() {
                stream.send(COMMENT);
            }
        }
    }

    /// Opens the stream of a legacy session. `last_event` is the id of the last event that the
    /// client has received from an earlier stream.
    pub(super) fn open(
        &self,
        caller: Caller,
        client: &Arc<Client>,
        session: &SessionId,
        last_event: Option<&str>,
    ) -> Response {
        let notified_session = Session::of_notifications(caller);
        let no_final_event = Bytes::new();
        let body = self.new_stream(
            notified_session,
            client,
            Some(session.random),
            no_final_event,
        );
        // While the session is locked, no notification is sent. So the first event comes first.
        let locked = lock(&body.stream.session);
        self.register(&body.stream);
        body.stream.send_first_event(session, last_event);
        drop(locked);
        self.respond(body)
    }

    /// Handles a `subscriptions/listen`: opens a stream that begins with the acknowledgement of the
    /// subscriptions.
    ///
    /// # Errors
    /// The reply to a request that opens no stream.
    pub(super) fn listen(
        &self,
        session: Session,
        client: &Arc<Client>,
        request: Request,
    ) -> Result<Response, Reply> {
        let response = server::end_of_listen(&request.id);
        let final_event = format!("data: {}\n\n", response.as_json()).into();
        let body = self.new_stream(session, client, None, final_event);
        // While the session is locked, no notification is sent. So the acknowledgement comes first.
        let mut locked = lock(&body.stream.session);
        self.register(&body.stream);
        match self.server.handle(&mut locked, Message::Request(request)) {
            Reply::Stream(acknowledgement) => body.stream.send_notifications(&[acknowledgement]),
            reply => return Err(reply),
        }
        drop(locked);
        Ok(self.respond(body))
    }

    /// Returns the body of a new stream. No changes reach it before [`Streams::register`].
    ///
    /// `session` decides which notifications are sent. `legacy_session` has the random bits of the
    /// id of a legacy session; `None` is for the stream of a `subscriptions/listen`. `final_event`
    /// is sent when the server ends the stream, unless it is empty.
    fn new_stream(
        &self,
        session: Session,
        client: &Arc<Client>,
        legacy_session: Option<u128>,
        final_event: Bytes,
    ) -> EventBody {
        let (sender, events) = mpsc::channel(MAX_UNREAD);
        let stream = Arc::new(Stream {
            change_count: Arc::clone(&self.change_count),
            client: Arc::clone(client),
            caller: (*session.caller).clone(),
            legacy_session,
            session: Mutex::new(session),
            memory: self.memory.clone(),
            events: Mutex::new(Some(sender)),
            final_event,
        });
        EventBody { events, stream }
    }

    /// Lets a stream receive every change from now on.
    fn register(&self, stream: &Arc<Stream>) {
        let listener: Arc<dyn Listener> = Arc::clone(stream) as _;
        self.server.add_listener(&listener);
    }

    /// Adds a stream to the open ones, and returns the response that sends its events.
    fn respond(&self, body: EventBody) -> Response {
        let mut open = lock(&self.open);
        // The server sets `stopping` before it ends the streams in `open`, so none is missed.
        if *self.stopping.borrow() {
            body.stream.end();
        }
        open.push(Arc::downgrade(&body.stream));
        drop(open);
        let headers = [
            (CONTENT_TYPE, EVENT_STREAM),
            (CACHE_CONTROL, "no-cache"),
            // nginx would hold events before it passes them on.
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        (headers, Body::new(body)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::Prefix;
    use crate::prompt::Name;

    fn prompts(names: &[&str]) -> Change {
        let names = names.iter().map(|name| Name::new(name).unwrap());
        Change::of_prompts(names.collect())
    }

    fn folder(folder: &str) -> Change {
        Change::of_folder(folder.to_owned())
    }

    #[test]
    fn a_caller_with_a_prefix_knows_only_of_the_changes_below_it() {
        let changes = ChangeCount::default();
        let all = Caller::local();
        let of_team_a = Caller {
            prefix: Some(Prefix::new("team-a/").unwrap()),
            ..Caller::local()
        };
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
