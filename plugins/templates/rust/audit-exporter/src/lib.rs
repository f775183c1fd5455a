//! Writes a line a record: number, kind, verdict and summary, with tabs between.

use portcullis_plugin::audit_exporter::*;

/// The plugin.
pub struct Plugin;

impl AuditExporter for Plugin {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        "Writes a line a record: number, kind, verdict and summary, with tabs between.",
    )
    .reads(&[Reads::Records]);

    fn render(_: &[u8], records: &[AuditRecord], first: bool) -> Result<Rendered, Error> {
        let mut text = String::from(if first { "number\tkind\tverdict\tsummary\n" } else { "" });
        for record in records {
            let verdict = record.decision.as_ref().map_or("", |decision| decision.verdict.as_str());
            text.push_str(&format!(
                "{}\t{}\t{verdict}\t{}\n",
                record.sequence,
                record.kind.as_str(),
                plain(&record.summary)
            ));
        }
        Ok(Rendered::text(text, "text/tab-separated-values; charset=utf-8"))
    }
}

portcullis_plugin::export!(audit-exporter: Plugin);

/// A summary repeats what an agent wrote: nothing in it may begin a line or a column of its own.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing;

    #[test]
    fn a_record_is_a_line() {
        let mut record = testing::record(7);
        record.summary = "Bash: ls\n8\treview".into();
        let rendered = Plugin::render(&[], &[record], false).unwrap();
        assert_eq!(
            String::from_utf8(rendered.bytes).unwrap(),
            "7\treview\tallow\tBash: ls 8 review\n"
        );
    }
}
