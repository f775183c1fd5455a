//! Numbers for a person.

use crate::config::Money;

/// Returns an amount of money: `1,234.50 USD`.
pub fn format_money(amount: u128, money: &Money) -> String {
    let Money { currency, digits } = money;
    let text = format!("{amount:0>width$}", width = digits + 1);
    let (whole, rest) = text.split_at_checked(text.len() - digits).unwrap_or((&text, ""));
    let point = if rest.is_empty() { "" } else { "." };
    format!("{}{point}{rest} {currency}", group_digits(whole))
}

/// Returns a whole number with its thousands apart: `1,000,000`.
pub fn group_digits(digits: &str) -> String {
    let mut text = String::new();
    for (left, digit) in (0..digits.len()).rev().zip(digits.chars()) {
        text.push(digit);
        if left > 0 && left % 3 == 0 {
            text.push(',');
        }
    }
    text
}
