//! The process monitor behind `portcullis run`: one agent, all that it starts, and the end of both.
//!
//! It handles processes, streams and limits. It depends on no plugin, no policy and no store: the
//! hooks that the agent runs decide on its actions. The monitor only makes sure that the agent does
//! not continue when its caller is gone.
//!
//! ```text
//! run (the caller) --- pipes ----> watcher ---> launcher = agent ---> its descendants
//!   limits, stream, live view        reaps         confines itself
//!   stops the tree                   stops the tree when run is gone
//! ```
//!
//! - **Watcher.** The caller's own binary, started again ([`watcher_main`]) in its own session. It
//!   is the reaper of the agent's descendants, including those that fork twice or open a session,
//!   so that "it has no children left" is the kernel's statement that "all are dead". When its pipe
//!   closes, since the caller ended or was killed, it kills them all at once.
//! - **Launcher.** The same binary again ([`launcher_main`]), in its own session. It confines
//!   itself, and becomes the agent. The kernel kills it when the watcher dies.
//! - **Caller.** When the watcher dies or does not answer, the processes that it leaves become the
//!   caller's children, and the caller kills them. So the caller must have no other children while
//!   an agent runs.
//!
//! The steps of a stop: SIGTERM to every process, a grace period, SIGSTOP until no process is new,
//! SIGKILL, repeated until none is left. The agent's own process group is halted in one step before
//! each search, so that a process that forks without end leaves time for the search. If the process
//! may create cgroups (version 2), the agent has one, which is killed in one step first.
//!
//! This crate does not:
//! - Stop processes that another service starts for the agent: `systemd-run`, `at`, `docker`, a
//!   terminal multiplexer that is already running. They are not descendants.
//! - Stop a process that became another user's (`sudo`), unless it is confined, which prevents
//!   that. It is reported in [`Stopped::survivors`].
//! - Survive an agent that kills watcher and caller at the same moment: then the kernel kills the
//!   agent itself, and the processes that it forked before live on. [`Confinement::signals`]
//!   prevents that.
//! - Notice a caller that was stopped (SIGSTOP) but is alive.
//!
//! Linux only. Nothing here prints or reads the environment.

#![cfg(target_os = "linux")]

mod agent;
mod confinement;
mod control;
mod error;
mod event;
mod fd_passing;
mod group;
mod kill;
mod landlock;
mod launcher;
mod limits;
mod monitor;
mod outcome;
mod protocol;
mod pump;
mod run;
mod signals;
mod start;
mod stream;
mod tree;
mod watcher;

pub use agent::{AgentCommand, Reentry, StandardInput};
pub use confinement::{Confinement, ConfinementReport, Enforced, Kernel};
pub use control::{
    CONTROL_ARGUMENTS, Question, begin_message, parse_response, prompt_message, refuse_message,
    request_message,
};
pub use error::RunError;
pub use event::{Denial, RunEvent, StreamLine, Tokens};
pub use launcher::launcher_main;
pub use limits::{RunLimit, RunLimits, Warning};
pub use outcome::{Exit, RunOutcome, RunResult, RunUsage, Stopped, exit_code};
pub use run::{Run, Sinks, Stopper};
pub use watcher::watcher_main;
