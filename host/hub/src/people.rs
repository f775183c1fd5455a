//! People of the hub: who they are, their roles, and how their browsers sign in.
//!
//! A person is added by a command on a machine that has the hub's folder, which makes a link that
//! signs one browser in, once. Links and cookies are in the database as digests, so any replica
//! takes them, and none opens anything to somebody who reads the database. A role counts as it is
//! when a request comes; who is removed is signed out with the next one.

use crate::audit::{Act, Actor, AuditLog, Channel, NewEntry};
use crate::database::Database;
use crate::failure::Failure;
use deadpool_postgres::Transaction;
use portcullis_served::Role;
use portcullis_served::secrets::{derive_form_token, new_token};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::time::Duration;

/// The most characters of a person's name.
pub const MOST_NAME: usize = 128;
/// The beginning of the names of people whom a provider vouches for.
pub const PROVIDED: &str = "oidc:";
/// The time after which a browser has to sign in again, in seconds.
const SESSION_LIFE: i64 = 12 * 60 * 60;
/// The most browsers of one person that are signed in; the oldest are signed out.
const MOST_SESSIONS: i64 = 16;

/// A person as an operator sees them.
#[derive(Debug, Serialize)]
pub struct PersonSummary {
    /// The name.
    pub person: String,
    /// The role.
    pub role: String,
    /// The provider that vouches for the person; none for a person whom an operator added.
    pub issuer: Option<String>,
    /// The one who added the person.
    pub added_by: String,
    /// The time of that, in milliseconds since 1970.
    pub added_at: i64,
    /// The time of the newest sign-in.
    pub seen_at: Option<i64>,
    /// The browsers that are signed in.
    pub sessions: i64,
    /// True if the person may not sign in for the time being.
    pub is_disabled: bool,
}

/// A signed-in browser, as a request sees it.
#[derive(Clone, Debug)]
pub struct Visitor {
    /// The person.
    pub person: String,
    /// The role at this moment.
    pub role: Role,
    /// The token that each of the browser's forms carries.
    pub form_token: String,
}

impl Visitor {
    /// Returns the person as the audit names them.
    pub fn actor(&self) -> Actor {
        Actor { name: self.person.clone(), channel: Channel::Page }
    }
}

/// A person whom a provider vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProvidedPerson {
    /// The name that the provider's claim holds.
    pub name: String,
    /// The provider.
    pub issuer: String,
    /// The role that the configuration gives.
    pub role: Role,
}

/// Returns true for a name that an operator may give.
pub fn is_name(name: &str) -> bool {
    (1..=MOST_NAME).contains(&name.len())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "._@+-".contains(letter))
}

/// Adds a person with a link to sign in; returns its code, and `None` if there is such a person.
pub async fn add_person(
    transaction: &Transaction<'_>,
    name: &str,
    role: Role,
    by: &str,
    life: Duration,
) -> Result<Option<String>, Failure> {
    let added = transaction
        .execute(
            "INSERT INTO people (person, role, added_by) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            &[&name, &role.as_str(), &by],
        )
        .await?;
    if added == 0 {
        return Ok(None);
    }
    make_link(transaction, name, life).await
}

/// Makes a link for a person, in place of those before it; returns its code, and `None` if there is
/// no such person, or a provider vouches for them.
pub async fn make_link(
    transaction: &Transaction<'_>,
    name: &str,
    life: Duration,
) -> Result<Option<String>, Failure> {
    transaction
        .execute("DELETE FROM sign_in_links WHERE person = $1 OR expires_at < now()", &[&name])
        .await?;
    let code = new_token().map_err(Failure::internal)?;
    let seconds = i64::try_from(life.as_secs()).unwrap_or(i64::MAX);
    let made = transaction
        .execute(
            "INSERT INTO sign_in_links (digest, person, expires_at) \
             SELECT $1, person, now() + $3::bigint * interval '1 second' FROM people \
             WHERE person = $2 AND issuer IS NULL AND disabled_at IS NULL",
            &[&digest(&code).as_slice(), &name, &seconds],
        )
        .await?;
    Ok((made > 0).then_some(code))
}

/// Changes a role; returns the former one, and `None` if there is no such person, or a provider
/// vouches for them.
pub async fn change_role(
    transaction: &Transaction<'_>,
    name: &str,
    role: Role,
) -> Result<Option<String>, Failure> {
    let row = transaction
        .query_opt(
            "UPDATE people SET role = $2 FROM (SELECT person, role FROM people WHERE person = $1 \
             FOR UPDATE) before WHERE people.person = before.person AND issuer IS NULL \
             RETURNING before.role",
            &[&name, &role.as_str()],
        )
        .await?;
    Ok(row.map(|row| row.get(0)))
}

/// Returns true if a person is an operator who may sign in. Nobody else changes people until the
/// transaction ends.
pub async fn is_operator(transaction: &Transaction<'_>, name: &str) -> Result<bool, Failure> {
    transaction.execute("LOCK TABLE people IN SHARE ROW EXCLUSIVE MODE", &[]).await?;
    let found = "SELECT EXISTS (SELECT FROM people WHERE role = 'operator' \
                 AND disabled_at IS NULL AND person = $1)";
    Ok(transaction.query_one(found, &[&name]).await?.get(0))
}

/// Returns true if somebody else is an operator who may sign in.
pub async fn has_other_operator(
    transaction: &Transaction<'_>,
    name: &str,
) -> Result<bool, Failure> {
    let others = "SELECT EXISTS (SELECT FROM people WHERE role = 'operator' \
                  AND disabled_at IS NULL AND person <> $1)";
    Ok(transaction.query_one(others, &[&name]).await?.get(0))
}

/// Lets a person sign in, or not; returns false if there is no such person, or it is so already.
pub async fn change_admission(
    transaction: &Transaction<'_>,
    name: &str,
    is_disabled: bool,
) -> Result<bool, Failure> {
    let changed = transaction
        .execute(
            "UPDATE people SET disabled_at = CASE WHEN $2 THEN now() END WHERE person = $1 \
             AND (disabled_at IS NOT NULL) <> $2",
            &[&name, &is_disabled],
        )
        .await?;
    if is_disabled {
        let ended = "DELETE FROM sign_in_links WHERE person = $1";
        transaction.execute(ended, &[&name]).await?;
        end_all_sessions(transaction, name).await?;
    }
    Ok(changed > 0)
}

/// Removes a person, with their links and cookies; returns false if there is none.
pub async fn remove_person(transaction: &Transaction<'_>, name: &str) -> Result<bool, Failure> {
    Ok(transaction.execute("DELETE FROM people WHERE person = $1", &[&name]).await? > 0)
}

/// Signs a person's browsers out; returns their number.
pub async fn end_all_sessions(transaction: &Transaction<'_>, name: &str) -> Result<u64, Failure> {
    let ended = "DELETE FROM browser_sessions WHERE person = $1";
    Ok(transaction.execute(ended, &[&name]).await?)
}

/// Returns all people, in the order of their names.
pub async fn list_people(database: &Database) -> Result<Vec<PersonSummary>, Failure> {
    let client = database.connect().await?;
    let rows = client
        .query(
            "SELECT person, role, issuer, added_by, (extract(epoch FROM added_at) * 1000)::bigint, \
             (extract(epoch FROM seen_at) * 1000)::bigint, (SELECT count(*) FROM browser_sessions s \
             WHERE s.person = p.person AND s.expires_at > now()), disabled_at IS NOT NULL \
             FROM people p ORDER BY person",
            &[],
        )
        .await?;
    let summary = |row: &tokio_postgres::Row| PersonSummary {
        person: row.get(0),
        role: row.get(1),
        issuer: row.get(2),
        added_by: row.get(3),
        added_at: row.get(4),
        seen_at: row.get(5),
        sessions: row.get(6),
        is_disabled: row.get(7),
    };
    Ok(rows.iter().map(summary).collect())
}

/// Takes the code of a link; returns the cookie for it, and `None` for a code that was used, has
/// expired or never was. The audit gets the sign-in.
pub async fn redeem_link(
    database: &Database,
    audit: &AuditLog,
    code: &str,
) -> Result<Option<String>, Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let found = transaction
        .query_opt(
            "DELETE FROM sign_in_links WHERE digest = $1 RETURNING person, expires_at > now()",
            &[&digest(code).as_slice()],
        )
        .await?;
    let person: Option<String> = found.filter(|row| row.get(1)).map(|row| row.get(0));
    let Some(person) = person else {
        // One that has expired stays removed.
        transaction.commit().await?;
        return Ok(None);
    };
    let cookie = begin_session(&transaction, &person).await?;
    let entry = NewEntry::of_act(Act::SignIn, &person).with_detail("with", "a link");
    let by = Actor { name: person, channel: Channel::Page };
    audit.append_entry(&transaction, &by, entry).await?;
    transaction.commit().await?;
    Ok(Some(cookie))
}

/// Signs in a person whom a provider vouches for; returns the cookie, and `None` for one whom an
/// operator has disabled. The role is that of this sign-in.
pub async fn admit_provided(
    database: &Database,
    audit: &AuditLog,
    provided: &ProvidedPerson,
) -> Result<Option<String>, Failure> {
    let person = format!("{PROVIDED}{}", provided.name);
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let admitted = transaction
        .execute(
            "INSERT INTO people (person, role, issuer, added_by) VALUES ($1, $2, $3, $3) \
             ON CONFLICT (person) DO UPDATE SET role = $2, issuer = $3 \
             WHERE people.disabled_at IS NULL",
            &[&person, &provided.role.as_str(), &provided.issuer],
        )
        .await?;
    if admitted == 0 {
        return Ok(None);
    }
    let cookie = begin_session(&transaction, &person).await?;
    let entry = NewEntry::of_act(Act::SignIn, &person)
        .with_detail("with", provided.issuer.as_str())
        .with_detail("role", provided.role.as_str());
    let by = Actor { name: person, channel: Channel::Page };
    audit.append_entry(&transaction, &by, entry).await?;
    transaction.commit().await?;
    Ok(Some(cookie))
}

/// Returns the visitor with a cookie's value.
pub async fn find_visitor(database: &Database, cookie: &str) -> Result<Option<Visitor>, Failure> {
    let client = database.connect().await?;
    let statement = client
        .prepare_cached(
            "SELECT person, role FROM browser_sessions JOIN people USING (person) \
             WHERE digest = $1 AND expires_at > now() AND disabled_at IS NULL",
        )
        .await?;
    let found = client.query_opt(&statement, &[&digest(cookie).as_slice()]).await?;
    Ok(found.and_then(|row| {
        let role = Role::from_name(row.get(1))?;
        Some(Visitor { person: row.get(0), role, form_token: derive_form_token(cookie) })
    }))
}

/// Signs one browser out.
pub async fn end_session(
    database: &Database,
    audit: &AuditLog,
    visitor: &Visitor,
    cookie: &str,
) -> Result<(), Failure> {
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    transaction
        .execute("DELETE FROM browser_sessions WHERE digest = $1", &[&digest(cookie).as_slice()])
        .await?;
    let entry = NewEntry::of_act(Act::SignOut, &visitor.person);
    audit.append_entry(&transaction, &visitor.actor(), entry).await?;
    Ok(transaction.commit().await?)
}

/// Begins a session of a browser; returns the cookie's value.
async fn begin_session(transaction: &Transaction<'_>, person: &str) -> Result<String, Failure> {
    let cookie = new_token().map_err(Failure::internal)?;
    transaction.execute("UPDATE people SET seen_at = now() WHERE person = $1", &[&person]).await?;
    transaction
        .execute(
            "DELETE FROM browser_sessions WHERE expires_at < now() OR digest IN (\
             SELECT digest FROM browser_sessions WHERE person = $1 ORDER BY begun_at DESC OFFSET $2)",
            &[&person, &MOST_SESSIONS.saturating_sub(1)],
        )
        .await?;
    transaction
        .execute(
            "INSERT INTO browser_sessions (digest, person, expires_at) \
             VALUES ($1, $2, now() + $3::bigint * interval '1 second')",
            &[&digest(&cookie).as_slice(), &person, &SESSION_LIFE],
        )
        .await?;
    Ok(cookie)
}

/// Returns the digest by which the database knows a code or a cookie.
fn digest(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_operator_names_somebody_of_a_provider() {
        for (name, is_one) in [
            ("ann", true),
            ("ann+hub@example.org", true),
            ("", false),
            ("oidc:ann", false),
            ("ann b", false),
            ("anné", false),
            ("ann\u{202e}", false),
        ] {
            assert_eq!(is_name(name), is_one, "{name}");
        }
        assert!(!is_name(&"a".repeat(MOST_NAME + 1)));
    }
}
