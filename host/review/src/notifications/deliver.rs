//! Delivers queued messages: one attempt for each message that is due, and its outcome.

use super::channel::{ConfiguredChannel, configured_channels};
use super::pace;
use super::queue::{NEVER, QueuedMessage, list_waiting};
use crate::credentials::WatchedCredentials;
use portcullis_config::Config;
use portcullis_config::clock::now_ms;
use portcullis_core::record_commands::RecordCommands;
use portcullis_core::text::one_line;
use portcullis_notify::{
    Channel, DeliveryFailure, Next, Notification, NotificationSeverity, Sender, Topic,
    backoff_delay,
};
use portcullis_store::{Durability, Home, Store, StoreError, WorkItem};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// The timeout of one attempt.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The most bytes of an error text that are kept.
const FAILURE_BYTES: usize = 512;

/// One run over the outbox.
pub struct DeliveryRun {
    home: Home,
    durability: Durability,
    credentials: WatchedCredentials,
    commands: RecordCommands,
    channels: BTreeMap<String, ConfiguredChannel>,
    /// Channels that were unreachable in this run: their other messages are not tried one after the
    /// other.
    unreachable: BTreeMap<String, DeliveryFailure>,
    /// Messages that were sent together with another one.
    tried: BTreeSet<i64>,
}

/// A failed delivery, with the time of the next attempt in milliseconds since 1970; `None` if there
/// is none.
#[derive(Debug, thiserror::Error)]
#[error("{failure}{}", if .again.is_some() { "" } else { "; given up: `portcullis notifications \
     retry` tries it again" })]
pub struct FailedDelivery {
    failure: DeliveryFailure,
    again: Option<u64>,
}

impl DeliveryRun {
    /// Creates a run with the channels of this configuration, for messages that name commands about
    /// some records.
    pub fn new(home: &Home, config: &Config, person: &str, commands: RecordCommands) -> Self {
        Self {
            home: home.clone(),
            durability: config.durability,
            credentials: WatchedCredentials::of_home(home),
            commands,
            channels: configured_channels(config, person),
            unreachable: BTreeMap::new(),
            tried: BTreeSet::new(),
        }
    }

    /// Attempts a delivery, and records the outcome in the outbox for all messages that are sent
    /// together. Returns `None` if the message was already sent with another one in this run. The
    /// outer error is the outbox's.
    ///
    /// # Errors
    /// Fails if the outbox cannot be read or written.
    pub fn deliver_item(
        &mut self,
        store: &mut Store,
        work: &WorkItem,
        now: u64,
    ) -> Result<Option<Result<String, FailedDelivery>>, StoreError> {
        if self.tried.contains(&work.id) {
            return Ok(None);
        }
        let queued: Option<QueuedMessage> = serde_json::from_str(&work.document).ok();
        let others = others(store, work, queued.as_ref())?;
        let all = || others.iter().map(|(id, _)| *id).chain([work.id]);
        self.tried.extend(all());
        let failure = match self.attempt(queued.as_ref(), &others) {
            Ok(what) => {
                all().try_for_each(|id| store.work_done(id).map(drop))?;
                return Ok(Some(Ok(what)));
            }
            Err(failure) => failure,
        };
        let again = again(work, &failure, now);
        let why = one_line(&failure.to_string(), FAILURE_BYTES);
        all().try_for_each(|id| store.work_failed(id, &why, again.unwrap_or(NEVER)).map(drop))?;
        if again.is_none() {
            self.tell_others(store, work, &failure, now)?;
        }
        Ok(Some(Err(FailedDelivery { failure, again })))
    }

    fn attempt(
        &mut self,
        queued: Option<&QueuedMessage>,
        others: &[(i64, Notification)],
    ) -> Result<String, DeliveryFailure> {
        let unknown = || {
            give_up(
                "this version cannot read the message".into(),
                "use the version that wrote it".into(),
            )
        };
        let queued = queued.ok_or_else(unknown)?;
        let messages: Vec<&Notification> =
            others.iter().map(|(_, message)| message).chain([&queued.message]).collect();
        let message = pace::together(&messages).ok_or_else(unknown)?;
        let message = spell_commands(&self.commands, message);
        let channel = self.channel(&queued.channel)?;
        if let Some(failure) = self.unreachable.get(&queued.channel) {
            return Err(failure.clone());
        }
        let sent = Sender::new(&self.credentials).send_message(
            channel,
            &message,
            Instant::now() + ATTEMPT,
        );
        let is_refused = sent.as_ref().is_err_and(|failure| failure.is_of_credential);
        let purpose = format!("notifications.channels.{}", queued.channel);
        // What is about a message is more urgent than what is about its credential.
        let _unrecorded = self.credentials.record_uses(
            &self.home,
            self.durability,
            &purpose,
            is_refused,
            now_ms(),
        );
        if let Err(failure @ DeliveryFailure { next: Next::Retry(_), .. }) = &sent {
            self.unreachable.insert(queued.channel.clone(), failure.clone());
        }
        sent.map(|delivered| format!("{}: {}", queued.channel, delivered.what))
    }

    fn channel(&self, name: &str) -> Result<&Channel, DeliveryFailure> {
        let shown = one_line(name, 64);
        let Some(configured) = self.channels.get(name) else {
            let fix = format!("configure `notifications.channels.{shown}` again");
            return Err(give_up(format!("there is no channel `{shown}` any more"), fix));
        };
        configured.channel.as_ref().map_err(|problem| {
            give_up(format!("the channel `{shown}` cannot be used"), problem.clone())
        })
    }

    /// Notifies the other channels about an abandoned message, unless it was itself about a
    /// delivery.
    fn tell_others(
        &self,
        store: &mut Store,
        work: &WorkItem,
        failure: &DeliveryFailure,
        now: u64,
    ) -> Result<(), StoreError> {
        let Ok(queued) = serde_json::from_str::<QueuedMessage>(&work.document) else {
            return Ok(());
        };
        if queued.message.topic == Topic::Delivery {
            return Ok(());
        }
        let message = Notification {
            // One message for all that were abandoned for that channel, as long as it is unread.
            id: format!("undelivered-{}", queued.channel),
            at: now,
            topic: Topic::Delivery,
            severity: NotificationSeverity::Warning,
            title: format!("messages over {} do not arrive", queued.channel),
            session: queued.message.session,
            project: queued.message.project,
            what: queued.message.title,
            why: failure.to_string(),
            commands: vec![
                "portcullis notifications list".into(),
                "portcullis notifications retry".into(),
            ],
        };
        for (name, channel) in &self.channels {
            if *name != queued.channel && channel.wants_message(&message) {
                store.enqueue_work(
                    &QueuedMessage {
                        channel: name.clone(),
                        message: message.clone(),
                        gathers: false,
                    }
                    .to_work(now),
                )?;
            }
        }
        Ok(())
    }
}

/// Names the commands of a message as the person runs them who gets it. What the message is about is
/// quoted as it was written.
fn spell_commands(commands: &RecordCommands, message: Notification) -> Notification {
    let lines = message.commands.iter().map(|line| commands.spell_line(line)).collect();
    let why = commands.spell_in(&message.why, |command| message.what.contains(command));
    Notification { commands: lines, why, ..message }
}

/// Returns the other messages to send together with this one: those that its session has gathered
/// for its channel.
fn others(
    store: &Store,
    work: &WorkItem,
    queued: Option<&QueuedMessage>,
) -> Result<Vec<(i64, Notification)>, StoreError> {
    let Some(queued) = queued.filter(|queued| queued.gathers) else { return Ok(Vec::new()) };
    let with = |other: &QueuedMessage| {
        other.gathers
            && other.channel == queued.channel
            && other.message.session == queued.message.session
    };
    let others = list_waiting(store)?.into_iter().filter(|waits| waits.work.id != work.id);
    Ok(others
        .filter_map(|waits| Some((waits.work.id, waits.queued.filter(with)?.message)))
        .collect())
}

const fn give_up(what: String, fix: String) -> DeliveryFailure {
    DeliveryFailure { next: Next::GiveUp, what, fix, is_of_credential: false }
}

fn again(work: &WorkItem, failure: &DeliveryFailure, now: u64) -> Option<u64> {
    let Next::Retry(wanted) = failure.next else { return None };
    let attempts = u32::try_from(work.attempts.saturating_add(1)).unwrap_or(u32::MAX);
    let wait = backoff_delay(attempts, &work.key)?.max(wanted.unwrap_or_default());
    Some(now.saturating_add(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
}
