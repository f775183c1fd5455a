//! What was used: of the newest prompt and of the session, and by which tools. It is the plugin's
//! state.
//!
//! What the host measured counts: it reads the client's transcript. Where that is less than what
//! results and parameters are long, their length is an estimate, and every report of it says so.

use crate::budgets::BUDGETS;
use portcullis_plugin::codec::{Reader, Writer};
use portcullis_plugin::pattern::{Action, Context, Error};
use portcullis_plugin::types::{Outcome, Quantity};

/// The layout of the bytes. 1 was JSON. A state of another layout is forgotten: the plugin counts
/// from there on.
const LAYOUT: u8 = 2;
const MOST_TOOLS: usize = 24;
const MOST_NAME: usize = 48;
const OTHER: &str = "other tools";

/// What is known of the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The number of the newest prompt.
    pub prompt: u32,
    /// The step at which the newest began.
    pub first: u64,
    /// The newest prompt.
    pub now: Span,
    /// All prompts before it.
    pub before: Span,
    /// The highest threshold that was reported, by budget; 0 where none was.
    pub reported: [u16; BUDGETS.len()],
}

/// What a prompt, or several, used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// How much.
    pub amounts: Amounts,
    /// Bytes by tool, in the order in which the tools were first used.
    pub tools: Vec<(String, u64)>,
}

/// How much was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Tokens that the host knows of.
    pub measured: u64,
    /// Bytes of parameters and results.
    pub bytes: u64,
    /// Milliseconds.
    pub ms: u64,
}

impl Usage {
    /// Knows nothing yet.
    pub fn new(prompt: u32, first: u64) -> Self {
        let (now, before) = (Span::default(), Span::default());
        Self { prompt, first, now, before, reported: [0; BUDGETS.len()] }
    }

    /// Decodes a state; none where there is none of this layout.
    pub fn read(state: &[u8]) -> Result<Option<Self>, Error> {
        let mut input = Reader::new(state);
        if input.byte() != Some(LAYOUT) {
            return Ok(None);
        }
        let usage = Self::decode(&mut input).filter(|_| input.is_empty());
        usage.map(Some).ok_or_else(|| Error::input("`state` is damaged: start a new session"))
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let prompt = u32::try_from(input.number()?).ok()?;
        let mut usage = Self::new(prompt, read_number(input)?);
        usage.now = Span::decode(input)?;
        usage.before = Span::decode(input)?;
        for threshold in &mut usage.reported {
            *threshold = u16::try_from(input.number()?).ok()?;
        }
        Some(usage)
    }

    /// Encodes it.
    pub fn write_state(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(LAYOUT);
        out.number(usize::try_from(self.prompt).unwrap_or(usize::MAX));
        out.eight(self.first.to_le_bytes());
        self.now.encode(&mut out);
        self.before.encode(&mut out);
        for threshold in self.reported {
            out.number(threshold.into());
        }
        out.into_bytes()
    }

    /// Adds the step that has just ended.
    pub fn add_step(&mut self, prompt: u32, action: &Action, outcome: &Outcome, context: &Context) {
        if self.prompt != prompt {
            self.begin_prompt(prompt, action.step);
        }
        let parameters = u64::try_from(action.parameters.len()).unwrap_or(u64::MAX);
        let bytes = outcome.bytes.saturating_add(parameters);
        let Span { amounts, tools } = &mut self.now;
        amounts.bytes = amounts.bytes.saturating_add(bytes);
        // The host's count never falls within a prompt, unless a session goes on with another one.
        amounts.measured = amounts.measured.max(find_used(context, &Quantity::Tokens));
        amounts.ms = amounts.ms.max(find_used(context, &Quantity::Time));
        add_bytes(tools, cut_name(&action.tool), bytes);
    }

    fn begin_prompt(&mut self, prompt: u32, step: u64) {
        self.before = self.sum_spans();
        self.now = Span::default();
        self.prompt = prompt;
        self.first = step;
        for (reported, budget) in self.reported.iter_mut().zip(&BUDGETS) {
            if budget.is_of_prompt {
                *reported = 0;
            }
        }
    }

    /// Returns what the session used.
    pub fn sum_spans(&self) -> Span {
        let mut sum = self.before.clone();
        sum.amounts = sum.amounts.plus(self.now.amounts);
        for (tool, bytes) in &self.now.tools {
            add_bytes(&mut sum.tools, tool, *bytes);
        }
        sum
    }
}

impl Span {
    /// Returns the tool with the most bytes, and its share in per cent.
    pub fn find_greediest(&self) -> Option<(&str, u128)> {
        // Of equal ones the first.
        let (tool, bytes) = self.tools.iter().rev().max_by_key(|(_, bytes)| *bytes)?;
        let (bytes, all) = (u128::from(*bytes), u128::from(self.amounts.bytes));
        Some((tool, (200 * bytes + all).checked_div(2 * all)?))
    }

    fn encode(&self, out: &mut Writer) {
        let Amounts { measured, bytes, ms } = self.amounts;
        for number in [measured, bytes, ms] {
            out.eight(number.to_le_bytes());
        }
        out.number(self.tools.len());
        for (tool, bytes) in &self.tools {
            out.text(tool);
            out.eight(bytes.to_le_bytes());
        }
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let (measured, bytes, ms) = (read_number(input)?, read_number(input)?, read_number(input)?);
        let amounts = Amounts { measured, bytes, ms };
        let count = input.number()?;
        let tools = (0..count).map(|_| Some((input.text()?, read_number(input)?)));
        Some(Self { amounts, tools: tools.collect::<Option<_>>()? })
    }
}

impl Amounts {
    /// Returns both together.
    pub const fn plus(self, other: Self) -> Self {
        Self {
            measured: self.measured.saturating_add(other.measured),
            bytes: self.bytes.saturating_add(other.bytes),
            ms: self.ms.saturating_add(other.ms),
        }
    }

    /// Returns the tokens, and whether that is an estimate.
    pub const fn count_tokens(self, bytes_per_token: u64) -> (u64, bool) {
        let estimate = self.bytes.div_ceil(bytes_per_token);
        if estimate > self.measured { (estimate, true) } else { (self.measured, false) }
    }
}

fn read_number(input: &mut Reader<'_>) -> Option<u64> {
    input.eight().map(u64::from_le_bytes)
}

/// Past a number of tools, further ones are one.
fn add_bytes(tools: &mut Vec<(String, u64)>, tool: &str, bytes: u64) {
    let mut known = tools.iter().position(|(known, _)| known == tool);
    let mut name = tool;
    if known.is_none() && tools.len() >= MOST_TOOLS {
        name = OTHER;
        known = tools.iter().position(|(known, _)| known == OTHER);
    }
    match known.and_then(|at| tools.get_mut(at)) {
        Some((_, sum)) => *sum = sum.saturating_add(bytes),
        None => tools.push((name.to_owned(), bytes)),
    }
}

fn cut_name(tool: &str) -> &str {
    tool.char_indices().nth(MOST_NAME).and_then(|(end, _)| tool.get(..end)).unwrap_or(tool)
}

/// Returns how much of a limit is used, as the host measures it; 0 where it does not.
fn find_used(context: &Context, quantity: &Quantity) -> u64 {
    let limits = context.limits.iter().filter(|limit| limit.quantity == *quantity);
    limits.map(|limit| limit.used).max().unwrap_or_default()
}
