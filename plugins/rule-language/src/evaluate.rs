//! Evaluates a condition for an action.
//!
//! The action's values come through [`Fields`], one at a time, so that values which no rule uses
//! cost nothing. Every step counts against a [`Budget`], which bounds time and memory. As in CEL,
//! `&&` and `||` ignore a fault of one side if the other decides.

mod calls;
mod patterns;

use crate::code::{Code, Macro, Operator};
use crate::schema::Kind;
use patterns::Patterns;
use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

pub(crate) use patterns::regex;

/// The values of a group of names.
pub trait Fields {
    /// Returns the value of that name, in the type of the table.
    fn field(&self, name: &'static str) -> Value<'_>;
}

/// A value.
#[derive(Clone)]
pub enum Value<'v> {
    /// True or false.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// Text.
    Text(Cow<'v, str>),
    /// A list.
    List(Rc<[Self]>),
    /// Texts by name.
    Map(Rc<[(&'v str, &'v str)]>),
    /// A group of names.
    Record(&'v dyn Fields),
}

/// The project's folders and the person's home, for paths that do not begin with `/`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Around<'v> {
    /// The project's folders.
    pub roots: &'v [String],
    /// The person's home; empty if it is not known.
    pub home: &'v str,
}

/// The subject of the conditions, with the patterns that were compiled for it.
pub struct EvaluationContext<'v> {
    action: &'v dyn Fields,
    around: Around<'v>,
    patterns: Patterns<'v>,
}

/// Steps that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(u32);

/// The reason for which a condition has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionFault {
    /// The action has no such value.
    Value(String),
    /// Too many steps.
    Steps,
}

impl fmt::Display for ConditionFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(what) => f.write_str(what),
            Self::Steps => write!(f, "it takes more than {} steps", Budget::STEPS),
        }
    }
}

impl Budget {
    /// The budget of one rule: a condition over the usual action takes below a hundred steps.
    pub const STEPS: u32 = 200_000;

    /// Returns the budget of one rule.
    #[must_use]
    pub const fn of_a_rule() -> Self {
        Self(Self::STEPS)
    }

    /// Returns the number of steps taken.
    #[must_use]
    pub const fn taken(self) -> u32 {
        Self::STEPS - self.0
    }

    fn take(&mut self, steps: usize) -> Result<(), ConditionFault> {
        let left = u32::try_from(steps).ok().and_then(|steps| self.0.checked_sub(steps));
        self.0 = left.unwrap_or_default();
        left.map(|_| ()).ok_or(ConditionFault::Steps)
    }
}

impl<'v> EvaluationContext<'v> {
    /// Returns the context of an action, whose names are those of [`Kind::Action`].
    #[must_use]
    pub fn new(action: &'v dyn Fields, around: Around<'v>) -> Self {
        Self { action, around, patterns: Patterns::default() }
    }

    /// Returns true if the condition holds.
    ///
    /// # Errors
    /// Fails if a value that the condition uses is missing, or it takes too many steps.
    pub fn holds(
        &self,
        condition: &'v Code<'v>,
        budget: &mut Budget,
    ) -> Result<bool, ConditionFault> {
        Run { evaluation: self, variables: Vec::new(), budget }.flag(condition)
    }

    /// Formats a value for people: the first few items of a list.
    ///
    /// # Errors
    /// Fails as `holds` does.
    pub fn shown(
        &self,
        code: &'v Code<'v>,
        budget: &mut Budget,
        most: usize,
    ) -> Result<String, ConditionFault> {
        let value = Run { evaluation: self, variables: Vec::new(), budget }.value(code)?;
        Ok(match &value {
            Value::List(items) => {
                let texts: Vec<Cow<'_, str>> =
                    items.iter().take(most).map(calls::to_text).collect();
                let more = items.len().saturating_sub(most);
                let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("{}{tail}", texts.join(", "))
            }
            one => calls::to_text(one).into_owned(),
        })
    }
}

struct Run<'v, 'r> {
    evaluation: &'r EvaluationContext<'v>,
    variables: Vec<Value<'v>>,
    budget: &'r mut Budget,
}

type Answer<'v> = Result<Value<'v>, ConditionFault>;

impl<'v> Run<'v, '_> {
    fn value(&mut self, code: &'v Code<'v>) -> Answer<'v> {
        self.budget.take(1)?;
        Ok(match code {
            Code::Flag(flag) => Value::Flag(*flag),
            Code::Number(number) => Value::Number(*number),
            Code::Text(text) => Value::Text(Cow::Borrowed(text)),
            Code::List(items) => items
                .iter()
                .map(|item| self.value(item))
                .collect::<Result<Value<'v>, ConditionFault>>()?,
            Code::Variable(slot) => {
                self.variables.get(usize::from(*slot)).cloned().ok_or_else(unfit)?
            }
            Code::Name(at) => get(self.evaluation.action, Kind::Action, *at)?,
            Code::Select(of, kind, at) => match self.value(of)? {
                Value::Record(record) => {
                    get(record, *Kind::ALL.get(usize::from(*kind)).ok_or_else(unfit)?, *at)?
                }
                _ => return Err(unfit()),
            },
            Code::Item(list, at) => self.item(list, at)?,
            Code::Entry(map, key) => self.entry(map, key)?,
            Code::Not(of) => Value::Flag(!self.flag(of)?),
            Code::Minus(of) => Value::Number(self.number(of)?.checked_neg().ok_or_else(overflow)?),
            Code::And(items) => Value::Flag(!self.any(items, false)?),
            Code::Or(items) => Value::Flag(self.any(items, true)?),
            Code::Choice(parts) => {
                let [condition, yes, no] = parts.as_ref();
                let chosen = if self.flag(condition)? { yes } else { no };
                self.value(chosen)?
            }
            Code::Pair(operator, left, right) => self.pair(*operator, left, right)?,
            Code::Call(function, arguments) => self.call(*function, arguments)?,
            Code::Pattern(pattern, text, wanted, needed) => {
                Value::Flag(self.fits(*pattern, text, wanted, needed)?)
            }
            Code::Each(each, range, asked, kept) => {
                self.each(*each, range, asked, kept.as_deref())?
            }
        })
    }

    fn flag(&mut self, code: &'v Code<'v>) -> Result<bool, ConditionFault> {
        if let Value::Flag(flag) = self.value(code)? { Ok(flag) } else { Err(unfit()) }
    }

    fn number(&mut self, code: &'v Code<'v>) -> Result<i64, ConditionFault> {
        if let Value::Number(number) = self.value(code)? { Ok(number) } else { Err(unfit()) }
    }

    fn text(&mut self, code: &'v Code<'v>) -> Result<Cow<'v, str>, ConditionFault> {
        if let Value::Text(text) = self.value(code)? { Ok(text) } else { Err(unfit()) }
    }

    fn list(&mut self, code: &'v Code<'v>) -> Result<Rc<[Value<'v>]>, ConditionFault> {
        match self.value(code)? {
            Value::List(items) => Ok(items),
            Value::Map(entries) => {
                self.budget.take(entries.len())?;
                Ok(entries.iter().map(|(name, _)| Value::Text(Cow::Borrowed(*name))).collect())
            }
            _ => Err(unfit()),
        }
    }

    /// Returns true if any of them is `wanted`; a fault counts only if none is.
    fn any(&mut self, items: &'v [Code<'v>], wanted: bool) -> Result<bool, ConditionFault> {
        let mut fault = None;
        for item in items {
            match self.flag(item) {
                Ok(flag) if flag == wanted => return Ok(true),
                Ok(_) => {}
                // The budget bounds the time, so running out of it is never outvoted by another
                // item.
                Err(ConditionFault::Steps) => return Err(ConditionFault::Steps),
                Err(other) => fault = fault.or(Some(other)),
            }
        }
        fault.map_or(Ok(false), Err)
    }

    fn item(&mut self, list: &'v Code<'v>, at: &'v Code<'v>) -> Answer<'v> {
        let (items, at) = (self.list(list)?, self.number(at)?);
        let found = usize::try_from(at).ok().and_then(|at| items.get(at)).cloned();
        found.ok_or_else(|| {
            ConditionFault::Value(format!("there is no item {at} in a list of {}", items.len()))
        })
    }

    fn entry(&mut self, map: &'v Code<'v>, key: &'v Code<'v>) -> Answer<'v> {
        let Value::Map(entries) = self.value(map)? else { return Err(unfit()) };
        let key = self.text(key)?;
        self.budget.take(entries.len())?;
        let found = entries
            .iter()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| Value::Text(Cow::Borrowed(*value)));
        found.ok_or_else(|| {
            ConditionFault::Value(format!(
                "there is no key `{}`; ask with `has` first",
                crate::place::shown(&key)
            ))
        })
    }

    fn pair(&mut self, operator: Operator, left: &'v Code<'v>, right: &'v Code<'v>) -> Answer<'v> {
        use Operator::{Add, Divide, InList, InMap, Multiply, Remainder, Subtract};
        match operator {
            InList => self.is_in(left, right).map(Value::Flag),
            InMap => {
                let key = self.text(left)?;
                let Value::Map(entries) = self.value(right)? else { return Err(unfit()) };
                self.budget.take(entries.len())?;
                Ok(Value::Flag(entries.iter().any(|(name, _)| *name == key)))
            }
            Add | Subtract | Multiply | Divide | Remainder => {
                let (a, b) = (self.number(left)?, self.number(right)?);
                let result = match operator {
                    Add => a.checked_add(b),
                    Subtract => a.checked_sub(b),
                    Multiply => a.checked_mul(b),
                    _ if b == 0 => return Err(ConditionFault::Value("it divides by zero".into())),
                    Divide => a.checked_div(b),
                    _ => a.checked_rem(b),
                };
                result.map(Value::Number).ok_or_else(overflow)
            }
            _ => {
                let (a, b) = (self.value(left)?, self.value(right)?);
                self.joined_or_compared(operator, a, b)
            }
        }
    }

    fn is_in(&mut self, item: &'v Code<'v>, list: &'v Code<'v>) -> Result<bool, ConditionFault> {
        let item = self.value(item)?;
        // A written list is taken item by item: items behind the first equal one are not evaluated.
        if let Code::List(codes) = list {
            for code in codes {
                let other = self.value(code)?;
                if self.equal(&item, &other)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        for other in self.list(list)?.iter() {
            if self.equal(&item, other)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn joined_or_compared(&mut self, operator: Operator, a: Value<'v>, b: Value<'v>) -> Answer<'v> {
        use std::cmp::Ordering;
        let order = |a: &Value<'v>, b: &Value<'v>| match (a, b) {
            (Value::Number(a), Value::Number(b)) => Ok(a.cmp(b)),
            (Value::Text(a), Value::Text(b)) => Ok(a.cmp(b)),
            _ => Err(unfit()),
        };
        Ok(match operator {
            Operator::Equal => Value::Flag(self.equal(&a, &b)?),
            Operator::Unequal => Value::Flag(!self.equal(&a, &b)?),
            Operator::Less => Value::Flag(order(&a, &b)? == Ordering::Less),
            Operator::AtMost => Value::Flag(order(&a, &b)? != Ordering::Greater),
            Operator::More => Value::Flag(order(&a, &b)? == Ordering::Greater),
            Operator::AtLeast => Value::Flag(order(&a, &b)? != Ordering::Less),
            _ => match (a, b) {
                (Value::Text(a), Value::Text(b)) => {
                    // Copying a text costs by its length, or joining again and again would grow it
                    // for free.
                    self.budget.take((a.len() + b.len()) / 16)?;
                    Value::Text(Cow::Owned([a.as_ref(), b.as_ref()].concat()))
                }
                (Value::List(a), Value::List(b)) => {
                    self.budget.take(a.len() + b.len())?;
                    Value::List(a.iter().chain(b.iter()).cloned().collect())
                }
                _ => return Err(unfit()),
            },
        })
    }

    fn equal(&mut self, a: &Value<'v>, b: &Value<'v>) -> Result<bool, ConditionFault> {
        self.budget.take(1)?;
        match (a, b) {
            (Value::Flag(a), Value::Flag(b)) => Ok(a == b),
            (Value::Number(a), Value::Number(b)) => Ok(a == b),
            (Value::Text(a), Value::Text(b)) => {
                self.budget.take(a.len().min(b.len()) / 64)?;
                Ok(a == b)
            }
            (Value::List(a), Value::List(b)) if a.len() != b.len() => Ok(false),
            (Value::List(a), Value::List(b)) => {
                for (a, b) in a.iter().zip(b.iter()) {
                    if !self.equal(a, b)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            _ => Err(unfit()),
        }
    }

    fn each(
        &mut self,
        each: Macro,
        range: &'v Code<'v>,
        asked: &'v Code<'v>,
        kept: Option<&'v Code<'v>>,
    ) -> Answer<'v> {
        let items = self.list(range)?;
        let (mut found, mut chosen, mut fault) = (0_usize, Vec::new(), None);
        let decides = match each {
            Macro::Exists => Some(true),
            Macro::All => Some(false),
            _ => None,
        };
        for item in items.iter() {
            self.variables.push(item.clone());
            let answer = self.asked(each, asked, kept);
            self.variables.pop();
            match answer {
                Ok(Asked::Passed(passed)) if decides == Some(passed) => {
                    return Ok(Value::Flag(passed));
                }
                Ok(Asked::Passed(passed)) => {
                    found += usize::from(passed);
                    if passed && each == Macro::Filter {
                        chosen.push(item.clone());
                    }
                }
                Ok(Asked::Made(value)) => chosen.push(value),
                // A fault counts only if no later item decides, as with `any`.
                Err(other @ ConditionFault::Value(_)) if decides.is_some() => {
                    fault = fault.or(Some(other))
                }
                Err(other) => return Err(other),
            }
        }
        match (each, fault) {
            (_, Some(fault)) => Err(fault),
            (Macro::Filter | Macro::Map, None) => Ok(Value::List(chosen.into())),
            (Macro::ExistsOne, None) => Ok(Value::Flag(found == 1)),
            (_, None) => Ok(Value::Flag(each == Macro::All)),
        }
    }

    fn asked(
        &mut self,
        each: Macro,
        asked: &'v Code<'v>,
        kept: Option<&'v Code<'v>>,
    ) -> Result<Asked<'v>, ConditionFault> {
        match kept {
            None if each == Macro::Map => self.value(asked).map(Asked::Made),
            None => self.flag(asked).map(Asked::Passed),
            Some(kept) if self.flag(asked)? => self.value(kept).map(Asked::Made),
            Some(_) => Ok(Asked::Passed(false)),
        }
    }
}

/// The result of a macro for one item.
enum Asked<'v> {
    Passed(bool),
    Made(Value<'v>),
}

fn get<'v>(record: &'v dyn Fields, kind: Kind, at: u8) -> Answer<'v> {
    kind.fields().get(usize::from(at)).map(|field| record.field(field.name)).ok_or_else(unfit)
}

/// Returns a fault that the type check rules out; unchecked code must not cause a panic.
fn unfit() -> ConditionFault {
    ConditionFault::Value("a value has another type than the rule was checked for".into())
}

fn overflow() -> ConditionFault {
    ConditionFault::Value("a number becomes too large".into())
}

impl<'v> FromIterator<Self> for Value<'v> {
    fn from_iter<T: IntoIterator<Item = Value<'v>>>(items: T) -> Self {
        Self::List(items.into_iter().collect())
    }
}

impl<'v> Value<'v> {
    /// Returns a borrowed text.
    #[must_use]
    pub const fn text(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Returns a list of borrowed texts.
    pub fn texts<T: AsRef<str> + 'v>(texts: &'v [T]) -> Self {
        texts.iter().map(|text| Self::text(text.as_ref())).collect()
    }
}
