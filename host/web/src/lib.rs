//! The page of the resident service: sessions as they go on, and answers to actions that wait.
//!
//! ```text
//! browser -> gate -> access -> pages -> journal (read)
//!                       |         \---> answer -> proof -> journal (one record)
//!                 link from a terminal
//! ```
//!
//! | module | |
//! |---|---|
//! | `server`, `limited_listener` | binds loopback, routes, and ends; each user of the machine has a share of connections |
//! | `gate` | the checks of each request, and the visitor whom its cookie names |
//! | `access` | one-time links and cookies |
//! | `shared`, `site` | the page as a whole; a home that visitors look at |
//! | `people` | who may allow actions, and what each proves it with |
//! | `proof`, `passkey` | checks a proof: a code, a password, or a passkey |
//! | `watcher`, `changes` | tells open pages that the journal has changed, and who watches |
//! | `answer` | writes a person's answer |
//! | `operate`, `kept` | carries out what an operator asks for: incidents, checkpoints |
//! | `collector` | programs that collect metrics, by a token |
//! | `health` | whether the service can review |
//! | `trial` | reviews an action that nobody wants to run |
//! | `respond`, `rooms` | pages for visitors, checks of forms; the routes beside sessions and approvals |
//! | `pages` | one module for each page |
//!
//! The page reads the journal for each request and keeps of it only what was counted for metrics.
//! Whoever has a cookie can read; an answer that lets an action run needs the proof each time, since
//! a program that runs as the same user can read a browser's cookies.

mod access;
mod answer;
mod changes;
mod collector;
mod enrollment;
mod gate;
mod health;
mod kept;
mod limited_listener;
mod operate;
mod pages;
mod passkey;
pub mod people;
pub mod proof;
mod respond;
mod rooms;
mod server;
mod shared;
mod site;
mod trial;
mod watcher;

pub use collector::{MetricsToken, SHORTEST_TOKEN};
pub use health::ServiceHealth;
pub use portcullis_served::Role;
pub use server::{Page, PageHandle};
