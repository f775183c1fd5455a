//! The hub's pages: people look at the fleet, and settle what the hub reports.
//!
//! ```text
//! browser -> door -> visitor -> a page of the database
//!                       \----> form -> act, with its entry in the audit
//! ```
//!
//! | module | |
//! |---|---|
//! | `server` | the listener, with the hub's certificate or behind a proxy |
//! | `routes` | addresses, and the checks of each request |
//! | `visit` | who is signed in, and the checks of a form |
//! | `frame` | the navigation around each page |
//! | `record`, `feedback` | whether a review was right, and what people propose |
//! | `changes`, `live` | changes, for pages that are open |
//! | `sign_in` | links, cookies, the way out |
//! | `provider`, `provider_client` | sign-in by a provider of OpenID Connect |
//! | `approvals`, `answers`, `passkeys` | actions that wait, answers by passkey, and passkeys |
//! | `machines`, `machine`, `session`, `search`, `findings`, `incidents`, `plugins`, `people`, `audit` | one module for each page |
//!
//! A replica keeps nothing of a visitor: cookies and roles are read for each request.

mod answers;
mod approvals;
mod audit;
mod changes;
mod feedback;
mod findings;
mod frame;
mod incidents;
mod live;
mod machine;
mod machines;
mod parts;
mod passkeys;
mod people;
mod plugins;
mod provider;
mod provider_client;
mod record;
mod routes;
mod search;
mod server;
mod session;
mod sign_in;
mod visit;

pub use server::PageServer;
