//! A strict reader of the text format of Prometheus, version 0.0.4: whatever the format forbids, or
//! its conventions advise against, is an error.

use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet};

/// A sample: the labels in order, and the value.
pub type Sample = (Vec<(String, String)>, f64);

/// A metric with its samples, by the sample's whole name.
#[derive(Debug)]
pub struct Family {
    pub kind: String,
    pub samples: BTreeMap<String, Vec<Sample>>,
}

/// Reads a whole text.
pub fn read_text(text: &str) -> Result<BTreeMap<String, Family>> {
    ensure!(text.ends_with('\n'), "the last line has no end");
    let mut families: BTreeMap<String, Family> = BTreeMap::new();
    let (mut helped, mut current) = (None, None);
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').with_context(|| line.to_owned())?;
            ensure!(!text.is_empty() && is_name(name), "{line}");
            helped = Some(name.to_owned());
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').with_context(|| line.to_owned())?;
            ensure!(helped.as_deref() == Some(name), "{line}: its help comes first");
            ensure!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            ensure!((kind == "counter") == name.ends_with("_total"), "{line}: names of counters");
            let family = Family { kind: kind.to_owned(), samples: BTreeMap::new() };
            ensure!(families.insert(name.to_owned(), family).is_none(), "{line}: twice");
            current = Some(name.to_owned());
        } else {
            let (name, sample) = read_sample(line).with_context(|| line.to_owned())?;
            let family = current.as_ref().context("a sample before its type")?;
            let found = families.get_mut(family).context("no family")?;
            let belongs = match found.kind.as_str() {
                "histogram" => {
                    ["_bucket", "_sum", "_count"].iter().any(|end| name == format!("{family}{end}"))
                }
                _ => name == *family,
            };
            ensure!(belongs, "{line}: it is not of {family}");
            let all = found.samples.entry(name).or_default();
            ensure!(all.iter().all(|(labels, _)| *labels != sample.0), "{line}: twice");
            all.push(sample);
        }
    }
    for (name, family) in families.iter().filter(|(_, family)| family.kind == "histogram") {
        check_histogram(name, family)?;
    }
    Ok(families)
}

fn read_sample(line: &str) -> Result<(String, Sample)> {
    let end = line.find(['{', ' ']).context("no value")?;
    let (name, mut rest) = line.split_at(end);
    ensure!(is_name(name), "`{name}` is not a name");
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        loop {
            let (label, after) = rest.split_once("=\"").context("a label has a value")?;
            ensure!(is_name(label) && !label.contains(':'), "`{label}` is not a label");
            let (value, after) = read_value(after)?;
            labels.push((label.to_owned(), value));
            match after.strip_prefix(',') {
                Some(after) => rest = after,
                None => {
                    rest = after.strip_prefix('}').context("the labels do not end")?;
                    break;
                }
            }
        }
        let names: BTreeSet<&String> = labels.iter().map(|(name, _)| name).collect();
        ensure!(names.len() == labels.len(), "a label is there twice");
    }
    let number = rest.strip_prefix(' ').context("no blank before the value")?;
    let value: f64 = number.parse()?;
    ensure!(value.is_finite() && value >= 0.0, "`{number}` is not a finite count");
    Ok((name.to_owned(), (labels, value)))
}

/// Reads a quoted value after its first quote; returns what follows the last one.
fn read_value(text: &str) -> Result<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Ok((value, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, letter @ ('\\' | '"'))) => value.push(letter),
                other => bail!("{other:?} is not an escape"),
            },
            letter => value.push(letter),
        }
    }
    bail!("a value does not end")
}

fn is_name(name: &str) -> bool {
    let mut letters = name.chars();
    letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':')
}

/// Checks that the buckets grow, and that the last one has all.
fn check_histogram(name: &str, family: &Family) -> Result<()> {
    let of = |end: &str| family.samples.get(&format!("{name}{end}"));
    let (mut bound, mut count) = (f64::NEG_INFINITY, 0.0);
    for (labels, value) in of("_bucket").context("no buckets")? {
        let [(label, end)] = labels.as_slice() else { bail!("{name}: {labels:?}") };
        ensure!(label == "le" && *value >= count, "{name}: {labels:?} {value}");
        let end: f64 = if end == "+Inf" { f64::INFINITY } else { end.parse()? };
        ensure!(end > bound, "{name}: {end} comes after {bound}");
        (bound, count) = (end, *value);
    }
    ensure!(bound == f64::INFINITY, "{name} has no last bucket");
    let total = of("_count").and_then(|all| all.first()).context("no count")?.1;
    ensure!(total == count && of("_sum").is_some(), "{name}: {total} and {count}");
    Ok(())
}

pub fn reads() -> Result<()> {
    let good =
        "# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"x\\\"\\n\\\\,}\"} 1\na_total 2\n";
    let families = read_text(good)?;
    let samples = &families["a_total"].samples["a_total"];
    ensure!(samples[0].0 == [("b".to_owned(), "x\"\n\\,}".to_owned())], "{samples:?}");
    for (from, to) in [
        ("# HELP a_total A.\n", ""),
        ("counter", "count"),
        ("_total", ""),
        ("\"} 1", "\"} one"),
        ("\"} 1", "\"}1"),
        ("\"} 1", "} 1"),
        ("\\n", "\\t"),
        ("b=", "1b="),
        ("a_total 2", "b_total 2"),
        ("a_total 2", "a_total{b=\"x\\\"\\n\\\\,}\"} 2"),
        ("a_total 2", "a_total -2"),
        (" 2\n", " 2"),
    ] {
        let bad = good.replace(from, to);
        ensure!(bad != good && read_text(&bad).is_err(), "{bad}");
    }
    let bucket = |first: u64, last: u64, count: u64| {
        format!(
            "# HELP h H.\n# TYPE h histogram\nh_bucket{{le=\"1\"}} {first}\nh_bucket{{le=\"+Inf\"}} \
             {last}\nh_sum 1\nh_count {count}\n"
        )
    };
    read_text(&bucket(1, 2, 2))?;
    for bad in [bucket(3, 2, 2), bucket(1, 2, 3), bucket(1, 2, 2).replace("+Inf", "2")] {
        ensure!(read_text(&bad).is_err(), "{bad}");
    }
    Ok(())
}
