//! Ways for messages to travel. A transport moves them and never looks inside.

pub mod stdio;
