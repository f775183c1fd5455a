//! The cost of checkpoints, as a table: `cargo bench -p portcullis-checkpoint --bench cost`.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a bench prints and may stop"
)]

use portcullis_checkpoint::{
    Bounds, CheckpointDurability, CheckpointRequest, ExclusionPolicy, Id, RestoreOptions, Vault,
    What,
};
use portcullis_encryption::DataKeys;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const SIZES: [usize; 3] = [100, 5_000, 50_000];
/// Large enough that nothing is cut short.
const BUDGET: Duration = Duration::from_secs(600);

/// The numbers of checkpoints in a vault for which a take is measured.
const VAULTS: [usize; 3] = [10, 1_000, 5_000];
/// The number of takes whose median is reported.
const ROUNDS: usize = 101;
/// The key of the folder of keys.
const KEY: [u8; 32] = [7; 32];
/// The number of takes of a whole tree whose median is reported.
const TREE_ROUNDS: usize = 15;

fn main() {
    growth();
    trees();
    println!(
        "| files | durability | operation | time | files read or written | bytes read | bytes stored |"
    );
    println!("|---|---|---|---|---|---|---|");
    for files in SIZES {
        for durability in [CheckpointDurability::Process, CheckpointDurability::Power] {
            measure(files, durability);
        }
    }
}

/// Measures the median of a take and its settling in vaults of different size, alternately, each
/// with a new content.
fn growth() {
    println!(
        "| checkpoints and packs | vault | take of one known file | settle | both, against {} plain |\n|---|---|---|---|---|",
        VAULTS[0]
    );
    let vaults = VAULTS.into_iter().flat_map(|size| [(size, true), (size, false)]);
    let mut vaults: Vec<Grown> = vaults.map(|(size, plain)| Grown::new(size, plain)).collect();
    for round in 0..ROUNDS {
        vaults.iter_mut().for_each(|vault| {
            vault.round(&format!("before {round}"), &format!("after {round}"), true)
        });
    }
    let mut first = None;
    for vault in vaults {
        let [take, settle] = [vault.takes, vault.settles].map(median);
        let ratio = (take + settle) / *first.get_or_insert(take + settle);
        let (checkpoints, form) = (vault.checkpoints, form(vault.plain));
        println!("| {checkpoints} | {form} | {take:.3} ms | {settle:.3} ms | x {ratio:.2} |");
    }
    println!();
}

/// Measures the median of a take of a tree in which nothing changed, and of one in which one file
/// did, in a plain and an encrypted vault in turn.
fn trees() {
    println!(
        "| files | vault | tree, nothing changed | tree, one file changed |\n|---|---|---|---|"
    );
    for files in SIZES {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("root");
        make(&root, files);
        std::thread::sleep(Duration::from_secs(4));
        let mut vaults = [true, false].map(|plain| {
            let home = folder.path().join(form(plain));
            fs::create_dir(&home).unwrap();
            let (root, label) = (root.clone(), String::new());
            let bench = Bench { vault: open(&home, &keys(&home, plain)), root, label, number: 0 };
            (bench, plain, Vec::new(), Vec::new())
        });
        for round in 0..=TREE_ROUNDS {
            for (bench, _, unchanged, changed) in &mut vaults {
                let mut timed = || {
                    let request = bench.request(What::Tree, BUDGET);
                    let start = Instant::now();
                    bench.vault.take_checkpoint(&request).unwrap();
                    start.elapsed()
                };
                // This one sees the change that was made for the other vault.
                timed();
                let settled = timed();
                fs::write(path(&root, 0), format!("{round} {settled:?}")).unwrap();
                let news = timed();
                // The first take reads the whole tree.
                if round > 0 {
                    unchanged.push(settled);
                    changed.push(news);
                }
            }
        }
        for (_, plain, unchanged, changed) in vaults {
            let [unchanged, changed] = [unchanged, changed].map(median);
            println!("| {files} | {} | {unchanged:.2} ms | {changed:.2} ms |", form(plain));
        }
    }
    println!();
}

const fn form(plain: bool) -> &'static str {
    if plain { "plain" } else { "encrypted" }
}

/// Opens the vault of a folder.
fn open(home: &Path, keys: &DataKeys) -> Vault {
    let bounds = Bounds { durability: CheckpointDurability::Process, ..Bounds::default() };
    Vault::open_folder(home.join("vault"), keys, bounds).unwrap()
}

/// The keys of a vault.
fn keys(folder: &Path, plain: bool) -> DataKeys {
    let keys = DataKeys::new(folder.join("keys"), KEY);
    keys.set_off(plain).unwrap();
    keys
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1000.0
}

/// A vault with as many packs as checkpoints.
struct Grown {
    bench: Bench,
    file: PathBuf,
    home: PathBuf,
    checkpoints: usize,
    plain: bool,
    takes: Vec<Duration>,
    settles: Vec<Duration>,
    _folder: tempfile::TempDir,
}

impl Grown {
    fn new(checkpoints: usize, plain: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let vault = open(folder.path(), &keys(folder.path(), plain));
        let file = root.join("f");
        let bench = Bench { vault, root, label: String::new(), number: 0 };
        let mut grown = Self {
            bench,
            file,
            home: folder.path().to_owned(),
            checkpoints,
            plain,
            takes: Vec::new(),
            settles: Vec::new(),
            _folder: folder,
        };
        for at in 0..checkpoints {
            let text = format!("content {at}");
            grown.round(&text, &text, false);
        }
        grown
    }

    fn round(&mut self, before: &str, after: &str, counts: bool) {
        fs::write(&self.file, before).unwrap();
        let request = self.bench.request(What::Targets(vec![self.file.clone()]), BUDGET);
        // As each hook does: a new process has no key.
        let start = Instant::now();
        self.bench.vault = open(&self.home, &DataKeys::new(self.home.join("keys"), KEY));
        self.bench.vault.take_checkpoint(&request).unwrap();
        let take = start.elapsed();
        fs::write(&self.file, after).unwrap();
        let start = Instant::now();
        self.bench.vault.settle_checkpoint(&request.id, self.bench.number, BUDGET).unwrap();
        if counts {
            self.takes.push(take);
            self.settles.push(start.elapsed());
        }
    }
}

struct Bench {
    vault: Vault,
    root: PathBuf,
    label: String,
    number: u64,
}

fn measure(files: usize, durability: CheckpointDurability) {
    let folder = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(folder.path()).unwrap().join("root");
    make(&root, files);
    // Files that changed just now would be read twice.
    std::thread::sleep(Duration::from_secs(4));
    let vault = Vault::open_folder(
        folder.path().join("vault"),
        &keys(folder.path(), false),
        Bounds { durability, ..Bounds::default() },
    )
    .unwrap();
    let mut bench = Bench { vault, root, label: format!("| {files} | {durability:?} "), number: 0 };
    let some: Vec<PathBuf> =
        (0..files.min(300)).map(|at| path(&bench.root, at * (files / files.min(300)))).collect();
    bench.take("targets: 1 file", What::Targets(vec![path(&bench.root, 0)]));
    bench.take(&format!("targets: {} files", some.len()), What::Targets(some.clone()));
    let within = bench.take_within("tree, cold, within 2 s", Duration::from_secs(2));
    if !within {
        bench.take("tree, the rest", What::Tree);
    }
    bench.take("targets: 1 file, full vault", What::Targets(vec![path(&bench.root, 0)]));
    let id = bench.take("tree, nothing changed", What::Tree);
    some.iter().for_each(|path| {
        fs::write(path, [b"changed ", path.as_os_str().as_encoded_bytes()].concat()).unwrap()
    });
    let start = Instant::now();
    let settled = bench.vault.settle_checkpoint(&id, bench.number, BUDGET).unwrap();
    bench.row(
        &format!("settle, {} changed", settled.changes.len()),
        start,
        settled.changes.len() as u64,
        settled.bytes_read,
        settled.bytes_stored,
    );
    let start = Instant::now();
    let how = RestoreOptions {
        undo: bench.id(),
        at: bench.number,
        force: false,
        only: Vec::new(),
        also: Vec::new(),
        dry: false,
    };
    let restored = bench.vault.restore_checkpoint(&id, &how).unwrap();
    bench.row(
        &format!("restore, {} files", restored.restored.len()),
        start,
        restored.restored.len() as u64,
        0,
        0,
    );
}

impl Bench {
    fn id(&mut self) -> Id {
        self.number += 1;
        Id::new(format!("bench-{}", self.number)).unwrap()
    }

    fn request(&mut self, what: What, budget: Duration) -> CheckpointRequest {
        let id = self.id();
        CheckpointRequest {
            id,
            at: self.number,
            roots: vec![self.root.clone()],
            what,
            policy: ExclusionPolicy::default(),
            budget,
        }
    }

    fn take(&mut self, name: &str, what: What) -> Id {
        let request = self.request(what, BUDGET);
        let start = Instant::now();
        let taken = self.vault.take_checkpoint(&request).unwrap();
        self.row(name, start, taken.files, taken.bytes_read, taken.bytes_stored);
        request.id
    }

    fn take_within(&mut self, name: &str, budget: Duration) -> bool {
        let request = self.request(What::Tree, budget);
        let start = Instant::now();
        let taken = self.vault.take_checkpoint(&request).unwrap();
        self.row(name, start, taken.files, taken.bytes_read, taken.bytes_stored);
        taken.complete
    }

    fn row(&self, name: &str, start: Instant, files: u64, read: u64, stored: u64) {
        let took = start.elapsed().as_secs_f64() * 1000.0;
        println!("{}| {name} | {took:.1} ms | {files} | {read} | {stored} |", self.label);
    }
}

fn path(root: &Path, at: usize) -> PathBuf {
    root.join(format!("d{}/e{}/f{at}", at / 1000, at / 50 % 20))
}

/// Creates files of 1 to 8191 bytes, 4 KiB on average, no two alike.
fn make(root: &Path, files: usize) {
    for at in 0..files {
        let path = path(root, at);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let size = (at * 2_654_435_761) % 8191 + 1;
        fs::write(
            path,
            format!("{at} and so on; ")
                .into_bytes()
                .iter()
                .copied()
                .cycle()
                .take(size)
                .collect::<Vec<u8>>(),
        )
        .unwrap();
    }
}
