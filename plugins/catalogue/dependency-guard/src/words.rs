//! The words of a command, cut into options and operands.

use portcullis_plugin::types::Word;

/// A word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term<'a> {
    /// Its text.
    pub text: &'a str,
    /// All of it is known before the command runs.
    pub known: bool,
}

/// The words of a command by their role.
#[derive(Debug, Default)]
pub struct Words<'a> {
    /// The words that are no options and no option's value.
    pub operands: Vec<Term<'a>>,
    /// Options, each with its value if it has one.
    pub options: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> Words<'a> {
    /// Reads words. `valued` are the options whose value is the next word.
    pub fn of_terms(terms: impl IntoIterator<Item = Term<'a>>, valued: &[&str]) -> Self {
        let mut words = Self::default();
        let mut open = true;
        let mut waiting = false;
        for term in terms {
            if std::mem::take(&mut waiting) {
                if let Some(option) = words.options.last_mut() {
                    option.1 = Some(term.text);
                }
            } else if open && term.text == "--" {
                open = false;
            } else if open && term.text.len() > 1 && term.text.starts_with('-') {
                let split = term.text.split_once('=');
                let (name, value) = split.map_or((term.text, None), |(n, v)| (n, Some(v)));
                waiting = value.is_none() && valued.contains(&name);
                words.options.push((name, value));
            } else {
                words.operands.push(term);
            }
        }
        words
    }

    /// Returns the text of an operand, empty if there is none.
    pub fn operand(&self, at: usize) -> &'a str {
        self.operands.get(at).map_or("", |term| term.text)
    }

    /// Returns the operands from a place on.
    pub fn operands_from(&self, at: usize) -> &[Term<'a>] {
        self.operands.get(at..).unwrap_or_default()
    }

    /// Returns true if one of the options is there.
    pub fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(name))
    }

    /// Returns the values of these options, in order.
    pub fn values(&self, names: &[&str]) -> impl Iterator<Item = &'a str> {
        let found = self.options.iter().filter(|(name, _)| names.contains(name));
        found.filter_map(|(_, value)| *value)
    }
}

impl<'a> Term<'a> {
    /// Returns a word of a command.
    pub fn of(word: &'a Word) -> Self {
        Self { text: &word.text, known: word.known }
    }

    /// Returns a word of plain text. What a shell would fill in is not known.
    pub fn of_text(text: &'a str) -> Self {
        let known = !text.contains(['$', '`']);
        Self { text: text.trim_matches(['\'', '"', '(', ')', ';']), known }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_take_their_values_along() {
        let terms = "add -D --registry https://a.example x --tag=next -- -y";
        let words = Words::of_terms(terms.split(' ').map(Term::of_text), &["--registry", "--tag"]);
        let operands: Vec<&str> = words.operands.iter().map(|term| term.text).collect();
        assert_eq!(operands, ["add", "x", "-y"]);
        assert!(words.has(&["-D"]) && !words.has(&["-y"]));
        assert_eq!(words.values(&["--registry"]).collect::<Vec<_>>(), ["https://a.example"]);
        assert_eq!(words.values(&["--tag"]).collect::<Vec<_>>(), ["next"]);
    }
}
