//! The names of day keys.

use jiff::civil::Date;
use std::fmt;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// A kind of data. Each has keys of its own, since each has its own retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataKind {
    /// Records, the states of sessions, and the rows beside them.
    Journal,
    /// Copies of files, and the lists of them.
    Checkpoints,
    /// Reports of stopped sessions.
    Incidents,
}

impl DataKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Journal, Self::Checkpoints, Self::Incidents];

    /// Returns the name, as in the names of key files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Checkpoints => "checkpoints",
            Self::Incidents => "incidents",
        }
    }
}

/// A day of UTC, as the number of days since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(u32);

impl Day {
    /// Returns the day of a time in milliseconds since 1970.
    #[must_use]
    pub fn of_time(at: u64) -> Self {
        Self(u32::try_from(at / DAY_MS).unwrap_or(u32::MAX))
    }

    /// Returns the day that many days earlier, at most 1970-01-01.
    #[must_use]
    pub const fn minus_days(self, days: u32) -> Self {
        Self(self.0.saturating_sub(days))
    }

    fn date(self) -> Option<Date> {
        EPOCH.checked_add(jiff::Span::new().try_days(i64::from(self.0)).ok()?).ok()
    }

    fn parse(text: &str) -> Option<Self> {
        if let Some(number) = text.strip_prefix("day") {
            let day = number.parse().ok().map(Self)?;
            return (day.to_string() == text).then_some(day);
        }
        let date: Date = text.parse().ok()?;
        let days = EPOCH.until(date).ok()?.get_days();
        u32::try_from(days).ok().map(Self).filter(|day| day.to_string() == text)
    }
}

/// The date, such as `2026-11-29`; one beyond the year 9999 as `day` and its number.
impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.date() {
            Some(date) => write!(f, "{date}"),
            None => write!(f, "day{}", self.0),
        }
    }
}

/// The name of one day key. Processes that make a key for the same day at the same time make two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId {
    /// The day that it is for.
    pub day: Day,
    /// The number that tells it from other keys of the day.
    pub(crate) serial: u32,
}

impl KeyId {
    /// Returns it as a number, for a column of a database.
    #[must_use]
    pub fn to_number(self) -> i64 {
        i64::from_be_bytes(self.to_bytes())
    }

    /// Returns the key with that number.
    #[must_use]
    pub fn of_number(number: i64) -> Self {
        Self::of_bytes(number.to_be_bytes())
    }

    pub(crate) fn to_bytes(self) -> [u8; 8] {
        (u64::from(self.day.0) << 32 | u64::from(self.serial)).to_be_bytes()
    }

    pub(crate) fn of_bytes(bytes: [u8; 8]) -> Self {
        let number = u64::from_be_bytes(bytes);
        let half = |number: u64| u32::try_from(number & u64::from(u32::MAX)).unwrap_or_default();
        Self { day: Day(half(number >> 32)), serial: half(number) }
    }

    /// Returns the name of its file.
    pub(crate) fn file_name(self, kind: DataKind) -> String {
        format!("{}-{}-{:08x}", kind.as_str(), self.day, self.serial)
    }

    /// Returns the key whose file has that name.
    pub(crate) fn parse(name: &str) -> Option<(DataKind, Self)> {
        let (rest, serial) = name.rsplit_once('-')?;
        let (kind, day) = rest.split_once('-')?;
        let kind = DataKind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let id = Self { day: Day::parse(day)?, serial: u32::from_str_radix(serial, 16).ok()? };
        (id.file_name(kind) == name).then_some((kind, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_the_key() {
        for at in [0, 1_795_000_000_000, u64::MAX] {
            for serial in [0, 0x5d1f_09aa, u32::MAX] {
                let id = KeyId { day: Day::of_time(at), serial };
                assert_eq!(KeyId::of_number(id.to_number()), id);
                for kind in DataKind::ALL {
                    assert_eq!(KeyId::parse(&id.file_name(kind)), Some((kind, id)));
                }
            }
        }
        let id = KeyId { day: Day::of_time(1_795_000_000_000), serial: 7 };
        assert_eq!(id.file_name(DataKind::Journal), "journal-2026-11-18-00000007");
        for other in [
            "journal-2026-11-18-7",
            "journal-2026-13-18-00000007",
            "other-2026-11-18-00000007",
            "journal-2026-11-18-0000000G",
            "journal-day1-00000007",
            "master",
            "",
        ] {
            assert_eq!(KeyId::parse(other), None, "{other}");
        }
    }
}
