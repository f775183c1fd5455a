//! Names of people and postal addresses, by what stands around them.
//!
//! A name is a few words with a capital behind a title (`Mr. Ada Byron`), a salutation (`Dear Ada,`) or
//! the name of a field (`"full_name": "Ada Byron"`). An address is a number beside words and a word for
//! a street. Others are not found: a list of names would find words of code.

use crate::mask::secret::{Secret, SecretKind};
use std::ops::Range;

/// A word of a text.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    start: usize,
}

impl Word<'_> {
    fn end(self) -> usize {
        self.start + self.text.len()
    }

    /// Returns true for a word such as `Ada`, `O'Brien`, `Jean-Luc` or the initial `J.`.
    fn is_name(self) -> bool {
        let mut letters = self.text.chars();
        let begins = letters.next().is_some_and(char::is_uppercase);
        let is_initial = self.text.ends_with('.') && self.text.chars().count() == 2;
        let goes_on = letters.clone().any(char::is_lowercase)
            && letters.all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'));
        begins && (goes_on || is_initial)
    }

    /// Returns the word in lower case, without a stop at its end.
    fn lower(self) -> String {
        self.text.trim_end_matches('.').to_lowercase()
    }
}

/// Returns the words of a text with what separates each from the one before.
fn words(text: &str) -> Vec<(Word<'_>, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '’' | '-' | '.');
    let mut found = Vec::new();
    let (mut at, mut last) = (0, 0);
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(char::is_alphanumeric)) {
        let start = at + offset;
        let rest = text.get(start..).unwrap_or_default();
        let whole =
            rest.get(..rest.find(|c| !is_part(c)).unwrap_or(rest.len())).unwrap_or_default();
        let mut word = whole.trim_end_matches(['\'', '’', '-', '_', '.']);
        // An abbreviation keeps its stop: `Dr.`, `J.`, `St.`, `Hauptstr.`.
        if whole.get(word.len()..).is_some_and(|more| more.starts_with('.')) && word.len() <= 12 {
            word = whole.get(..=word.len()).unwrap_or(word);
        }
        found.push((Word { text: word, start }, text.get(last..start).unwrap_or_default()));
        last = start + word.len();
        at = start + whole.len();
    }
    found
}

/// Titles before a name, in lower case and without a stop.
const TITLES: &[&str] = &[
    "dr",
    "don",
    "doña",
    "fräulein",
    "frau",
    "herr",
    "herrn",
    "hr",
    "madame",
    "mademoiselle",
    "meneer",
    "mevrouw",
    "miss",
    "mister",
    "mlle",
    "mme",
    "monsieur",
    "mr",
    "mrs",
    "ms",
    "mx",
    "prof",
    "professor",
    "señor",
    "señora",
    "sig",
    "signor",
    "signora",
    "sr",
    "sra",
];
/// Words that open a letter.
const SALUTATIONS: &[&str] =
    &["dear", "liebe", "lieber", "cher", "chère", "querido", "querida", "caro", "cara"];
/// Fields that hold a person's name, in lower case and without separators.
const FIELDS: &[&str] = &[
    "cardholder",
    "contactname",
    "customername",
    "employeename",
    "familyname",
    "firstname",
    "fullname",
    "givenname",
    "lastname",
    "legalname",
    "maidenname",
    "middlename",
    "nachname",
    "nombrecompleto",
    "patient",
    "patientname",
    "personname",
    "recipientname",
    "surname",
    "vorname",
];
/// The most words of a name.
const MOST_NAMES: usize = 4;
/// Words in a name that begin with a small letter.
const PARTICLES: &[&str] =
    &["da", "de", "del", "den", "der", "di", "dos", "du", "la", "le", "van", "von", "zu"];

/// Finds names of people.
pub(super) fn find_names(text: &str) -> Vec<Secret> {
    let words = words(text);
    let mut found = Vec::new();
    for (index, (word, _)) in words.iter().enumerate() {
        let lower = word.lower();
        let is_capital = word.text.starts_with(char::is_uppercase);
        let is_title = is_capital && TITLES.contains(&lower.as_str());
        let is_salutation = is_capital && SALUTATIONS.contains(&lower.as_str());
        let range = if is_title || is_salutation {
            name_after(&words, index, is_title).filter(|range| {
                // `Dear Customer service` opens no letter to a person.
                is_title
                    || text
                        .get(range.end..)
                        .is_some_and(|rest| rest.starts_with([',', '!', '\n', ':']))
            })
        } else if is_field(word.text) {
            field_value(text, &words, index)
        } else {
            None
        };
        found.extend(range.map(|range| Secret { range, kind: SecretKind::PersonName }));
    }
    found
}

/// Returns the name that follows a title.
fn name_after(
    words: &[(Word<'_>, &str)],
    index: usize,
    skips_titles: bool,
) -> Option<Range<usize>> {
    let mut following = words.get(index + 1..)?.iter().peekable();
    if skips_titles {
        // `Prof. Dr. Ada Byron`
        while following
            .peek()
            .is_some_and(|(word, gap)| is_blank(gap) && TITLES.contains(&word.lower().as_str()))
        {
            following.next();
        }
    }
    name_of(following)
}

fn name_of<'w, 't: 'w>(
    words: impl Iterator<Item = &'w (Word<'t>, &'t str)>,
) -> Option<Range<usize>> {
    let mut range: Option<Range<usize>> = None;
    let mut end = 0;
    for (word, gap) in words.take(MOST_NAMES) {
        let is_particle = range.is_some() && PARTICLES.contains(&word.text);
        if !is_blank(gap) || !(word.is_name() || is_particle) {
            break;
        }
        let start = range.as_ref().map_or(word.start, |range| range.start);
        // A particle alone ends no name.
        end = if is_particle { end } else { word.end() };
        range = Some(start..end);
    }
    range
}

/// Returns true for blanks within one line.
fn is_blank(gap: &str) -> bool {
    !gap.is_empty() && gap.chars().all(|c| matches!(c, ' ' | '\t'))
}

fn is_field(word: &str) -> bool {
    let plain: String =
        word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    FIELDS.contains(&plain.as_str())
}

/// Returns the value of a field: quoted, or the rest of a line of words with capitals.
fn field_value(text: &str, words: &[(Word<'_>, &str)], index: usize) -> Option<Range<usize>> {
    let (next, gap) = words.get(index + 1)?;
    let is_assigned =
        gap.contains([':', '=']) && !gap.contains(['\n', '(', '[', '{', ';', '.', '<']);
    let is_quoted = gap.ends_with(['"', '\'']);
    if !is_assigned {
        return None;
    }
    let mut following = words.get(index + 1..)?.iter();
    let first = following.next()?;
    let alone = [(first.0, " ")];
    let range = name_of(alone.iter().chain(following))?;
    // Without quotes a type or a call stands there: `first_name: String`, `last_name = Name::new()`.
    let rest = text.get(range.end..)?;
    let is_whole = match is_quoted {
        true => rest.starts_with(['"', '\'']),
        false => (rest.is_empty() || rest.starts_with('\n')) && range.end > next.end(),
    };
    is_whole.then_some(range)
}

/// Words for a street behind its name, in lower case and without a stop.
const STREETS: &[&str] = &[
    "alley",
    "ave",
    "avenue",
    "blvd",
    "boulevard",
    "circle",
    "close",
    "court",
    "courts",
    "cove",
    "crescent",
    "crossing",
    "ct",
    "dr",
    "drive",
    "drives",
    "estate",
    "estates",
    "expressway",
    "freeway",
    "gardens",
    "glen",
    "glens",
    "green",
    "grove",
    "heights",
    "highway",
    "hill",
    "hills",
    "hollow",
    "hwy",
    "junction",
    "knoll",
    "knolls",
    "lane",
    "ln",
    "loop",
    "meadow",
    "meadows",
    "mews",
    "motorway",
    "orchard",
    "park",
    "parks",
    "parkway",
    "parkways",
    "passage",
    "path",
    "pike",
    "pines",
    "pkwy",
    "pl",
    "place",
    "plain",
    "plains",
    "plaza",
    "ports",
    "rd",
    "ridge",
    "ridges",
    "road",
    "roads",
    "row",
    "run",
    "shore",
    "shores",
    "skyway",
    "spring",
    "springs",
    "spur",
    "sq",
    "square",
    "squares",
    "st",
    "station",
    "street",
    "streets",
    "summit",
    "ter",
    "terrace",
    "trace",
    "trail",
    "turnpike",
    "valley",
    "valleys",
    "view",
    "views",
    "village",
    "vista",
    "walk",
    "walks",
    "way",
];
/// Words for a street before its name.
const STREETS_BEFORE: &[&str] = &[
    "acceso",
    "alameda",
    "allée",
    "avenida",
    "avenue",
    "barrio",
    "borgo",
    "boulevard",
    "calle",
    "callejón",
    "camino",
    "canale",
    "cañada",
    "carrer",
    "chaussée",
    "chemin",
    "contrada",
    "corso",
    "cuesta",
    "glorieta",
    "impasse",
    "largo",
    "pasadizo",
    "pasaje",
    "paseo",
    "piazza",
    "plaza",
    "quai",
    "rambla",
    "ronda",
    "rotonda",
    "route",
    "rua",
    "rue",
    "strada",
    "stretto",
    "ulica",
    "ul",
    "urbanización",
    "via",
    "vial",
    "viale",
    "vicolo",
];
/// Endings of a street's name in one word.
const STREET_ENDINGS: &[&str] = &[
    "allee", "baan", "dreef", "gade", "gasse", "gatan", "gracht", "kade", "katu", "laan", "platz",
    "pad", "plein", "ring", "singel", "steeg", "str.", "straat", "strasse", "straße", "tie",
    "ufer", "vej", "veien", "vägen", "weg",
];
/// The most words of a street's name.
const MOST_STREET: usize = 5;

/// Finds postal addresses: the line with the street and the number.
pub(super) fn find_addresses(text: &str) -> Vec<Secret> {
    let words = words(text);
    let mut found: Vec<Secret> = Vec::new();
    for index in 0..words.len() {
        let range = number_first(&words, index)
            .or_else(|| street_first(&words, index))
            .or_else(|| one_word(&words, index));
        let range = range.map(|range| range.start..with_unit(&words, range.end));
        if let Some(range) = range
            && found.last().is_none_or(|last| last.range.end <= range.start)
        {
            found.push(Secret { range, kind: SecretKind::PostalAddress });
        }
    }
    found
}

/// Words for a part of a house, in lower case and without a stop.
const UNITS: &[&str] = &[
    "apartment",
    "appartamento",
    "appartement",
    "apt",
    "bus",
    "esc",
    "flat",
    "floor",
    "int",
    "piso",
    "planta",
    "puerta",
    "room",
    "suite",
    "unit",
];

/// Returns the end of an address with the parts of the house that follow: `Suite 12`, `Piso 2 Puerta 5`.
fn with_unit(words: &[(Word<'_>, &str)], street_end: usize) -> usize {
    let mut end = street_end;
    let mut following = words.iter().skip_while(|(word, _)| word.start < street_end);
    while let (Some((unit, gap)), Some((number, between))) = (following.next(), following.next()) {
        let is_unit = matches!(*gap, " " | ", ")
            && UNITS.contains(&unit.lower().as_str())
            && *between == " "
            && number.text.chars().any(|c| c.is_ascii_digit());
        if !is_unit {
            break;
        }
        end = number.end();
    }
    end
}

/// `12 Baker Street`, `12 bis, rue de la Paix`.
fn number_first(words: &[(Word<'_>, &str)], index: usize) -> Option<Range<usize>> {
    let (number, _) = words.get(index)?;
    if !is_house_number(number.text) {
        return None;
    }
    let following = words.get(index + 1..)?;
    let (first, gap) = following.first()?;
    let is_near = matches!(*gap, " " | ", ");
    if is_near && STREETS_BEFORE.contains(&first.lower().as_str()) {
        let end = street_name(following.get(1..)?)?;
        return Some(number.start..end);
    }
    for (named, (word, gap)) in following.iter().take(MOST_STREET).enumerate() {
        let is_street = STREETS.contains(&word.lower().as_str());
        let begins = word.text.starts_with(char::is_uppercase);
        if *gap == " " && named > 0 && is_street && begins {
            return Some(number.start..word.end());
        }
        if *gap != " " || !(word.is_name() || is_ordinal(word.text)) {
            return None;
        }
    }
    None
}

/// `Calle Mayor 12`, `Via Roma, 10`.
fn street_first(words: &[(Word<'_>, &str)], index: usize) -> Option<Range<usize>> {
    let (street, _) = words.get(index)?;
    if !street.text.starts_with(char::is_uppercase)
        || !STREETS_BEFORE.contains(&street.lower().as_str())
    {
        return None;
    }
    let end = street_name(words.get(index + 1..)?)?;
    let number = words.get(index + 1..)?.iter().find(|(word, _)| word.start >= end)?;
    (matches!(number.1, " " | ", ") && is_house_number(number.0.text))
        .then_some(street.start..number.0.end())
}

/// `Hauptstraße 12`, `Damrak 1` is none.
fn one_word(words: &[(Word<'_>, &str)], index: usize) -> Option<Range<usize>> {
    let (street, _) = words.get(index)?;
    let (number, gap) = words.get(index + 1)?;
    let lower = street.text.to_lowercase();
    let is_street = street.is_street_word()
        && STREET_ENDINGS
            .iter()
            .any(|ending| lower.len() > ending.len() + 2 && lower.ends_with(ending));
    (is_street && *gap == " " && is_house_number(number.text)).then_some(street.start..number.end())
}

impl Word<'_> {
    fn is_street_word(self) -> bool {
        let plain = Word { text: self.text.trim_end_matches('.'), ..self };
        plain.is_name()
    }
}

/// Returns the end of a street's name: words with a capital, and particles between them.
fn street_name(words: &[(Word<'_>, &str)]) -> Option<usize> {
    let mut end = None;
    for (word, gap) in words.iter().take(MOST_STREET) {
        let is_particle = PARTICLES.contains(&word.lower().as_str())
            || matches!(word.lower().as_str(), "des" | "los" | "las" | "della" | "dei");
        if *gap != " " || !(word.is_name() || is_particle) {
            break;
        }
        if !is_particle {
            end = Some(word.end());
        }
    }
    end
}

/// Returns true for `12`, `12a` and `12-14`.
fn is_house_number(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..).unwrap_or_default();
    let is_suffix = rest.is_empty()
        || (rest.len() == 1 && rest.bytes().all(|byte| byte.is_ascii_alphabetic()))
        || rest.strip_prefix('-').is_some_and(|to| {
            (1..=4).contains(&to.len()) && to.bytes().all(|byte| byte.is_ascii_digit())
        });
    (1..=5).contains(&digits) && !text.starts_with('0') && is_suffix
}

/// Returns true for `5th`, `42nd`.
fn is_ordinal(text: &str) -> bool {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    digits > 0 && matches!(text.get(digits..), Some("st" | "nd" | "rd" | "th"))
}
