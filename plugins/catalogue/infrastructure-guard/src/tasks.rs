//! Task runners and scripts whose words say that they deploy or destroy something: `make deploy
//! ENV=prod`, `npm run deploy:prod`, `./teardown.sh prod`. Where the host could read the recipe, its
//! commands are judged instead.

use crate::deeds::Deed;
use portcullis_plugin::types::Command;

/// Returns what the words of a task say that it does; nothing for anything that is no task.
pub fn deed(command: &Command) -> Deed {
    let program = command.program.as_str();
    let is_script = is_script(program);
    if !is_script && !is_runner(program) {
        return Deed::Nothing;
    }
    // The first words name the task; what follows are its arguments.
    let tasks = command.words.iter().map(|word| word.text.as_str());
    let named = is_script.then_some(program).into_iter().chain(tasks.take(4));
    let mut found = Deed::Nothing;
    for part in named.flat_map(|word| word.split(|c: char| !c.is_ascii_alphanumeric())) {
        match part {
            // A rehearsal, whatever it rehearses.
            "plan" | "diff" | "preview" | "check" | "dry" | "help" | "validate" | "lint"
            | "test" | "tests" | "status" | "logs" | "local" => return Deed::Nothing,
            "destroy" | "teardown" | "undeploy" => found = Deed::Destroy,
            "deploy" | "apply" | "rollback" | "promote" | "provision" => {
                found = found.max(Deed::Change);
            }
            _ => {}
        }
    }
    found
}

/// Returns how to call a task in a message.
pub fn name(command: &Command) -> String {
    let mut name = command.program.clone();
    for word in command.words.iter().take(2) {
        name.push(' ');
        name.push_str(&portcullis_plugin::text::cut(&word.text, 40));
    }
    name
}

fn is_runner(program: &str) -> bool {
    matches!(
        program,
        "make"
            | "gmake"
            | "just"
            | "task"
            | "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "invoke"
            | "inv"
            | "mage"
            | "rake"
            | "earthly"
            | "nx"
            | "turbo"
            | "gradle"
            | "gradlew"
            | "dagger"
            | "fab"
            | "cap"
            | "mise"
    )
}

fn is_script(program: &str) -> bool {
    program.ends_with(".sh") || program.ends_with(".bash")
}
