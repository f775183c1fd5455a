//! The settings, and what makes them impossible together.

use crate::budgets::{BUDGETS, Unit};
use portcullis_plugin::pattern::{Error, FromSettings, Setting, Settings, Spec};
use portcullis_plugin::types::SettingValue;

/// The settings.
#[derive(Debug)]
pub struct Config {
    /// What may be used, by budget; 0 for no budget.
    pub most: [u64; BUDGETS.len()],
    /// What a million tokens cost; 0 where money is not counted.
    pub price: u64,
    /// How money is written.
    pub money: Money,
    /// The shares of a budget at which it reports, in per cent, rising.
    pub thresholds: Vec<u16>,
    /// What a token is taken for where the client reports none.
    pub bytes_per_token: u64,
}

/// How money is written.
#[derive(Debug)]
pub struct Money {
    /// A word or a sign.
    pub currency: String,
    /// Digits after the point.
    pub digits: usize,
}

const MOST_TOKENS: i64 = 1_000_000_000_000;
const MOST_MINUTES: i64 = 1_000_000;
const MOST_COST: i64 = 1_000_000_000_000;
const MOST_PRICE: i64 = 1_000_000_000;
const MOST_THRESHOLDS: usize = 16;
const MOST_SHARE: u16 = 1000;
const MOST_LETTERS: usize = 8;

impl FromSettings for Config {
    const SPECS: &'static [Spec] = &[
        Spec::integer("prompt_tokens", 1_000_000, "tokens for one prompt; 0 for no budget")
            .between(0, MOST_TOKENS),
        Spec::integer("session_tokens", 5_000_000, "tokens for the session; 0 for no budget")
            .between(0, MOST_TOKENS),
        Spec::integer("prompt_minutes", 120, "minutes for one prompt; 0 for no budget")
            .between(0, MOST_MINUTES),
        Spec::integer(
            "session_minutes",
            480,
            "minutes for the session, without those between prompts; 0 for no budget",
        )
        .between(0, MOST_MINUTES),
        Spec::integer(
            "price",
            0,
            "price of a million tokens, in the smallest unit of the currency; 0 where money is not \
             counted",
        )
        .between(0, MOST_PRICE),
        Spec::text("currency", "", "the currency as it is written, for example `USD`"),
        Spec::integer("currency_digits", 2, "digits after the point: 2 where 300 is 3.00")
            .between(0, 4),
        Spec::integer(
            "prompt_cost",
            0,
            "money for one prompt, in the smallest unit of the currency; 0 for no budget",
        )
        .between(0, MOST_COST),
        Spec::integer(
            "session_cost",
            0,
            "money for the session, in the smallest unit of the currency; 0 for no budget",
        )
        .between(0, MOST_COST),
        Spec::texts(
            "thresholds",
            &["80", "100"],
            "shares of a budget in per cent at which it reports, rising",
        ),
        Spec::integer(
            "bytes_per_token",
            4,
            "what a token is taken for where the client tells none",
        )
        .between(1, 100),
    ];

    fn from_settings(settings: &Settings) -> Result<Self, Error> {
        let number = |key| Ok(settings.integer(key)?.unsigned_abs());
        let thresholds = read_thresholds(settings.texts("thresholds")?)?;
        let (price, currency) = (number("price")?, settings.text("currency")?);
        if price > 0 && !is_currency(currency) {
            let reason = "should be a word or sign of up to 8 letters where there is a `price`";
            return Err(Error::setting("currency", reason));
        }
        let mut most = [0; BUDGETS.len()];
        for (most, budget) in most.iter_mut().zip(&BUDGETS) {
            *most = number(budget.key)?;
            if budget.unit == Unit::Cost && *most > 0 && price == 0 {
                return Err(Error::setting(budget.key, "needs a `price`"));
            }
        }
        let digits = usize::try_from(number("currency_digits")?).unwrap_or_default();
        Ok(Self {
            most,
            price,
            money: Money { currency: currency.to_owned(), digits },
            thresholds,
            bytes_per_token: number("bytes_per_token")?,
        })
    }
}

fn read_thresholds(texts: &[String]) -> Result<Vec<u16>, Error> {
    let read = |text: &String| {
        let is_number = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|share| is_number && *share <= MOST_SHARE)
    };
    let shares: Option<Vec<u16>> = texts.iter().map(read).collect();
    let is_right = |shares: &Vec<u16>| {
        (1..=MOST_THRESHOLDS).contains(&shares.len()) && shares.is_sorted_by(|one, next| one < next)
    };
    shares.filter(is_right).ok_or_else(|| {
        let reason = "should be 1 to 16 whole numbers from 1 to 1000 as texts, rising";
        Error::setting("thresholds", reason)
    })
}

/// Returns true for a word or a sign: it stands in messages.
fn is_currency(text: &str) -> bool {
    (1..=MOST_LETTERS).contains(&text.chars().count())
        && text.chars().all(|letter| letter.is_alphabetic() || is_currency_sign(letter))
}

/// Returns true for the characters of Unicode's category `Sc`.
const fn is_currency_sign(letter: char) -> bool {
    matches!(
        letter,
        '$' | '¢'..='¥' | '\u{58f}' | '\u{60b}' | '\u{7fe}' | '\u{7ff}' | '\u{9f2}' | '\u{9f3}'
            | '\u{9fb}' | '\u{af1}' | '\u{bf9}' | '\u{e3f}' | '\u{17db}' | '\u{20a0}'..='\u{20c0}'
            | '\u{a838}' | '\u{fdfc}' | '\u{fe69}' | '\u{ff04}' | '\u{ffe0}' | '\u{ffe1}'
            | '\u{ffe5}' | '\u{ffe6}' | '\u{11fdd}'..='\u{11fe0}' | '\u{1e2ff}' | '\u{1ecb0}'
    )
}

/// Refuses unknown settings and those of a wrong type, in the words that this plugin has always
/// used; the descriptor checks the rest.
pub fn check_settings(given: &[Setting]) -> Result<(), Error> {
    for Setting { key, value } in given {
        let Some(spec) = Config::SPECS.iter().find(|spec| spec.key == key) else {
            let known: Vec<&str> = Config::SPECS.iter().map(|spec| spec.key).collect();
            let reason = format!("unknown; this plugin knows `{}`", known.join("`, `"));
            return Err(Error::setting(key, &reason));
        };
        let (own, right) = (name_type(value), spec.default.type_name());
        if own != right {
            return Err(Error::setting(key, &format!("is {own}, should be {right}")));
        }
    }
    Ok(())
}

const fn name_type(value: &SettingValue) -> &'static str {
    match value {
        SettingValue::Text(_) => "text",
        SettingValue::Integer(_) => "integer",
        SettingValue::Decimal(_) => "decimal",
        SettingValue::Flag(_) => "flag",
        SettingValue::Texts(_) => "texts",
    }
}
