//! Streams of server-sent events. A legacy client opens one with GET, a modern client with
//! `subscriptions/listen`.
//!
//! The notifier's thread sends events to a bounded channel, from which the connection reads. If the
//! client doesn't read, the channel fills up, and the stream is closed.
//!
//! A legacy stream has event ids so that a client that reconnects misses nothing. An id stands for
//! the number of changes so far. A client that comes back with a different id, or without one after
//! a change, may have missed something, so it is notified that all lists have changed.
//!
//! A legacy session may have several streams. Each notification is sent on the newest one only, and
//! on none before the client has sent `notifications/initialized`. If a client opens another stream
//! without an id, the last id on its open streams counts as the one that it has received.

use super::budget::Budget;
use super::headers::EVENT_STREAM;
use super::proxy::Client;
use super::sessions::{self, SessionId, Sessions};
use crate::jsonrpc::{Id, Message, Notification, Request};
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
use std::slice;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll, ready};
use tokio::sync::{mpsc, watch};

/// How often each stream gets a comment. Proxies close connections that are idle for a minute.
const COMMENT_INTERVAL_SECONDS: usize = 15;

/// A comment, which clients ignore.
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// How many changes a client may leave unread.
const MAX_UNREAD_CHANGES: usize = 64;

/// The first protocol version in which a stream begins with an event that has an empty data line
/// ("Sending Messages to the Client"). Clients of older versions, e.g. Gemini CLI 0.61, can take it
/// for a message and give up. They ignore an event without a data line.
const FIRST_VERSION_WITH_EMPTY_DATA: &str = "2025-11-25";

/// All open streams of this process.
pub(super) struct Streams {
    server: Arc<Server>,
    sessions: Arc<Sessions>,
    session_streams: Arc<SessionStreams>,
    change_counts: Arc<ChangeCounts>,
    /// Also has some streams that have ended since the last [`retain`](Streams::retain).
    open: Mutex<Vec<Weak<Stream>>>,
    /// The memory for unread events.
    memory: Budget,
    shutdown: watch::Receiver<bool>,
}

/// The open streams of the legacy sessions.
#[derive(Default)]
struct SessionStreams(Mutex<StreamNumbers>);

#[derive(Default)]
struct StreamNumbers {
    /// The number of the last stream that was opened. Each has its own number.
    last: u64,
    /// The numbers of the open streams of each session, oldest first, by [`SessionId::random`].
    by_session: HashMap<u128, Vec<u64>>,
}

/// An open stream among those of its session. It counts as open until this is dropped.
struct SessionStream {
    all: Arc<SessionStreams>,
    session_random: u128,
    number: u64,
}

impl SessionStream {
    /// Adds a new stream to those of a session.
    fn open(all: &Arc<SessionStreams>, session_random: u128) -> SessionStream {
        let mut numbers = lock(&all.0);
        numbers.last += 1;
        let number = numbers.last;
        numbers
            .by_session
            .entry(session_random)
            .or_default()
            .push(number);
        SessionStream {
            all: Arc::clone(all),
            session_random,
            number,
        }
    }

    /// Returns `true` if no newer stream of the session is open.
    fn is_newest(&self) -> bool {
        let numbers = lock(&self.all.0);
        let open = numbers.by_session.get(&self.session_random);
        open.and_then(|open| open.last()) == Some(&self.number)
    }
}

impl Drop for SessionStream {
    fn drop(&mut self) {
        let mut numbers = lock(&self.all.0);
        let Some(open) = numbers.by_session.get_mut(&self.session_random) else {
            return;
        };
        open.retain(|number| *number != self.number);
        if open.is_empty() {
            numbers.by_session.remove(&self.session_random);
        }
    }
}

/// Counts the changes of the library that are visible to each caller, for event ids.
struct ChangeCounts {
    /// Hashes event ids with a random key, so that two processes have different ids.
    id_hasher: RandomState,
    /// When the process started, in seconds since 1970.
    started: u64,
    by_folder: Mutex<FolderCounts>,
}

/// Counts of changes by folder, e.g. `team-a/`. The whole library is the folder `""`.
#[derive(Default)]
struct FolderCounts {
    /// Changes of the folder, or of any prompt or folder below it.
    inside: HashMap<String, ChangeSummary>,
    /// Changes of the folder as a whole, which may affect everything below it.
    whole: HashMap<String, ChangeSummary>,
}

/// How many changes there were since the process started, and when the last one was.
#[derive(Clone, Copy)]
struct ChangeSummary {
    count: u64,
    /// The last time at which there may have been a change, in seconds since 1970: that of the last
    /// change that was counted. If there was none, it is the second before the process started,
    /// because this process knows nothing of earlier changes.
    last_change: u64,
}

impl ChangeSummary {
    /// Adds the changes of another folder.
    fn add(&mut self, other: Option<&ChangeSummary>) {
        if let Some(other) = other {
            self.count += other.count;
            self.last_change = self.last_change.max(other.last_change);
        }
    }
}

impl Default for ChangeCounts {
    fn default() -> ChangeCounts {
        ChangeCounts {
            id_hasher: RandomState::new(),
            started: sessions::now(),
            by_folder: Mutex::default(),
        }
    }
}

impl ChangeCounts {
    /// Sums up the changes that are visible to a caller: the ones inside its folder, and the ones
    /// that affect a whole folder above it.
    ///
    /// For the prefix `team-a/`, this includes a change of the prompt `team-a/x` and one of the
    /// whole library, but not one of the prompt `team-b/x`.
    fn visible_to(&self, caller: &Caller) -> ChangeSummary {
        let folder = match &caller.prefix {
            Some(prefix) => prefix.to_string(),
            None => String::new(),
        };
        let mut summary = ChangeSummary {
            count: 0,
            last_change: self.started - 1,
        };
        let by_folder = lock(&self.by_folder);
        for ancestor in ancestor_folders(&folder) {
            summary.add(by_folder.whole.get(ancestor));
        }
        summary.add(by_folder.inside.get(&folder));
        summary
    }
}

impl Listener for ChangeCounts {
    /// Counts a change once for each folder that it affects. A change of the prompts `team-a/x` and
    /// `team-a/y` counts once for `team-a/` and once for `""`.
    fn notify(&self, change: &Change) {
        let mut affected = BTreeSet::new();
        for name in &change.prompts {
            affected.extend(ancestor_folders(name));
        }
        for folder in &change.folders {
            affected.extend(ancestor_folders(folder));
            affected.insert(folder);
        }
        let whole_folders = change.folders.iter().map(String::as_str);
        let mut by_folder = lock(&self.by_folder);
        count_change(&mut by_folder.inside, affected);
        count_change(&mut by_folder.whole, whole_folders);
    }
}

/// Adds one change, at the current time, to each of these folders.
fn count_change<'f>(
    summaries: &mut HashMap<String, ChangeSummary>,
    folders: impl IntoIterator<Item = &'f str>,
) {
    let now = sessions::now();
    for folder in folders {
        let summary = summaries.entry(folder.to_owned()).or_insert(ChangeSummary {
            count: 0,
            last_change: now,
        });
        summary.count += 1;
        summary.last_change = now;
    }
}

/// Returns the folders above a prompt or folder, including `""`, the whole library:
///
/// - `a/`, `a/b/` and `""` for the prompt `a/b/c`
/// - `a/` and `""` for the folder `a/b/`
/// - nothing for `""`
fn ancestor_folders(path: &str) -> Vec<&str> {
    let mut folders = Vec::new();
    for (slash, _) in path.trim_end_matches('/').match_indices('/') {
        folders.push(&path[..=slash]);
    }
    if !path.is_empty() {
        folders.push("");
    }
    folders
}

/// The sending half of a stream.
pub(super) struct Stream {
    sessions: Arc<Sessions>,
    change_counts: Arc<ChangeCounts>,
    client: Arc<Client>,
    pub(super) caller: Caller,
    kind: StreamKind,
    /// Selects the notifications to send. [`Streams::start`] keeps it locked until the first event
    /// is sent.
    notified_session: Mutex<Session>,
    memory: Budget,
    /// The event id of the last notification, if there was one. Only a legacy stream has it.
    last_notification_id: Mutex<Option<String>>,
    /// `None` after the stream was closed.
    open_end: Mutex<Option<OpenEnd>>,
}

/// The end of an open stream where events are put in.
struct OpenEnd {
    events: mpsc::Sender<Bytes>,
    /// `None` for a stream without a session.
    session_stream: Option<SessionStream>,
}

/// How a stream was opened.
enum StreamKind {
    /// With GET, in a session. The events have ids.
    Legacy { session: SessionId },
    /// With `subscriptions/listen`.
    Listen { request_id: Id },
}

/// How the server replies to `subscriptions/listen`.
pub(super) enum ListenOutcome {
    /// With a stream.
    Opened(Response),
    /// With an answer, because the request was refused.
    Answered(Reply),
}

impl Stream {
    /// Returns `true` if the stream was opened in this legacy session.
    pub(super) fn is_of_session(&self, session: &SessionId) -> bool {
        match &self.kind {
            StreamKind::Legacy { session: own } => own.random == session.random,
            StreamKind::Listen { .. } => false,
        }
    }

    /// Returns `true` if notifications may be sent on this stream: it is open and, in a legacy
    /// session, it is the newest stream, and the client has sent `notifications/initialized`.
    fn receives_notifications(&self) -> bool {
        if !self.is_handshake_finished() {
            return false;
        }
        let open_end = lock(&self.open_end);
        let Some(open_end) = &*open_end else {
            return false;
        };
        match &open_end.session_stream {
            Some(session_stream) => session_stream.is_newest(),
            None => true,
        }
    }

    /// Returns `true` unless the session of the stream waits for `notifications/initialized`. Only
    /// a legacy session does.
    fn is_handshake_finished(&self) -> bool {
        match &self.kind {
            StreamKind::Legacy { session } => {
                self.sessions.is_initialized(session, sessions::now())
            }
            StreamKind::Listen { .. } => true,
        }
    }

    /// Sends one or more events, e.g. `data: {}\n\n`, unless the stream is closed. If the client
    /// has too many unread, closes the stream.
    fn send(&self, events: Bytes) {
        let mut open_end = lock(&self.open_end);
        let Some(OpenEnd { events: sender, .. }) = &*open_end else {
            return;
        };
        if sender.try_send(events).is_err() {
            tracing::info!("a client does not read its notifications: its stream is closed");
            *open_end = None;
        }
    }

    /// Sends an event for each notification. The last event of a legacy stream gets an id, which
    /// covers all of them. If there is too little memory, closes the stream.
    fn send_notifications(&self, notifications: &[Notification]) {
        let Some((last, earlier)) = notifications.split_last() else {
            return; // there are no notifications
        };
        let mut events = String::new();
        for notification in earlier {
            events += &self.event(notification);
        }
        if matches!(self.kind, StreamKind::Legacy { .. }) {
            let id = self.event_id();
            // This line belongs to the event that follows it.
            events += &format!("id: {id}\n");
            *lock(&self.last_notification_id) = Some(id);
        }
        events += &self.event(last);
        match self.memory.reserve(events) {
            Ok(events) => self.send(events),
            Err(_) => self.close(),
        }
    }

    /// Returns the event for a notification, e.g. `data: {}\n\n`, and records it as sent.
    fn event(&self, notification: &Notification) -> String {
        let json = notification.to_json();
        self.client.record_sent(json.as_bytes());
        format!("data: {json}\n\n")
    }

    /// Sends the first event of a legacy stream, which tells the client the current id.
    fn send_first_event(&self, session: &SessionId) {
        let id = self.event_id();
        // Versions are dates, so their order as strings is that of their release.
        let data_line = if session.version >= FIRST_VERSION_WITH_EMPTY_DATA {
            "data: \n"
        } else {
            ""
        };
        self.send(format!("id: {id}\nretry: 1000\n{data_line}\n").into());
    }

    /// Notifies the client of a legacy stream that all lists have changed, if it may have missed a
    /// change. Does nothing if the client gets notifications on another stream, or none yet.
    /// `last_event_id` is the last id that it has received, if any.
    fn notify_of_missed_change(&self, session: &SessionId, last_event_id: Option<&str>) {
        if !self.receives_notifications() {
            return;
        }
        let may_have_missed_change = match last_event_id {
            Some(last_event_id) => last_event_id != self.event_id(),
            // It may have read the library since it created the session, before this stream.
            None => self.may_have_changed_since(session.created),
        };
        if may_have_missed_change {
            self.send_notifications(&server::all_lists_changed());
        }
    }

    /// Returns `true` if something visible to the caller may have changed since a time, in seconds
    /// since 1970.
    fn may_have_changed_since(&self, time: u64) -> bool {
        let last_change = self.change_counts.visible_to(&self.caller).last_change;
        // If the clock was set back since, it can't tell which came first.
        let was_clock_set_back = time > sessions::now();
        time <= last_change || was_clock_set_back
    }

    /// Returns the current event id, e.g. `0123456789abcdef`. It is unique to this process and the
    /// caller's prefix, and changes with every change that is visible to the caller.
    fn event_id(&self) -> String {
        let count = self.change_counts.visible_to(&self.caller).count;
        let id_hasher = &self.change_counts.id_hasher;
        let hash = id_hasher.hash_one((&self.caller.prefix, count));
        format!("{hash:016x}")
    }

    /// Closes the stream without a final event.
    fn close(&self) {
        *lock(&self.open_end) = None;
    }

    /// Closes the stream. If it was opened with `subscriptions/listen`, sends the result of that
    /// request first.
    fn end(&self) {
        if let StreamKind::Listen { request_id } = &self.kind {
            let result = server::listen_result(request_id);
            self.send(format!("data: {}\n\n", result.as_json()).into());
        }
        self.close();
    }
}

impl Listener for Stream {
    /// Sends the notifications of a change that the client has subscribed to, if it gets them on
    /// this stream.
    fn notify(&self, change: &Change) {
        if !self.receives_notifications() {
            return;
        }
        let notifications = lock(&self.notified_session).notifications(change);
        self.send_notifications(&notifications);
    }
}

/// The receiving half of a stream, as the body of a response. It holds the only strong reference to
/// the stream, so a stream ends when the connection drops its body.
struct EventBody {
    events: mpsc::Receiver<Bytes>,
    stream: Arc<Stream>,
}

impl HttpBody for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    /// Returns the next events when there are any, or `None` after the stream was closed.
    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let events = ready!(self.events.poll_recv(context));
        Poll::Ready(events.map(|events| Ok(Frame::data(events))))
    }
}

impl Streams {
    /// Starts to count the changes of the server's library. `memory` limits the unread events, and
    /// `shutdown` must become `true` when the server shuts down.
    pub(super) fn new(
        server: Arc<Server>,
        sessions: Arc<Sessions>,
        memory: Budget,
        shutdown: watch::Receiver<bool>,
    ) -> Streams {
        let change_counts = Arc::new(ChangeCounts::default());
        // The server holds only a weak reference. `change_counts` keeps the listener alive.
        let listener: Arc<dyn Listener> = Arc::clone(&change_counts) as _;
        server.add_listener(&listener);
        Streams {
            server,
            sessions,
            session_streams: Arc::default(),
            change_counts,
            open: Mutex::default(),
            memory,
            shutdown,
        }
    }

    /// Returns the number of open streams.
    pub(super) fn count_open(&self) -> usize {
        let open = lock(&self.open);
        open.iter()
            .filter(|stream| stream.strong_count() > 0)
            .count()
    }

    /// Ends all streams for which `should_keep` returns `false`. Also forgets those that have ended
    /// by themselves.
    pub(super) fn retain(&self, should_keep: impl Fn(&Stream) -> bool) {
        lock(&self.open).retain(|stream| {
            let Some(stream) = stream.upgrade() else {
                return false; // it has ended
            };
            let is_kept = should_keep(&stream);
            if !is_kept {
                stream.end();
            }
            is_kept
        });
    }

    /// Ends all streams.
    pub(super) fn end_all(&self) {
        self.retain(|_| false);
    }

    /// Sends a comment to a share of the streams, to keep their connections open. Call this every
    /// second with the next number, so that each stream gets a comment every
    /// [`COMMENT_INTERVAL_SECONDS`].
    pub(super) fn send_comments(&self, second: usize) {
        let open = lock(&self.open);
        for (index, stream) in open.iter().enumerate() {
            let is_due = index % COMMENT_INTERVAL_SECONDS == second % COMMENT_INTERVAL_SECONDS;
            if is_due && let Some(stream) = stream.upgrade() {
                stream.send(COMMENT);
            }
        }
    }

    /// Handles `notifications/initialized` in a legacy session: from now on, its newest stream gets
    /// the notifications, and first those that the client may have missed.
    pub(super) fn finish_handshake(&self, session: &SessionId) {
        let was_uninitialized = self.sessions.finish_handshake(session);
        if !was_uninitialized {
            return;
        }
        for stream in lock(&self.open).iter().filter_map(Weak::upgrade) {
            if stream.is_of_session(session) {
                let no_event_id = None; // before the handshake, a stream gets no notification
                stream.notify_of_missed_change(session, no_event_id);
            }
        }
    }

    /// Returns the event id of the last notification on the open streams of a session, or `None` if
    /// there was none.
    fn last_notification_id(&self, session: &SessionId) -> Option<String> {
        let open = lock(&self.open);
        // Begin with the newest stream, which got the last notification if it got any.
        for stream in open.iter().rev().filter_map(Weak::upgrade) {
            if !stream.is_of_session(session) {
                continue;
            }
            let id = lock(&stream.last_notification_id).clone();
            if id.is_some() {
                return id;
            }
        }
        None
    }

    /// Opens a stream of a legacy session. `last_event_id` is the last id that the client has
    /// received from an earlier stream, if it says so.
    pub(super) fn open_legacy(
        &self,
        caller: Caller,
        client: &Arc<Client>,
        session: &SessionId,
        last_event_id: Option<&str>,
    ) -> Response {
        let last_event_id = match last_event_id {
            Some(id) => Some(id.to_owned()),
            None => self.last_notification_id(session),
        };
        let notified_session = Session::for_notifications(caller);
        let kind = StreamKind::Legacy {
            session: session.clone(),
        };
        let body = self.new_stream(notified_session, client, kind);
        let stream = Arc::clone(&body.stream);
        self.start(&stream, |_| stream.send_first_event(session));
        let response = self.respond(body);
        // Only now: if the client finishes the handshake at the same time, either this or
        // `finish_handshake`, which needs the stream among the open ones, sends the notification.
        stream.notify_of_missed_change(session, last_event_id.as_deref());
        response
    }

    /// Handles `subscriptions/listen`: opens a stream whose first event is the acknowledgement, or
    /// returns the answer if the request is refused.
    pub(super) fn listen(
        &self,
        session: Session,
        client: &Arc<Client>,
        request: Request,
    ) -> ListenOutcome {
        let kind = StreamKind::Listen {
            request_id: request.id.clone(),
        };
        let body = self.new_stream(session, client, kind);
        let reply = self.start(&body.stream, |notified_session| {
            self.subscribe(&body.stream, notified_session, request)
        });
        match reply {
            Reply::Stream(_) => ListenOutcome::Opened(self.respond(body)),
            // The body is dropped, and the stream with it, so it receives no more changes.
            answer => ListenOutcome::Answered(answer),
        }
    }

    /// Handles the request that subscribes a stream to changes. If the reply is an acknowledgement,
    /// also sends it on the stream.
    fn subscribe(
        &self,
        stream: &Stream,
        notified_session: &mut Session,
        request: Request,
    ) -> Reply {
        let message = Message::Request(request);
        let reply = self.server.handle(notified_session, message);
        if let Reply::Stream(acknowledgement) = &reply {
            stream.send_notifications(slice::from_ref(acknowledgement));
        }
        reply
    }

    /// Creates a stream that doesn't receive changes yet. `notified_session` selects the
    /// notifications to send.
    fn new_stream(
        &self,
        notified_session: Session,
        client: &Arc<Client>,
        kind: StreamKind,
    ) -> EventBody {
        let (sender, events) = mpsc::channel(MAX_UNREAD_CHANGES);
        let session_stream = match &kind {
            StreamKind::Legacy { session } => {
                Some(SessionStream::open(&self.session_streams, session.random))
            }
            StreamKind::Listen { .. } => None,
        };
        let open_end = OpenEnd {
            events: sender,
            session_stream,
        };
        let stream = Arc::new(Stream {
            sessions: Arc::clone(&self.sessions),
            change_counts: Arc::clone(&self.change_counts),
            client: Arc::clone(client),
            caller: (*notified_session.caller).clone(),
            kind,
            notified_session: Mutex::new(notified_session),
            memory: self.memory.clone(),
            last_notification_id: Mutex::default(),
            open_end: Mutex::new(Some(open_end)),
        });
        EventBody { events, stream }
    }

    /// Makes the server notify a stream of every change from now on, and runs
    /// `send_first_event` with the stream's session.
    ///
    /// The stream becomes a listener before its first event is sent. In the other order, a change
    /// between the two would be lost. But no notification may precede the first event, so the
    /// session stays locked until this function returns: [`Stream::notify`] waits for that lock.
    fn start<T>(
        &self,
        stream: &Arc<Stream>,
        send_first_event: impl FnOnce(&mut Session) -> T,
    ) -> T {
        let mut notified_session = lock(&stream.notified_session);
        let listener: Arc<dyn Listener> = Arc::clone(stream) as _;
        self.server.add_listener(&listener);
        send_first_event(&mut notified_session)
    }

    /// Adds a stream to the open ones, and returns the response with its events.
    fn respond(&self, body: EventBody) -> Response {
        let mut open = lock(&self.open);
        // The server sets `shutdown` before it ends all open streams, so either this check or
        // `end_all` ends this stream.
        if *self.shutdown.borrow() {
            body.stream.end();
        }
        open.push(Arc::downgrade(&body.stream));
        drop(open);
        let headers = [
            (CONTENT_TYPE, EVENT_STREAM),
            (CACHE_CONTROL, "no-cache"),
            // Otherwise nginx buffers events.
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
    fn a_caller_with_a_prefix_sees_only_the_changes_inside_it() {
        let change_counts = ChangeCounts::default();
        let everyone = Caller::local();
        let team_a = Caller {
            prefix: Some(Prefix::new("team-a/").unwrap()),
            ..Caller::local()
        };
        for (change, count_of_all, count_of_team_a) in [
            (prompts(&["team-b/x", "team-ab/x", "x"]), 1, 0),
            (prompts(&["team-a/x", "team-a/y/z", "team-b/x"]), 2, 1),
            (prompts(&["team-b/team-a/x"]), 3, 1),
            (Change::anything(), 4, 2),
            (folder("team-b/"), 5, 2),
            (folder("team-b/team-a/"), 6, 2),
            (folder("team-a/"), 7, 3),
            (folder("team-a/x/"), 8, 4),
        ] {
            change_counts.notify(&change);
            assert_eq!(
                change_counts.visible_to(&everyone).count,
                count_of_all,
                "{change:?}"
            );
            assert_eq!(
                change_counts.visible_to(&team_a).count,
                count_of_team_a,
                "{change:?}"
            );
        }
    }
}
