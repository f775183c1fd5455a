//! Groups and ranges in braces: they expand to what bash makes of them, whatever that spells.

use crate::{effects, reading};

/// Words, and the words that bash makes of them.
const WORDS: &[(&str, &[&str])] = &[
    ("/srv/{e..e}tc", &["/srv/etc"]),
    ("/srv/{7..7}x", &["/srv/7x"]),
    ("/srv/{e..e}{t..t}{c..c}", &["/srv/etc"]),
    ("/srv/{{e..e},f}", &["/srv/e", "/srv/f"]),
    ("{a..e..2}", &["a", "c", "e"]),
    ("{e..a..2}", &["e", "c", "a"]),
    ("{a..e..-2}", &["a", "c", "e"]),
    ("{a..c..9}", &["a"]),
    ("{1..7..3}", &["1", "4", "7"]),
    ("{7..1..3}", &["7", "4", "1"]),
    ("{1..3..0}", &["1", "2", "3"]),
    ("{01..03}", &["01", "02", "03"]),
    ("{8..010}", &["008", "009", "010"]),
    ("{-01..1}", &["-01", "000", "001"]),
    ("{00..10..5}", &["00", "05", "10"]),
    (
        "{x}{x}{x}{x}{x}{x}{x}{x}{x}{a,b}",
        &["{x}{x}{x}{x}{x}{x}{x}{x}{x}a", "{x}{x}{x}{x}{x}{x}{x}{x}{x}b"],
    ),
    // These stay as they are.
    ("{x}", &["{x}"]),
    ("{}", &["{}"]),
    ("{1..a}", &["{1..a}"]),
    ("{a..c..x}", &["{a..c..x}"]),
    ("{1..2..}", &["{1..2..}"]),
    ("{1..2..3..4}", &["{1..2..3..4}"]),
    ("{aa..cc}", &["{aa..cc}"]),
];

#[test]
fn braces_expand_as_bash_does() {
    for (word, expected) in WORDS {
        let mut found = effects(&reading(&format!("rm -- {word}")));
        let mut expected: Vec<String> =
            expected.iter().map(|path| format!("delete {path}")).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{word}");
    }
}

/// Spellings of the names of a folder of the system.
const SPELLINGS: &[&str] =
    &["/{e..e}tc", "/e{t..t}c", "/et{c..c}", "/{e..f..2}tc", "/{e..e..7}tc", "{/etc,/etc}"];

#[test]
fn a_range_spells_a_name() {
    for spelling in SPELLINGS {
        for carrier in ["rm -rf {}", "bash -c 'rm -rf {}'", "for f in {}; do rm -rf $f; done"] {
            let plain = reading(&carrier.replace("{}", "/etc"));
            let spelled = reading(&carrier.replace("{}", spelling));
            let named = |effects: Vec<String>| {
                effects.into_iter().filter(|effect| effect.contains("/etc")).collect::<Vec<_>>()
            };
            assert!(!named(effects(&plain)).is_empty(), "{carrier}");
            for effect in named(effects(&plain)) {
                assert!(effects(&spelled).contains(&effect), "{carrier} {spelling}: {effect}");
            }
        }
    }
}

/// Words beyond what is expanded: none of them is read as the text as it stands.
#[test]
fn what_is_not_expanded_is_unknown() {
    let braces = format!("{}{{/etc,b}}", "{x}".repeat(100));
    for word in ["{1..9999}", "{0001..9999}", "{1..9999..2}", "{9999..1}", braces.as_str()] {
        let read = reading(&format!("rm -rf {word}"));
        let certain = read.effects.iter().all(|effect| effect.certain);
        assert!(!certain || !read.gaps.is_empty(), "{word}: {:?}", effects(&read));
    }
}
