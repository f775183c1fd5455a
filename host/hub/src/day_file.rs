//! The records that a hub stored on one day, as a file in columns: Apache Parquet, for tools that
//! query many days at once.
//!
//! A file has one row a record, in the order of storage, and one column for each field of
//! [`DayRecord`]. [`SCHEMA`] states the columns; the manual describes them. Pure but for the file
//! that it writes to.

use anyhow::{Context, Result, ensure};
use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use portcullis_store::Hash;
use std::io::Write;
use std::sync::Arc;

/// The columns, in the order in which [`write_columns`] writes them. A column is added at the end.
pub const SCHEMA: &str = "message record {
    required binary machine (string);
    required binary machine_name (string);
    required binary journal (string);
    required int64 sequence;
    required int64 stored_at (timestamp(micros, true));
    optional int64 at (timestamp(millis, true));
    required binary id (string);
    required binary kind (string);
    optional binary session (string);
    optional binary agent (string);
    required binary subject (string);
    optional binary verdict (string);
    optional binary document (string);
    required boolean exact;
    required fixed_len_byte_array(32) previous;
    required fixed_len_byte_array(32) hash;
    optional binary salt;
    optional binary stored;
}";

/// The end of the year 9999, in milliseconds since 1970.
const LATEST: i64 = 253_402_300_799_999;
/// The rows of a group: a reader needs one group at a time in memory.
const GROUP_ROWS: usize = 50_000;
/// The bytes of texts after which a group ends before it has so many rows.
const GROUP_BYTES: usize = 64 << 20;

/// A record as the hub has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DayRecord {
    /// The machine's id.
    pub machine: String,
    /// The machine's own name.
    pub machine_name: String,
    /// The journal.
    pub journal: String,
    /// The position in the journal, from 1.
    pub sequence: i64,
    /// The time of storage by the database's clock, in microseconds since 1970.
    pub stored_at: i64,
    /// The time by the machine's clock, in milliseconds since 1970.
    pub at: i64,
    /// The record's id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// The session.
    pub session: Option<String>,
    /// The client.
    pub agent: Option<String>,
    /// The tool or the event.
    pub subject: String,
    /// The verdict.
    pub verdict: Option<String>,
    /// The document, as far as the machine sends it.
    pub document: Option<String>,
    /// True if the document is the one that the chain covers.
    pub exact: bool,
    /// The hash of the record before it.
    pub previous: Hash,
    /// The record's hash.
    pub hash: Hash,
    /// The salt of an encrypted record: with it, the hash follows from the document.
    pub salt: Option<Vec<u8>>,
    /// The hash of the ciphertext of an encrypted record.
    pub stored: Option<Vec<u8>>,
}

impl DayRecord {
    /// Returns the bytes of its texts.
    fn count_bytes(&self) -> usize {
        let texts = [&self.machine, &self.machine_name, &self.journal, &self.id, &self.kind];
        let optional = [&self.session, &self.agent, &self.verdict, &self.document];
        let texts = texts.into_iter().chain([&self.subject]);
        texts.chain(optional.into_iter().flatten()).map(String::len).sum()
    }

    /// Returns the time by the machine's clock; none for one that a machine made up, beyond the years
    /// that readers have.
    fn time_by_machine(&self) -> Option<i64> {
        (0..=LATEST).contains(&self.at).then_some(self.at)
    }
}

/// A file that is being written.
pub struct DayFile<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    waiting: Vec<DayRecord>,
    waiting_bytes: usize,
}

impl<W: Write + Send> DayFile<W> {
    /// Begins a file.
    pub fn begin(place: W) -> Result<Self> {
        let schema = parse_message_type(SCHEMA).context("the schema of the file is wrong")?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("portcullis-hub {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer = SerializedFileWriter::new(place, Arc::new(schema), Arc::new(properties))
            .context("cannot begin the file")?;
        Ok(Self { writer, waiting: Vec::new(), waiting_bytes: 0 })
    }

    /// Adds records, which follow those before them in the order of storage.
    pub fn append_records(&mut self, records: Vec<DayRecord>) -> Result<()> {
        for record in records {
            self.waiting_bytes = self.waiting_bytes.saturating_add(record.count_bytes());
            self.waiting.push(record);
            if self.waiting.len() >= GROUP_ROWS || self.waiting_bytes >= GROUP_BYTES {
                self.write_group()?;
            }
        }
        Ok(())
    }

    /// Ends the file; returns what it was written to.
    pub fn finish(mut self) -> Result<W> {
        if !self.waiting.is_empty() {
            self.write_group()?;
        }
        self.writer.into_inner().context("cannot end the file")
    }

    fn write_group(&mut self) -> Result<()> {
        let rows = std::mem::take(&mut self.waiting);
        self.waiting_bytes = 0;
        let mut group = self.writer.next_row_group().context("cannot write a group of rows")?;
        write_columns(&mut group, &rows)?;
        group.close().context("cannot write a group of rows")?;
        Ok(())
    }
}

/// Writes all columns of a group.
fn write_columns<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    rows: &[DayRecord],
) -> Result<()> {
    let mut columns = Columns { group, rows };
    columns.write_texts(|row| &row.machine)?;
    columns.write_texts(|row| &row.machine_name)?;
    columns.write_texts(|row| &row.journal)?;
    columns.write_numbers(|row| row.sequence)?;
    columns.write_numbers(|row| row.stored_at)?;
    columns.write_times(|row| row.time_by_machine())?;
    columns.write_texts(|row| &row.id)?;
    columns.write_texts(|row| &row.kind)?;
    columns.write_optional(|row| row.session.as_deref().map(str::as_bytes))?;
    columns.write_optional(|row| row.agent.as_deref().map(str::as_bytes))?;
    columns.write_texts(|row| &row.subject)?;
    columns.write_optional(|row| row.verdict.as_deref().map(str::as_bytes))?;
    columns.write_optional(|row| row.document.as_deref().map(str::as_bytes))?;
    columns.write_flags(|row| row.exact)?;
    columns.write_hashes(|row| &row.previous)?;
    columns.write_hashes(|row| &row.hash)?;
    columns.write_optional(|row| row.salt.as_deref())?;
    columns.write_optional(|row| row.stored.as_deref())
}

/// The columns of a group that are not written yet.
struct Columns<'a, 'b, W: Write + Send> {
    group: &'a mut SerializedRowGroupWriter<'b, W>,
    rows: &'a [DayRecord],
}

impl<W: Write + Send> Columns<'_, '_, W> {
    fn write_texts(&mut self, field: impl Fn(&DayRecord) -> &str) -> Result<()> {
        let values: Vec<ByteArray> =
            self.rows.iter().map(|row| ByteArray::from(field(row))).collect();
        self.write_column(|column| match column {
            ColumnWriter::ByteArrayColumnWriter(column) => column.write_batch(&values, None, None),
            _ => Ok(0),
        })
    }

    fn write_optional(&mut self, field: impl Fn(&DayRecord) -> Option<&[u8]>) -> Result<()> {
        let values: Vec<ByteArray> = self
            .rows
            .iter()
            .filter_map(|row| field(row).map(|bytes| ByteArray::from(bytes.to_vec())))
            .collect();
        let levels = self.list_levels(|row| field(row).is_some());
        self.write_column(|column| match column {
            ColumnWriter::ByteArrayColumnWriter(column) => {
                column.write_batch(&values, Some(&levels), None)?;
                Ok(levels.len())
            }
            _ => Ok(0),
        })
    }

    fn write_hashes(&mut self, field: impl Fn(&DayRecord) -> &Hash) -> Result<()> {
        let values: Vec<FixedLenByteArray> =
            self.rows.iter().map(|row| FixedLenByteArray::from(field(row).to_vec())).collect();
        self.write_column(|column| match column {
            ColumnWriter::FixedLenByteArrayColumnWriter(column) => {
                column.write_batch(&values, None, None)
            }
            _ => Ok(0),
        })
    }

    fn write_numbers(&mut self, field: impl Fn(&DayRecord) -> i64) -> Result<()> {
        let values: Vec<i64> = self.rows.iter().map(field).collect();
        self.write_column(|column| match column {
            ColumnWriter::Int64ColumnWriter(column) => column.write_batch(&values, None, None),
            _ => Ok(0),
        })
    }

    fn write_times(&mut self, field: impl Fn(&DayRecord) -> Option<i64>) -> Result<()> {
        let values: Vec<i64> = self.rows.iter().filter_map(&field).collect();
        let levels = self.list_levels(|row| field(row).is_some());
        self.write_column(|column| match column {
            ColumnWriter::Int64ColumnWriter(column) => {
                column.write_batch(&values, Some(&levels), None)?;
                Ok(levels.len())
            }
            _ => Ok(0),
        })
    }

    fn write_flags(&mut self, field: impl Fn(&DayRecord) -> bool) -> Result<()> {
        let values: Vec<bool> = self.rows.iter().map(field).collect();
        self.write_column(|column| match column {
            ColumnWriter::BoolColumnWriter(column) => column.write_batch(&values, None, None),
            _ => Ok(0),
        })
    }

    /// Returns the level of each row in an optional column: 1 where it has a value, 0 where it is null.
    fn list_levels(&self, has_value: impl Fn(&DayRecord) -> bool) -> Vec<i16> {
        self.rows.iter().map(|row| has_value(row).into()).collect()
    }

    /// Writes the next column. `write` returns the rows that it wrote, none if the column has another
    /// type.
    fn write_column(
        &mut self,
        write: impl FnOnce(&mut ColumnWriter<'_>) -> parquet::errors::Result<usize>,
    ) -> Result<()> {
        let mut column = self
            .group
            .next_column()
            .context("cannot write a column")?
            .context("there are more fields than columns")?;
        let written = write(column.untyped()).context("cannot write a column")?;
        ensure!(written == self.rows.len(), "a column has another type than its field");
        column.close().context("cannot write a column")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    fn record(sequence: i64) -> DayRecord {
        DayRecord {
            machine: "m1".into(),
            machine_name: "laptop \"ä\"".into(),
            journal: "ab".into(),
            sequence,
            stored_at: 1_790_000_000_123_456,
            at: if sequence % 7 == 0 { i64::MAX } else { 1_790_000_000_123 },
            id: format!("r{sequence}"),
            kind: "review".into(),
            session: (sequence % 2 == 0).then(|| "s".into()),
            document: (sequence % 3 == 0).then(|| format!("{{\"n\":{sequence}}}")),
            exact: sequence % 2 == 1,
            previous: [1; 32],
            hash: [2; 32],
            salt: (sequence % 5 == 0).then(|| vec![0, 255]),
            ..DayRecord::default()
        }
    }

    /// Columns 3, 5, 8, 12, 13 and 16 of a row, as a reader gets them.
    type Shown = (i64, Option<i64>, Option<String>, Option<String>, bool, Option<Vec<u8>>);

    fn read(bytes: Vec<u8>) -> Vec<Shown> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        let rows = reader.get_row_iter(None).unwrap();
        rows.map(|row| {
            let row = row.unwrap();
            (
                row.get_long(3).unwrap(),
                row.get_timestamp_millis(5).ok(),
                row.get_string(8).ok().cloned(),
                row.get_string(12).ok().cloned(),
                row.get_bool(13).unwrap(),
                row.get_bytes(16).ok().map(|bytes| bytes.data().to_vec()),
            )
        })
        .collect()
    }

    #[test]
    fn a_reader_gets_what_was_written() {
        for count in [0, 1, 7, i64::try_from(GROUP_ROWS).unwrap() + 1] {
            let mut file = DayFile::begin(Vec::new()).unwrap();
            let records: Vec<DayRecord> = (1..=count).map(record).collect();
            for part in records.chunks(1000) {
                file.append_records(part.to_vec()).unwrap();
            }
            let expected: Vec<Shown> = records
                .into_iter()
                .map(|row| {
                    let at = row.time_by_machine();
                    (row.sequence, at, row.session, row.document, row.exact, row.salt)
                })
                .collect();
            assert!(read(file.finish().unwrap()) == expected, "{count} records");
        }
    }

    #[test]
    fn a_group_ends_before_its_documents_fill_memory() {
        let mut file = DayFile::begin(Vec::new()).unwrap();
        let large = DayRecord { document: Some("x".repeat(GROUP_BYTES / 2)), ..record(1) };
        file.append_records(vec![large.clone(), large.clone(), large]).unwrap();
        let bytes = file.finish().unwrap();
        let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
    }
}
