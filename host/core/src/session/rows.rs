//! Steps as rows of a fixed width: every hook reads and writes up to 200 of them, and a serial form
//! that handles each byte costs more than a pattern does.

use crate::action::{Intent, Status, Step, scored};
use crate::score::{Score, Verdict};
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};
use std::collections::VecDeque;
use std::fmt;

/// Bytes of a row: seven numbers of 8 bytes, three of 4, five of 2 and three of 1.
const WIDTH: usize = 7 * 8 + 3 * 4 + 5 * 2 + 3;

/// Writes all steps as one run of bytes.
pub(super) fn serialize<S: Serializer>(
    steps: &VecDeque<Step>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::with_capacity(steps.len().saturating_mul(WIDTH));
    steps.iter().for_each(|step| write(step, &mut bytes));
    serializer.serialize_bytes(&bytes)
}

/// Reads the steps.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<VecDeque<Step>, D::Error> {
    deserializer.deserialize_bytes(Rows)
}

struct Rows;

impl Visitor<'_> for Rows {
    type Value = VecDeque<Step>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "steps as rows of {WIDTH} bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        let (rows, rest) = bytes.as_chunks::<WIDTH>();
        if !rest.is_empty() {
            return Err(E::invalid_length(bytes.len(), &self));
        }
        rows.iter()
            .map(|row| {
                read(row).ok_or_else(|| E::custom("a step with a value that does not exist"))
            })
            .collect()
    }
}

fn write(step: &Step, out: &mut Vec<u8>) {
    for number in
        [step.index, step.at, step.shape, step.identity, step.error, step.output, step.bytes]
    {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in [step.prompt, step.tokens, step.duration_ms] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in
        [step.risk.get(), scored::number(step.alignment), step.effects, step.outside, step.files]
    {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&[step.intent as u8, step.verdict as u8, step.status as u8]);
}

fn read(row: &[u8; WIDTH]) -> Option<Step> {
    let mut rest: &[u8] = row;
    let mut long = || next(&mut rest).map(u64::from_le_bytes);
    let [index, at, shape, identity, error, output, bytes] =
        [long()?, long()?, long()?, long()?, long()?, long()?, long()?];
    let mut middle = || next(&mut rest).map(u32::from_le_bytes);
    let [prompt, tokens, duration_ms] = [middle()?, middle()?, middle()?];
    let mut short = || next(&mut rest).map(u16::from_le_bytes);
    let [risk, alignment, effects, outside, files] =
        [short()?, short()?, short()?, short()?, short()?];
    let mut one = || next(&mut rest).map(|[byte]| usize::from(byte));
    let [intent, verdict, status] = [one()?, one()?, one()?];
    Some(Step {
        index,
        at,
        intent: *Intent::ALL.get(intent)?,
        verdict: *Verdict::ALL.get(verdict)?,
        status: *Status::ALL.get(status)?,
        shape,
        identity,
        error,
        output,
        risk: Score::from_thousandths(risk)?,
        alignment: scored::score(alignment)?,
        effects,
        outside,
        files,
        prompt,
        bytes,
        tokens,
        duration_ms,
    })
}

fn next<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (first, others) = rest.split_first_chunk::<N>()?;
    *rest = others;
    Some(*first)
}
