//! Names that look like others: letters of other scripts, digits for letters, pairs that read as one letter.

use crate::groups::{CODE_HOSTS, REGISTRIES};
use crate::host::Host;
use crate::list::Policy;

/// Letters that look like a letter of ASCII, each with that one.
const SAME: &[(&str, char)] = &[
    ("аạąàáâãäåāăǎα", 'a'),
    ("ьƅ", 'b'),
    ("сçćčċϲ", 'c'),
    ("ԁďđɗ", 'd'),
    ("еẹęèéêëēėěє", 'e'),
    ("ғƒ", 'f'),
    ("ɡģğġց", 'g'),
    ("һհħ", 'h'),
    ("іíìîïīıɩι", 'i'),
    ("јյϳ", 'j'),
    ("кķκ", 'k'),
    ("ӏłľĺļ", 'l'),
    ("м", 'm'),
    ("ոпńñňņη", 'n'),
    ("оọòóôõöōőøοσօ", 'o'),
    ("рρ", 'p'),
    ("ԛգ", 'q'),
    ("гŕřŗ", 'r'),
    ("ѕśšşș", 's'),
    ("тťţțτ", 't'),
    ("սυùúûüūůűųц", 'u'),
    ("ѵνᴠ", 'v'),
    ("ԝωŵѡ", 'w'),
    ("хχ", 'x'),
    ("уүýÿγ", 'y'),
    ("ᴢźżž", 'z'),
];

/// Returns the known host that a host looks like, and is not.
pub(crate) fn lookalike_of(host: &Host, policy: &Policy) -> Option<String> {
    let Host::Name(name) = host else { return None };
    let known = policy.names().chain(CODE_HOSTS.iter().copied()).chain(REGISTRIES.iter().copied());
    let letters = host.in_letters();
    let seen = skeleton(&letters);
    // Where neither name changes, they are the same or they are not: this is most of the cost of an objection.
    let plain = seen == letters;
    known
        .filter(|known| !(plain && is_plain(known)) && name != known && !is_below(name, known))
        .find(|known| {
            let known = skeleton(known);
            seen == known || is_below(&seen, &known)
        })
        .map(str::to_owned)
}

/// Returns the known host whose name another one begins with: `github.com.evil.example`.
pub(crate) fn begins_with_known(host: &Host, policy: &Policy) -> Option<String> {
    let Host::Name(name) = host else { return None };
    let known = policy.names().chain(CODE_HOSTS.iter().copied()).chain(REGISTRIES.iter().copied());
    known
        .filter(|known| known.contains('.'))
        .find(|known| name.strip_prefix(*known).is_some_and(|rest| rest.starts_with('.')))
        .map(str::to_owned)
}

fn is_below(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'))
}

fn skeleton(name: &str) -> String {
    let letters: String = name.chars().map(to_plain).collect();
    letters.replace("rn", "m").replace("vv", "w")
}

/// Returns true if a name of ASCII is its own skeleton.
fn is_plain(name: &str) -> bool {
    let bytes = name.as_bytes();
    !bytes.iter().any(|byte| matches!(byte, b'0' | b'1'))
        && !bytes.windows(2).any(|pair| matches!(pair, b"rn" | b"vv"))
}

fn to_plain(letter: char) -> char {
    match letter {
        '0' => 'o',
        '1' => 'l',
        _ if letter.is_ascii() => letter,
        _ => SAME
            .iter()
            .find(|(others, _)| others.contains(letter))
            .map_or(letter, |(_, plain)| *plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::risk_calculator::{FromSettings, Setting, Settings};

    #[test]
    fn names_that_look_like_known_ones() {
        let given = [Setting::new("hosts", ["paypal.example", "*.modern.example"])];
        let policy =
            Policy::from_settings(&Settings::check(Policy::SPECS, &given).unwrap()).unwrap();
        for (name, known) in [
            ("gіthub.com", Some("github.com")),
            ("xn--gthub-n2e.com", Some("github.com")),
            ("api.gіthub.com", Some("api.github.com")),
            ("www.gіthub.com", Some("github.com")),
            ("paypa1.example", Some("paypal.example")),
            ("a.rnodern.example", Some("modern.example")),
            ("pypі.org", Some("pypi.org")),
            ("github.com", None),
            ("gist.github.com", None),
            ("githube.com", None),
            ("bücher.example", None),
            ("example.com", None),
        ] {
            let host = Host::read(name).unwrap();
            assert_eq!(lookalike_of(&host, &policy).as_deref(), known, "{name}");
        }
        let host = Host::read("github.com.evil.example").unwrap();
        assert_eq!(begins_with_known(&host, &policy).as_deref(), Some("github.com"));
    }
}
