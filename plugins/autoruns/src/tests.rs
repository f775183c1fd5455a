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

#[test]
fn only_the_sample_hooks_of_git_are_inert() {
    let home = "/home/dev";
    let starting =
        ["/p/.git/hooks/pre-commit", "/home/dev/.bashrc", "/p/.envrc", "/p/a/.git/config"];
    for path in starting {
        assert!(starts_by_itself(path, home), "{path}");
        // A folder of any name hides nothing in it.
        let (folder, rest) = path.split_at(path.find("/p").map_or(9, |at| at + 2));
        let inside = format!("{folder}/x.sample{rest}");
        assert!(starts_by_itself(&inside, home), "{inside}");
    }
    for path in ["/p/x.sample/Makefile", "/p/x.sample/.github/workflows/a.yml"] {
        assert!(find_autorun(path, home).is_some(), "{path}");
    }
    for path in [
        "/p/.git/hooks/pre-commit.sample",
        "/p/.git/modules/a/hooks/pre-push.sample",
        "/srv/a.git/hooks/update.sample",
    ] {
        assert!(!starts_by_itself(path, home), "{path}");
        assert_eq!(find_autorun(path, home), None, "{path}");
    }
}
