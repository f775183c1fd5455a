//! The process monitor behind `portcullis run`: one agent, all that it starts, and the end of both.
//!
//! It knows processes, streams and limits. It knows no plugin, no policy and no store: what an action is worth is
//! decided by the hooks that the agent runs, and here is only made sure that the agent does not go on without
//! whoever watches it.
//!
//! ```text
//! run (the caller) --- pipes ----> watcher ---> launcher = agent ---> what it starts
//!   limits, stream, live view        reaps         confines itself
//!   stops the tree                   stops the tree when run is gone
//! ```
//!
//! - **Watcher.** The caller's own binary, started again ([`watcher_main`]) in a session of its own. It is the
//!   reaper of the agent's descendants, also of those that fork twice or open a session, so that "it has no
//!   children left" is the kernel's word for "all are dead". When its pipe closes, since the caller ended or was
//!   killed, it kills them all at once.
//! - **Launcher.** The same binary again ([`launcher_main`]), in a session of its own. It confines itself, and
//!   becomes the agent. The kernel kills it when the watcher dies.
//! - **Caller.** When the watcher dies or does not answer, what it left becomes the caller's own, which kills it.
//!   So the caller must have no other children while an agent runs.
//!
//! A stop is: SIGTERM to every process, a grace, SIGSTOP until no process is new, SIGKILL, again until none is
//! left. The agent's own process group is halted in one step before each look at the processes, so that one that
//! forks without end leaves the time to look. Where the process may make cgroups (version 2), the agent has one, which is killed in one step first.
//!
//! What this does not do:
//! - Hold what another service starts for the agent: `systemd-run`, `at`, `docker`, a terminal multiplexer that
//!   runs already. They are no descendants.
//! - Hold a process that became another user's (`sudo`), unless it is confined, which takes that away. It is named
//!   in [`Stopped::survivors`].
//! - Survive an agent that kills watcher and caller in one breath: then the kernel kills the agent itself, and what
//!   it forked before lives on. [`Confinement::signals`] takes that from the agent.
//! - Notice a caller that was stopped (SIGSTOP) but lives.
//!
//! Linux only. Nothing here prints or reads the environment.

#![cfg(target_os = "linux")]

mod agent;
mod confinement;
mod control;
mod error;
mod event;
mod group;
mod kill;
mod landlock;
mod launcher;
mod lend;
mod limits;
mod monitor;
mod outcome;
mod pump;
mod run;
mod signals;
mod start;
mod stream;
mod tree;
mod watcher;
mod wire;

pub use agent::{Agent, Input, Reentry};
pub use confinement::{Confinement, Enforced, Kernel, Report};
pub use control::{CONTROL_ARGUMENTS, Question, begin, prompt, refuse, request, response};
pub use error::RunError;
pub use event::{Denial, Event, Line, Tokens};
pub use launcher::launcher_main;
pub use limits::{Limit, Limits, Warning};
pub use outcome::{Ended, Exit, Outcome, Stopped, Totals, exit_code};
pub use run::{Run, Sinks, Stopper};
pub use watcher::watcher_main;
