//! The table of methods: for which era and whom each is, how long it takes, and its handler.

use super::context::{Answer, Context, Era, FRESH, Failure, Work};
use super::session::{self, Session};
use super::{completion, prompt_edits, prompts, resources, tools};
use crate::jsonrpc::{Object, read};
use crate::library::Role;
use crate::mcp::Cacheable;
use serde_json::value::RawValue;

/// For which eras a method is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eras {
    Legacy,
    Modern,
    Both,
}

impl Eras {
    pub(super) fn has(self, era: Era) -> bool {
        match self {
            Eras::Legacy => era == Era::Legacy,
            Eras::Modern => era == Era::Modern,
            Eras::Both => true,
        }
    }
}

/// A method.
pub struct Method {
    /// As requests have it.
    pub name: &'static str,
    pub(super) eras: Eras,
    pub(super) work: Work,
    pub(super) role: Role,
    /// The member of the params that the header `Mcp-Name` repeats.
    pub named: Option<&'static str>,
    /// For how long a client may keep the result.
    pub(super) cacheable: Option<Cacheable>,
    pub(super) run: Run,
}

/// The handler of a method.
#[derive(Clone, Copy)]
pub(super) enum Run {
    /// It reads and changes the session, and nothing else.
    Session(fn(&mut Session, &Context, &Object) -> Result<Box<RawValue>, Failure>),
    Library(fn(&Context, &Object) -> Result<Answer, Failure>),
    /// `tools/call`: the tool has what else is in a row.
    Tool,
    /// `subscriptions/listen`, which stays open.
    Listen,
}

/// The method of this name.
pub fn method(name: &str) -> Option<&'static Method> {
    METHODS.iter().find(|method| method.name == name)
}

/// The names of all methods of requests.
pub fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|method| method.name)
}

/// `session` handlers change the session; `plain` ones give a result, and `slow` ones an [`Answer`].
macro_rules! methods {
    ($($name:literal $eras:ident $work:ident $role:ident $named:expr, $cacheable:expr, $kind:ident $(($handler:path))?;)*) => {
        static METHODS: &[Method] = &[$(Method {
            name: $name, eras: Eras::$eras, work: Work::$work, role: Role::$role, named: $named, cacheable: $cacheable,
            run: methods!(@ $cacheable, $kind $(($handler))?),
        }),*];
    };
    (@ $cacheable:expr, session($handler:path)) => {
        Run::Session(|session, context, params| context.era.result(&$handler(session, context, read(params)?)?, $cacheable))
    };
    (@ $cacheable:expr, plain($handler:path)) => {
        Run::Library(|context, params| Ok(Answer::Now(context.era.result(&$handler(context, read(params)?)?, $cacheable)?)))
    };
    (@ $cacheable:expr, slow($handler:path)) => { Run::Library(|context, params| $handler(context, read(params)?)) };
    (@ $cacheable:expr, tool) => { Run::Tool };
    (@ $cacheable:expr, listen) => { Run::Listen };
}

const FRESHLY: Option<Cacheable> = Some(FRESH);

methods! {
    "completion/complete"      Both   Folders Read  None,         None,    plain(completion::complete);
    "initialize"               Legacy Memory  Read  None,         None,    session(session::initialize);
    "logging/setLevel"         Legacy Memory  Read  None,         None,    plain(session::set_level);
    "ping"                     Legacy Memory  Read  None,         None,    plain(session::ping);
    "prompts/create"           Both   Write   Write None,         None,    plain(prompt_edits::create);
    "prompts/delete"           Both   Write   Write None,         None,    plain(prompt_edits::delete);
    "prompts/get"              Both   Files   Read  Some("name"), None,    slow(prompts::get);
    "prompts/list"             Both   Folders Read  None,         FRESHLY, plain(prompts::list);
    "prompts/update"           Both   Write   Write None,         None,    plain(prompt_edits::update);
    "resources/list"           Both   Folders Read  None,         FRESHLY, plain(resources::list);
    "resources/read"           Both   Files   Read  Some("uri"),  FRESHLY, plain(resources::read);
    "resources/subscribe"      Legacy Memory  Read  None,         None,    session(session::subscribe);
    "resources/templates/list" Both   Memory  Read  None,         FRESHLY, plain(resources::templates);
    "resources/unsubscribe"    Legacy Memory  Read  None,         None,    session(session::unsubscribe);
    "server/discover"          Modern Memory  Read  None,         None,    slow(session::discover);
    "subscriptions/listen"     Modern Memory  Read  None,         None,    listen;
    "tools/call"               Both   Files   Read  Some("name"), None,    tool;
    "tools/list"               Both   Folders Read  None,         FRESHLY, plain(tools::list);
}
