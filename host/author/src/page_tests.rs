//! Tests of what a page lacks. They are apart from it, since the tests of the catalogue read its file as their own.

use crate::page::{PageGap, list_gaps, names_setting};

fn gaps(page: &str, kind: &str) -> Vec<String> {
    let gaps = list_gaps(page, kind).into_iter().map(|gap| match gap {
        PageGap::Section(section) => section.title.to_owned(),
        PageGap::Placeholder(line, _) => format!("line {line}"),
    });
    gaps.collect()
}

#[test]
fn sections_need_a_heading_and_a_text() {
    let other =
        "# a\n\n## Settings\n\nNone.\n\n### cost\n\n```sh\n# as measured\n```\n\n## Limits\n\n";
    for (page, kind, missing) in [
        ("", "audit-exporter", &["Settings", "Cost", "Limits"][..]),
        (other, "intervention", &["Limits"]),
        (other, "pattern", &["Objects to", "Lets pass", "False alarms", "Limits"]),
        ("## Settings\n### All\n`a`\n## Cost\n## Limits\nx\n", "intervention", &["Cost"]),
        ("```\n## Settings\n```\n## Cost\nSettings\n## Limits\n1", "intervention", &["Settings"]),
    ] {
        assert_eq!(gaps(page, kind), missing, "{page}");
    }
}

#[test]
fn lines_of_the_template_are_found_outside_code() {
    let page = "To be written: what for.\n## Settings\nNone.\n## Cost\nTo be written: how much.\n## Limits\n```\nTo be written: code\n```\n";
    assert_eq!(gaps(page, "intervention"), ["line 1", "line 5"]);
}

#[test]
fn a_setting_is_named_as_code() {
    for (page, names) in [
        ("at most three", false),
        ("`most`", true),
        ("`mostly`", false),
        ("most = 3", true),
        ("mostly = 3", false),
        ("| `least`, `most` |", true),
    ] {
        assert_eq!(names_setting(page, "most"), names, "{page}");
    }
}
