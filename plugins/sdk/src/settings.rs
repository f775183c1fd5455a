//! The operator's settings, checked against the plugin's declarations.
//!
//! [`Settings::check`] is the default `prepare`: it refuses a setting that is unknown, of the wrong
//! type or out of bounds, naming the key, and fills in the defaults. The host hands its bytes back
//! as `prepared` for each call; [`Settings::read`] decodes them, and [`FromSettings`] turns them
//! into a type of the plugin's own. Nothing here knows TOML or files: the host has read those.

use crate::codec::{Reader, Writer};
use crate::spec::{Default, Spec, thousandths};
use crate::types::{Error, Setting, SettingValue};

/// The format of the bytes; any other one is refused.
const FORMAT: u8 = 1;

/// A plugin's settings, complete and checked.
///
/// ```
/// use portcullis_plugin::{descriptor::Spec, settings::Settings, types::Setting};
///
/// const SPECS: &[Spec] = &[Spec::texts("folders", &["migrations"], "guarded folders"), Spec::score("threshold", 300, "from which on")];
/// let settings = Settings::check(SPECS, &[Setting::new("threshold", 0.5)])?;
/// assert_eq!(settings.score("threshold")?, 500);
/// assert_eq!(settings.texts("folders")?, ["migrations"]);
/// assert_eq!(Settings::read(&settings.to_bytes())?.score("threshold")?, 500);
///
/// let error = Settings::check(SPECS, &[Setting::new("treshold", 0.5)]).unwrap_err();
/// assert_eq!(error.message(), "setting `treshold`: unknown; did you mean `threshold`?");
/// # Ok::<(), portcullis_plugin::types::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Settings(Vec<Setting>);

/// ```
/// use portcullis_plugin::{descriptor::Spec, settings::Settings, types::{Error, Setting}};
///
/// const SPECS: &[Spec] = &[
///     Spec::text("word", "frob", ""),
///     Spec::integer("most", 3, "").between(1, 10),
///     Spec::decimal("factor", 1.5, ""),
///     Spec::score("threshold", 300, ""),
///     Spec::flag("strict", false, ""),
///     Spec::texts("folders", &["src"], ""),
///     Spec::text("templates.*", "", ""),
/// ];
/// let given = [Setting::new("most", 5), Setting::new("strict", true), Setting::new("templates.loop", "stop")];
/// let settings = Settings::read(&Settings::check(SPECS, &given)?.to_bytes())?;
/// assert_eq!((settings.text("word")?, settings.integer("most")?, settings.decimal("factor")?), ("frob", 5, 1.5));
/// assert_eq!((settings.score("threshold")?, settings.flag("strict")?), (300, true));
/// assert_eq!(settings.texts("folders")?, ["src"]);
/// assert_eq!(settings.table("templates").map(|(issue, _)| issue).collect::<Vec<_>>(), ["loop"]);
/// assert!(Settings::check(SPECS, &[Setting::new("most", 11)]).is_err());
/// # Ok::<(), Error>(())
/// ```
impl Settings {
    /// Checks the operator's settings against the declared ones, and fills in the defaults.
    ///
    /// # Errors
    /// Fails with `invalid-setting` for a key that is not declared or given twice, a value of
    /// another type, or one out of bounds.
    pub fn check(declared: &[Spec], given: &[Setting]) -> Result<Self, Error> {
        let mut values: Vec<Setting> = Vec::with_capacity(declared.len());
        for setting in given {
            let spec =
                find(declared, &setting.key).ok_or_else(|| unknown(declared, &setting.key))?;
            if values.iter().any(|known| known.key == setting.key) {
                return Err(Error::setting(&setting.key, "given twice"));
            }
            values.push(Setting { key: setting.key.clone(), value: checked(spec, setting)? });
        }
        for spec in declared.iter().filter(|spec| !spec.key.ends_with(".*")) {
            if !values.iter().any(|known| known.key == spec.key) {
                values.push(Setting { key: spec.key.into(), value: spec.default.value() });
            }
        }
        Ok(Self(values))
    }

    /// Encodes the settings, for `prepare` to return.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.byte(FORMAT);
        out.number(self.0.len());
        for setting in &self.0 {
            out.text(&setting.key);
            write_value(&mut out, &setting.value);
        }
        out.into_bytes()
    }

    /// Decodes the output of [`Settings::to_bytes`].
    ///
    /// # Errors
    /// Fails with `invalid-input` when the bytes are something else.
    pub fn read(prepared: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(prepared);
        read_all(&mut input)
            .filter(|_| input.is_empty())
            .ok_or_else(|| Error::input("`prepared` is not what this plugin writes"))
    }

    /// Returns a text.
    ///
    /// # Errors
    /// Fails if no such text is declared.
    pub fn text(&self, key: &str) -> Result<&str, Error> {
        self.get(
            key,
            |value| if let SettingValue::Text(text) = value { Some(text.as_str()) } else { None },
        )
    }

    /// Returns a whole number.
    ///
    /// # Errors
    /// Fails if no such integer is declared.
    pub fn integer(&self, key: &str) -> Result<i64, Error> {
        self.get(
            key,
            |value| if let SettingValue::Integer(number) = value { Some(*number) } else { None },
        )
    }

    /// Returns a number.
    ///
    /// # Errors
    /// Fails if no such decimal is declared.
    pub fn decimal(&self, key: &str) -> Result<f64, Error> {
        self.get(
            key,
            |value| if let SettingValue::Decimal(number) = value { Some(*number) } else { None },
        )
    }

    /// Returns a share, in thousandths.
    ///
    /// # Errors
    /// Fails if no such score is declared.
    pub fn score(&self, key: &str) -> Result<u16, Error> {
        self.get(key, |value| {
            if let SettingValue::Decimal(number) = value {
                u16::try_from(thousandths(*number)).ok()
            } else {
                None
            }
        })
    }

    /// Returns yes or no.
    ///
    /// # Errors
    /// Fails if no such flag is declared.
    pub fn flag(&self, key: &str) -> Result<bool, Error> {
        self.get(key, |value| if let SettingValue::Flag(flag) = value { Some(*flag) } else { None })
    }

    /// Returns a list of texts.
    ///
    /// # Errors
    /// Fails if no such list is declared.
    pub fn texts(&self, key: &str) -> Result<&[String], Error> {
        self.get(key, |value| {
            if let SettingValue::Texts(texts) = value { Some(texts.as_slice()) } else { None }
        })
    }

    /// Returns the operator's entries in a table: the rest of each key with its value.
    pub fn table<'a>(
        &'a self,
        table: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a SettingValue)> {
        self.0.iter().filter_map(move |setting| {
            let key = setting.key.strip_prefix(table)?.strip_prefix('.')?;
            Some((key, &setting.value))
        })
    }

    fn get<'a, T>(
        &'a self,
        key: &str,
        pick: impl Fn(&'a SettingValue) -> Option<T>,
    ) -> Result<T, Error> {
        let found = self
            .0
            .iter()
            .find(|setting| setting.key == key)
            .and_then(|setting| pick(&setting.value));
        found.ok_or_else(|| {
            Error::failed(&format!(
                "the plugin reads `{key}` as a setting of a \
             type that its descriptor does not declare"
            ))
        })
    }
}

/// A plugin's settings as a type of its own.
///
/// [`Descriptor::config`](crate::descriptor::Descriptor::config) declares its settings, and makes
/// the default `prepare` refuse the values that [`Self::from_settings`] refuses: a person learns of
/// a mistake when the plugin is loaded, and not at its first call.
///
/// ```
/// use portcullis_plugin::risk_calculator::*;
/// use portcullis_plugin::testing;
///
/// /// Hours of the day, UTC.
/// struct Night { from: i64, until: i64 }
///
/// impl FromSettings for Night {
///     const SPECS: &'static [Spec] =
///         &[Spec::integer("from", 22, "its first hour").between(0, 23), Spec::integer("until", 24, "the hour after its last").between(1, 24)];
///
///     fn from_settings(settings: &Settings) -> Result<Self, Error> {
///         let night = Self { from: settings.integer("from")?, until: settings.integer("until")? };
///         if night.from < night.until { Ok(night) } else { Err(Error::setting("until", "should be after `from`")) }
///     }
/// }
///
/// struct QuietHours;
///
/// impl RiskCalculator for QuietHours {
///     const DESCRIPTOR: Descriptor = Descriptor::new("quiet-hours", "0.1.0", "Asks at night.").config::<Night>();
///
///     fn assess(prepared: &[u8], _: &Action, context: &Context) -> Result<Assessment, Error> {
///         let night = Night::from_prepared(prepared)?;
///         let hour = i64::try_from(context.now / 3_600_000 % 24).unwrap_or_default();
///         let asks = (night.from..night.until).contains(&hour);
///         Ok(if asks { Ruling::ask("quiet_hours", "it is night").into() } else { Assessment::nothing() })
///     }
/// }
///
/// let error = QuietHours::prepare(&[Setting::new("from", 12), Setting::new("until", 12)]).unwrap_err();
/// assert_eq!(error.message(), "setting `until`: should be after `from`");
/// let prepared = QuietHours::prepare(&[Setting::new("from", 12)])?;
/// assert_eq!(QuietHours::assess(&prepared, &testing::shell("make"), &testing::context())?.rulings.len(), 1);
/// # Ok::<(), Error>(())
/// ```
pub trait FromSettings: Sized {
    /// Every setting with its default.
    const SPECS: &'static [Spec];

    /// Takes the values out of settings whose types and bounds are checked.
    ///
    /// # Errors
    /// Fails with `invalid-setting` for a value that types and bounds do not exclude, and if the
    /// settings are not those of [`Self::SPECS`].
    fn from_settings(settings: &Settings) -> Result<Self, Error>;

    /// Takes the values out of the bytes that the default `prepare` returned.
    ///
    /// # Errors
    /// Fails with `invalid-input` for other bytes, and as [`Self::from_settings`] does.
    fn from_prepared(prepared: &[u8]) -> Result<Self, Error> {
        Self::from_settings(&Settings::read(prepared)?)
    }
}

fn find<'a>(declared: &'a [Spec], key: &str) -> Option<&'a Spec> {
    declared
        .iter()
        .find(|spec| spec.key == key)
        .or_else(|| declared.iter().find(|spec| covers(spec.key, key)))
}

/// Returns true if `pattern` is `table.*` and `key` is in that table.
fn covers(pattern: &str, key: &str) -> bool {
    pattern
        .strip_suffix('*')
        .and_then(|table| key.strip_prefix(table))
        .is_some_and(|rest| !rest.is_empty())
}

fn unknown(declared: &[Spec], key: &str) -> Error {
    let known: Vec<&str> = declared.iter().map(|spec| spec.key).collect();
    let reason = match nearest(known.iter().copied(), key) {
        Some(name) => format!("unknown; did you mean `{name}`?"),
        None if known.is_empty() => "unknown; this plugin has no settings".to_owned(),
        None => format!("unknown; this plugin knows `{}`", known.join("`, `")),
    };
    Error::setting(key, &reason)
}

/// Returns the name that `given` was probably meant to be: about a third of its letters may differ.
pub(crate) fn nearest<'a>(known: impl Iterator<Item = &'a str>, given: &str) -> Option<&'a str> {
    // A name of any length would take time that grows with its square.
    let given = given.get(..given.floor_char_boundary(64))?;
    let (away, name) = known.map(|name| (distance(name, given), name)).min()?;
    (away <= name.len().div_ceil(3)).then_some(name)
}

/// Returns the number of characters to change, add or leave out.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (line, x) in a.chars().enumerate() {
        let mut diagonal = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (y, above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(x != y)).min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

fn checked(spec: &Spec, setting: &Setting) -> Result<SettingValue, Error> {
    let value = match (&spec.default, &setting.value) {
        (Default::Decimal(_) | Default::Score(_), SettingValue::Integer(number)) => {
            SettingValue::Decimal(decimal(*number))
        }
        (Default::Decimal(_) | Default::Score(_), value @ SettingValue::Decimal(number))
            if number.is_finite() =>
        {
            value.clone()
        }
        (Default::Text(_), value @ SettingValue::Text(_))
        | (Default::Integer(_), value @ SettingValue::Integer(_))
        | (Default::Flag(_), value @ SettingValue::Flag(_))
        | (Default::Texts(_), value @ SettingValue::Texts(_)) => value.clone(),
        (Default::Decimal(_) | Default::Score(_), SettingValue::Decimal(_)) => {
            return Err(Error::setting(&setting.key, "is a decimal, should be a finite decimal"));
        }
        (wanted, given) => {
            return Err(Error::setting(
                &setting.key,
                &format!("is {}, should be {}", given.type_name(), article(wanted.type_name())),
            ));
        }
    };
    within(spec, &value)
        .then_some(value)
        .ok_or_else(|| Error::setting(&setting.key, &bounds_text(spec)))
}

fn within(spec: &Spec, value: &SettingValue) -> bool {
    let Some((least, greatest)) = spec.bounds else { return true };
    // The bounds of a score are thousandths, its value is a share.
    let scale = if matches!(spec.default, Default::Score(_)) { 1000.0 } else { 1.0 };
    match value {
        SettingValue::Integer(number) => (least..=greatest).contains(number),
        SettingValue::Decimal(number) => {
            (decimal(least)..=decimal(greatest)).contains(&(number * scale))
        }
        _ => true,
    }
}

fn bounds_text(spec: &Spec) -> String {
    let (least, greatest) = spec.bounds.unwrap_or((i64::MIN, i64::MAX));
    match spec.default {
        // Whole numbers only: printing a float costs a component 20 KB.
        Default::Score(_) => format!("should be from {} to {}", share(least), share(greatest)),
        _ => format!("should be from {least} to {greatest}"),
    }
}

/// Formats thousandths as a decimal.
fn share(thousandths: i64) -> String {
    let sign = if thousandths < 0 { "-" } else { "" };
    let (whole, fraction) = (thousandths.unsigned_abs() / 1000, thousandths.unsigned_abs() % 1000);
    let text = format!("{sign}{whole}.{fraction:03}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}

fn article(type_name: &str) -> String {
    match type_name {
        "integer" => "an integer".into(),
        "texts" => "a list of texts".into(),
        other => format!("a {other}"),
    }
}

#[allow(
    clippy::cast_precision_loss,
    reason = "a setting past 2^53 has no use that its last digits decide"
)]
const fn decimal(number: i64) -> f64 {
    number as f64
}

fn write_value(out: &mut Writer, value: &SettingValue) {
    match value {
        SettingValue::Text(text) => {
            out.byte(b't');
            out.text(text);
        }
        SettingValue::Integer(number) => {
            out.byte(b'i');
            out.eight(number.to_le_bytes());
        }
        SettingValue::Decimal(number) => {
            out.byte(b'd');
            out.eight(number.to_le_bytes());
        }
        SettingValue::Flag(flag) => {
            out.byte(b'f');
            out.byte(u8::from(*flag));
        }
        SettingValue::Texts(texts) => {
            out.byte(b'l');
            out.number(texts.len());
            for text in texts {
                out.text(text);
            }
        }
    }
}

fn read_all(input: &mut Reader<'_>) -> Option<Settings> {
    if input.byte()? != FORMAT {
        return None;
    }
    let count = input.number()?;
    let values: Option<Vec<Setting>> = (0..count)
        .map(|_| Some(Setting { key: input.text()?, value: read_value(input)? }))
        .collect();
    values.map(Settings)
}

fn read_value(input: &mut Reader<'_>) -> Option<SettingValue> {
    Some(match input.byte()? {
        b't' => SettingValue::Text(input.text()?),
        b'i' => SettingValue::Integer(i64::from_le_bytes(input.eight()?)),
        b'd' => SettingValue::Decimal(f64::from_le_bytes(input.eight()?)),
        b'f' => SettingValue::Flag(input.byte()? == 1),
        b'l' => {
            let count = input.number()?;
            SettingValue::Texts((0..count).map(|_| input.text()).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECS: &[Spec] = &[
        Spec::text("mode", "calm", ""),
        Spec::integer("limit", 100, "").between(1, 1000),
        Spec::decimal("factor", 1.5, "").between(1, 4),
        Spec::score("share", 300, "").between(100, 1000),
        Spec::flag("strict", true, ""),
        Spec::texts("folders", &["a", "b"], ""),
        Spec::integer("limits.*", 0, "").between(0, 9),
    ];

    fn reason(given: Setting) -> String {
        Settings::check(SPECS, &[given]).map_or_else(|error| error.message(), |_| "accepted".into())
    }

    #[test]
    fn unusable_settings_are_named() {
        for (given, message) in [
            (Setting::new("limt", 1), "setting `limt`: unknown; did you mean `limit`?"),
            (
                Setting::new("something", 1),
                "setting `something`: unknown; this plugin knows `mode`, `limit`, `factor`, `share`, `strict`, `folders`, `limits.*`",
            ),
            (Setting::new("mode", 1), "setting `mode`: is an integer, should be a text"),
            (Setting::new("limit", 1.0), "setting `limit`: is a decimal, should be an integer"),
            (Setting::new("limit", 0), "setting `limit`: should be from 1 to 1000"),
            (Setting::new("limit", 1001), "setting `limit`: should be from 1 to 1000"),
            (Setting::new("factor", 0.5), "setting `factor`: should be from 1 to 4"),
            (
                Setting::new("factor", f64::NAN),
                "setting `factor`: is a decimal, should be a finite decimal",
            ),
            (Setting::new("share", 0.05), "setting `share`: should be from 0.1 to 1"),
            (Setting::new("share", 2), "setting `share`: should be from 0.1 to 1"),
            (Setting::new("strict", "yes"), "setting `strict`: is a text, should be a flag"),
            (
                Setting::new("folders", "a"),
                "setting `folders`: is a text, should be a list of texts",
            ),
            (Setting::new("limits.a", 10), "setting `limits.a`: should be from 0 to 9"),
            (Setting::new("limits.", 1), "setting `limits.`: unknown; did you mean `limits.*`?"),
            (Setting::new("limit", 5), "accepted"),
            (Setting::new("factor", 2), "accepted"),
            (Setting::new("share", 1), "accepted"),
            (Setting::new("limits.a.b", 9), "accepted"),
        ] {
            assert_eq!(reason(given.clone()), message, "{given:?}");
        }
        let twice = [Setting::new("limit", 1), Setting::new("limit", 2)];
        assert_eq!(
            Settings::check(SPECS, &twice).unwrap_err().message(),
            "setting `limit`: given twice"
        );
        assert_eq!(
            Settings::check(&[], &[Setting::new("x", 1)]).unwrap_err().message(),
            "setting `x`: unknown; this plugin has no settings"
        );
    }

    #[test]
    fn defaults_and_given_values_survive_their_bytes() {
        let given = [
            Setting::new("folders", ["x", "ü"]),
            Setting::new("limits.files", 7),
            Setting::new("share", 0.29),
        ];
        let settings = Settings::read(&Settings::check(SPECS, &given).unwrap().to_bytes()).unwrap();
        assert_eq!(settings.text("mode").unwrap(), "calm");
        assert_eq!(settings.integer("limit").unwrap(), 100);
        assert_eq!(settings.decimal("factor").unwrap().to_bits(), 1.5_f64.to_bits());
        assert_eq!(settings.score("share").unwrap(), 290);
        assert!(settings.flag("strict").unwrap());
        assert_eq!(settings.texts("folders").unwrap(), ["x", "ü"]);
        assert_eq!(
            settings.table("limits").collect::<Vec<_>>(),
            [("files", &SettingValue::Integer(7))]
        );
        assert!(settings.text("limit").unwrap_err().message().contains("`limit`"));
    }

    #[test]
    fn foreign_bytes_are_refused() {
        let good = Settings::check(SPECS, &[]).unwrap().to_bytes();
        for end in 0..good.len() {
            assert!(
                matches!(Settings::read(&good[..end]), Err(Error::InvalidInput(_))),
                "cut at {end}"
            );
        }
        let longer = [good.as_slice(), &[0]].concat();
        let other_format = [&[2], &good[1..]].concat();
        let huge_count = [1, 255, 255, 255, 255];
        for bytes in [longer.as_slice(), &other_format, &huge_count] {
            assert!(Settings::read(bytes).is_err());
        }
    }
}
