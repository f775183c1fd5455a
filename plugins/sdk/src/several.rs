//! Several plugins of one kind in one component.
//!
//! This is for plugins that ship with a host: they share most of their code, and a host that asks
//! eight of them for each action loads one component in place of eight. They share nothing else,
//! since each call gets an instance of its own. A plugin file that a user installs holds one
//! plugin; a host refuses one that holds more.
//!
//! The host selects the plugin with the first setting of `prepare`, [`CHOICE`]; the bytes that
//! `prepare` returns begin with the plugin's index.

use crate::types::{Error, Setting, SettingValue};

/// The key of the first setting, whose value is a plugin's name.
pub const CHOICE: &str = "portcullis:plugin";

/// One of the plugins.
///
/// ```
/// use portcullis_plugin::several::{CHOICE, Member, chosen, prepare};
/// use portcullis_plugin::types::{Error, Setting};
///
/// const MEMBERS: &[Member<fn(&[u8]) -> usize>] = &[
///     Member { name: "one", prepare: |_| Ok(vec![1]), answer: |prepared| prepared.len() },
///     Member { name: "two", prepare: |_| Ok(vec![1, 2]), answer: |prepared| prepared.len() },
/// ];
/// let prepared = prepare(MEMBERS, &[Setting::new(CHOICE, "two")])?;
/// let (answer, prepared) = chosen(MEMBERS, &prepared)?;
/// assert_eq!(answer(prepared), 2);
/// assert!(prepare(MEMBERS, &[Setting::new(CHOICE, "three")]).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Member<F> {
    /// The name in its descriptor.
    pub name: &'static str,
    /// Its `prepare`.
    pub prepare: fn(&[Setting]) -> Result<Vec<u8>, Error>,
    /// The function that answers the question of its kind.
    pub answer: F,
}

/// Lets the plugin that the first setting names prepare itself with the other settings.
///
/// ```
/// use portcullis_plugin::several::{CHOICE, Member, prepare};
/// use portcullis_plugin::types::{Error, Setting};
///
/// const MEMBERS: &[Member<()>] = &[Member { name: "one", prepare: |_| Ok(vec![9]), answer: () }];
/// assert_eq!(prepare(MEMBERS, &[Setting::new(CHOICE, "one")])?, [0, 9]);
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Fails if the first setting names none of them, or the plugin refuses its settings.
pub fn prepare<F>(members: &[Member<F>], settings: &[Setting]) -> Result<Vec<u8>, Error> {
    let chosen = match settings.split_first() {
        Some((Setting { key, value: SettingValue::Text(name) }, rest)) if key == CHOICE => {
            Some((name, rest))
        }
        _ => None,
    };
    let (name, rest) = chosen.ok_or_else(|| {
        Error::failed(&format!(
            "the component holds several plugins, and no first setting `{CHOICE}` names one"
        ))
    })?;
    let found = members.iter().zip(0_u8..).find(|(member, _)| member.name == name);
    let (member, place) =
        found.ok_or_else(|| Error::failed(&format!("the component holds no plugin `{name}`")))?;
    let mut prepared = (member.prepare)(rest)?;
    prepared.insert(0, place);
    Ok(prepared)
}

/// Returns the plugin that [`prepare`] chose, and the bytes that it prepared.
///
/// ```
/// use portcullis_plugin::several::{Member, chosen};
/// use portcullis_plugin::types::Error;
///
/// const MEMBERS: &[Member<&str>] = &[Member { name: "one", prepare: |_| Ok(vec![9]), answer: "the first" }];
/// assert_eq!(chosen(MEMBERS, &[0, 9])?, (&"the first", &[9][..]));
/// assert!(chosen(MEMBERS, &[]).is_err());
/// # Ok::<(), Error>(())
/// ```
///
/// # Errors
/// Fails if these are not bytes that [`prepare`] returned.
pub fn chosen<'a, F>(
    members: &'a [Member<F>],
    prepared: &'a [u8],
) -> Result<(&'a F, &'a [u8]), Error> {
    let (place, rest) = prepared
        .split_first()
        .ok_or_else(|| Error::input("`prepared` is not what this component writes"))?;
    let member = members
        .get(usize::from(*place))
        .ok_or_else(|| Error::input("`prepared` names no plugin of this component"))?;
    Ok((&member.answer, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Ask = fn(&[u8]) -> usize;

    const MEMBERS: &[Member<Ask>] = &[
        Member {
            name: "keys",
            prepare: |settings| {
                Ok(settings.iter().flat_map(|setting| setting.key.bytes()).collect())
            },
            answer: |prepared| prepared.len(),
        },
        Member { name: "none", prepare: |_| Err(Error::failed("no")), answer: |_| 0 },
        Member {
            name: "fixed",
            prepare: |_| Ok(Vec::new()),
            answer: |prepared| 100 + prepared.len(),
        },
    ];

    fn asked(settings: &[Setting]) -> Result<usize, String> {
        let prepared = prepare(MEMBERS, settings).map_err(|error| error.message())?;
        chosen(MEMBERS, &prepared)
            .map(|(answer, prepared)| answer(prepared))
            .map_err(|error| error.message())
    }

    #[test]
    fn the_first_setting_chooses() {
        let choice = |name: &str| Setting::new(CHOICE, name);
        for (settings, expected) in [
            (vec![choice("keys")], Ok(0)),
            (vec![choice("keys"), Setting::new("ab", 1)], Ok(2)),
            (vec![choice("fixed"), Setting::new("ab", 1)], Ok(100)),
            (vec![choice("keys"), choice("fixed")], Ok(CHOICE.len())),
            (vec![choice("none")], Err("no")),
            (vec![choice("other")], Err("the component holds no plugin `other`")),
            (
                vec![Setting::new("ab", 1), choice("keys")],
                Err(
                    "the component holds several plugins, and no first setting `portcullis:plugin` names one",
                ),
            ),
            (
                vec![],
                Err(
                    "the component holds several plugins, and no first setting `portcullis:plugin` names one",
                ),
            ),
            (
                vec![Setting::new(CHOICE, 1)],
                Err(
                    "the component holds several plugins, and no first setting `portcullis:plugin` names one",
                ),
            ),
        ] {
            assert_eq!(asked(&settings), expected.map_err(str::to_owned), "{settings:?}");
        }
    }

    #[test]
    fn foreign_prepared_data_is_refused() {
        for prepared in [&[][..], &[3], &[255, 1]] {
            assert!(chosen(MEMBERS, prepared).is_err(), "{prepared:?}");
        }
    }
}
