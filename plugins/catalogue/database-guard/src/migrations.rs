//! Commands of frameworks and migration tools that reach a database without a statement: `rails
//! db:drop`, `prisma migrate reset`, `manage.py flush`, `alembic downgrade base`.

use portcullis_plugin::types::Command;

/// What such a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// It drops or empties the database, or takes all migrations back.
    Destroys,
    /// It changes it: migrates it, takes one migration back, loads data.
    Changes,
    /// It runs statements: those on its input, or of a file.
    Shell,
    /// It runs code that reaches the database.
    Code,
}

/// Tools that a package manager or an interpreter starts may stand behind these words.
const STARTERS: &[&str] = &[
    "npx", "yarn", "pnpm", "npm", "bun", "bunx", "run", "exec", "x", "dlx", "poetry", "pipenv",
    "uv", "python", "python3", "php", "bundle", "-m", "ruby", "node", "deno", "--", "composer",
    "dotnet",
];

/// The most words of a command that are looked at: this is asked of every command.
const MOST: usize = 32;

/// Returns what a command does, and the words that name it.
pub fn find(command: &Command) -> Option<(Task, String)> {
    let given = command.words.iter().map(|word| word.text.as_str());
    let words: Vec<&str> = [command.program.as_str()].into_iter().chain(given).take(MOST).collect();
    let start = words.iter().take_while(|word| STARTERS.contains(*word)).count();
    let rest = words.get(start..)?;
    let (tool, rest) = rest.split_first()?;
    let tool = tool.rsplit('/').next().unwrap_or(tool);
    let task = of_tool(tool, rest)?;
    let named: Vec<&str> =
        rest.iter().copied().filter(|word| !word.starts_with('-')).take(2).collect();
    Some((task, format!("{tool} {}", named.join(" ")).trim_end().to_owned()))
}

fn of_tool(tool: &str, words: &[&str]) -> Option<Task> {
    let operands: Vec<&str> = words
        .iter()
        .copied()
        .filter(|word| !word.starts_with('-') && !word.contains('='))
        .collect();
    let first = operands.first().copied().unwrap_or_default();
    let second = operands.get(1).copied().unwrap_or_default();
    let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
    if has(&["--help", "-h", "--dry-run", "--dump-sql", "--pretend", "--sql"]) {
        return None;
    }
    let destroys = |does: bool| does.then_some(Task::Destroys);
    let changes = |does: bool| does.then_some(Task::Changes);
    match tool {
        "rails" if matches!(first, "runner" | "r") => Some(of_code(words)),
        "rails" if matches!(first, "dbconsole" | "db") => Some(Task::Shell),
        "rails" | "rake" => operands.iter().find_map(|task| of_rake(task)),
        "prisma" => match (first, second) {
            ("migrate", "reset") => Some(Task::Destroys),
            ("db", "push") if has(&["--force-reset", "--accept-data-loss"]) => Some(Task::Destroys),
            ("migrate", "deploy" | "dev") | ("db", "push" | "seed") => Some(Task::Changes),
            ("db", "execute") => Some(Task::Shell),
            _ => None,
        },
        "manage.py" | "django-admin" => match first {
            "flush" | "reset_db" | "reset_schema" => Some(Task::Destroys),
            "migrate" if operands.last() == Some(&"zero") => Some(Task::Destroys),
            "migrate" | "loaddata" => Some(Task::Changes),
            "dbshell" => Some(Task::Shell),
            "shell" | "shell_plus" => Some(of_code(words)),
            _ => None,
        },
        "alembic" => match first {
            "downgrade" if second == "base" => Some(Task::Destroys),
            "upgrade" | "downgrade" | "stamp" => Some(Task::Changes),
            _ => None,
        },
        "flask" if matches!(first, "db" | "database") => match second {
            "downgrade" if operands.get(2) == Some(&"base") => Some(Task::Destroys),
            "drop" | "reset" => Some(Task::Destroys),
            "upgrade" | "downgrade" => Some(Task::Changes),
            _ => None,
        },
        "artisan" => match first {
            "migrate:fresh" | "migrate:reset" | "migrate:refresh" | "db:wipe" => {
                Some(Task::Destroys)
            }
            "migrate" | "migrate:rollback" | "db:seed" => Some(Task::Changes),
            _ => None,
        },
        "sequelize" | "sequelize-cli" => match first {
            "db:drop" | "db:migrate:undo:all" => Some(Task::Destroys),
            _ => changes(first.starts_with("db:migrate") || first.starts_with("db:seed")),
        },
        "typeorm" | "typeorm-ts-node-commonjs" | "typeorm-ts-node-esm" => match first {
            "schema:drop" => Some(Task::Destroys),
            "migration:run" | "migration:revert" | "schema:sync" => Some(Task::Changes),
            _ => None,
        },
        "mikro-orm" => match first {
            "schema:drop" | "schema:fresh" | "migration:fresh" => Some(Task::Destroys),
            _ => changes(matches!(first, "migration:up" | "migration:down" | "schema:update")),
        },
        "knex" => match first {
            "migrate:rollback" if has(&["--all"]) => Some(Task::Destroys),
            _ => changes(
                first.starts_with("migrate:")
                    && !matches!(
                        first,
                        "migrate:list"
                            | "migrate:status"
                            | "migrate:make"
                            | "migrate:currentVersion"
                    ),
            ),
        },
        "drizzle-kit" => match first {
            "push" if has(&["--force"]) => Some(Task::Destroys),
            _ => changes(matches!(first, "push" | "migrate")),
        },
        "mix" => match first {
            "ecto.drop" | "ecto.reset" => Some(Task::Destroys),
            _ => changes(matches!(first, "ecto.migrate" | "ecto.rollback")),
        },
        "diesel" => match (first, second) {
            ("database", "reset" | "drop") => Some(Task::Destroys),
            ("migration", "revert") if has(&["--all", "-a"]) => Some(Task::Destroys),
            ("migration", "run" | "revert" | "redo") => Some(Task::Changes),
            _ => None,
        },
        "sqlx" | "sea-orm-cli" => match (first, second) {
            ("database" | "db", "drop" | "reset") | ("migrate", "fresh" | "reset" | "refresh") => {
                Some(Task::Destroys)
            }
            ("migrate", "run" | "revert" | "up" | "down") => Some(Task::Changes),
            _ => None,
        },
        "goose" => destroys(operands.contains(&"reset"))
            .or(changes(has(&["up", "down", "redo", "up-to", "down-to"]))),
        "dbmate" => destroys(first == "drop")
            .or(changes(matches!(first, "up" | "down" | "migrate" | "rollback"))),
        "migrate" => {
            let all = operands.ends_with(&["down"]) && has(&["-all", "--all"])
                || operands.last() == Some(&"down");
            destroys(operands.contains(&"drop") || all)
                .or(changes(operands.contains(&"up") || operands.contains(&"down")))
        }
        "flyway" => {
            destroys(operands.contains(&"clean")).or(changes(operands.contains(&"migrate")))
        }
        "liquibase" => destroys(has(&["drop-all", "dropAll"])).or(changes(
            operands.iter().any(|word| word.starts_with("update") || word.starts_with("rollback")),
        )),
        "supabase" if first == "db" => match second {
            // Without a link it is the one in its own containers.
            "reset"
                if has(&["--linked"]) || words.iter().any(|word| word.starts_with("--db-url")) =>
            {
                Some(Task::Destroys)
            }
            "push" => Some(Task::Changes),
            _ => None,
        },
        "ef" => match (first, second) {
            ("database", "drop") => Some(Task::Destroys),
            ("database", "update") => {
                if operands.get(2) == Some(&"0") {
                    Some(Task::Destroys)
                } else {
                    Some(Task::Changes)
                }
            }
            _ => None,
        },
        "console" | "doctrine" => match first {
            "doctrine:database:drop" | "doctrine:schema:drop" | "orm:schema-tool:drop" => {
                Some(Task::Destroys)
            }
            "doctrine:migrations:migrate" | "doctrine:schema:update" => Some(Task::Changes),
            _ => None,
        },
        _ => None,
    }
}

/// Judges code by the calls that delete every row of a model.
fn of_code(words: &[&str]) -> Task {
    let deletes = words.iter().any(|word| {
        let all = [".delete_all", ".destroy_all", ".all().delete(", ".all.delete"];
        all.iter().any(|call| word.contains(call)) && !word.contains(".where(")
    });
    if deletes { Task::Destroys } else { Task::Code }
}

fn of_rake(task: &str) -> Option<Task> {
    let task = task.strip_prefix("app:").unwrap_or(task);
    let name = task.strip_prefix("db:")?;
    // `db:drop:primary` is one of several databases.
    let verb = name.split(':').next().unwrap_or_default();
    match (verb, name) {
        ("drop" | "reset" | "purge" | "truncate_all" | "wipe", _) | (_, "migrate:reset") => {
            Some(Task::Destroys)
        }
        ("schema" | "structure", "schema:load" | "structure:load") | ("setup" | "prepare", _) => {
            Some(Task::Changes)
        }
        ("migrate" | "rollback" | "seed" | "forward", _) if name != "migrate:status" => {
            Some(Task::Changes)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_their_verbs() {
        use Task::{Changes, Code, Destroys, Shell};
        for (line, task) in [
            ("rails db:drop", Some(Destroys)),
            ("rails db:drop:primary", Some(Destroys)),
            ("rails db:migrate:reset", Some(Destroys)),
            ("rails db:migrate", Some(Changes)),
            ("rails db:migrate:status", None),
            ("rails routes", None),
            ("npx prisma migrate reset --force", Some(Destroys)),
            ("yarn run prisma migrate deploy", Some(Changes)),
            ("prisma generate", None),
            ("prisma db push", Some(Changes)),
            ("prisma db push --accept-data-loss", Some(Destroys)),
            ("python manage.py flush --no-input", Some(Destroys)),
            ("python manage.py migrate app zero", Some(Destroys)),
            ("python manage.py migrate", Some(Changes)),
            ("python manage.py sqlflush", None),
            ("python -m alembic downgrade base", Some(Destroys)),
            ("alembic downgrade -1", Some(Changes)),
            ("alembic upgrade head --sql", None),
            ("php artisan migrate:fresh --seed", Some(Destroys)),
            ("php artisan migrate --pretend", None),
            ("php artisan serve", None),
            ("dotnet ef database drop -f", Some(Destroys)),
            ("dotnet ef database update", Some(Changes)),
            ("dotnet build", None),
            ("supabase db reset", None),
            ("supabase db reset --linked", Some(Destroys)),
            ("knex migrate:rollback --all", Some(Destroys)),
            ("knex migrate:list", None),
            ("flyway clean", Some(Destroys)),
            ("migrate -path db -database x drop -f", Some(Destroys)),
            ("php bin/console doctrine:schema:drop --force", Some(Destroys)),
            ("rails runner User.delete_all", Some(Destroys)),
            ("rails runner User.where(a:1).delete_all", Some(Code)),
            ("python manage.py shell -c User.objects.all().delete()", Some(Destroys)),
            ("python manage.py dbshell", Some(Shell)),
            ("npx prisma db execute --stdin", Some(Shell)),
            ("npm test", None),
        ] {
            let action = portcullis_plugin::testing::shell(line);
            let found = find(&action.shell().unwrap().commands[0]);
            assert_eq!(found.map(|(task, _)| task), task, "{line}");
        }
    }
}
