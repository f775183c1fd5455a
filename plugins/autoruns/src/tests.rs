use super::*;

#[test]
fn a_pattern_fits_the_whole_path() {
    for (pattern, path, expected) in [
        ("*/Makefile", "/p/Makefile", true),
        ("*/Makefile", "/p/Makefile.old", false),
        ("*/.github/workflows/*", "/p/.github/workflows/a/b.yml", true),
        ("*/compose*.y*ml", "/p/compose.prod.yaml", true),
        ("/etc/cron.d/*", "/p/etc/cron.d/x", false),
    ] {
        assert_eq!(fits(pattern, path), expected, "{pattern} {path}");
    }
}

#[test]
fn what_only_talks_of_commands_runs_nothing() {
    for path in ["/p/docs/Makefile.md", "/p/.git/hooks/pre-commit.sample", "/p/src/hooks.rs"] {
        assert_eq!(find_autorun(path, "/home/dev"), None, "{path}");
    }
}
