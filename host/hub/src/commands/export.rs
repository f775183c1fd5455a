//! `portcullis hub export`: the records of each day as a file in columns.

use crate::audit::{Act, NewEntry};
use crate::database::Database;
use crate::day_file::DayFile;
use crate::day_records::{DayRange, DayReader, find_days};
use crate::folder::read_config;
use crate::operator::Operator;
use crate::process::{explain_failure, start_runtime};
use anyhow::{Context, Result, anyhow, bail};
use jiff::civil::Date;
use portcullis_core::known_failure::{HintedFailure, KnownFailure};
use portcullis_core::text::count_noun;
use portcullis_fleet::hub_command::ExportArguments;
use portcullis_terminal::paint;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::Builder;
use tokio::runtime::Runtime;

/// The beginning of the name of a file that is not whole. A process that was killed leaves one.
const UNFINISHED: &str = ".unfinished-";

/// A file that was written.
struct WrittenDay {
    day: Date,
    path: PathBuf,
    records: u64,
    bytes: u64,
}

/// Writes the files of the days that have none yet. A day that cannot be written keeps no other one
/// from being written.
pub(super) fn run_export(arguments: &ExportArguments) -> Result<()> {
    let database = Database::configure(&read_config(&arguments.folder)?)?;
    let operator = Operator::of_folder(&arguments.folder)?;
    let runtime = start_runtime()?;
    let output = std::path::absolute(&arguments.output).context("`--output` is not a path")?;
    if !output.is_dir() {
        let missing = KnownFailure::NotFound(format!("there is no folder `{}`", output.display()));
        let hint = "make it, for the user who runs this alone: it will hold what all agents did";
        return Err(anyhow!(HintedFailure::new(missing.to_string(), hint)).context(missing));
    }
    let found = runtime.block_on(find_days(&database)).map_err(explain_failure)?;
    let (days, kept) = choose_days(arguments, &output, found)?;
    if !days.is_empty() {
        let entry = NewEntry::of_act(Act::ExportRecords, &describe_days(&days))
            .with_detail("folder", output.display().to_string());
        let recorded = runtime.block_on(async {
            let mut client = database.connect().await?;
            let transaction = client.transaction().await?;
            operator.record(&transaction, entry).await?;
            Ok(transaction.commit().await?)
        });
        recorded.map_err(explain_failure)?;
    }
    let (mut written, mut failed) = (Vec::new(), Vec::new());
    for day in days {
        match write_day(&runtime, &database, day, &path_of(&output, day)) {
            Ok(one) => {
                if !arguments.json {
                    report_day(&one);
                }
                written.push(one);
            }
            Err(error) => {
                crate::report_line(&format!("the records of {day} are not exported: {error:#}"));
                failed.push(day.to_string());
            }
        }
    }
    report_end(arguments, &written, kept);
    if failed.is_empty() {
        return Ok(());
    }
    bail!("the records of {} are not exported", failed.join(", "))
}

fn report_day(one: &WrittenDay) {
    let WrittenDay { path, records, bytes, .. } = one;
    let (records, size) = (count_noun(*records, "record"), bytes.div_ceil(1024));
    paint::print_text(&format!("{}: {records}, {size} KiB\n", path.display()));
}

/// Returns the days to write, and how many have a file already.
fn choose_days(
    arguments: &ExportArguments,
    output: &Path,
    found: Option<DayRange>,
) -> Result<(Vec<Date>, u64)> {
    let (since, until) = (arguments.since, arguments.until);
    if let (Some(since), Some(until)) = (since, until)
        && since > until
    {
        bail!("`--since` names {since}, which is after `--until`, {until}");
    }
    let Some(DayRange { first, last }) = found else { return Ok((Vec::new(), 0)) };
    let first = since.map_or(first, |day| day.max(first));
    let last = until.map_or(last, |day| day.min(last));
    let all = first.series(jiff::Span::new().days(1)).take_while(|day| *day <= last);
    let (there, days): (Vec<Date>, Vec<Date>) =
        all.partition(|day| path_of(output, *day).exists() && !arguments.replace);
    Ok((days, u64::try_from(there.len()).unwrap_or(u64::MAX)))
}

fn path_of(folder: &Path, day: Date) -> PathBuf {
    folder.join(format!("records-{day}.parquet"))
}

fn describe_days(days: &[Date]) -> String {
    match days {
        [] => "no day".into(),
        [day] => day.to_string(),
        [first, .., last] => {
            let count = u64::try_from(days.len()).unwrap_or(u64::MAX);
            format!("{first} to {last}, {}", count_noun(count, "day"))
        }
    }
}

/// Writes the file of a day, which appears under its name once it is whole.
fn write_day(runtime: &Runtime, database: &Database, day: Date, path: &Path) -> Result<WrittenDay> {
    let folder = path.parent().context("it has no folder")?;
    let place = Builder::new().prefix(UNFINISHED).tempfile_in(folder);
    let mut file = DayFile::begin(place.context("cannot create a file")?)?;
    let mut reader = DayReader::of_day(day);
    let mut records = 0_u64;
    loop {
        let page = runtime.block_on(reader.read_page(database)).map_err(explain_failure)?;
        if page.is_empty() {
            break;
        }
        records = records.saturating_add(u64::try_from(page.len()).unwrap_or(u64::MAX));
        file.append_records(page)?;
    }
    let place = file.finish()?;
    let found = runtime.block_on(find_days(database)).map_err(explain_failure)?;
    if found.is_none_or(|days| day < days.first) {
        bail!("retention removed them while they were read");
    }
    place.as_file().sync_all().context("cannot write the file")?;
    let bytes = place.as_file().metadata()?.len();
    place.persist(path).with_context(|| format!("cannot create `{}`", path.display()))?;
    fs::File::open(folder)
        .and_then(|folder| folder.sync_all())
        .context("cannot write the folder")?;
    Ok(WrittenDay { day, path: path.to_owned(), records, bytes })
}

fn report_end(arguments: &ExportArguments, written: &[WrittenDay], kept: u64) {
    if arguments.json {
        let files: Vec<_> = written
            .iter()
            .map(|one| {
                json!({
                    "day": one.day.to_string(),
                    "path": one.path,
                    "records": one.records,
                    "bytes": one.bytes,
                })
            })
            .collect();
        return paint::print_text(&format!("{}\n", json!({ "files": files, "kept": kept })));
    }
    let text = match (written.is_empty(), kept) {
        (true, 0) => "the hub has no records of such days that are over\n".to_owned(),
        (_, 0) => return,
        (_, kept) => format!("{} had a file already\n", count_noun(kept, "day")),
    };
    paint::print_text(&text);
}
