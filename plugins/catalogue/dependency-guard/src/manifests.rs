//! The files in which a project says which packages it needs, and from where.

mod lines;
mod package_json;
mod settings_files;
mod tables;

use crate::edits::Edit;
use crate::packages::Package;
use crate::wishes::Wish;

/// A file that is read, by its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    PackageJson,
    ComposerJson,
    Pyproject,
    Pipfile,
    CargoToml,
    CargoConfig,
    Requirements,
    GoMod,
    Gemfile,
    Project,
    NodeSettings,
    PythonSettings,
    NugetSettings,
    Notebook,
}

/// Returns true if a path is that of a file that is read.
pub fn is_manifest(path: &str) -> bool {
    find_form(path).is_some()
}

/// Returns what an edit of a manifest wants that it did not want before.
pub fn list_wishes(edit: &Edit<'_>) -> Vec<Wish> {
    let Some(form) = find_form(&edit.path) else { return Vec::new() };
    let mut wishes = Vec::new();
    read(form, &edit.new, &mut wishes);
    if let Some(old) = edit.old.as_deref().filter(|old| !old.is_empty()) {
        let mut known = Vec::new();
        read(form, old, &mut known);
        if form == Form::NodeSettings {
            settings_files::find_lost_protection(old, &edit.new, &mut wishes);
        }
        let known = Known::sort(&known);
        wishes.retain(|wish| !known.has(wish));
    }
    wishes
}

/// What a manifest wanted before. Two long manifests are compared in one call, so that packages are
/// looked up by name.
struct Known<'a> {
    packages: Vec<&'a Package>,
    others: Vec<&'a Wish>,
}

impl<'a> Known<'a> {
    fn sort(wishes: &'a [Wish]) -> Self {
        let (mut packages, mut others) = (Vec::new(), Vec::new());
        for wish in wishes {
            match wish {
                Wish::Add(package) => packages.push(package),
                other => others.push(other),
            }
        }
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        Self { packages, others }
    }

    /// Returns true if a wish was there before. Another version of a package is no new package.
    fn has(&self, wish: &Wish) -> bool {
        let Wish::Add(new) = wish else { return self.others.contains(&wish) };
        let first = self.packages.partition_point(|old| old.name < new.name);
        let mut same = self.packages.iter().skip(first).take_while(|old| old.name == new.name);
        same.any(|old| old.origin == new.origin && (new.pinned || !old.pinned))
    }
}

fn find_form(path: &str) -> Option<Form> {
    // Folders of installed packages hold other people's manifests.
    if path
        .split(['/', '\\'])
        .any(|part| matches!(part, "node_modules" | "vendor" | "site-packages"))
    {
        return None;
    }
    let name = path.rsplit(['/', '\\']).next()?;
    let lower = name.to_ascii_lowercase();
    let form = match lower.as_str() {
        "package.json" => Form::PackageJson,
        "composer.json" => Form::ComposerJson,
        "pyproject.toml" => Form::Pyproject,
        "pipfile" => Form::Pipfile,
        "cargo.toml" => Form::CargoToml,
        "config.toml" | "config" if path.contains(".cargo/") => Form::CargoConfig,
        "go.mod" => Form::GoMod,
        "gemfile" | "gems.rb" => Form::Gemfile,
        "packages.config" | "directory.packages.props" | "directory.build.props" => Form::Project,
        ".npmrc" | ".yarnrc" | ".yarnrc.yml" | "pnpm-workspace.yaml" | "bunfig.toml" => {
            Form::NodeSettings
        }
        "pip.conf" | "pip.ini" | "uv.toml" => Form::PythonSettings,
        "nuget.config" => Form::NugetSettings,
        _ if is_requirements(&lower, path) => Form::Requirements,
        _ if lower.ends_with(".gemspec") => Form::Gemfile,
        _ if [".csproj", ".fsproj", ".vbproj"].iter().any(|end| lower.ends_with(end)) => {
            Form::Project
        }
        _ if lower.ends_with(".ipynb") => Form::Notebook,
        _ => return None,
    };
    Some(form)
}

fn is_requirements(name: &str, path: &str) -> bool {
    let is_list = name.ends_with(".txt") || name.ends_with(".in");
    let in_folder = path.rsplit(['/', '\\']).nth(1) == Some("requirements");
    is_list
        && (name.starts_with("requirements")
            || name.starts_with("constraints")
            || name.ends_with("requirements.txt")
            || in_folder)
}

fn read(form: Form, text: &str, wishes: &mut Vec<Wish>) {
    match form {
        Form::PackageJson => package_json::read(text, wishes),
        Form::ComposerJson => package_json::read_composer(text, wishes),
        Form::Pyproject | Form::Pipfile => tables::read_python(text, wishes),
        Form::CargoToml => tables::read_cargo(text, wishes),
        Form::CargoConfig => tables::read_cargo_settings(text, wishes),
        Form::Requirements => lines::read_requirements(text, wishes),
        Form::GoMod => lines::read_go_mod(text, wishes),
        Form::Gemfile => lines::read_gemfile(text, wishes),
        Form::Project => lines::read_project(text, wishes),
        Form::NodeSettings => settings_files::read_node(text, wishes),
        Form::PythonSettings => settings_files::read_python(text, wishes),
        Form::NugetSettings => lines::read_nuget_settings(text, wishes),
        Form::Notebook => lines::read_notebook(text, wishes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_are_known_by_their_names() {
        for (path, expected) in [
            ("/project/package.json", true),
            ("web/package.json", true),
            ("/project/node_modules/a/package.json", false),
            ("/project/requirements-dev.txt", true),
            ("/project/requirements/base.txt", true),
            ("/project/notes.txt", false),
            ("/project/.cargo/config.toml", true),
            ("/project/config.toml", false),
            ("/project/App.csproj", true),
            ("/project/src/main.rs", false),
        ] {
            assert_eq!(is_manifest(path), expected, "{path}");
        }
    }
}
