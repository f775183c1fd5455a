//! Sets up a passkey: a link from a terminal names the person, and their browser makes the key.

use crate::people::{Approvers, Passkey, Proof};
use crate::shared::SharedPage;
use crate::site::Site;
use anyhow::{Context, Result, bail};
use portcullis_store::Home;
use serde::Deserialize;

/// The form that begins it.
#[derive(Debug, Deserialize)]
pub(crate) struct BeginForm {
    /// The code of the link.
    code: String,
}

/// The form that ends it.
#[derive(Debug, Deserialize)]
pub(crate) struct FinishForm {
    /// What the browser created, as JSON.
    created: String,
}

/// Returns the options with which the browser creates the passkey, as JSON; `None` if the code does
/// not count.
///
/// # Errors
/// Fails if the person's name cannot be used.
pub(crate) fn begin_enrollment(shared: &SharedPage, form: &BeginForm) -> Result<Option<String>> {
    let Some((site, name)) = shared.access.redeem_enrollment(form.code.trim()) else {
        return Ok(None);
    };
    site.prover.begin_enrollment(site.domain(), &name).map(Some)
}

/// Keeps the passkey in the home that the link was for; returns the name of its person.
///
/// # Errors
/// Fails if nobody asked for it, it does not count, or it cannot be kept.
pub(crate) fn finish_enrollment(shared: &SharedPage, form: &FinishForm) -> Result<String> {
    let mut refused = None;
    // The challenge that the device signed is that of one home.
    for site in shared.list_sites() {
        match site.prover.finish_enrollment(site.domain(), &site.origin, &form.created) {
            Ok((name, passkey)) => return keep_passkey(&site, name, passkey),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.context("nobody asked for this passkey")?)
}

fn keep_passkey(site: &Site, name: String, passkey: Passkey) -> Result<String> {
    let home = Home::open_root(&site.places.state)?;
    let mut approvers = Approvers::read(&home)?;
    let mut all = approvers.people.iter().flat_map(|person| &person.proofs);
    if all.any(|proof| matches!(proof, Proof::Passkey(known) if known.id == passkey.id)) {
        bail!("this passkey is set up already");
    }
    approvers.add_proof(&name, Proof::Passkey(passkey))?;
    approvers.write(&home, &format!("{name} set up a passkey"))?;
    Ok(name)
}
