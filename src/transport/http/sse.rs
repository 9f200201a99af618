//! Streams of server-sent events: those that GET opens for legacy clients, and `subscriptions/listen`.
//!
//! A stream is a bounded [`Queue`] between the notifier's thread and the connection. If a client does not read, its queue
//! overflows, and its stream ends; the connection closes when the time to write is up. There is no task for each stream: one task
//! sends the comments that keep idle streams open.
//!
//! The notifications of a legacy client are the same bytes for all who see the same prompts. So all its streams are one
//! [`Listener`], a [`Broadcast`], and are serialized once.

use super::sessions::{self, SessionId};
use crate::jsonrpc::{Id, Message, Notification, Outgoing};
use crate::library::{Caller, Prefix};
use crate::server::{self, Change, Listener, Reply, Server, Session};
use axum::body::Bytes;
use hyper::body::{Body, Frame};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// How often a comment is sent, in seconds: proxies close connections on which nothing is sent for a minute.
const COMMENT_EVERY: usize = 15;
const COMMENT: Bytes = Bytes::from_static(b":\n\n");

/// How many writes, and bytes, a client may leave unread. One write holds all notifications of a change.
const MAX_UNREAD: usize = 64;
const MAX_UNREAD_BYTES: usize = 4 * 1024 * 1024;

/// The first protocol version in which a stream begins with an event whose data is empty ("Sending Messages to the Client").
/// Clients of older versions may take it for a message, and give up, as Gemini CLI 0.61 does. Without a data line, it is an event
/// for nobody.
const FIRST_WITH_EMPTY_DATA: &str = "2025-11-25";

/// A legacy client that does not send `notifications/initialized` is notified after this long.
const INITIALIZED_WITHIN: Duration = Duration::from_secs(5);

/// How many sessions whose client has just sent `notifications/initialized` are remembered.
const MAX_INITIALIZED: usize = 10_000;

/// What is to be written to one stream.
#[derive(Debug)]
pub(super) struct Queue {
    caller: Caller,
    state: Mutex<QueueState>,
    /// Written when the server ends.
    farewell: Bytes,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<Bytes>,
    bytes: usize,
    has_ended: bool,
    reader: Option<Waker>,
}

impl Queue {
    fn new(caller: Caller, farewell: Bytes) -> Arc<Queue> {
        Arc::new(Queue { caller, state: Mutex::default(), farewell })
    }

    /// Adds events, or ends the stream if the client has left too many unread.
    fn push(&self, events: Bytes) {
        let mut state = lock(&self.state);
        if state.has_ended {
            return;
        }
        let is_full = state.events.len() >= MAX_UNREAD
            || (!state.events.is_empty() && state.bytes + events.len() > MAX_UNREAD_BYTES);
        if is_full {
            tracing::info!("a client does not read its notifications: its stream is closed");
            state.has_ended = true;
            state.events.clear();
        } else {
            state.bytes += events.len();
            state.events.push_back(events);
        }
        state.wake();
    }

    /// Adds a comment, unless there is something else to write.
    fn keep_alive(&self) {
        if lock(&self.state).events.is_empty() {
            self.push(COMMENT);
        }
    }

    /// Ends the stream after what it holds.
    fn end(&self) {
        if !self.farewell.is_empty() {
            self.push(self.farewell.clone());
        }
        let mut state = lock(&self.state);
        state.has_ended = true;
        state.wake();
    }

    fn poll_next(&self, context: &Context<'_>) -> Poll<Option<Bytes>> {
        let mut state = lock(&self.state);
        if let Some(events) = state.events.pop_front() {
            state.bytes -= events.len();
            return Poll::Ready(Some(events));
        }
        if state.has_ended {
            return Poll::Ready(None);
        }
        state.reader = Some(context.waker().clone());
        Poll::Pending
    }
}

impl QueueState {
    fn wake(&mut self) {
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }
}

/// The body of an answer that is a stream. The stream ends when it is dropped.
pub(super) struct EventStream {
    queue: Arc<Queue>,
    subscription: Subscription,
}

/// What a stream receives.
enum Subscription {
    /// The notifications of an open `subscriptions/listen`; kept so that it stays open.
    Listen(#[expect(dead_code)] Arc<dyn Listener>),
    /// Those of a legacy session.
    Session(Arc<Broadcast>, StreamKey),
}

impl Body for EventStream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.queue.poll_next(context).map(|events| events.map(|events| Ok(Frame::data(events))))
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        if let Subscription::Session(broadcast, key) = &self.subscription {
            lock(&broadcast.state).streams.remove(key);
        }
    }
}

/// The session of a stream, and a number that is greater for a newer stream.
type StreamKey = (u128, u64);

/// All streams that are open in this process.
#[derive(Default)]
pub(super) struct Streams {
    /// By which prompts their clients see.
    broadcasts: Mutex<HashMap<Option<Prefix>, Arc<Broadcast>>>,
    comments: Mutex<Comments>,
    initialized: Mutex<HashMap<u128, Instant>>,
    /// Distinguishes the ids of events from those of other processes.
    process: u64,
}

/// All streams, by the second in which they get a comment.
#[derive(Default)]
struct Comments {
    streams: [Vec<Weak<Queue>>; COMMENT_EVERY],
    second: usize,
    has_ended: bool,
}

impl Streams {
    /// `process` is a random number.
    pub(super) fn new(process: u64) -> Streams {
        Streams { process, ..Streams::default() }
    }

    /// How many streams are open.
    pub(super) fn count(&self) -> usize {
        lock(&self.comments).streams.iter().flatten().filter(|queue| queue.strong_count() > 0).count()
    }

    /// Sends comments to the streams whose second it is; called each second.
    pub(super) fn tick(&self) {
        let queues = {
            let mut comments = lock(&self.comments);
            comments.second = (comments.second + 1) % COMMENT_EVERY;
            let second = comments.second;
            comments.streams[second].retain(|queue| queue.strong_count() > 0);
            comments.streams[second].clone()
        };
        queues.iter().filter_map(Weak::upgrade).for_each(|queue| queue.keep_alive());
        lock(&self.initialized).retain(|_, at| at.elapsed() < INITIALIZED_WITHIN);
    }

    /// Ends all streams, and those that are opened later at once.
    pub(super) fn end(&self) {
        let queues = {
            let mut comments = lock(&self.comments);
            comments.has_ended = true;
            std::mem::take(&mut comments.streams)
        };
        queues.iter().flatten().filter_map(Weak::upgrade).for_each(|queue| queue.end());
    }

    /// Ends the streams of those who may no longer have one.
    pub(super) fn end_unless(&self, is_valid: impl Fn(&Caller) -> bool) {
        let queues: Vec<_> = lock(&self.comments).streams.iter().flatten().filter_map(Weak::upgrade).collect();
        queues.iter().filter(|queue| !is_valid(&queue.caller)).for_each(|queue| queue.end());
    }

    fn add(&self, queue: &Arc<Queue>) {
        let mut comments = lock(&self.comments);
        if comments.has_ended {
            queue.end();
        }
        let second = comments.second;
        comments.streams[second].push(Arc::downgrade(queue));
    }

    /// Opens the stream of a legacy session. `last_event` is the id of the last event that the client has received of an
    /// earlier stream. If there were notifications since, or without an id since the session was made, the client gets those of
    /// all lists.
    pub(super) fn open(
        self: &Arc<Self>,
        server: &Server,
        caller: &Caller,
        session: &SessionId,
        last_event: Option<&str>,
    ) -> EventStream {
        let age = Duration::from_secs(sessions::now().saturating_sub(session.made));
        let broadcast = self.broadcast(server, caller);
        let queue = Queue::new(caller.clone(), Bytes::new());
        let was_initialized = lock(&self.initialized).contains_key(&session.random);
        let mut state = lock(&broadcast.state);
        state.opened += 1;
        let key = (session.random, state.opened);
        let is_ready = was_initialized || age >= INITIALIZED_WITHIN;
        let id = broadcast.last_id(&state);
        let is_primed = session.version >= FIRST_WITH_EMPTY_DATA;
        let data = if is_primed { "data: \n" } else { "" };
        queue.push(Bytes::from(format!("id: {id}\nretry: 1000\n{data}\n")));
        let has_missed = last_event.map_or(state.has_changed_since(session.made), |last| last != id);
        let mut stream = LegacyStream { queue: Arc::clone(&queue), is_ready, has_missed };
        if is_ready {
            stream.make_ready(&id);
        }
        state.streams.insert(key, stream);
        drop(state);
        self.add(&queue);
        if !is_ready {
            let (broadcast, wait) = (Arc::downgrade(&broadcast), INITIALIZED_WITHIN.saturating_sub(age));
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                if let Some(broadcast) = broadcast.upgrade() {
                    broadcast.initialized(key.0);
                }
            });
        }
        EventStream { queue, subscription: Subscription::Session(broadcast, key) }
    }

    /// A legacy client has sent `notifications/initialized`, before or after it opened a stream.
    pub(super) fn initialized(&self, session: &SessionId) {
        {
            let mut initialized = lock(&self.initialized);
            if initialized.len() < MAX_INITIALIZED {
                initialized.insert(session.random, Instant::now());
            }
        }
        let broadcasts: Vec<_> = lock(&self.broadcasts).values().cloned().collect();
        broadcasts.iter().for_each(|broadcast| broadcast.initialized(session.random));
    }

    /// Ends the streams of a session that was deleted.
    pub(super) fn end_session(&self, session: &SessionId) {
        let broadcasts: Vec<_> = lock(&self.broadcasts).values().cloned().collect();
        for broadcast in broadcasts {
            lock(&broadcast.state).of_session(session.random).for_each(|stream| stream.queue.end());
        }
    }

    /// All streams of those who see the same prompts as the caller. Called before a session is made, so that no change after that
    /// is unknown.
    pub(super) fn broadcast(&self, server: &Server, caller: &Caller) -> Arc<Broadcast> {
        let mut broadcasts = lock(&self.broadcasts);
        let number = broadcasts.len() as u64;
        let broadcast = broadcasts.entry(caller.prefix.clone()).or_insert_with(|| {
            let session = Session::of_notifications(caller.clone());
            let (since, streams) = (sessions::now(), BTreeMap::new());
            let state = BroadcastState { session, streams, opened: 0, sent: 0, since, changed: None };
            let broadcast = Arc::new(Broadcast { number: self.process.wrapping_add(number), state: Mutex::new(state) });
            server.add_listener(&(Arc::clone(&broadcast) as Arc<dyn Listener>));
            broadcast
        });
        Arc::clone(broadcast)
    }

    /// Handles a `subscriptions/listen` with this id: the stream that it opens, or another reply.
    pub(super) fn listen(
        &self,
        server: &Server,
        session: Session,
        id: &Id,
        message: Message,
    ) -> Result<EventStream, Reply> {
        let queue = Queue::new(session.caller().clone(), event(None, server::end_of_listen(id).to_json()));
        let listen = Arc::new(Listen { queue: Arc::clone(&queue), session: Mutex::new(session) });
        let listener = Arc::clone(&listen) as Arc<dyn Listener>;
        server.add_listener(&listener);
        // Locked until the acknowledgement is in the queue, so that no notification precedes it.
        let mut session = lock(&listen.session);
        match server.handle(&mut session, message) {
            Reply::Stream(acknowledgement) => queue.push(event(None, acknowledgement.to_json())),
            reply => return Err(reply),
        }
        drop(session);
        self.add(&queue);
        Ok(EventStream { queue, subscription: Subscription::Listen(listener) })
    }
}

/// An open `subscriptions/listen`.
struct Listen {
    queue: Arc<Queue>,
    session: Mutex<Session>,
}

impl Listener for Listen {
    fn notify(&self, change: &Change) {
        let notifications = lock(&self.session).notifications(change);
        if !notifications.is_empty() {
            self.queue.push(events(&notifications, None));
        }
    }
}

/// All streams of legacy clients who see the same prompts.
pub(super) struct Broadcast {
    /// Distinguishes the ids of its events from those of other processes, and from those of another prefix, which a token may get.
    number: u64,
    state: Mutex<BroadcastState>,
}

struct BroadcastState {
    session: Session,
    streams: BTreeMap<StreamKey, LegacyStream>,
    /// How many streams were opened.
    opened: u64,
    /// How many changes were sent.
    sent: u64,
    /// When it was made, and the last change sent, in seconds since 1970.
    since: u64,
    changed: Option<u64>,
}

struct LegacyStream {
    queue: Arc<Queue>,
    /// Whether notifications may be sent to it.
    is_ready: bool,
    /// Whether there were notifications before it was ready.
    has_missed: bool,
}

impl Broadcast {
    /// The id of the last event: another one after each change, for each prefix, and in each process.
    fn last_id(&self, state: &BroadcastState) -> String {
        format!("{:016x}-{}", self.number, state.sent)
    }

    /// The client has finished its handshake.
    fn initialized(&self, session: u128) {
        let mut state = lock(&self.state);
        let id = self.last_id(&state);
        state.of_session(session).for_each(|stream| stream.make_ready(&id));
    }
}

impl BroadcastState {
    /// Whether there was, or may have been, a change since a session was made. If that seems to be in the future, the clock was
    /// set back, and the time of a change says nothing.
    fn has_changed_since(&self, made: u64) -> bool {
        made < self.since || made > sessions::now() || self.changed.is_some_and(|changed| made <= changed)
    }

    fn of_session(&mut self, session: u128) -> impl Iterator<Item = &mut LegacyStream> {
        self.streams.range_mut((session, 0)..=(session, u64::MAX)).map(|(_, stream)| stream)
    }
}

impl LegacyStream {
    fn make_ready(&mut self, last_id: &str) {
        self.is_ready = true;
        if std::mem::take(&mut self.has_missed) {
            self.queue.push(events(&server::all_lists_changed(), Some(last_id)));
        }
    }
}

impl Listener for Broadcast {
    fn notify(&self, change: &Change) {
        let mut state = lock(&self.state);
        let notifications = state.session.notifications(change);
        if notifications.is_empty() {
            return;
        }
        state.sent += 1;
        state.changed = Some(sessions::now());
        let events = events(&notifications, Some(&self.last_id(&state)));
        let mut streams = state.streams.iter_mut().peekable();
        while let Some(((session, _), stream)) = streams.next() {
            // The newest one of its session.
            if streams.peek().is_none_or(|((next, _), _)| next != session) {
                if stream.is_ready {
                    stream.queue.push(events.clone());
                } else {
                    stream.has_missed = true;
                }
            }
        }
    }
}

/// An event for each notification. The id is that of the last event, so that a client that did not receive all of them does not
/// have it.
fn events(notifications: &[Notification], last_id: Option<&str>) -> Bytes {
    let last = notifications.len().saturating_sub(1);
    let events = notifications.iter().enumerate();
    let events = events.map(|(at, it)| event(last_id.filter(|_| at == last), it.to_json()));
    Bytes::from(events.collect::<Vec<_>>().concat())
}

/// An event with a message; nothing if that is not JSON, which cannot be.
fn event(id: Option<&str>, message: serde_json::Result<Box<RawValue>>) -> Bytes {
    let Ok(message) = message else { return Bytes::new() };
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    Bytes::from(format!("{id}data: {message}\n\n"))
}

/// A panic cannot leave this data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that the queue holds, and whether it has ended.
    fn rest(queue: &Queue) -> (Vec<Bytes>, bool) {
        let context = Context::from_waker(Waker::noop());
        let mut events = Vec::new();
        loop {
            match queue.poll_next(&context) {
                Poll::Ready(Some(event)) => events.push(event),
                Poll::Ready(None) => return (events, true),
                Poll::Pending => return (events, false),
            }
        }
    }

    #[test]
    fn a_stream_ends_when_too_much_is_left_unread_but_one_change_may_be_long() {
        let queue = Queue::new(Caller::local(), Bytes::new());
        let long = Bytes::from(vec![b'x'; MAX_UNREAD_BYTES * 2]);
        queue.push(long.clone());
        assert_eq!(rest(&queue), (vec![long.clone()], false));
        queue.push(long.clone());
        queue.push(COMMENT);
        assert_eq!(rest(&queue), (vec![], true));

        let queue = Queue::new(Caller::local(), Bytes::new());
        (0..MAX_UNREAD).for_each(|_| queue.push(COMMENT));
        assert!(!rest(&queue).1);
        (0..=MAX_UNREAD).for_each(|_| queue.push(COMMENT));
        assert_eq!(rest(&queue), (vec![], true));
        queue.push(COMMENT);
        assert_eq!(rest(&queue), (vec![], true), "for ever");
    }

    #[test]
    fn a_stream_that_the_server_ends_is_told_so_and_a_comment_is_not_sent_before_unread_events() {
        let queue = Queue::new(Caller::local(), Bytes::from_static(b"bye"));
        queue.keep_alive();
        queue.keep_alive();
        assert_eq!(rest(&queue), (vec![COMMENT], false));
        queue.end();
        assert_eq!(rest(&queue), (vec![Bytes::from_static(b"bye")], true));
    }

    #[test]
    fn each_stream_gets_a_comment_every_15_seconds() {
        let streams = Streams::new(0);
        let early = Queue::new(Caller::local(), Bytes::new());
        streams.add(&early);
        (0..5).for_each(|_| streams.tick());
        let late = Queue::new(Caller::local(), Bytes::new());
        streams.add(&late);
        let mut comments = Vec::new();
        for second in 6..=36 {
            streams.tick();
            for (name, queue) in [("early", &early), ("late", &late)] {
                comments.extend(rest(queue).0.iter().map(|_| (name, second)));
            }
        }
        assert_eq!(comments, [("early", 15), ("late", 20), ("early", 30), ("late", 35)]);
        drop(late);
        assert_eq!(streams.count(), 1);
        streams.end();
        assert!(rest(&early).1);
        let after = Queue::new(Caller::local(), Bytes::new());
        streams.add(&after);
        assert!(rest(&after).1, "one that is opened while the server ends");
    }
}
