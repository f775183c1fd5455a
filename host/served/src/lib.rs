//! The parts that every served page shares, whoever serves it: the resident service for one machine,
//! or a hub for a fleet. Nothing here knows what a page shows, or who is signed in.
//!
//! | module | |
//! |---|---|
//! | `door` | the checks of each request, and the headers of each answer |
//! | `role` | what a person may do |
//! | `secrets` | random tokens, and the token of a form |
//! | `failures` | counts wrong codes and proofs |
//! | `frame` | a whole page: its head, navigation and way out |
//! | `parts` | pieces of pages: forms, notices, texts of others |
//! | `asked` | an action that waits for a person |
//! | `answers` | pages, style and script as answers |

pub mod answers;
pub mod asked;
pub mod door;
mod failures;
pub mod frame;
pub mod parts;
mod role;
pub mod secrets;

pub use failures::Failures;
pub use role::Role;
