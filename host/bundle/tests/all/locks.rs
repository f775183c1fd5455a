//! Tests of locks.

use crate::sample::{bundle, key, made, parts};
use portcullis_bundle::{Bundle, Lock, LockedBundle};

fn line(bundle: &Bundle) -> LockedBundle {
    LockedBundle::for_bundle(
        bundle,
        Some("ghcr.io/acme/checks".into()),
        vec![key(1).public().id().unwrap()],
    )
}

fn changed(change: impl FnOnce(&mut portcullis_bundle::About, &mut Vec<Vec<u8>>)) -> Bundle {
    let (mut about, mut bytes) = parts();
    change(&mut about, &mut bytes);
    made(about, &bytes)
}

#[test]
fn a_lock_is_read_as_it_was_written() {
    let other = changed(|about, bytes| {
        about.name = "acme/a".parse().unwrap();
        about.components.remove(1);
        about.components[0].plugins = vec![about.components[0].plugins[0].clone()];
        about.components[0].plugins[0].name = "only".into();
        bytes.pop();
    });
    let texts = [[bundle(), other.clone()], [other, bundle()]].map(|bundles| {
        let mut lock = Lock::default();
        bundles.iter().for_each(|bundle| lock.put_bundle(line(bundle)));
        let text = lock.to_text().unwrap();
        assert_eq!(Lock::parse_lock(&text), Ok(lock));
        text
    });
    assert_eq!(texts[0], texts[1], "the order does not count");
    let mut lock = Lock::parse_lock(&texts[0]).unwrap();
    let name = "acme/checks".parse().unwrap();
    assert_eq!(lock.find_bundle(&name), Some(&line(&bundle())));
    lock.put_bundle(line(&bundle()));
    assert!(
        lock.bundles().len() == 2
            && lock.remove_bundle(&name)
            && !lock.remove_bundle(&name)
            && lock.bundles().len() == 1
    );
}

#[test]
fn a_lock_holds_for_one_bundle() {
    let locked = line(&bundle());
    assert_eq!(locked.check_bundle(&bundle()), Ok(()));
    let differing: Vec<(&str, Bundle, &str)> = vec![
        (
            "another version",
            changed(|about, _| about.version = "1.2.1".parse().unwrap()),
            "acme/checks 1.2.1",
        ),
        (
            "another name",
            changed(|about, _| about.name = "acme/other".parse().unwrap()),
            "acme/other 1.2.0",
        ),
        (
            "other words",
            changed(|about, _| about.description = "More.".into()),
            "acme/checks 1.2.0",
        ),
        (
            "wider wishes",
            changed(|about, _| about.components[0].wants.grants.push("clocks = true".into())),
            "acme/checks 1.2.0",
        ),
    ];
    for (name, other, found) in differing {
        let error = locked.check_bundle(&other).unwrap_err().to_string();
        assert!(
            error.contains(found) && error.contains("`acme/checks` is locked as 1.2.0"),
            "{name}: {error}"
        );
    }
    // An edited line next to a correct digest.
    let component = |plugins: &str, grants: &str| {
        format!("the component of {plugins} (sha256:{{}}), which asks for {grants}")
    };
    for (name, edited, expected) in [
        (
            "version",
            LockedBundle { version: "9.0.0".parse().unwrap(), ..locked.clone() },
            ["9.0.0".to_owned(), "acme/checks 1.2.0".to_owned()],
        ),
        (
            "name",
            LockedBundle { name: "acme/innocent".parse().unwrap(), ..locked.clone() },
            ["1.2.0".to_owned(), "acme/checks 1.2.0".to_owned()],
        ),
        (
            "fewer components",
            LockedBundle { components: locked.components[..1].to_vec(), ..locked.clone() },
            ["a bundle of 1 component".to_owned(), "a bundle of 2 components".to_owned()],
        ),
        (
            "wider grants",
            {
                let mut edited = locked.clone();
                edited.components[0].grants.push("clocks = true".into());
                edited
            },
            [component("loops, drifts", "clocks = true"), component("loops, drifts", "no grant")],
        ),
    ] {
        let digest = locked.components[0].digest.hex();
        let expected = expected.map(|text| text.replace("{}", &digest));
        let error = edited.check_bundle(&bundle()).unwrap_err().to_string();
        let [was, is] = expected;
        assert!(
            error.contains(&format!("is locked as {was}, and this is {is}: ")),
            "{name}: {error}"
        );
    }
}

#[test]
fn anything_but_a_lock_is_an_error() {
    let mut lock = Lock::default();
    lock.put_bundle(line(&bundle()));
    let text = lock.to_text().unwrap();
    let doubled = {
        let (head, rest) = text.split_once("[[bundle]]").unwrap();
        format!("{head}[[bundle]]{rest}\n[[bundle]]{rest}")
    };
    for (name, text, expected) in [
        ("nothing", String::new(), "missing field `format`"),
        ("a later form", text.replace("format = 1", "format = 2\nnew = true"), "it has format 2"),
        (
            "an unknown field",
            text.replace("format = 1", "format = 1\nweak = true"),
            "line 3: unknown field `weak`",
        ),
        ("a digest that is none", text.replace("sha256:", "sha1:"), "is not a digest"),
        ("a bundle twice", doubled, "`acme/checks` is locked twice"),
        (
            "a plugin twice",
            text.replace("\"drifts\"", "\"loops\""),
            "the plugin `loops` is locked twice",
        ),
        ("too long", text.clone() + &"#\n".repeat(1 << 20), "at most 1048576 are read"),
    ] {
        let error = Lock::parse_lock(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}
