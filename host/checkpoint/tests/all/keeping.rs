//! The files that are read, stored, left out and removed.

use crate::support::{Place, TIME, assert_same, id, open, plainly};
use portcullis_checkpoint::{
    Bounds, CheckpointError, CheckpointRequest, ExclusionPolicy, Ignored, Retention, Vault, What,
    Why,
};
use std::fs;
use std::time::Duration;

#[test]
fn only_what_is_new_is_read_and_stored() {
    let place = Place::new();
    place.sh("for i in 1 2 3 4 5 6 7 8 9; do echo $i > f$i; done; cp f1 copy");
    let cold = place.take("a", 1);
    assert_eq!((cold.files, cold.bytes_read, cold.bytes_stored), (10, 20, 18));
    // A file that changed within the last two seconds is read again: the clock may not have moved
    // since.
    let racy = place.take("b", 2);
    assert_eq!((racy.files, racy.bytes_read, racy.bytes_stored), (10, 20, 0));
    std::thread::sleep(Duration::from_millis(3500));
    place.take("c", 3);
    let warm = place.take("d", 4);
    assert_eq!((warm.files, warm.bytes_read, warm.bytes_stored), (10, 0, 0));
    // The same size and the same modification time, set back by hand.
    place.sh("touch -r f1 reference; echo x > f1; touch -r reference f1; rm reference");
    let changed = place.settle("d", 5);
    assert_eq!((changed.changes.len(), changed.bytes_read, changed.bytes_stored), (1, 2, 2));
    place.restore("d", &plainly("u", 6)).unwrap();
    assert_eq!(fs::read(place.root.join("f1")).unwrap(), b"1\n");
}

#[test]
fn a_change_in_the_same_tick_is_seen() {
    let place = Place::new();
    for round in 0..200_u64 {
        fs::write(place.root.join("f"), format!("{round:05}")).unwrap();
        place.take(&format!("a{round}"), round * 10);
        fs::write(place.root.join("f"), format!("{:05}", round + 50_000)).unwrap();
        assert_eq!(
            place.settle(&format!("a{round}"), round * 10 + 1).changes.len(),
            1,
            "round {round}"
        );
    }
}

#[test]
fn ignored_files_come_last() {
    let place = Place::new();
    place.sh("git init -q .; echo 'a*/' > .gitignore; mkdir ab z node_modules z/ac; for f in ab node_modules z z/ac; do printf '%-100s' $f > $f/file; done; printf x > z/x");
    let mut request = place.request("a", 1, What::Tree);
    request.policy = ExclusionPolicy { git: false, max_total: 130, ..ExclusionPolicy::keep_all() };
    let taken = place.vault.take_checkpoint(&request).unwrap();
    let mut left: Vec<_> = taken
        .left_out
        .first
        .iter()
        .map(|left| (left.path.strip_prefix(&place.root).unwrap().to_owned(), left.why))
        .collect();
    left.sort();
    let total = |path: &str| (path.into(), Why::TotalReached);
    assert_eq!(
        left,
        [
            (".git".into(), Why::Git),
            total("ab/file"),
            total("node_modules/file"),
            total("z/ac/file")
        ]
    );
}

const TREE: &str = "git init -q .; mkdir -p out/deep s/node_modules/m cache s/out; echo o > out/deep/o; echo m > s/node_modules/m/m; \
    printf 'Signature: 8a477f597d28d172789f06886806bc55\\n' > cache/CACHEDIR.TAG; echo c > cache/c; echo k > .env; echo s > s/s; echo x > s/out/kept; \
    printf '/out/\\n.env\\n*.big\\n' > .gitignore; printf '!important\\nlocal\\n' > s/.gitignore; echo l > s/local; echo i > s/important; echo excluded > .git/info/exclude; mkdir excluded; echo e > excluded/e";

/// A policy, and the paths that it leaves out.
type Row = (&'static str, ExclusionPolicy, &'static [(&'static str, Why)]);

#[test]
fn a_policy_leaves_out_what_it_says() {
    let base = ExclusionPolicy::default();
    let rows: &[Row] = &[
        ("everything", ExclusionPolicy::keep_all(), &[]),
        (
            "default",
            base,
            &[
                (".git", Why::Git),
                ("cache", Why::BuildOutput),
                ("excluded", Why::Ignored),
                ("out", Why::Ignored),
                ("s/node_modules", Why::BuildOutput),
            ],
        ),
        (
            "all that is ignored",
            ExclusionPolicy { ignored: Ignored::Leave, git: true, build_output: true, ..base },
            &[
                (".env", Why::Ignored),
                ("excluded", Why::Ignored),
                ("out", Why::Ignored),
                ("s/local", Why::Ignored),
            ],
        ),
        (
            "build output alone",
            ExclusionPolicy { build_output: false, ..ExclusionPolicy::keep_all() },
            &[("cache", Why::BuildOutput), ("s/node_modules", Why::BuildOutput)],
        ),
        (
            "large files",
            ExclusionPolicy { max_file: 40, git: false, ..ExclusionPolicy::keep_all() },
            &[(".git", Why::Git), ("cache/CACHEDIR.TAG", Why::TooLarge)],
        ),
    ];
    for (name, policy, expected) in rows {
        let place = Place::new();
        place.sh(TREE);
        let mut request = place.request("a", 10, What::Tree);
        request.policy = *policy;
        let taken = place.vault.take_checkpoint(&request).unwrap();
        let mut left_out: Vec<_> = taken
            .left_out
            .first
            .iter()
            .map(|one| (one.path.strip_prefix(&place.root).unwrap().to_str().unwrap(), one.why))
            .collect();
        left_out.sort_unstable();
        assert_eq!(left_out, *expected, "{name}");
        assert_eq!(taken.complete, expected.iter().all(|(_, why)| why.by_choice()), "{name}");
        // Files that are left out are neither restored nor removed.
        place.sh("echo 1 > s/s; echo 1 > out/deep/o; mkdir -p made/node_modules; echo 1 > made/node_modules/f");
        place.settle("a", 11);
        let restored = place.restore("a", &plainly("u", 20)).unwrap();
        assert_eq!(fs::read(place.root.join("s/s")).unwrap(), b"s\n", "{name}");
        assert_eq!(
            place.root.join("made/node_modules/f").exists(),
            !restored.stays.is_empty(),
            "{name}"
        );
        assert_eq!(restored.stays.is_empty(), policy.build_output, "{name}");
    }
}

#[test]
fn content_kept_in_time_is_reused() {
    let place = Place::new();
    place.sh("for i in 1 2 3 4 5 6 7 8 9; do echo $i > f$i; done; mkdir d; echo d > d/d");
    let mut request = place.request("a", 1, What::Tree);
    request.budget = Duration::ZERO;
    let none = place.vault.take_checkpoint(&request).unwrap();
    assert!(
        !none.complete && none.files == 0 && none.left_out.counts == [(Why::Budget, 1)],
        "{none:?}"
    );
    place.sh("rm f1; echo 2 >> d/d");
    // It was not scanned before, so nothing is reported about it.
    assert!(place.vault.settle_checkpoint(&id("a"), 2, Duration::ZERO).unwrap().changes.is_empty());
    assert!(place.restore("a", &plainly("u", 3)).unwrap().restored.is_empty());
    request = place.request("b", 4, What::Tree);
    request.policy.max_total = 6;
    let some = place.vault.take_checkpoint(&request).unwrap();
    assert_eq!((some.bytes_stored, some.left_out.counts), (6, vec![(Why::TotalReached, 7)]));
    let rest = place.take("c", 5);
    assert_eq!((rest.complete, rest.bytes_stored), (true, 12 + 2));
}

#[test]
fn a_full_vault_leaves_files_out_and_keeps_what_it_has() {
    let place = Place::new();
    place.sh("head -c 3000 /dev/zero | tr '\\0' a > f; head -c 3000 /dev/zero | tr '\\0' b > g");
    let small = Vault::open_folder(
        place.home.join("vault"),
        &crate::support::keys(&place.home.join("vault")),
        Bounds { max_bytes: 4000, ..Bounds::default() },
    )
    .unwrap();
    let taken = small.take_checkpoint(&place.request("a", 1, What::Tree)).unwrap();
    assert_eq!((taken.files, taken.left_out.counts), (1, vec![(Why::VaultFull, 1)]));
    place.sh("rm f g");
    small.settle_checkpoint(&id("a"), 2, TIME).unwrap();
    let restored = small.restore_checkpoint(&id("a"), &plainly("u", 3)).unwrap();
    assert_eq!((restored.restored.len(), restored.not_kept[0].why), (1, Why::VaultFull));
}

#[test]
fn old_checkpoints_go_and_the_rest_stays_whole() {
    let place = Place::new();
    place.sh("head -c 100000 /dev/urandom > big; echo f > f");
    for at in 0..60_u64 {
        place.act(
            &format!("a{at}"),
            at * 1000,
            &format!(
                "echo {at} > f; head -c 2000 /dev/urandom > r; rm r; head -c 5000 /dev/urandom > s"
            ),
        );
    }
    let packs = || fs::read_dir(place.home.join("vault/packs")).unwrap().count();
    let before = packs();
    let nothing = place
        .vault
        .collect_garbage(&Retention { keep: Duration::from_secs(1000), max_bytes: 1 << 30 }, 60_000)
        .unwrap();
    assert_eq!(nothing.checkpoints, 0);
    assert!(before > 60 && packs() <= 2, "small packs are joined: {before}, {}", packs());
    let old = place
        .vault
        .collect_garbage(&Retention { keep: Duration::from_secs(10), max_bytes: 1 << 30 }, 60_000)
        .unwrap();
    assert_eq!(old.checkpoints, 50);
    assert!(old.bytes_after < nothing.bytes_after / 2, "{old:?}");
    assert!(matches!(
        place.restore("a49", &plainly("u", 70_000)),
        Err(CheckpointError::Unknown { .. })
    ));
    let large = place
        .vault
        .collect_garbage(&Retention { keep: Duration::from_secs(1000), max_bytes: 30_000 }, 60_000)
        .unwrap();
    assert!(large.checkpoints > 3 && large.bytes_after < 40_000, "{large:?}");
    let (now, oldest) = (place.walk(), place.vault.list().unwrap().checkpoints[0].id.to_string());
    place.restore(&oldest, &plainly("u", 70_000)).unwrap();
    let number: u64 = oldest[1..].parse().unwrap();
    assert_eq!(fs::read_to_string(place.root.join("f")).unwrap(), format!("{}\n", number - 1));
    place.restore("u", &plainly("v", 80_000)).unwrap();
    assert_same(&now, &place.walk(), "undone");
    // A vault without retention becomes empty.
    let all = place
        .vault
        .collect_garbage(&Retention { keep: Duration::ZERO, max_bytes: 0 }, 90_000)
        .unwrap();
    assert_eq!(
        (all.bytes_after, packs(), place.vault.list().unwrap().checkpoints.len()),
        (0, 0, 0)
    );
}

#[test]
fn a_collection_waits_for_nobody_forever() {
    let place = Place::new();
    let vault = Vault::open_folder(
        place.home.join("vault"),
        &crate::support::keys(&place.home.join("vault")),
        Bounds { patience: Duration::ZERO, ..Bounds::default() },
    )
    .unwrap();
    let lock = fs::File::open(place.home.join("vault")).and_then(|_| {
        fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(place.home.join("vault/lock"))
    });
    let lock = lock.unwrap();
    lock.lock_shared().unwrap();
    let retention = Retention { keep: Duration::ZERO, max_bytes: 0 };
    assert!(matches!(vault.collect_garbage(&retention, 1), Err(CheckpointError::Busy { .. })));
    lock.unlock().unwrap();
    lock.lock().unwrap();
    assert!(matches!(
        vault.take_checkpoint(&place.request("a", 1, What::Tree)),
        Err(CheckpointError::Busy { .. })
    ));
    drop(lock);
    open(&place.home.join("vault")).take_checkpoint(&place.request("a", 1, What::Tree)).unwrap();
}

#[test]
fn the_vault_is_no_content_of_a_tree_that_holds_it() {
    let place = Place::new();
    place.sh("echo f > f");
    let mut request = place.request("a", 1, What::Tree);
    request.roots = vec![place.home.clone()];
    assert_eq!(place.vault.take_checkpoint(&request).unwrap().files, 1);
    place.sh("echo 1 > f");
    assert_eq!(place.settle("a", 2).changes.len(), 1);
}

/// Set in the process that has its own mount.
const MOUNTED: &str = "PORTCULLIS_TEST_MOUNTED";

/// Nothing on a mount inside the tree is stored, and not by choice: the checkpoint is incomplete,
/// and reports the path.
#[test]
fn other_file_systems_are_left_out() {
    let Some(root) = std::env::var_os(MOUNTED).map(std::path::PathBuf::from) else {
        let place = Place::new();
        place.sh("mkdir -p d/mount; echo f > d/f; echo hidden > d/mount/hidden");
        let mut inside = std::process::Command::new("unshare");
        // The mount is visible only to that process, and ends with it.
        let script = "mount -t tmpfs none \"$1/d/mount\" && echo there > \"$1/d/mount/there\" && exec \"$0\" --exact keeping::other_file_systems_are_left_out";
        inside
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
            .arg(std::env::current_exe().unwrap());
        let done = inside.arg(&place.root).env(MOUNTED, &place.root).output().unwrap();
        let said = format!(
            "{}{}",
            String::from_utf8_lossy(&done.stdout),
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        return;
    };
    let vault = open(&root.with_file_name("vault"));
    let targets =
        |paths: &[&str]| What::Targets(paths.iter().map(|path| root.join(path)).collect());
    let rows = [
        ("tree", What::Tree, false),
        ("above", targets(&["d"]), false),
        ("beside", targets(&["d/f"]), true),
        ("there", targets(&["d/mount/there"]), true),
    ];
    for (at, (name, what, complete)) in rows.into_iter().enumerate() {
        let request = CheckpointRequest {
            id: id(name),
            at: at as u64,
            roots: vec![root.clone()],
            what,
            policy: ExclusionPolicy::default(),
            budget: TIME,
        };
        let taken = vault.take_checkpoint(&request).unwrap();
        let left: Vec<_> = taken
            .left_out
            .first
            .iter()
            .map(|left| (left.path.strip_prefix(&root).unwrap().to_str().unwrap(), left.why))
            .collect();
        let expected: &[_] = if complete { &[] } else { &[("d/mount", Why::OtherFileSystem)] };
        assert_eq!((left.as_slice(), taken.complete), (expected, complete), "{name}");
        if name != "tree" {
            assert!(
                vault.settle_checkpoint(&id(name), at as u64, TIME).unwrap().changes.is_empty(),
                "{name}"
            );
        }
    }
    fs::write(root.join("d/mount/there"), "changed").unwrap();
    fs::write(root.join("d/f"), "changed").unwrap();
    assert_eq!(vault.settle_checkpoint(&id("tree"), 10, TIME).unwrap().changes.len(), 1);
    vault.restore_checkpoint(&id("tree"), &plainly("u", 11)).unwrap();
    assert_eq!(fs::read(root.join("d/f")).unwrap(), b"f\n");
    assert_eq!(fs::read(root.join("d/mount/there")).unwrap(), b"changed");
}
