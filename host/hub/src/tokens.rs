//! Join tokens in the database: a digest of the secret, how often it may be used, and until when.

use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::failure::Failure;
use crate::operator::Operator;
use portcullis_fleet::{JoinToken, digest_secret};
use std::time::Duration;

/// Stores a token and returns its id and its end, in milliseconds since 1970.
pub async fn store_token(
    database: &Database,
    token: &JoinToken,
    labels: &[(String, String)],
    uses: u32,
    lifetime: Duration,
    operator: &Operator,
) -> Result<(String, i64), Failure> {
    let digest = digest_secret(token.secret());
    let id: String = data_encoding::HEXLOWER.encode(&digest).chars().take(12).collect();
    let labels: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let uses = i32::try_from(uses).unwrap_or(i32::MAX);
    let seconds = i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX);
    let mut client = database.connect().await?;
    let transaction = client.transaction().await?;
    let row = transaction
        .query_one(
            "INSERT INTO tokens (token, digest, labels, uses_left, expires_at) \
             VALUES ($1, $2, $3, $4, now() + $5::bigint * interval '1 second') \
             RETURNING (extract(epoch FROM expires_at) * 1000)::bigint",
            &[&id, &digest.as_slice(), &labels, &uses, &seconds],
        )
        .await?;
    let entry = NewEntry::of_act(Act::CreateToken, &id)
        .with_detail("labels", labels.join(", "))
        .with_detail("uses", uses)
        .with_detail("seconds", seconds);
    operator.record(&transaction, entry).await?;
    transaction.commit().await?;
    Ok((id, row.get(0)))
}
