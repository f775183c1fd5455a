//! Asks before the agent contacts a host that is not on the project's list.
//!
//! [`contacts`] says which hosts an action contacts, [`host`] brings each into one form, [`list`] compares it with the
//! operator's list. Here the two become rulings; the words for them are in [`wording`].

mod contacts;
mod groups;
mod host;
mod list;
mod lookalike;
mod punycode;
mod url;
mod wording;
mod words;

use contacts::{Contact, To};
use list::{Fit, Policy};
use portcullis_plugin::risk_calculator::*;
use wording::Objected;

/// The plugin.
pub struct NetworkAllowList;

/// How many hosts an objection lists.
const MOST_EVIDENCE: usize = 8;

impl RiskCalculator for NetworkAllowList {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "network-allow-list",
        env!("CARGO_PKG_VERSION"),
        "Asks before, or blocks, a contact with a host that is not on the project's list.",
    )
    .reads(&[Reads::Action])
    .severity(Severity::Medium)
    .config::<Policy>();

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        if !contacts::may_contact(action) {
            return Ok(Assessment::nothing());
        }
        let contacts = contacts::contacts_of(action);
        if contacts.is_empty() {
            return Ok(Assessment::nothing());
        }
        let policy = Policy::from_prepared(prepared)?;
        let mut rulings: Vec<Ruling> = Vec::new();
        for contact in &contacts {
            // What a name looks like is the dearest question, and of no use when enough is said.
            let enough = rulings.iter().any(|ruling| ruling.evidence.len() == MOST_EVIDENCE);
            let Some(objected) = object(contact, &policy, !enough) else { continue };
            match rulings.iter_mut().find(|ruling| ruling.rule == objected.rule()) {
                Some(ruling) if ruling.evidence.len() < MOST_EVIDENCE => {
                    ruling.evidence.push(objected.evidence());
                }
                Some(_) => {}
                None => rulings.push(objected.ruling(policy.blocks)),
            }
        }
        Ok(Assessment { rulings, ..Assessment::nothing() })
    }
}

portcullis_plugin::export!(risk-calculator: NetworkAllowList);

/// Returns what is wrong with a contact, if anything is.
fn object<'a>(contact: &'a Contact, policy: &Policy, look: bool) -> Option<Objected<'a>> {
    let host = match &contact.to {
        To::Known(host) => host,
        To::Unknown(program) => {
            let held = !policy.sending_only || contact.sends;
            return held.then_some(Objected::Unknown { program, sends: contact.sends });
        }
    };
    let fit = policy.fit(host, contact.port, contact.sends);
    if groups::is_metadata(host) {
        return (fit != Fit::Exact).then_some(Objected::Metadata { host });
    }
    if fit != Fit::Not {
        // Only an operator who names a shortener puts it on the list.
        let anywhere = groups::is_shortener(host) && contact.follows && !policy.sending_only;
        return anywhere.then_some(Objected::Shortener { host });
    }
    if let Some(pretends) = &contact.pretends {
        return Some(Objected::Pretends { host, seems: pretends.clone() });
    }
    if look && let Some(known) = lookalike::lookalike_of(host, policy) {
        return Some(Objected::Lookalike { host, known });
    }
    if policy.sending_only && !contact.sends {
        return None;
    }
    if look && let Some(known) = lookalike::begins_with_known(host, policy) {
        return Some(Objected::Pretends { host, seems: known });
    }
    Some(Objected::NotListed { host, port: contact.port, sends: contact.sends })
}
