//! A full disk and a sudden death at every step: the result is the old tree or the new one, and a
//! consistent vault.

use crate::support::{
    Place, TIME, Walk, assert_same, digests, id, keys, open, plainly, shown, walk,
};
use portcullis_checkpoint::{
    CheckpointError, CheckpointRequest, ExclusionPolicy, Retention, StepHook, What,
};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const CHILD: &str = "CHECKPOINT_TEST_CHILD";
/// A take rebuilds the index if it is missing.
const OPERATIONS: [&str; 5] = ["take", "take-unindexed", "settle", "restore", "collect"];

/// Fails at one step, with an error or with the death of the process.
#[derive(Debug)]
struct Trip {
    at: usize,
    dies: bool,
    taken: AtomicUsize,
}

impl StepHook for Trip {
    fn before(&self, _: &'static str, _: &Path) -> io::Result<()> {
        match self.taken.fetch_add(1, Ordering::SeqCst) == self.at {
            true if self.dies => std::process::abort(),
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        }
    }
}

/// Two actions; the operation applies to the second one.
struct FaultSetup {
    place: Place,
    first: Walk,
    old: Walk,
    new: Walk,
}

fn set_up(operation: &str, is_plain: bool) -> FaultSetup {
    let place = Place::of(is_plain);
    place.sh("mkdir -p d/e k && echo 1 > d/e/f && echo 2 > g && echo 3 > k/h && ln -s g link && chmod 750 k");
    let first = place.walk();
    place.act("e", 1, "echo early > g; mkdir early; echo x > early/x");
    let new = place.walk();
    if !operation.starts_with("take") {
        place.take("a", 10);
    }
    place.sh("rm -r d; echo 22 > g; mkdir -p n/m; echo 4 > n/m/o; rm k/h; mkdir k/h; echo 5 > k/h/i; rm link; chmod 700 k");
    if matches!(operation, "restore" | "collect") {
        place.settle("a", 11);
    }
    if operation == "collect" {
        // A checkpoint to remove, in a pack with a content to keep.
        place.act("gone", 0, "echo gone > gone; rm gone");
    }
    if operation == "take-unindexed" {
        std::fs::remove_file(place.home.join("vault/index/sizes")).unwrap();
    }
    let old = place.walk();
    FaultSetup { place, first, old, new }
}

fn operate(operation: &str, home: &Path, steps: Arc<dyn StepHook>) -> Result<(), CheckpointError> {
    let vault = open(&home.join("vault")).with_step_hook(steps);
    let request = CheckpointRequest {
        id: id("t"),
        at: 20,
        roots: vec![home.join("root")],
        what: What::Tree,
        policy: ExclusionPolicy::keep_all(),
        budget: TIME,
    };
    match operation {
        "take" | "take-unindexed" => vault.take_checkpoint(&request).map(|_| ()),
        "settle" => vault.settle_checkpoint(&id("a"), 11, TIME).map(|_| ()),
        "restore" => vault.restore_checkpoint(&id("a"), &plainly("u", 20)).map(|_| ()),
        "collect" => vault
            .collect_garbage(
                &Retention { keep: Duration::from_millis(99), max_bytes: 1 << 30 },
                100,
            )
            .map(|_| ()),
        _ => loop {
            vault.restore_checkpoint(
                &id("a"),
                &plainly(&format!("u{}", vault.list()?.checkpoints.len()), 20),
            )?;
            let last = vault.list()?.checkpoints.len();
            vault.restore_checkpoint(
                &id(&format!("u{}", last - 1)),
                &plainly(&format!("u{last}"), 20),
            )?;
        },
    }
}

/// Not a test of its own: the process that dies.
#[test]
fn child() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let mut words = what.splitn(3, ' ');
    let (operation, at, home) =
        (words.next().unwrap(), words.next().unwrap().parse().unwrap(), words.next().unwrap());
    operate(
        operation,
        Path::new(home),
        Arc::new(Trip { at, dies: true, taken: AtomicUsize::new(0) }),
    )
    .unwrap();
}

fn spawn(operation: &str, at: usize, home: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "faults::child"])
        .env(CHILD, format!("{operation} {at} {}", home.display()));
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    command
}

/// Checks that after a failure everything is usable, and that the tree is one of the two once
/// unfinished restores are completed.
fn check(setup: &FaultSetup, what: &str) {
    let FaultSetup { place, first, old, new } = setup;
    if !keys(&place.home.join("vault")).is_off().unwrap() {
        let contents = [first, old, new].into_iter().flat_map(Walk::values);
        let mut texts: Vec<_> = contents
            .filter(|(kind, ..)| *kind == 'f')
            .flat_map(|(.., text)| digests(text))
            .collect();
        texts.push(place.root.as_os_str().as_encoded_bytes().to_vec());
        texts.extend(digests(place.root.as_os_str().as_encoded_bytes()));
        let shown = shown(&place.home.join("vault"), &texts);
        assert!(shown.is_empty(), "{what}: {shown:?}");
    }
    let listing = place.vault.list().unwrap();
    assert!(listing.damaged.is_empty(), "{what}: {listing:?}");
    place.vault.resume().unwrap_or_else(|error| panic!("{what}: {error}"));
    let now = place.walk();
    assert!(
        now == *old || now == *new,
        "{what}: a mix:\n{}",
        crate::support::differing(old, &now).join("\n")
    );
    assert!(place.vault.list().unwrap().unfinished.is_empty(), "{what}");
    if what.starts_with("take") {
        let _ = place.vault.take_checkpoint(&place.request("t", 20, What::Tree));
        place.act("b", 30, "echo b > g");
        place.restore("t", &plainly("u2", 40)).unwrap();
        assert_same(old, &place.walk(), what);
        assert_eq!(
            place.targets("again", 50, &["g", "n"]).bytes_stored,
            0,
            "{what}: the index lost what a checkpoint has"
        );
        return;
    }
    place.settle("a", 11);
    place.restore("a", &plainly("u2", 40)).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_same(new, &place.walk(), what);
    place.restore("e", &plainly("u3", 50)).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_same(first, &place.walk(), what);
    place
        .vault
        .collect_garbage(&Retention { keep: Duration::from_secs(1), max_bytes: 1 << 30 }, 100)
        .unwrap();
    place.restore("u3", &plainly("u4", 60)).unwrap();
    assert_same(new, &place.walk(), what);
}

#[test]
fn a_full_disk_at_every_step() {
    for (operation, is_plain) in
        OPERATIONS.into_iter().flat_map(|operation| [(operation, false), (operation, true)])
    {
        for at in 0.. {
            let setup = set_up(operation, is_plain);
            let outcome = operate(
                operation,
                &setup.place.home,
                Arc::new(Trip { at, dies: false, taken: AtomicUsize::new(0) }),
            );
            let what = format!("{operation}, plain: {is_plain}, step {at}: {outcome:?}");
            match &outcome {
                Err(CheckpointError::HalfDone { .. }) => assert_eq!(operation, "restore"),
                Err(_) => assert_same(&setup.old, &setup.place.walk(), &what),
                Ok(()) => {}
            }
            check(&setup, &what);
            if outcome.is_ok() {
                assert!(at > 3, "{operation} has steps");
                break;
            }
        }
    }
}

#[test]
fn a_death_at_every_step() {
    for operation in OPERATIONS {
        for at in 0.. {
            let setup = set_up(operation, false);
            let lived = spawn(operation, at, &setup.place.home).status().unwrap().success();
            check(&setup, &format!("{operation}, death at step {at}"));
            if lived {
                assert!(at > 3, "{operation} has steps");
                break;
            }
        }
    }
}

/// A person changes one file between the death of a restore and its completion; only that file
/// stays as it is.
#[test]
fn changes_before_a_restore_completes_stay() {
    for at in 0.. {
        let FaultSetup { place, old, new, .. } = set_up("restore", false);
        let lived = spawn("restore", at, &place.home).status().unwrap().success();
        place.sh("rm -f g; echo mine > g");
        let completed = place.vault.resume().unwrap();
        let but_g = |mut walk: Walk| {
            walk.remove(b"g".as_slice());
            walk
        };
        let now = place.walk();
        assert_eq!(now[b"g".as_slice()].2, b"mine\n", "step {at}");
        for (_, restored) in &completed {
            assert_eq!(restored.left_alone, [place.root.join("g")], "step {at}");
        }
        assert!([old, new].map(but_g).contains(&but_g(now)), "step {at}");
        if lived {
            break;
        }
    }
}

#[test]
fn a_death_at_any_moment_of_many_restores() {
    let place = Place::new();
    place.sh("for i in $(seq 200); do echo $i > f$i; done; mkdir d; mv f1* d");
    let new = place.walk();
    place.act("a", 10, "rm -r d; for i in f*; do echo changed >> $i; done; mkdir n; echo n > n/n");
    let old = place.walk();
    for round in 0..25_u64 {
        let mut child = spawn("restores", usize::MAX, &place.home).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(7 + round * 13 % 90));
        child.kill().unwrap();
        child.wait().unwrap();
        place.vault.resume().unwrap();
        let now = walk(&place.root);
        assert!(
            now == old || now == new,
            "round {round}:\n{}",
            crate::support::differing(&new, &now).join("\n")
        );
    }
    assert!(place.vault.list().unwrap().damaged.is_empty());
}
