//! Equal requests that wait for the same list share one answer.
//!
//! A list shows what is on disk after it was requested. So a request joins only a computation that has not begun: many clients
//! that ask for a list at the same time cost two scans, the one that runs and the next.

use crate::jsonrpc::{Id, Outgoing, Request, Response};
use crate::library::{Caller, Prefix, Role};
use crate::server::Session;
use axum::body::{Body, Bytes};
use axum::http::Uri;
use hyper::body::{Frame, SizeHint};
use serde_json::Value;
use std::collections::HashMap;
use std::convert::Infallible;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

/// The computations that have not begun.
#[derive(Debug)]
pub(super) struct Joined<K, T> {
    waiting: Arc<Mutex<HashMap<K, watch::Receiver<Option<T>>>>>,
    /// How many more computations may run.
    free: Arc<Semaphore>,
}

impl<K, T> Joined<K, T>
where
    K: Clone + Eq + Hash + Send + 'static,
    T: Clone + Send + Sync + 'static,
{
    /// At most so many computations run at the same time.
    pub(super) fn new(limit: usize) -> Joined<K, T> {
        Joined { waiting: Arc::default(), free: Arc::new(Semaphore::new(limit)) }
    }

    /// The same for other requests. The computations of both count together.
    pub(super) fn together_with<L, U>(other: &Joined<L, U>) -> Joined<K, T> {
        Joined { waiting: Arc::default(), free: Arc::clone(&other.free) }
    }

    /// The result of a computation that begins after this call. Whoever asks for the same key until it begins gets the same
    /// result. `None` if the computation panics.
    pub(super) async fn get(&self, key: K, compute: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let mut result = {
            let mut waiting = lock(&self.waiting);
            match waiting.get(&key) {
                Some(result) => result.clone(),
                None => {
                    let (sender, result) = watch::channel(None);
                    waiting.insert(key.clone(), result.clone());
                    // A task of its own: the request that came first may be cancelled while others wait.
                    tokio::spawn(self.run(key, compute, sender));
                    result
                }
            }
        };
        result.wait_for(Option::is_some).await.ok()?.clone()
    }

    fn run(
        &self,
        key: K,
        compute: impl FnOnce() -> T + Send + 'static,
        sender: watch::Sender<Option<T>>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let (waiting, free) = (Arc::clone(&self.waiting), Arc::clone(&self.free));
        async move {
            let Ok(_permit) = free.acquire().await else { return };
            // After a panic the sender is dropped, which those who wait notice.
            let _ = spawn_blocking(move || {
                lock(&waiting).remove(&key);
                let somebody_waits = !sender.is_closed();
                if somebody_waits {
                    sender.send_replace(Some(compute()));
                }
            })
            .await;
        }
    }
}

/// Requests for lists with the same key have the same answer, but for the id.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ListKey {
    method: String,
    params: String,
    role: Role,
    prefix: Option<Prefix>,
    version: Option<&'static str>,
    agent: Option<&'static str>,
}

impl ListKey {
    pub(super) fn of(session: &Session, request: &Request) -> ListKey {
        let Caller { role, prefix, .. } = session.caller().clone();
        ListKey {
            method: request.method.clone(),
            params: Value::Object(request.params.clone()).to_string(),
            role,
            prefix,
            version: session.protocol_version(),
            agent: session.agent(),
        }
    }
}

/// Requests for the same address by those who may see the same.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct AddressKey {
    role: Role,
    prefix: Option<Prefix>,
    address: String,
}

impl AddressKey {
    pub(super) fn of(caller: &Caller, address: &Uri) -> AddressKey {
        AddressKey { role: caller.role, prefix: caller.prefix.clone(), address: address.to_string() }
    }
}

/// The answer to equal requests: its JSON without the beginning, in which the id is.
#[derive(Debug, Clone)]
pub(super) struct SharedAnswer {
    rest: Bytes,
    pub(super) is_error: bool,
}

impl SharedAnswer {
    /// `id` is that of the answer. `None` if it cannot be serialized, which cannot be.
    pub(super) fn of(answer: &Response, id: &Id) -> Option<SharedAnswer> {
        let json = String::from(Box::<str>::from(answer.to_json().ok()?));
        let beginning = Response::beginning(id);
        let is_error = answer.error_code().is_some();
        json.starts_with(&beginning)
            .then(|| SharedAnswer { rest: Bytes::from(json).slice(beginning.len()..), is_error })
    }

    /// The answer to the request with this id. What is shared is copied only if it must be `in_one_piece`.
    pub(super) fn body(&self, id: &Id, in_one_piece: bool) -> Body {
        let beginning = Bytes::from(Response::beginning(id));
        if in_one_piece {
            return Body::from([beginning, self.rest.clone()].concat());
        }
        Body::new(TwoPieces { pieces: [beginning, self.rest.clone()], is_turn_over: false })
    }
}

/// A body that is shared, which others do not wait for until all of it is written.
pub(super) fn in_turns(body: Bytes) -> Body {
    Body::new(TwoPieces { pieces: [Bytes::new(), body], is_turn_over: false })
}

/// How much of a long body is written before the other connections have their turn, in bytes. When a list is ready, many
/// clients wait for it, and other requests must not wait until all of them have it.
const TURN: usize = 64 * 1024;

/// A body of two pieces, of which the rest is still to be written.
struct TwoPieces {
    pieces: [Bytes; 2],
    /// Whether the other connections have their turn before more is written.
    is_turn_over: bool,
}

impl hyper::body::Body for TwoPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if std::mem::take(&mut self.is_turn_over) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let rest = self.pieces.iter_mut().find(|piece| !piece.is_empty());
        let next = rest.map(|rest| rest.split_to(rest.len().min(TURN)));
        self.is_turn_over = next.as_ref().is_some_and(|next| next.len() == TURN);
        Poll::Ready(next.map(|next| Ok(Frame::data(next))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.iter().all(Bytes::is_empty)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.pieces.iter().map(|piece| piece.len() as u64).sum())
    }
}

/// A panic cannot leave this data half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Waker;

    fn block_on<F: Future>(future: F) -> F::Output {
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap().block_on(future)
    }

    /// Lets a future run until it waits.
    async fn waits(mut future: std::pin::Pin<&mut impl Future>) {
        poll_fn(|context| {
            assert!(future.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
    }

    #[test]
    fn those_who_wait_share_a_computation_that_begins_after_all_of_them_have_come() {
        let counted = Arc::new(AtomicUsize::new(0));
        let compute = || {
            let counted = Arc::clone(&counted);
            move || counted.fetch_add(1, Ordering::SeqCst)
        };
        block_on(async {
            let joined = Joined::new(0);
            let (mut first, mut second) = (pin!(joined.get("list", compute())), pin!(joined.get("list", compute())));
            waits(first.as_mut()).await;
            waits(second.as_mut()).await;
            let mut other = pin!(joined.get("another list", compute()));
            waits(other.as_mut()).await;
            joined.free.add_permits(1);
            let (first, second) = (first.await, second.await);
            assert_eq!(first, second);
            assert_ne!(other.await, first);
            assert_eq!(counted.load(Ordering::SeqCst), 2);
        });
    }

    #[test]
    fn computations_for_different_kinds_of_requests_count_together() {
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        block_on(async {
            let lists = Joined::new(1);
            let pages = Joined::together_with(&lists);
            let running = move || {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
            };
            let mut list = pin!(lists.get("list", running));
            waits(list.as_mut()).await;
            has_begun.recv().unwrap();
            let mut page = pin!(pages.get("page", || "page"));
            waits(page.as_mut()).await;
            assert_eq!(pages.free.available_permits(), 0);
            go_on.send(()).unwrap();
            assert_eq!((list.await, page.await), (Some(()), Some("page")));
        });
    }

    #[test]
    fn a_request_that_comes_after_a_computation_has_begun_waits_for_the_next_one() {
        let (begun, has_begun) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel();
        block_on(async {
            let joined = Joined::new(1);
            let running = move || {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                "stale"
            };
            let mut early = pin!(joined.get("list", running));
            waits(early.as_mut()).await;
            has_begun.recv().unwrap();
            let mut late = pin!(joined.get("list", || "fresh"));
            waits(late.as_mut()).await;
            go_on.send(()).unwrap();
            assert_eq!(early.await, Some("stale"));
            assert_eq!(late.await, Some("fresh"));
        });
    }

    #[test]
    fn a_long_answer_is_complete_although_others_have_their_turn_between_its_parts() {
        for length in [0, 1, TURN - 1, TURN, TURN + 1, 10 * TURN] {
            let text = "x".repeat(length);
            let id = Id::Unsigned(7);
            let shared = SharedAnswer::of(&Response::result(Id::Unsigned(1), text.clone()), &Id::Unsigned(1)).unwrap();
            let mut body = shared.body(&id, false);
            let whole = format!(r#"{{"jsonrpc":"2.0","id":7,"result":"{text}"}}"#);
            assert_eq!(hyper::body::Body::size_hint(&body).exact(), Some(whole.len() as u64));
            let (mut written, mut turns) = (Vec::new(), 0);
            loop {
                let polled =
                    hyper::body::Body::poll_frame(Pin::new(&mut body), &mut Context::from_waker(Waker::noop()));
                match polled {
                    Poll::Pending => turns += 1,
                    Poll::Ready(Some(frame)) => written.extend_from_slice(&frame.unwrap().into_data().unwrap()),
                    Poll::Ready(None) => break,
                }
            }
            assert_eq!(String::from_utf8(written).unwrap(), whole);
            assert_eq!(turns, (whole.len() - Response::beginning(&id).len()) / TURN);
        }
    }

    #[test]
    fn all_who_wait_notice_a_panic_and_the_next_request_is_answered() {
        block_on(async {
            let joined = Joined::new(0);
            let (mut first, mut second) =
                (pin!(joined.get("list", || panic!("a bug"))), pin!(joined.get("list", || panic!("a bug"))));
            waits(first.as_mut()).await;
            waits(second.as_mut()).await;
            joined.free.add_permits(1);
            assert_eq!((first.await, second.await), (None, None));
            assert_eq!(joined.get("list", || 1).await, Some(1));
        });
    }

    #[test]
    fn a_request_that_is_cancelled_leaves_the_computation_to_those_who_still_wait() {
        block_on(async {
            let joined = Joined::new(0);
            let mut remaining = pin!(async {
                let mut first = Box::pin(joined.get("list", || 1));
                waits(first.as_mut()).await;
                let mut second = Box::pin(joined.get("list", || 2));
                waits(second.as_mut()).await;
                drop(first);
                second.await
            });
            waits(remaining.as_mut()).await;
            joined.free.add_permits(1);
            assert_eq!(remaining.await, Some(1));
        });
    }
}
