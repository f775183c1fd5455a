//! A gateway between a client of the Model Context Protocol and one server.
//!
//! ```text
//! client -> line -> message -> relay -> transport: a process (stdio), or an address (http)
//!                                |
//!                     gate: reviews calls, results and lists of tools
//! ```
//!
//! A message that nobody has to change passes with the bytes that its sender wrote. A message that
//! can be read in more than one way passes never, since the server might read it in the other way.
//! The gateway knows both generations of the protocol only by the methods that it reviews; anything
//! else passes untouched, in both directions.
//!
//! The rulings come from a [`Gate`], which does not know the transport: this crate has no reviewer,
//! reads no arguments and prints nothing.

mod definition;
mod gate;
mod http;
mod id_scanner;
mod line;
mod listing;
mod message;
mod pin_store;
mod relay;
mod reply;
mod request_id;
mod stdio;
mod task;
mod tool_call;
mod transport;
mod waiting;

pub use definition::{ListedTool, ToolDefinition};
pub use gate::{CallRuling, Gate, ResultRuling};
pub use http::{HttpLimits, HttpServer, ServerAddress};
pub use line::{Line, LineReader};
pub use message::{MAX_MESSAGE, MessageError, MessageKind, RpcMessage};
pub use pin_store::{
    HeldTool, HoldReason, PinError, PinStore, PinnedServer, ServerIdentity, ToolState,
};
pub use relay::{ClientStreams, Relay, RelayEvent};
pub use request_id::RequestId;
pub use stdio::StdioServer;
pub use tool_call::{CallKind, GatewayCall, ToolResult, tool_name};
pub use transport::{ServerInbox, ServerTransport};
