//! Prompts that a service renders: operations of an OpenAPI document.
//!
//! | | |
//! |---|---|
//! | a document becomes operations and prompts | `openapi/document.rs` |
//! | what is known of an operation | [`Operation`], in `openapi/operation.rs` |
//! | an operation and the values of a call become a request | [`request`], in `openapi/request.rs` |
//! | a request is sent, and the answer read | [`send`], in `openapi/send.rs` |

#![allow(dead_code, unused_imports)] // until the source uses it

mod operation;
mod request;
mod send;

pub(crate) use operation::{HeaderValue, Kind, Method, Operation, Options, Parameter, Place, SecretHeader};
pub(crate) use request::{Request, request};
use send::send;
