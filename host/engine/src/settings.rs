//! A plugin's settings, as the operator's configuration holds them.

use serde::{Deserialize, Serialize};

/// One setting. Tables are flattened: `[a.b] c = 1` is `a.b.c`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name, with dots between tables.
    pub key: String,
    /// Its value.
    pub value: SettingValue,
}

/// A setting's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingValue {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Decimal(f64),
    /// Yes or no.
    Flag(bool),
    /// Several texts.
    Texts(Vec<String>),
}

/// Returns a digest that identifies these settings: their prepared form is cached under it.
pub(crate) fn digest(settings: &[Setting]) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new_derive_key("portcullis plugin settings 1");
    for setting in settings {
        add(&mut hasher, setting.key.as_bytes());
        match &setting.value {
            SettingValue::Text(text) => add(hasher.update(b"t"), text.as_bytes()),
            SettingValue::Integer(number) => add(hasher.update(b"i"), &number.to_le_bytes()),
            SettingValue::Decimal(number) => {
                add(hasher.update(b"d"), &number.to_bits().to_le_bytes())
            }
            SettingValue::Flag(flag) => add(hasher.update(b"f"), &[u8::from(*flag)]),
            SettingValue::Texts(texts) => {
                hasher.update(b"l").update(&length(texts.len()));
                texts.iter().for_each(|text| add(&mut hasher, text.as_bytes()));
            }
        }
    }
    hasher.finalize()
}

fn add(hasher: &mut blake3::Hasher, bytes: &[u8]) {
    hasher.update(&length(bytes.len())).update(bytes);
}

fn length(length: usize) -> [u8; 8] {
    u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_differ_have_other_digests() {
        let setting = |key: &str, value| Setting { key: key.into(), value };
        let table = [
            vec![],
            vec![setting("a", SettingValue::Text("b".into()))],
            vec![setting("ab", SettingValue::Text(String::new()))],
            vec![setting("a", SettingValue::Texts(vec!["b".into()]))],
            vec![setting("a", SettingValue::Integer(1))],
            vec![setting("a", SettingValue::Decimal(1.0))],
            vec![setting("a", SettingValue::Flag(true))],
            vec![setting("a", SettingValue::Texts(vec!["b".into(), "c".into()]))],
            vec![setting("a", SettingValue::Texts(vec!["bc".into()]))],
        ];
        for (at, left) in table.iter().enumerate() {
            for (other, right) in table.iter().enumerate() {
                assert_eq!(digest(left) == digest(right), at == other, "{left:?} and {right:?}");
            }
        }
    }
}
