//! Prompts that a service renders: operations of an OpenAPI document.
//!
//! | | |
//! |---|---|
//! | a document becomes operations and prompts | `openapi/document.rs` |
//! | what is known of an operation | [`Operation`], in `openapi/operation.rs` |
//! | an operation and the values of a call become a request | [`request`], in `openapi/request.rs` |
//! | which addresses may be called | `openapi/address.rs` |
//! | a request is sent | [`send`], in `openapi/send.rs` |
//! | the answer becomes messages | `openapi/answer.rs` |

#![allow(dead_code, unused_imports)] // until the source uses it

mod address;
mod answer;
mod operation;
mod request;
mod send;

pub(crate) use address::{Base, NamedBy};
pub(crate) use operation::{HeaderValue, Kind, Method, Operation, Options, Parameter, Place, SecretHeader};
pub(crate) use request::{Request, request};
use send::send;
