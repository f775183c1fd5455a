//! The functions.

use super::{Answer, ConditionFault, Run, Value, overflow, unfit};
use crate::code::{Code, Function};
use crate::glob;
use std::borrow::Cow;

impl<'v> Run<'v, '_> {
    pub(super) fn call(&mut self, function: Function, arguments: &'v [Code<'v>]) -> Answer<'v> {
        match (function, arguments) {
            (Function::Size, [of]) => self.size(of),
            (Function::LowerAscii, [text]) => self.changed(text, |text| text.to_ascii_lowercase()),
            (Function::UpperAscii, [text]) => self.changed(text, |text| text.to_ascii_uppercase()),
            (Function::Trim, [text]) => self.changed(text, |text| text.trim().to_owned()),
            (Function::Text, [of]) => {
                Ok(Value::Text(to_text(&self.value(of)?).into_owned().into()))
            }
            (Function::Number, [text]) => {
                let text = self.text(text)?;
                let number = text.parse().map(Value::Number);
                number.map_err(|_| {
                    ConditionFault::Value(format!(
                        "`{}` is not a number",
                        crate::place::shown(&text)
                    ))
                })
            }
            (Function::Split, [text, by]) => self.split(text, by),
            (Function::JoinList, [list, by]) => self.join(list, by),
            (Function::Flag, [command, flag]) => self.has_flag(command, flag),
            (_, [text, part]) => self.compared(function, text, part),
            _ => Err(unfit()),
        }
    }

    fn size(&mut self, of: &'v Code<'v>) -> Answer<'v> {
        let size = match self.value(of)? {
            Value::Text(text) => {
                self.budget.take(text.len() / 16)?;
                text.chars().count()
            }
            Value::List(items) => items.len(),
            Value::Map(entries) => entries.len(),
            _ => return Err(unfit()),
        };
        i64::try_from(size).map(Value::Number).map_err(|_| overflow())
    }

    fn changed(&mut self, text: &'v Code<'v>, change: impl Fn(&str) -> String) -> Answer<'v> {
        let text = self.text(text)?;
        self.budget.take(text.len() / 16)?;
        Ok(Value::Text(Cow::Owned(change(&text))))
    }

    fn compared(
        &mut self,
        function: Function,
        text: &'v Code<'v>,
        part: &'v Code<'v>,
    ) -> Answer<'v> {
        let (text, part) = (self.text(text)?, self.text(part)?);
        self.budget.take((text.len() + part.len()) / 32)?;
        Ok(Value::Flag(match function {
            Function::Contains => text.contains(part.as_ref()),
            Function::StartsWith => text.starts_with(part.as_ref()),
            Function::EndsWith => text.ends_with(part.as_ref()),
            Function::Below => self.below(&text, &part),
            _ => return Err(unfit()),
        }))
    }

    /// Returns true also for the folder itself.
    fn below(&self, path: &str, folder: &str) -> bool {
        let around = &self.evaluation.around;
        let is_inside = |folder: &str| {
            let folder = folder.trim_end_matches('/');
            path == folder
                || glob::rest(path, folder).is_some()
                // Nothing is left of `/` itself, and every absolute path is below it.
                || folder.is_empty() && path.starts_with('/')
        };
        match folder.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                // Without a known home, `~/x` would be read as `/x`.
                !around.home.is_empty() && is_inside(&[around.home, rest].concat())
            }
            _ if folder.starts_with('/') => is_inside(folder),
            _ => {
                !folder.is_empty()
                    && around
                        .roots
                        .iter()
                        .any(|root| is_inside(&[root.as_str(), "/", folder].concat()))
            }
        }
    }

    fn split(&mut self, text: &'v Code<'v>, by: &'v Code<'v>) -> Answer<'v> {
        let (text, by) = (self.text(text)?, self.text(by)?);
        self.budget.take(text.len() / 4)?;
        // The standard split by nothing has an empty text at either end.
        if by.is_empty() {
            self.budget.take(text.len())?;
            return Ok(text.chars().map(|c| Value::Text(Cow::Owned(c.to_string()))).collect());
        }
        Ok(text.split(by.as_ref()).map(|part| Value::Text(Cow::Owned(part.to_owned()))).collect())
    }

    fn join(&mut self, list: &'v Code<'v>, by: &'v Code<'v>) -> Answer<'v> {
        let (items, by) = (self.list(list)?, self.text(by)?);
        let texts: Vec<Cow<'_, str>> = items.iter().map(to_text).collect();
        let long: usize = texts.iter().map(|text| text.len() + by.len()).sum();
        self.budget.take(items.len() + long / 16)?;
        Ok(Value::Text(Cow::Owned(texts.join(by.as_ref()))))
    }

    /// Matches `-f` also in a bundle such as `-rf`, `--force` also with a value, `-long` as it is.
    /// Nothing after `--` is a flag.
    fn has_flag(&mut self, command: &'v Code<'v>, flag: &'v Code<'v>) -> Answer<'v> {
        let (Value::Record(command), flag) = (self.value(command)?, self.text(flag)?) else {
            return Err(unfit());
        };
        let Value::List(words) = command.field("words") else { return Err(unfit()) };
        self.budget.take(words.len())?;
        let mut letters = flag.chars().skip(1);
        let short = letters.next().filter(|letter| *letter != '-' && letters.next().is_none());
        let has = |word: &str| match short {
            Some(letter) => {
                !word.starts_with("--")
                    && word.strip_prefix('-').is_some_and(|bundle| bundle.contains(letter))
            }
            None => word.split('=').next() == Some(flag.as_ref()),
        };
        let mut given = words.iter().map_while(|word| match word {
            Value::Text(word) if word != "--" => Some(word),
            _ => None,
        });
        Ok(Value::Flag(given.any(|word| has(word))))
    }
}

/// Returns a value as text.
pub(super) fn to_text<'a>(value: &'a Value<'_>) -> Cow<'a, str> {
    match value {
        Value::Text(text) => Cow::Borrowed(text),
        Value::Number(number) => Cow::Owned(number.to_string()),
        Value::Flag(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
        Value::List(_) | Value::Map(_) | Value::Record(_) => Cow::Borrowed(""),
    }
}
