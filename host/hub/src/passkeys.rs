//! Passkeys that people enrolled on the hub's page.
//!
//! The hub keeps public keys, and a passkey counts on no machine until an operator has signed it into
//! orders. A replica keeps nothing of an enrolment: the browser makes a key and signs with it a text
//! that names hub, person and key.

use crate::failure::Failure;
use data_encoding::{BASE64, BASE64URL_NOPAD};
use deadpool_postgres::{GenericClient, Transaction};
use portcullis_bundle::PublicKey;
use portcullis_fleet::approvals::{
    OrderedPasskey, PasskeyAssertion, PasskeyPage, SKEW, challenge_of, is_synced,
};
use portcullis_fleet::protocol::RefusalKind;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest as _, Sha256};

/// The beginning of what the challenge of an enrolment is the digest of.
const DOMAIN: &[u8] = b"portcullis hub passkey v1\n";
/// The most passkeys of one person.
const MOST: i64 = 8;
/// The time for a person to touch their device, in milliseconds.
const PATIENCE: u32 = 120_000;

/// A passkey of a person, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeptPasskey {
    /// The person.
    pub person: String,
    /// The id of the public key, which people compare.
    pub key: String,
    /// The passkey as orders name it.
    pub passkey: OrderedPasskey,
    /// The time of its enrolment, in milliseconds since 1970.
    pub added_at: i64,
    /// The groups whose newest orders name it.
    pub groups: Vec<String>,
}

/// The text that a new passkey signs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnrollmentText {
    page: PasskeyPage,
    person: String,
    passkey: OrderedPasskey,
    at: u64,
}

/// A browser's account of a key that a device made.
#[derive(Deserialize)]
struct CreatedPasskey {
    id: String,
    response: CreationResponse,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreationResponse {
    public_key: Option<String>,
    authenticator_data: String,
}

/// A browser's account of what a device signed.
#[derive(Deserialize)]
struct SignedByPasskey {
    id: String,
    response: AssertionResponse,
}

#[derive(Deserialize)]
struct AssertionResponse {
    #[serde(rename = "clientDataJSON")]
    client_data: String,
    #[serde(rename = "authenticatorData")]
    authenticator_data: String,
    signature: String,
}

/// An assertion with the id of its credential.
#[derive(Debug)]
pub struct ReadAssertion {
    /// The credential's id, in base64url.
    pub credential: String,
    /// The signature, in base64.
    pub signature: String,
    /// The rest of what was signed.
    pub assertion: PasskeyAssertion,
}

fn malformed(reason: impl Into<String>) -> Failure {
    Failure::refuse(RefusalKind::Malformed, reason)
}

/// Returns the options with which a browser makes a passkey for a person, as JSON.
pub fn creation_options(page: &PasskeyPage, person: &str, known: &[KeptPasskey]) -> String {
    let known: Vec<_> = known
        .iter()
        .map(|one| json!({ "type": "public-key", "id": one.passkey.credential }))
        .collect();
    // Nothing of the making is believed, so its challenge can be anything: the key proves itself next.
    let options = json!({
        "rp": { "id": page.name(), "name": "Portcullis hub" },
        "user": {
            "id": BASE64URL_NOPAD.encode(&handle_of(person)), "name": person, "displayName": person,
        },
        "challenge": challenge_of(DOMAIN, "a new passkey"),
        // ES256 and EdDSA: the kinds of keys that orders can name.
        "pubKeyCredParams": [
            { "type": "public-key", "alg": -7 }, { "type": "public-key", "alg": -8 },
        ],
        "authenticatorSelection": { "residentKey": "preferred", "userVerification": "required" },
        "attestation": "none",
        "excludeCredentials": known,
        "timeout": PATIENCE,
    });
    options.to_string()
}

/// Returns an id of a person for devices, which keep one passkey for each.
fn handle_of(person: &str) -> [u8; 32] {
    Sha256::digest(person.as_bytes()).into()
}

/// Returns the options with which a browser lets one of these credentials sign a text, as JSON. The
/// text comes back with the form.
pub fn request_options(page: &PasskeyPage, challenge: &str, text: &str, ids: &[&str]) -> String {
    let allowed: Vec<_> = ids.iter().map(|id| json!({ "type": "public-key", "id": id })).collect();
    let options = json!({
        "rpId": page.name(),
        "challenge": challenge,
        "allowCredentials": allowed,
        "userVerification": "required",
        "timeout": PATIENCE,
        "text": text,
    });
    options.to_string()
}

/// Returns the options with which a browser lets a new passkey sign that it is a person's.
pub fn proof_options(
    page: &PasskeyPage,
    person: &str,
    created: &str,
    now: u64,
) -> Result<String, Failure> {
    let passkey = read_created(created)?;
    let credential = passkey.credential.clone();
    let text = EnrollmentText { page: page.clone(), person: person.to_owned(), passkey, at: now };
    let text = serde_json::to_string(&text).map_err(Failure::internal)?;
    Ok(request_options(page, &challenge_of(DOMAIN, &text), &text, &[&credential]))
}

/// Reads the passkey that a browser says a device made.
fn read_created(created: &str) -> Result<OrderedPasskey, Failure> {
    let created: CreatedPasskey = serde_json::from_str(created)
        .map_err(|_| malformed("the browser did not make a passkey"))?;
    let unusable = || malformed("this device makes no key of a kind that orders can name");
    let der = created.response.public_key.ok_or_else(unusable)?;
    let der = BASE64URL_NOPAD.decode(der.as_bytes()).map_err(|_| unusable())?;
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        fold_lines(&BASE64.encode(&der))
    );
    let key = PublicKey::from_pem(&pem).and_then(|key| key.to_pem()).map_err(|_| unusable())?;
    let data = BASE64URL_NOPAD.decode(created.response.authenticator_data.as_bytes());
    let synced = data.ok().and_then(|data| is_synced(&data)).ok_or_else(unusable)?;
    let passkey = OrderedPasskey { credential: created.id, key, synced };
    passkey.check_form().map_err(malformed)?;
    Ok(passkey)
}

fn fold_lines(text: &str) -> String {
    let lines = text.as_bytes().chunks(64).map(String::from_utf8_lossy);
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads what a browser says a device signed.
pub fn read_assertion(signed: &str) -> Result<ReadAssertion, Failure> {
    let wrong = || malformed("no passkey signed this form");
    let signed: SignedByPasskey = serde_json::from_str(signed).map_err(|_| wrong())?;
    let encode = |part: &str| {
        let bytes = BASE64URL_NOPAD.decode(part.as_bytes()).map_err(|_| wrong())?;
        Ok::<_, Failure>(BASE64.encode(&bytes))
    };
    Ok(ReadAssertion {
        signature: encode(&signed.response.signature)?,
        assertion: PasskeyAssertion {
            client_data: encode(&signed.response.client_data)?,
            authenticator_data: encode(&signed.response.authenticator_data)?,
        },
        credential: signed.id,
    })
}

/// Returns the passkey of an enrolment by this person on this page, if it signed its own text.
pub fn verify_enrollment(
    page: &PasskeyPage,
    person: &str,
    text: &str,
    signed: &str,
    now: u64,
) -> Result<OrderedPasskey, Failure> {
    let refuse = |reason: &str| Failure::refuse(RefusalKind::Foreign, reason);
    let signed = read_assertion(signed)?;
    let said: EnrollmentText =
        serde_json::from_str(text).map_err(|_| malformed("this is not an enrolment"))?;
    if said.person != person || said.page != *page || said.passkey.credential != signed.credential {
        return Err(refuse("the enrolment is of somebody else, or another page's"));
    }
    if now.abs_diff(said.at) > SKEW {
        return Err(refuse("the enrolment took too long: begin again"));
    }
    said.passkey.check_form().map_err(malformed)?;
    said.passkey
        .verify_assertion(&signed.assertion, &signed.signature, page, DOMAIN, text)
        .map_err(|error| refuse(&error.to_string()))?;
    Ok(said.passkey)
}

/// Keeps a passkey of a person; returns the id of its key, and `None` if it is there already, or the
/// person has too many.
pub async fn insert_passkey(
    transaction: &Transaction<'_>,
    person: &str,
    passkey: &OrderedPasskey,
) -> Result<Option<String>, Failure> {
    // One after the other, so that the bound holds.
    transaction.query("SELECT FROM people WHERE person = $1 FOR UPDATE", &[&person]).await?;
    let key = passkey.key_id().map_err(Failure::internal)?.to_string();
    let inserted = transaction
        .execute(
            "INSERT INTO passkeys (key, person, credential, public_key, synced) \
             SELECT $1, $2, $3, $4, $5 \
             WHERE (SELECT count(*) FROM passkeys WHERE person = $2) < $6 ON CONFLICT DO NOTHING",
            &[&key, &person, &passkey.credential, &passkey.key, &passkey.synced, &MOST],
        )
        .await?;
    Ok((inserted > 0).then_some(key))
}

/// Removes a passkey of a person; returns false if there is none.
pub async fn remove_passkey(
    transaction: &Transaction<'_>,
    person: &str,
    key: &str,
) -> Result<bool, Failure> {
    let delete = "DELETE FROM passkeys WHERE person = $1 AND key = $2";
    Ok(transaction.execute(delete, &[&person, &key]).await? > 0)
}

/// Returns the passkeys of a person, or with an empty name of all.
pub async fn list_passkeys(
    client: &impl GenericClient,
    person: &str,
) -> Result<Vec<KeptPasskey>, Failure> {
    let rows = client
        .query(
            "SELECT person, key, credential, public_key, synced, \
             (extract(epoch FROM added_at) * 1000)::bigint, \
             ARRAY(SELECT a.group_name FROM approvers a WHERE a.key = p.key AND a.version = \
               (SELECT max(version) FROM orders o WHERE o.group_name = a.group_name \
                AND share > 0 AND expires_at > now()) ORDER BY 1) \
             FROM passkeys p WHERE $1 = '' OR person = $1 ORDER BY person, added_at, key",
            &[&person],
        )
        .await?;
    let kept = |row: &tokio_postgres::Row| KeptPasskey {
        person: row.get(0),
        key: row.get(1),
        passkey: OrderedPasskey { credential: row.get(2), key: row.get(3), synced: row.get(4) },
        added_at: row.get(5),
        groups: row.get(6),
    };
    Ok(rows.iter().map(kept).collect())
}

/// Returns the id of the key of a person's credential.
pub async fn find_key(
    client: &impl GenericClient,
    person: &str,
    credential: &str,
) -> Result<Option<String>, Failure> {
    let select = "SELECT key FROM passkeys WHERE person = $1 AND credential = $2";
    Ok(client.query_opt(select, &[&person, &credential]).await?.map(|row| row.get(0)))
}

/// Returns a passkey as a part of the file that an operator signs, below the fingerprint of its key.
/// Both are made of the key itself: the database may hold anything beside it.
///
/// # Errors
/// Fails with the reason if the database holds no usable passkey.
pub fn to_toml(kept: &KeptPasskey) -> Result<String, String> {
    kept.passkey.check_form()?;
    let id = kept.passkey.key_id().map_err(|error| error.to_string())?;
    let OrderedPasskey { credential, key, synced } = &kept.passkey;
    Ok(format!(
        "# fingerprint {id}\n[[approver.passkey]]\ncredential = \"{credential}\"\nsynced = {synced}\n\
         key = \"\"\"\n{}\n\"\"\"\n",
        key.trim()
    ))
}
