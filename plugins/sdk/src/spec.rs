//! The declaration of one setting.

use crate::json::Sink;
use crate::types::SettingValue;

/// One setting: its name, its default (which determines its type), its bounds.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Its name, with dots between tables; `limits.*` matches every key of the table `limits`.
    pub key: &'static str,
    /// The value if the operator sets none.
    pub default: Default,
    /// The smallest and largest allowed number: the value itself for an integer or decimal,
    /// thousandths for a score.
    pub bounds: Option<(i64, i64)>,
    /// A description in words.
    pub description: &'static str,
}

/// A setting's default, which determines its type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A text.
    Text(&'static str),
    /// A whole number.
    Integer(i64),
    /// A number; three decimals of a default are kept.
    Decimal(f64),
    /// A share from 0 to 1, held in whole thousandths.
    Score(u16),
    /// Yes or no.
    Flag(bool),
    /// A list of texts.
    Texts(&'static [&'static str]),
}

/// ```
/// use portcullis_plugin::descriptor::{Default, Spec};
///
/// const SETTINGS: &[Spec] = &[
///     Spec::text("word", "frob", "the word to look for"),
///     Spec::integer("most", 3, "how often").between(1, 10),
///     Spec::decimal("factor", 1.5, "how much more"),
///     Spec::score("threshold", 300, "from which on; 0.3 in the configuration"),
///     Spec::flag("strict", false, "whether to ask at once"),
///     Spec::texts("folders", &["src"], "where to look"),
/// ];
/// assert_eq!(SETTINGS[1].bounds, Some((1, 10)));
/// assert_eq!(SETTINGS[3].default, Default::Score(300));
/// ```
impl Spec {
    /// Declares a text.
    #[must_use]
    pub const fn text(key: &'static str, default: &'static str, description: &'static str) -> Self {
        Self { key, default: Default::Text(default), bounds: None, description }
    }

    /// Declares a whole number.
    #[must_use]
    pub const fn integer(key: &'static str, default: i64, description: &'static str) -> Self {
        Self { key, default: Default::Integer(default), bounds: None, description }
    }

    /// Declares a number.
    #[must_use]
    pub const fn decimal(key: &'static str, default: f64, description: &'static str) -> Self {
        Self { key, default: Default::Decimal(default), bounds: None, description }
    }

    /// Declares a share from 0 to 1; `default` is in thousandths.
    #[must_use]
    pub const fn score(key: &'static str, default: u16, description: &'static str) -> Self {
        Self { key, default: Default::Score(default), bounds: Some((0, 1000)), description }
    }

    /// Declares a yes-or-no setting.
    #[must_use]
    pub const fn flag(key: &'static str, default: bool, description: &'static str) -> Self {
        Self { key, default: Default::Flag(default), bounds: None, description }
    }

    /// Declares a list of texts.
    #[must_use]
    pub const fn texts(
        key: &'static str,
        default: &'static [&'static str],
        description: &'static str,
    ) -> Self {
        Self { key, default: Default::Texts(default), bounds: None, description }
    }

    /// Sets the smallest and the largest allowed number (of a score: thousandths).
    #[must_use]
    pub const fn between(self, least: i64, greatest: i64) -> Self {
        Self { bounds: Some((least, greatest)), ..self }
    }

    pub(crate) const fn write(&self, out: &mut Sink<'_>) {
        out.raw("{\"key\":");
        out.text(self.key);
        out.raw(",\"type\":");
        out.text(self.default.type_name());
        out.raw(",\"default\":");
        self.default.write(out);
        if let Some((least, greatest)) = self.bounds {
            let scale = if matches!(self.default, Default::Score(_)) { 1 } else { 1000 };
            out.raw(",\"minimum\":");
            out.thousandths(least.saturating_mul(scale));
            out.raw(",\"maximum\":");
            out.thousandths(greatest.saturating_mul(scale));
        }
        out.raw(",\"description\":");
        out.text(self.description);
        out.raw("}");
    }
}

/// ```
/// use portcullis_plugin::{descriptor::Default, types::SettingValue};
///
/// assert_eq!(Default::Score(300).type_name(), "decimal");
/// assert_eq!(Default::Texts(&["src"]).type_name(), "texts");
/// assert!(matches!(Default::Score(300).value(), SettingValue::Decimal(share) if share == 0.3));
/// ```
impl Default {
    /// Returns the default as a setting's value.
    #[must_use]
    pub fn value(&self) -> SettingValue {
        match *self {
            Self::Text(text) => SettingValue::Text(text.into()),
            Self::Integer(number) => SettingValue::Integer(number),
            Self::Decimal(number) => SettingValue::Decimal(number),
            Self::Score(thousandths) => SettingValue::Decimal(f64::from(thousandths) / 1000.0),
            Self::Flag(flag) => SettingValue::Flag(flag),
            Self::Texts(texts) => {
                SettingValue::Texts(texts.iter().map(|text| (*text).to_owned()).collect())
            }
        }
    }

    /// Returns the type's name in the descriptor and in messages.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "integer",
            Self::Decimal(_) | Self::Score(_) => "decimal",
            Self::Flag(_) => "flag",
            Self::Texts(_) => "texts",
        }
    }

    const fn write(&self, out: &mut Sink<'_>) {
        match self {
            Self::Text(text) => out.text(text),
            Self::Integer(number) => out.integer(*number),
            Self::Decimal(number) => out.thousandths(thousandths(*number)),
            Self::Score(thousandths) => out.thousandths(*thousandths as i64),
            Self::Flag(true) => out.raw("true"),
            Self::Flag(false) => out.raw("false"),
            Self::Texts(texts) => {
                out.raw("[");
                let mut texts = *texts;
                while let Some((one, rest)) = texts.split_first() {
                    out.text(one);
                    out.comma(!rest.is_empty());
                    texts = rest;
                }
                out.raw("]");
            }
        }
    }
}

/// Returns the nearest whole number of thousandths.
pub(crate) const fn thousandths(number: f64) -> i64 {
    let scaled = number * 1000.0;
    if scaled < 0.0 { (scaled - 0.5) as i64 } else { (scaled + 0.5) as i64 }
}
