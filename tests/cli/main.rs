//! Tests of the built binary from its users' perspective: the hook gives a valid answer to any
//! input, and every command works as documented. The plugins' verdicts are tested with the plugins.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program of tests"
)]

mod agents;
mod approvals;
mod attacks;
mod bad_input;
#[path = "../hostile/binary.rs"]
mod binary;
#[path = "../hostile/bombs.rs"]
mod bombs;
mod captures;
mod carriers;
mod catalogue;
mod checkpoints;
mod cleaning;
mod commands;
mod common;
mod compiling;
mod configuration;
mod dashboard;
mod doctor;
mod encryption;
mod errors;
mod evaluation;
mod faults;
mod incident_pages;
mod incidents;
mod injected;
mod install;
mod judgements;
mod limits;
mod lines;
mod masking;
mod metrics;
mod notifications;
mod own_agent;
mod pages;
mod past;
mod people;
mod privacy;
mod quarantine;
mod recordings;
mod releases;
mod replays;
mod rewrites;
mod rules;
#[cfg(target_os = "linux")]
mod run;
mod settings;
mod spellings;
mod started;
mod states;
mod steps;
mod timelines;
mod tool_verdicts;
mod upkeep;
mod verdicts;
mod widths;

use std::process::ExitCode;

fn main() -> ExitCode {
    let tests = [
        agents::tests(),
        approvals::tests(),
        attacks::tests(),
        bad_input::tests(),
        captures::tests(),
        carriers::tests(),
        cleaning::tests(),
        catalogue::tests(),
        checkpoints::tests(),
        commands::tests(),
        compiling::tests(),
        configuration::tests(),
        dashboard::tests(),
        doctor::tests(),
        errors::tests(),
        evaluation::tests(),
        faults::tests(),
        incident_pages::tests(),
        incidents::tests(),
        injected::tests(),
        install::tests(),
        judgements::tests(),
        limits::tests(),
        lines::tests(),
        masking::tests(),
        metrics::tests(),
        notifications::tests(),
        pages::tests(),
        past::tests(),
        people::tests(),
        quarantine::tests(),
        recordings::tests(),
        releases::tests(),
        replays::tests(),
        rewrites::tests(),
        rules::tests(),
        #[cfg(target_os = "linux")]
        run::tests(),
        settings::tests(),
        spellings::tests(),
        own_agent::tests(),
        started::tests(),
        states::tests(),
        steps::tests(),
        timelines::tests(),
        tool_verdicts::tests(),
        encryption::tests(),
        privacy::tests(),
        upkeep::tests(),
        verdicts::tests(),
        widths::tests(),
    ];
    common::run(tests.into_iter().flatten().collect())
}
