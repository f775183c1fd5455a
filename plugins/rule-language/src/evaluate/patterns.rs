//! Regular expressions and globs.
//!
//! A regular expression is compiled when an action first needs it, once for all its texts.

use super::{ConditionFault, Run, unfit};
use crate::code::{Code, Pattern};
use crate::glob;
use regex_lite::{Regex, RegexBuilder};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The maximum size of a compiled expression, in bytes: `(a{100}){100}` is short, and its states
/// are many.
const MOST_STATES: usize = 32 << 10;
/// The maximum nesting of groups.
const MOST_NESTED: u32 = 16;

/// Compiles a regular expression.
pub(crate) fn regex(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(MOST_STATES).nest_limit(MOST_NESTED).build();
    built.map_err(|error| {
        format!("is not a valid regular expression: {}", error.to_string().replace('\n', " "))
    })
}

/// The expressions compiled so far.
#[derive(Default)]
pub(super) struct Patterns<'v>(RefCell<BTreeMap<&'v str, Rc<Regex>>>);

impl<'v> Patterns<'v> {
    fn get(&self, pattern: &'v str) -> Option<Rc<Regex>> {
        if let Some(known) = self.0.borrow().get(pattern) {
            return Some(Rc::clone(known));
        }
        let made = Rc::new(regex(pattern).ok()?);
        self.0.borrow_mut().insert(pattern, Rc::clone(&made));
        Some(made)
    }
}

impl<'v> Run<'v, '_> {
    pub(super) fn fits(
        &mut self,
        pattern: Pattern,
        text: &'v Code<'v>,
        wanted: &'v str,
        needed: &str,
    ) -> Result<bool, ConditionFault> {
        let text = self.text(text)?;
        self.budget.take(text.len() / 32)?;
        if !text.contains(needed) {
            return Ok(false);
        }
        match pattern {
            Pattern::Glob => {
                self.budget.take(text.len() * wanted.len() / 16)?;
                Ok(glob::fits(wanted, &text, &self.evaluation.around))
            }
            Pattern::Regex => {
                self.budget.take(wanted.len() + text.len() * (1 + wanted.len() / 16) / 8)?;
                Ok(self.evaluation.patterns.get(wanted).ok_or_else(unfit)?.is_match(&text))
            }
        }
    }
}
