//! Stored contents are found without reading all packs, whatever happened to the index.

use crate::support::{Place, TIME, id, plainly};
use portcullis_checkpoint::{Bounds, Retention, Vault, What, Why};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A change to the vault, and true if contents that are in it are stored once more.
type Row = (&'static str, fn(&Path), bool);

const ROWS: &[Row] = &[
    ("nothing", |_| {}, false),
    ("no index", |vault| fs::remove_dir_all(vault.join("index")).unwrap(), false),
    ("an empty index", |vault| each(vault, |path| fs::remove_file(path).unwrap()), false),
    ("no key", |vault| drop(fs::remove_file(vault.join("index/key"))), false),
    ("another key", |vault| fs::write(vault.join("index/key"), "another").unwrap(), false),
    ("no sizes", |vault| fs::remove_file(vault.join("index/sizes")).unwrap(), false),
    ("torn sizes", |vault| cut(&vault.join("index/sizes")), false),
    ("other sizes", |vault| change(&vault.join("index/sizes")), false),
    ("torn everywhere but in the sizes", |vault| parts(vault, cut), false),
    (
        "an append that was cut off",
        |vault| {
            parts(vault, |path| {
                fs::write(path, [&fs::read(path).unwrap()[..], b"cut"].concat()).unwrap()
            })
        },
        false,
    ),
    ("no entries", |vault| parts(vault, |path| fs::remove_file(path).unwrap()), true),
    ("entries of zeros", |vault| parts(vault, |path| fs::write(path, vec![0; 640]).unwrap()), true),
    ("other entries", |vault| parts(vault, change), true),
    (
        "no packs",
        |vault| {
            fs::remove_dir_all(vault.join("packs"))
                .and_then(|()| fs::create_dir(vault.join("packs")))
                .unwrap()
        },
        true,
    ),
];

fn each(vault: &Path, what: impl Fn(&Path)) {
    fs::read_dir(vault.join("index")).unwrap().for_each(|entry| what(&entry.unwrap().path()));
}

fn parts(vault: &Path, what: impl Fn(&Path)) {
    each(vault, |path| {
        if !path.ends_with("sizes") && !path.ends_with("key") {
            what(path)
        }
    });
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() - 9]).unwrap();
}

/// Changes every tenth byte.
fn change(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes.iter_mut().step_by(10).for_each(|byte| *byte ^= 0x10);
    fs::write(path, bytes).unwrap();
}

#[test]
fn kept_content_is_found_without_the_index() {
    for (is_plain, (name, damage, again)) in
        [false, true].into_iter().flat_map(|is_plain| ROWS.iter().map(move |row| (is_plain, row)))
    {
        let name = &format!("{name}, plain: {is_plain}");
        let place = Place::of(is_plain);
        place.sh("for i in $(seq 40); do echo $i > f$i; done");
        let before = place.walk();
        for at in 0..5 {
            place.act(&format!("a{at}"), at * 10, &format!("echo {at} > g"));
        }
        place.sh("rm g");
        let vault = place.home.join("vault");
        damage(&vault);
        let opened = crate::support::open(&vault);
        // A target is read again, regardless of its stamp.
        let paths = (1..=40).map(|at| place.root.join(format!("f{at}"))).collect();
        let taken = opened.take_checkpoint(&place.request("t", 100, What::Targets(paths))).unwrap();
        assert!(taken.complete, "{name}: {taken:?}");
        assert_eq!(taken.bytes_stored > 0, *again, "{name}: {taken:?}");
        place.sh("rm f*; echo other > f1");
        opened.settle_checkpoint(&id("t"), 101, TIME).unwrap();
        opened.restore_checkpoint(&id("t"), &plainly("u", 110)).unwrap();
        assert_eq!(place.walk(), before, "{name}");
        // From now on it is known.
        assert_eq!(place.targets("v", 120, &["f1", "f40"]).bytes_stored, 0, "{name}");
        opened
            .collect_garbage(
                &Retention { keep: Duration::from_secs(1000), max_bytes: 1 << 30 },
                200,
            )
            .unwrap();
        assert_eq!(place.targets("w", 210, &["f1", "f40"]).bytes_stored, 0, "{name}, collected");
    }
}

#[test]
fn a_vault_is_as_full_as_its_packs_whatever_became_of_their_sizes() {
    let sizes: [fn(&Path); 3] = [|_| {}, |path| fs::remove_file(path).unwrap(), cut];
    for damage in sizes {
        let place = Place::new();
        place.sh("head -c 3000 /dev/zero | tr '\\0' a > f");
        place.targets("a", 1, &["f"]);
        place.sh("head -c 3000 /dev/zero | tr '\\0' b > f");
        damage(&place.home.join("vault/index/sizes"));
        let small = Vault::open_folder(
            place.home.join("vault"),
            &crate::support::keys(&place.home.join("vault")),
            Bounds { max_bytes: 5000, ..Bounds::default() },
        )
        .unwrap();
        let taken = small.take_checkpoint(&place.request("b", 2, What::Tree)).unwrap();
        assert_eq!(taken.left_out.counts, [(Why::VaultFull, 1)]);
        small.collect_garbage(&Retention { keep: Duration::ZERO, max_bytes: 0 }, 3).unwrap();
        assert!(small.take_checkpoint(&place.request("c", 4, What::Tree)).unwrap().complete);
    }
}
