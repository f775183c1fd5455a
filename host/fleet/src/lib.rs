//! A machine's side of a fleet.
//!
//! A machine that joined a fleet sends its journal to a hub, which verifies its chain and keeps it
//! where nobody on the machine can change it. The journal itself is the queue: a cursor says how
//! far the hub has it, and moves only after the hub has made the records durable. `maintain` sends;
//! no hook waits for the network, and a hub that does not answer changes no verdict.
//!
//! | module | |
//! |---|---|
//! | `protocol` | the messages, which the hub imports too |
//! | `token` | join tokens |
//! | `receipt` | the hub's signed statements |
//! | `membership` | identity and cursor, in the home |
//! | `orders` | what an operator tells the machines, signed |
//! | `orders_file` | the orders that a machine has taken, and those that it refused |
//! | `orders_trial` | orders that it only tries |
//! | `rollout` | the plan of a rollout |
//! | `approvals` | questions for approvers of the fleet, and their signed answers |
//! | `detail` | the part of a record that leaves |
//! | `hub_client` | one exchange with the hub |
//! | `sender` | batches, in order, until the hub has all or asks to wait |
//! | `hub_credentials` | the credentials of a hub, which both programs open |
//! | `hub_command` | the command line of `portcullis hub`, which runs in a program of its own |

pub mod approvals;
mod detail;
mod hex_digits;
mod hub_client;
pub mod hub_command;
mod hub_credentials;
mod membership;
pub mod orders;
mod orders_file;
mod orders_trial;
pub mod protocol;
mod receipt;
pub mod rollout;
mod sender;
mod token;

pub use detail::reduce_record;
pub use hub_client::{HubClient, HubError};
pub use hub_credentials::{HubCredentials, RECEIPT_KEY, open_hub_credentials};
pub use membership::{FleetFiles, Membership, Progress};
pub use orders_file::{
    HeldOrders, OrdersArrival, OrdersFile, OrdersFileError, OrdersState, RefusedOrders,
};
pub use orders_trial::{OrdersTrial, TrialFile};
pub use receipt::{Receipt, ReceiptError, SignedReceipt};
pub use sender::{JournalSender, SendError, SendReport};
pub use token::{JoinToken, TokenError, digest_certificate, digest_secret};

/// The kind of recurring work that sends the journal.
pub const WORK: &str = "fleet";
