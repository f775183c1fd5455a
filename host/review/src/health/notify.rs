//! Notifications: checks that channels are usable, and that messages arrive.

use super::finding::{Check, HealthFinding};
use crate::credentials::HomeCredentials;
use crate::notifications::{PendingMessage, configured_channels, list_waiting};
use portcullis_config::Config;
use portcullis_core::text::{count_noun, one_line};
use portcullis_store::Store;

/// Checks the channels and their waiting messages; reports nothing if there are neither.
pub(super) fn check(
    config: &Config,
    person: &str,
    store: &Store,
    credentials: &HomeCredentials,
) -> Vec<HealthFinding> {
    let channels = configured_channels(config, person);
    // An unreadable outbox is reported by its own check.
    let waiting = list_waiting(store).unwrap_or_default();
    if channels.is_empty() && waiting.is_empty() {
        return Vec::new();
    }
    let unusable = channels.iter().filter_map(|(name, channel)| {
        let what =
            format!("the channel `{name}` cannot be used: {}", channel.problem(credentials)?);
        Some(HealthFinding::warning(
            Check::Notifications,
            what,
            format!("fix it, then run `portcullis notifications test {name}`"),
        ))
    });
    let findings: Vec<HealthFinding> =
        unusable.chain(undelivered(&waiting, config.messages_days)).collect();
    super::finding::or_ok(
        findings,
        Check::Notifications,
        format!(
            "{}, {} waiting",
            count_noun(channels.len() as u64, "channel"),
            count_noun(waiting.len() as u64, "message")
        ),
    )
}

/// Returns one finding for each channel whose messages failed, with the newest failure.
fn undelivered(waiting: &[PendingMessage], days: u32) -> Vec<HealthFinding> {
    let mut channels: Vec<&str> = waiting.iter().map(name).collect();
    channels.sort_unstable();
    channels.dedup();
    let finding = |channel: &&str| {
        let failed: Vec<&PendingMessage> = waiting
            .iter()
            .filter(|waits| name(waits) == *channel && waits.work.attempts > 0)
            .collect();
        let given_up = failed.iter().filter(|waits| waits.given_up()).count();
        let why = failed
            .iter()
            .max_by_key(|waits| waits.work.id)?
            .work
            .last_error
            .clone()
            .unwrap_or_default();
        let shown = one_line(channel, 64);
        let what = format!(
            "{} over `{shown}` did not arrive, {given_up} given up: {why}",
            count_noun(failed.len() as u64, "message")
        );
        let kept = if days > 0 && given_up > 0 {
            format!("; what was given up is kept for {}", count_noun(u64::from(days), "day"))
        } else {
            String::new()
        };
        Some(HealthFinding::warning(
            Check::Notifications,
            what,
            format!("then run `portcullis notifications retry`{kept}"),
        ))
    };
    channels.iter().filter_map(finding).collect()
}

fn name(waits: &PendingMessage) -> &str {
    waits.queued.as_ref().map_or("?", |queued| queued.channel.as_str())
}
