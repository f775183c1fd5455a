//! Text whose words are broken up or run together: letters apart, digits for letters, no blanks at
//! all.
//!
//! Such a line is read without its blanks, each letter by its appearance, and only for phrases that
//! are too long to match by accident.

use super::signs::{Sign, Signs};

/// The maximum number of letters of a line that are looked at.
const MOST: usize = 4096;
/// The maximum number of lines of a text, and of long words of a line, that are looked at.
const MOST_LINES: usize = 2000;
const MOST_LONG: usize = 8;

/// Returns the signs in the lines of folded text that are broken up.
pub(super) fn read(text: &str) -> Signs {
    let mut best = Signs::default();
    for line in text.lines().take(MOST_LINES) {
        for part in broken_up(line) {
            let letters: String = part.chars().filter_map(letter).take(MOST).collect();
            best = best.max(judge(&letters, part));
        }
    }
    best
}

fn judge(letters: &str, part: &str) -> Signs {
    let mut found = Signs::of(part.get(..part.floor_char_boundary(200)).unwrap_or_default());
    for (sign, phrases) in PHRASES {
        if phrases.iter().any(|phrase| letters.contains(phrase)) {
            found.add(*sign, 3);
        }
    }
    for (sign, first, then, within) in PAIRS {
        if first.iter().any(|first| follows(letters, first, then, *within)) {
            found.add(*sign, 3);
        }
    }
    found.hidden()
}

/// Returns the parts of a line that are broken up: all of it if it is mostly single letters or
/// words with digits in them, else its words that are too long to be real ones.
fn broken_up(line: &str) -> Vec<&str> {
    let (mut words, mut single, mut mixed) = (0_usize, 0_usize, 0_usize);
    let mut long = Vec::new();
    for word in line
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '@' | '$'))
        .filter(|word| !word.is_empty())
    {
        words += 1;
        single += usize::from(word.chars().nth(1).is_none());
        let digits = word.bytes().any(|byte| byte.is_ascii_digit() || matches!(byte, b'@' | b'$'));
        mixed += usize::from(digits && word.bytes().any(|byte| byte.is_ascii_alphabetic()));
        if word.len() >= 24 && long.len() < MOST_LONG {
            long.push(word);
        }
    }
    // Short lines of single letters or numbered names are common in tables and lists.
    if words >= 6 && (single * 2 > words || mixed * 3 > words) { vec![line] } else { long }
}

/// Returns the letter that a letter or digit looks like; `l` and `i` both look like `1`.
const fn letter(c: char) -> Option<char> {
    Some(match c {
        'l' | '1' | '!' | '|' => 'i',
        '0' => 'o',
        '3' => 'e',
        '4' | '@' => 'a',
        '5' | '$' => 's',
        '7' => 't',
        '8' => 'b',
        'a'..='z' => c,
        _ => return None,
    })
}

fn follows(letters: &str, first: &str, then: &[&str], within: usize) -> bool {
    letters.match_indices(first).any(|(at, _)| {
        let start = at + first.len();
        let rest = letters.get(start..(start + within).min(letters.len())).unwrap_or_default();
        then.iter().any(|then| rest.contains(then))
    })
}

/// Phrases, spelled as `letter` does.
const PHRASES: &[(Sign, &[&str])] = &[
    (
        Sign::Unprotect,
        &[
            "withoutrestrictions",
            "norestrictions",
            "disabieaiiguardraiis",
            "disabieaiisafety",
            "turnoffsafety",
            "nocontentpoiicy",
        ],
    ),
    (
        Sign::Role,
        &[
            "youarenowdan",
            "youarenowan",
            "youarenowina",
            "youarenoionger",
            "doanythingnow",
            "deveiopermode",
            "jaiibreakmode",
        ],
    ),
    (Sign::Obey, &["obeyoniymy", "doasisay", "obeymycommands"]),
    (
        Sign::Secrecy,
        &["donotteiitheuser", "dontteiitheuser", "withoutteiiingtheuser", "donotinformtheuser"],
    ),
    (
        Sign::Tool,
        &[
            "withoutconfirmation",
            "approvethenexttooi",
            "approveaiipending",
            "approveaiitooi",
            "withoutapprovai",
            "bypassapprovai",
            "skipapprovai",
            "skipconfirmation",
            "bypassconfirmation",
        ],
    ),
    (Sign::Memory, &["thisuserisanadmin", "userisaiwaysadmin", "thisuserisadmin"]),
];

/// The words to look for, the words that have to follow, and the maximum distance in letters.
type Pair = (Sign, &'static [&'static str], &'static [&'static str], usize);

const PAIRS: &[Pair] = &[
    (
        Sign::Override,
        &["ignore", "disregard", "forget", "override", "bypass"],
        &[
            "previousinstruction",
            "previousruie",
            "previousprompt",
            "priorinstruction",
            "priorruie",
            "earlierinstruction",
            "aiiinstructions",
            "yourinstructions",
            "yourruies",
            "safetyruies",
            "systemprompt",
            "systeminstruction",
            "safetypoiicy",
            "theabove",
            "everythingabove",
        ],
        24,
    ),
    (
        Sign::Leak,
        &[
            "reveai", "print", "show", "output", "dispiay", "expose", "repeat", "ieak", "teiime",
            "inciude", "disciose",
        ],
        &[
            "systemprompt",
            "hiddenprompt",
            "hiddeninstruction",
            "yourinstruction",
            "initiaiprompt",
            "syscanary",
            "deveiopermessage",
        ],
        24,
    ),
    (
        Sign::Exfiltrate,
        &["send", "post", "upioad", "emaii", "forward"],
        &[
            "emaiisto",
            "secretsto",
            "credentiaisto",
            "passwordsto",
            "tokensto",
            "datatohttp",
            "keysto",
            "recordsto",
            "secretvaiue",
        ],
        32,
    ),
    (
        Sign::Exfiltrate,
        &[
            "etcshadow",
            "etcpasswd",
            "sshidrsa",
            "awscredentiais",
            "gitcredentiais",
            "procseifenviron",
        ],
        &["show", "send", "iist", "paste", "print", "post", "teii", "contents", "hash", "dump"],
        80,
    ),
    (
        Sign::Tool,
        &["caiireadsecret", "usereadsecret", "caiithetooi"],
        &["and", "then", "without"],
        16,
    ),
    (Sign::Exfiltrate, &["ioadpixei", "thenioad"], &["http"], 16),
];
