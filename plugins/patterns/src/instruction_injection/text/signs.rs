//! The findings in a text.

/// A sign that a text instructs an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Earlier instructions or rules no longer count.
    Override,
    /// Protections are to be off.
    Unprotect,
    /// The agent is someone else now.
    Role,
    /// The agent is to obey the text.
    Obey,
    /// The agent is to reveal its instructions.
    Leak,
    /// The person is not to know.
    Secrecy,
    /// It looks like a message of the system or of another role.
    Marker,
    /// It is to be remembered that someone has rights.
    Memory,
    /// Secrets are to be read or sent.
    Exfiltrate,
    /// Tools are to be used without asking.
    Tool,
    /// It speaks to an agent.
    Address,
    /// Something is to be decoded and followed.
    Encoded,
    /// It hides its content.
    Hidden,
}

impl Sign {
    /// Returns the name in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Override => "override",
            Self::Unprotect => "unprotect",
            Self::Role => "role",
            Self::Obey => "obey",
            Self::Leak => "leak",
            Self::Secrecy => "secrecy",
            Self::Marker => "marker",
            Self::Memory => "memory",
            Self::Exfiltrate => "exfiltrate",
            Self::Tool => "tool",
            Self::Address => "address",
            Self::Encoded => "encoded",
            Self::Hidden => "hidden",
        }
    }
}

/// The signs of a text, or of some sentences of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Their total weight; from [`INSTRUCTS`](super::INSTRUCTS) on the text instructs.
    pub weight: u32,
    /// Each once, in the order in which they came.
    pub signs: Vec<Sign>,
    /// The sentences that hold them, folded to plain lower-case words.
    pub excerpt: String,
    /// The folded text around them, up to a kilobyte: their subject may be nearby.
    pub around: String,
}

impl Signs {
    pub(super) fn of(excerpt: &str) -> Self {
        Self { weight: 0, signs: Vec::new(), excerpt: excerpt.to_owned(), around: String::new() }
    }

    /// Adds a sign; one that is present already adds nothing.
    pub(super) fn add(&mut self, sign: Sign, weight: u32) {
        if !self.signs.contains(&sign) {
            self.signs.push(sign);
            self.weight = self.weight.saturating_add(weight);
        }
    }

    /// Combines neighbouring sentences.
    pub(super) fn together(parts: &[Self]) -> Self {
        let mut all = Self::default();
        for part in parts.iter().filter(|part| part.weight > 0) {
            all.weight = all.weight.saturating_add(part.weight_beyond(&all));
            all.signs.extend(
                part.signs
                    .iter()
                    .filter(|sign| !all.signs.contains(sign))
                    .copied()
                    .collect::<Vec<_>>(),
            );
            if !all.excerpt.is_empty() {
                all.excerpt.push_str(" / ");
            }
            all.excerpt.push_str(&part.excerpt);
        }
        all
    }

    /// Returns the weight that a sentence adds. The same sign again is not further evidence, but
    /// new orders often take two sentences (they have changed, and here they are), and a false
    /// message has two ends.
    fn weight_beyond(&self, others: &Self) -> u32 {
        let again = !self.signs.is_empty()
            && self.signs.iter().all(|sign| {
                !matches!(sign, Sign::Obey | Sign::Marker) && others.signs.contains(sign)
            });
        if again { self.weight.saturating_sub(others.weight) } else { self.weight }
    }

    /// Marks the signs as hidden, which is a sign of its own if there are any.
    pub(super) fn hidden(mut self) -> Self {
        if self.weight > 0 {
            self.add(Sign::Hidden, 1);
        }
        self
    }

    pub(super) fn max(self, other: Self) -> Self {
        if other.weight > self.weight { other } else { self }
    }
}
