//! Splunk's HTTP event collector: an answer says that events are well formed, and the indexer
//! acknowledges them afterwards, on the channel that they came on.

use crate::delivery::Accepted;
use crate::exchange::HttpClient;
use crate::failure::SinkFailure;
use crate::http_reply::judge_status;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};
use ureq::http::Uri;

/// The beginning of the collector's paths.
const COLLECTOR: &str = "/services/collector";
/// The waits between two questions for an acknowledgement: the first and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(50);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const CHANNEL_BYTES: usize = 16;

/// The addresses of a collector, and the channel that this process uses.
pub(crate) struct SplunkCollector {
    events: Uri,
    /// The address that answers which deliveries are indexed; none if nobody asks.
    acknowledgements: Option<Uri>,
    channel: String,
}

#[derive(Deserialize)]
struct Received {
    #[serde(rename = "ackId")]
    id: Option<u64>,
}

#[derive(Deserialize)]
struct Acknowledged {
    acks: BTreeMap<String, bool>,
}

impl SplunkCollector {
    /// Takes `https://host:port`, or that with a path of the collector.
    pub(crate) fn of_address(
        address: &Uri,
        place: &str,
        acknowledge: bool,
    ) -> Result<Self, SinkFailure> {
        let path = address.path();
        let bad = || {
            SinkFailure::settings(
                format!("`{place}` has a path in `url` that no collector has"),
                "write `https://host:8088`, or add `/services/collector/event`",
            )
        };
        let (above, rest) = match path.split_once(COLLECTOR) {
            Some(parts) => parts,
            None if path == "/" => ("", ""),
            None => return Err(bad()),
        };
        let at = |target: String| -> Result<Uri, SinkFailure> {
            let mut parts = address.clone().into_parts();
            parts.path_and_query = Some(target.parse().map_err(|_| bad())?);
            Uri::from_parts(parts).map_err(|_| bad())
        };
        let rest = if rest.trim_matches('/').is_empty() { "/event" } else { rest };
        let query = address.query().map(|query| format!("?{query}")).unwrap_or_default();
        let acknowledgements = acknowledge.then(|| at(format!("{above}{COLLECTOR}/ack")));
        Ok(Self {
            events: at(format!("{above}{COLLECTOR}{rest}{query}"))?,
            acknowledgements: acknowledgements.transpose()?,
            channel: make_channel()?,
        })
    }

    /// Posts events, and waits for the indexer if that is wanted.
    pub(crate) fn post(
        &self,
        http: &HttpClient,
        bytes: &[u8],
        content_type: &str,
        deadline: Instant,
    ) -> Result<Accepted, SinkFailure> {
        let hide = |said: &str| http.hide_secrets(said);
        let channel = [("x-splunk-request-channel", self.channel.as_str())];
        let reply = http.post_records(&self.events, bytes, content_type, &channel, deadline)?;
        judge_status(&http.place, &reply, &hide)?;
        let Some(acknowledgements) = &self.acknowledgements else {
            let what = format!("`{}` received it", &http.place);
            return Ok(Accepted { what, rejected: 0 });
        };
        let received: Option<Received> = serde_json::from_slice(&reply.body).ok();
        let Some(id) = received.and_then(|received| received.id) else {
            return Err(SinkFailure::settings(
                format!("`{}` acknowledges nothing", &http.place),
                "enable indexer acknowledgement for the token, or set `acknowledge = false`",
            ));
        };
        let question = serde_json::json!({ "acks": [id] }).to_string();
        let mut wait = FIRST_WAIT;
        loop {
            let reply = http.exchange(
                acknowledgements,
                question.as_bytes(),
                "application/json",
                &channel,
                deadline,
            )?;
            judge_status(&http.place, &reply, &hide)?;
            let answer: Option<Acknowledged> = serde_json::from_slice(&reply.body).ok();
            if answer.is_some_and(|answer| answer.acks.get(&id.to_string()) == Some(&true)) {
                let what = format!("`{}` indexed it", &http.place);
                return Ok(Accepted { what, rejected: 0 });
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left <= wait {
                return Err(SinkFailure::later(
                    format!("`{}` received it, and did not index it in time", &http.place),
                    "nothing to do: it will be retried; raise `timeout_seconds` if this continues",
                ));
            }
            sleep(wait);
            wait = wait.saturating_mul(2).min(LONGEST_WAIT);
        }
    }
}

/// Makes the number of a channel: a random UUID.
fn make_channel() -> Result<String, SinkFailure> {
    let mut bytes = [0_u8; CHANNEL_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        SinkFailure::later(format!("the system gives no random bytes ({error})"), "try again")
    })?;
    let [.., version, _, variant, _, _, _, _, _, _, _] = &mut bytes;
    *version = (*version & 0x0f) | 0x40;
    *variant = (*variant & 0x3f) | 0x80;
    let digits = data_encoding::HEXLOWER.encode(&bytes);
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if matches!(position, 8 | 12 | 16 | 20) {
            text.push('-');
        }
        text.push(digit);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_collector() {
        for (address, events, acknowledgements) in [
            ("https://s:8088", "/services/collector/event", "/services/collector/ack"),
            ("https://s:8088/", "/services/collector/event", "/services/collector/ack"),
            (
                "https://s/services/collector",
                "/services/collector/event",
                "/services/collector/ack",
            ),
            (
                "https://s/services/collector/raw?index=a",
                "/services/collector/raw?index=a",
                "/services/collector/ack",
            ),
            (
                "https://s/a/services/collector/event",
                "/a/services/collector/event",
                "/a/services/collector/ack",
            ),
        ] {
            let uri: Uri = address.parse().unwrap();
            let found = SplunkCollector::of_address(&uri, "s", true).unwrap();
            let target = |uri: &Uri| uri.path_and_query().unwrap().to_string();
            assert_eq!(target(&found.events), events, "{address}");
            assert_eq!(target(&found.acknowledgements.unwrap()), acknowledgements, "{address}");
            assert_eq!(found.events.host(), Some("s"));
        }
        let elsewhere = "https://s/other".parse().unwrap();
        assert!(SplunkCollector::of_address(&elsewhere, "s", true).is_err());
    }

    #[test]
    fn a_channel_is_a_random_uuid() {
        let (one, other) = (make_channel().unwrap(), make_channel().unwrap());
        assert_ne!(one, other);
        let parts: Vec<usize> = one.split('-').map(str::len).collect();
        assert_eq!(parts, [8, 4, 4, 4, 12], "{one}");
        assert_eq!(one.as_bytes()[14], b'4', "{one}");
        assert!(b"89ab".contains(&one.as_bytes()[19]), "{one}");
    }
}
