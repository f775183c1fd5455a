//! `portcullis notifications`: lists the channels and their pending messages, and tests channels.

use crate::commands::maintain;
use crate::error::{Error, Result};
use crate::exit::CommandExit;
use crate::paint;
use portcullis_config::Config;
use portcullis_config::boundary::find_record_commands;
use portcullis_config::clock::now_ms;
use portcullis_config::paths::Paths;
use portcullis_core::text::{count_noun, one_line};
use portcullis_notify::{Notification, NotificationSeverity, Sender, Topic};
use portcullis_review::credentials::{HomeCredentials, WatchedCredentials};
use portcullis_review::notifications::deliver::DeliveryRun;
use portcullis_review::notifications::{
    ConfiguredChannel, PendingMessage, configured_channels, list_waiting,
};
use portcullis_store::{Home, Store};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[derive(clap::Subcommand)]
pub enum Command {
    /// List the channels and the pending messages, with their failures
    List(Print),
    /// Send a test message over one channel now
    Test {
        /// The channel's name
        name: String,
        #[command(flatten)]
        print: Print,
    },
    /// Retry all pending messages now, including those already given up
    Retry(Print),
}

#[derive(clap::Args)]
pub struct Print {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The timeout of a test.
const TEST: Duration = Duration::from_secs(15);

pub fn run_notifications(command: &Command) -> Result<CommandExit> {
    let places = Paths::from_environment()?;
    let home = Home::open_root(&places.state)?;
    let config = Config::load(&places, Some(&home))?;
    match command {
        Command::List(print) => list(&places, &home, &config, print.json),
        Command::Test { name, print } => test(&places, &home, &config, name, print.json),
        Command::Retry(print) => retry(&places, &home, &config, print.json),
    }
}

fn list(places: &Paths, home: &Home, config: &Config, json: bool) -> Result<CommandExit> {
    let channels = configured_channels(config, &places.person);
    let credentials = HomeCredentials::of_home(Some(home));
    let waiting = list_waiting(&Store::open_database(home, config.durability)?)?;
    if json {
        let channels: Vec<Value> = channels
            .iter()
            .map(|(name, channel)| channel_json(name, channel, &credentials))
            .collect();
        let waiting: Vec<Value> =
            waiting.iter().map(|waits| waiting_json(waits, config.messages_days)).collect();
        paint::print_text(&format!("{}\n", json!({ "channels": channels, "waiting": waiting })));
        return Ok(CommandExit::Success);
    }
    for (name, channel) in &channels {
        let state = channel.problem(&credentials).map_or_else(
            || paint::good("ready"),
            |problem| format!("{}: {problem}", paint::bad("cannot be used")),
        );
        paint::print_text(&format!(
            "{name}: {}, {} from {}: {state}\n",
            channel.kind,
            channel.events.join(", "),
            channel.severity.as_str()
        ));
    }
    if channels.is_empty() {
        paint::print_text(
            "no channels: `notifications.channels.NAME` in your configuration makes one\n",
        );
    }
    for waits in &waiting {
        paint::print_wrapped(&line(waits, config.messages_days), 2);
    }
    if waiting.is_empty() {
        paint::print_text("no message waits\n");
    }
    Ok(CommandExit::Success)
}

fn line(waits: &PendingMessage, days: u32) -> String {
    let (channel, title) = match &waits.queued {
        Some(queued) => (one_line(&queued.channel, 64), one_line(&queued.message.title, 100)),
        None => ("?".to_owned(), "a message of another version".to_owned()),
    };
    let work = &waits.work;
    let next = match waits.given_up() {
        true => format!("{}{}", paint::bad("given up"), kept_until(waits, days)),
        false => format!("next {}", paint::time(work.due_at)),
    };
    let failed = work
        .last_error
        .as_ref()
        .map(|error| format!("; {}", one_line(error, 512)))
        .unwrap_or_default();
    let attempts = count_noun(work.attempts, "failed attempt");
    format!("{channel}: {title}: {next}, {attempts}{failed}\n")
}

fn kept_until(waits: &PendingMessage, days: u32) -> String {
    waits
        .kept_until(days)
        .map(|until| format!(" and kept until {}", paint::time(until)))
        .unwrap_or_default()
}

fn channel_json(name: &str, channel: &ConfiguredChannel, credentials: &HomeCredentials) -> Value {
    json!({
        "name": name,
        "kind": channel.kind,
        "events": channel.events,
        "severity": channel.severity.as_str(),
        "problem": channel.problem(credentials),
    })
}

fn waiting_json(waits: &PendingMessage, days: u32) -> Value {
    let (work, queued) = (&waits.work, waits.queued.as_ref());
    json!({
        "channel": queued.map(|queued| &queued.channel),
        "message": queued.map(|queued| &queued.message),
        "attempts": work.attempts,
        "next_at": (!waits.given_up()).then_some(work.due_at),
        "kept_until": waits.kept_until(days),
        "failure": work.last_error,
    })
}

fn test(
    places: &Paths,
    home: &Home,
    config: &Config,
    name: &str,
    json: bool,
) -> Result<CommandExit> {
    let shown = one_line(name, 64);
    let channels = configured_channels(config, &places.person);
    let Some(configured) = channels.get(name) else {
        let known: Vec<String> = channels.keys().map(|name| format!("`{name}`")).collect();
        let there = if known.is_empty() {
            "none is configured".to_owned()
        } else {
            format!("there are {}", known.join(", "))
        };
        return Err(
            Error::not_found(format!("there is no channel `{shown}`")).with_hint(there.to_string())
        );
    };
    let at = now_ms();
    let message = Notification {
        id: format!("test-{at}"),
        at,
        topic: Topic::Test,
        severity: NotificationSeverity::Info,
        title: "this channel works".into(),
        session: String::new(),
        project: String::new(),
        what: format!("Somebody ran `portcullis notifications test {shown}`."),
        why: String::new(),
        commands: Vec::new(),
    };
    let result = match &configured.channel {
        Ok(channel) => {
            let credentials = WatchedCredentials::of_home(home);
            let sent =
                Sender::new(&credentials).send_message(channel, &message, Instant::now() + TEST);
            let is_refused = sent.as_ref().is_err_and(|failure| failure.is_of_credential);
            let purpose = format!("notifications.channels.{shown}");
            credentials.record_uses(home, config.durability, &purpose, is_refused, at)?;
            sent.map(|delivered| delivered.what).map_err(|failure| failure.to_string())
        }
        Err(problem) => Err(problem.clone()),
    };
    let code = CommandExit::of_check(result.is_ok());
    print_result(json, &shown, &result);
    Ok(code)
}

fn retry(places: &Paths, home: &Home, config: &Config, json: bool) -> Result<CommandExit> {
    // Maintenance would deliver the same messages.
    let Some(_lock) = maintain::take_lock(home)? else {
        return Err(
            Error::io("`portcullis maintain` is running").with_hint("try again when it has ended")
        );
    };
    let mut store = Store::open_database(home, config.durability)?;
    let commands = find_record_commands(&places.state);
    let mut run = DeliveryRun::new(home, config, &places.person, commands);
    let waiting = list_waiting(&store)?;
    let mut failed = false;
    for waits in &waiting {
        let channel = waits.queued.as_ref().map_or("?", |queued| queued.channel.as_str());
        let Some(result) = run.deliver_item(&mut store, &waits.work, now_ms())? else { continue };
        let result = result.map_err(|undelivered| undelivered.to_string());
        failed |= result.is_err();
        print_result(json, &one_line(channel, 64), &result);
    }
    if waiting.is_empty() && !json {
        paint::print_text("no message waits\n");
    }
    Ok(CommandExit::of_check(!failed))
}

fn print_result(json: bool, channel: &str, result: &Result<String, String>) {
    let (delivered, what) = match result {
        Ok(what) => (true, what),
        Err(failure) => (false, failure),
    };
    paint::print_text(&match (json, delivered) {
        (true, _) => {
            format!("{}\n", json!({ "channel": channel, "delivered": delivered, "what": what }))
        }
        (false, true) => format!("{}: {channel}: {what}\n", paint::good("delivered")),
        (false, false) => format!("{}: {channel}: {what}\n", paint::bad("not delivered")),
    });
}
