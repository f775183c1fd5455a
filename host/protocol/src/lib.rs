//! The protocol between a hook and the resident service.
//!
//! A hook connects to the service's Unix socket, writes one [`Request`], and reads [`Reply`]s until
//! one of them ends the exchange. Both ends first check which user runs the other one
//! ([`check_peer`]).
//!
//! ```text
//! hook                         service
//!   |-- Review ------------------>|
//!   |<------------- Waiting ------|   any number of times: a person has to answer first
//!   |<------------- Answer -------|   or Declined or Unable: the hook reviews
//! ```
//!
//! Where a boundary separates the users ([`BOUNDARY_FILE`]), the hook sends `ReviewAcross`. The
//! service's user cannot read its files, so the service asks, and the hook answers:
//!
//! ```text
//! hook                         service
//!   |-- ReviewAcross ------------>|
//!   |<------------- Question -----|   any number of times
//!   |-- Findings ---------------->|
//!   |<------------- Answer -------|
//! ```
//!
//! A message is a frame: [`MAGIC`] with the version, the length of the body (4 bytes, little
//! endian), the body. A body is a tag and fields, each with its length. A message that is not
//! exactly that is an error, and so is one that is longer than [`MOST_BYTES`].

mod codec;
mod frame;
mod message;
mod peer;
mod socket;
mod socket_path;
mod status;

pub use frame::{FrameError, MAGIC, MOST_BYTES, Message, read_message, write_message};
pub use message::{Answer, Reply, Request, ReviewRequest, ServiceStatus};
pub use peer::{Peer, PeerError, check_peer, read_peer};
pub use socket::{
    BOUNDARY_FILE, BOUNDARY_SOCKET, ROOT, SOCKET, SocketError, check_boundary_socket, check_socket,
    find_socket,
};
pub use socket_path::{bind_socket, connect_socket};
pub use status::{
    StatusError, ask_link, ask_link_across, ask_status, ask_status_across, connect_across,
};
