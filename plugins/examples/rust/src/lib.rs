//! Asks before an applied database migration is changed.
//!
//! Whoever ran a migration has its old text; changing the file changes nothing for them, and
//! everything for those who run it later. New files in the folder are welcome.

use portcullis_plugin::risk_calculator::*;
use portcullis_plugin::types::{Entry, Path};

/// The plugin.
pub struct ProtectMigrations;

impl RiskCalculator for ProtectMigrations {
    const DESCRIPTOR: Descriptor = Descriptor::new(
        "protect-migrations",
        env!("CARGO_PKG_VERSION"),
        "Asks before an applied database migration is changed.",
    )
    .severity(Severity::High)
    .settings(&[Spec::texts(
        "folders",
        &["migrations"],
        "names of the folders that hold migrations",
    )]);

    fn assess(prepared: &[u8], action: &Action, _: &Context) -> Result<Assessment, Error> {
        let settings = Settings::read(prepared)?;
        let folders = settings.texts("folders")?;
        let applied =
            action.changed().filter(|path| path.entry != Entry::Absent && is_in(path, folders));
        Ok(applied.fold(Assessment::nothing(), |assessment, path| {
            let ruling =
                Ruling::ask("protect_migrations", "an applied migration must stay as it was run")
                    .severity(Severity::High)
                    .because(Evidence::path(&path.text))
                    .instead("write a new migration that makes the change");
            assessment.ruling(ruling)
        }))
    }
}

portcullis_plugin::export!(risk-calculator: ProtectMigrations);

/// Returns true if one of the path's folders has one of the names; a glob may match any file in it.
fn is_in(path: &Path, folders: &[String]) -> bool {
    path.text.rsplit_once('/').is_some_and(|(parents, _)| {
        parents.split('/').any(|name| folders.iter().any(|folder| folder == name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_plugin::testing::{self, BuildAction};

    fn asks(settings: &[Setting], action: &Action) -> bool {
        let prepared = ProtectMigrations::prepare(settings).unwrap();
        let assessment = ProtectMigrations::assess(&prepared, action, &testing::context()).unwrap();
        assert!(assessment.rulings.iter().all(|ruling| ruling.objection == Objection::Ask));
        !assessment.rulings.is_empty()
    }

    #[test]
    fn applied_migrations_are_protected() {
        for (action, expected) in [
            (testing::file_edit("db/migrations/0001.sql", "int", "bigint"), true),
            (testing::file_delete("migrations/0001.sql"), true),
            (testing::shell("rm migrations/*.sql").deletes("migrations/*.sql"), true),
            (testing::file_write("db/migrations/0002.sql", "create table a (b int)"), false),
            (testing::file_read("db/migrations/0001.sql"), false),
            (testing::file_edit("src/migrations.rs", "a", "b"), false),
            (testing::file_edit("old_migrations/0001.sql", "a", "b"), false),
        ] {
            assert_eq!(asks(&[], &action), expected, "{}", action.parameters);
        }
    }

    #[test]
    fn the_folders_are_a_setting() {
        let folders = [Setting::new("folders", ["schema"])];
        assert!(asks(&folders, &testing::file_edit("schema/1.sql", "a", "b")));
        assert!(!asks(&folders, &testing::file_edit("migrations/1.sql", "a", "b")));
        let error = ProtectMigrations::prepare(&[Setting::new("folder", "schema")]).unwrap_err();
        assert_eq!(error.message(), "setting `folder`: unknown; did you mean `folders`?");
    }
}
