//! Packages that are fetched from a registry and run at once: `npx NAME`, `uvx NAME`, and `cargo
//! install NAME`, which runs what builds the program. A registry
//! vouches for nothing but the name, so one that neither the project declares nor everybody knows is
//! code that nobody here has chosen: a gap. What is installed instead is declared by that, and its
//! next run is the project's own.

use super::environment::UNKNOWN;
use super::expand::Field;
use super::{Setting, Walker};
use crate::catalogue;
use crate::places::Place;

/// The kinds of such packages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Registry {
    /// Of Node.
    Node,
    /// Of Node, and `create-` belongs to its name.
    Starter,
    Python,
    /// Of Rust: installing a program builds it, and that runs its code.
    Rust,
}

/// Publishers whose packages everybody knows.
const SCOPES: &[&str] = &[
    "@11ty/",
    "@angular/",
    "@angular-eslint/",
    "@anthropic-ai/",
    "@apollo/",
    "@arethetypeswrong/",
    "@ast-grep/",
    "@astrojs/",
    "@aws-amplify/",
    "@aws-cdk/",
    "@azure/",
    "@babel/",
    "@biomejs/",
    "@capacitor/",
    "@changesets/",
    "@cloudflare/",
    "@commitlint/",
    "@cyclonedx/",
    "@docusaurus/",
    "@electron-forge/",
    "@electron/",
    "@expo/",
    "@github/",
    "@google/",
    "@google-cloud/",
    "@graphql-codegen/",
    "@graphql-eslint/",
    "@ionic/",
    "@jest/",
    "@mermaid-js/",
    "@microsoft/",
    "@modelcontextprotocol/",
    "@nestjs/",
    "@next/",
    "@nuxt/",
    "@openai/",
    "@openapitools/",
    "@playwright/",
    "@prettier/",
    "@prisma/",
    "@react-native-community/",
    "@react-native/",
    "@redocly/",
    "@remix-run/",
    "@rollup/",
    "@sentry/",
    "@shopify/",
    "@std/",
    "@storybook/",
    "@stripe/",
    "@stryker-mutator/",
    "@supabase/",
    "@svelte/",
    "@sveltejs/",
    "@svgr/",
    "@swc/",
    "@tailwindcss/",
    "@tanstack/",
    "@tauri-apps/",
    "@types/",
    "@typescript-eslint/",
    "@vercel/",
    "@vitejs/",
    "@vitest/",
    "@vscode/",
    "@vue/",
    "@yarnpkg/",
];

/// Packages of Node that everybody knows and that are no programs of the catalogue.
const NODE: &[&str] = &[
    "allure-commandline",
    "autocannon",
    "auto-changelog",
    "blitz",
    "c8",
    "cdk",
    "changeset",
    "clinic",
    "commitlint",
    "concurrently",
    "cpy-cli",
    "cross-env",
    "cspell",
    "depcheck",
    "dependency-cruiser",
    "dotenv-cli",
    "dpdm",
    "editorconfig-checker",
    "electron-mocha",
    "envinfo",
    "es-check",
    "firebase-tools",
    "gh-pages",
    "git-cz",
    "gitmoji-cli",
    "htmlhint",
    "htmlnano",
    "i18next-parser",
    "jscodeshift",
    "jscpd",
    "json-schema-to-typescript",
    "json-server",
    "jsonlint",
    "kill-port",
    "knip",
    "license-checker",
    "lighthouse",
    "madge",
    "markdown-link-check",
    "markdownlint",
    "markdownlint-cli",
    "markdownlint-cli2",
    "mkdirp",
    "msw",
    "ncu",
    "netlify-cli",
    "npkill",
    "npm-check",
    "npm-check-updates",
    "npm-run-all",
    "npm-run-all2",
    "npmpackagejsonlint",
    "openapi-typescript",
    "openapi-typescript-codegen",
    "orval",
    "ovsx",
    "oxlint",
    "patch-package",
    "pino-pretty",
    "pkg",
    "pkg-pr-new",
    "postcss-cli",
    "publint",
    "purgecss",
    "quicktype",
    "react-doctor",
    "release-it",
    "retypeapp",
    "sass",
    "semver",
    "serverless",
    "shadcn",
    "shadcn-ui",
    "shx",
    "size-limit",
    "skott",
    "sort-package-json",
    "source-map-explorer",
    "sql-formatter",
    "standard-version",
    "start-server-and-test",
    "stylelint",
    "supabase",
    "svg-sprite",
    "svgo",
    "syncpack",
    "tailwindcss",
    "taze",
    "ts-prune",
    "tsc-alias",
    "tsd",
    "tslint",
    "type-coverage",
    "typechain",
    "typescript",
    "unimported",
    "verdaccio",
    "vsce",
    "wait-on",
    "webpack-bundle-analyzer",
    "webpack-cli",
    "webpack-dev-server",
    "wrangler",
    "xo",
    "yalc",
    "yarn-deduplicate",
];

/// Starters that everybody knows, without `create-`.
const STARTERS: &[&str] = &[
    "astro",
    "cloudflare",
    "discord-bot",
    "docusaurus",
    "electron-app",
    "elysia",
    "eslint-config",
    "expo",
    "expo-app",
    "fastify",
    "gatsby",
    "hono",
    "jest-runner",
    "mastra",
    "next-app",
    "nuxt",
    "nuxt-app",
    "nx-workspace",
    "payload-app",
    "playwright",
    "preact",
    "qwik",
    "react-app",
    "react-native-app",
    "react-router",
    "remix",
    "rsbuild",
    "rspack",
    "sanity",
    "solid",
    "storybook",
    "strapi",
    "strapi-app",
    "svelte",
    "t3-app",
    "tauri-app",
    "tsrouter-app",
    "turbo",
    "typescript-app",
    "video",
    "vite",
    "vite-extra",
    "vitepress",
    "vue",
    "wxt",
    "yarn",
];

/// Packages of Python that everybody knows and that are no programs of the catalogue.
const PYTHON: &[&str] = &[
    "autoflake",
    "bandit",
    "basedpyright",
    "blacken-docs",
    "build",
    "bump-my-version",
    "bump2version",
    "bumpver",
    "check-jsonschema",
    "check-manifest",
    "codespell",
    "commitizen",
    "cookiecutter",
    "copier",
    "cruft",
    "deptry",
    "djlint",
    "docformatter",
    "flynt",
    "griffe",
    "httpie",
    "interrogate",
    "isort",
    "jupyter",
    "jupyterlab",
    "licensecheck",
    "mdformat",
    "mkdocs-material",
    "notebook",
    "pip-audit",
    "pip-licenses",
    "pip-tools",
    "pipdeptree",
    "pycln",
    "pycodestyle",
    "pydoclint",
    "pydocstyle",
    "pyproject-fmt",
    "pyupgrade",
    "refurb",
    "reuse",
    "rich-cli",
    "safety",
    "semgrep",
    "sqlfluff",
    "ssort",
    "sphinx",
    "towncrier",
    "twine",
    "ty",
    "validate-pyproject",
    "vermin",
    "vulture",
    "yamllint",
    "yt-dlp",
    "zizmor",
];

/// Crates that everybody knows and that are no programs of the catalogue.
const RUST: &[&str] = &[
    "alacritty",
    "ast-grep",
    "atuin",
    "b3sum",
    "bandwhich",
    "bat",
    "bindgen-cli",
    "bottom",
    "broot",
    "cargo-about",
    "cargo-afl",
    "cargo-audit",
    "cargo-binstall",
    "cargo-binutils",
    "cargo-bloat",
    "cargo-c",
    "cargo-cache",
    "cargo-careful",
    "cargo-chef",
    "cargo-component",
    "cargo-criterion",
    "cargo-cyclonedx",
    "cargo-deb",
    "cargo-deny",
    "cargo-dist",
    "cargo-edit",
    "cargo-espflash",
    "cargo-expand",
    "cargo-features-manager",
    "cargo-flamegraph",
    "cargo-fuzz",
    "cargo-geiger",
    "cargo-generate",
    "cargo-generate-rpm",
    "cargo-hack",
    "cargo-hakari",
    "cargo-insta",
    "cargo-lambda",
    "cargo-leptos",
    "cargo-license",
    "cargo-limit",
    "cargo-llvm-cov",
    "cargo-llvm-lines",
    "cargo-machete",
    "cargo-make",
    "cargo-modules",
    "cargo-msrv",
    "cargo-mutants",
    "cargo-ndk",
    "cargo-nextest",
    "cargo-outdated",
    "cargo-pgrx",
    "cargo-public-api",
    "cargo-readme",
    "cargo-release",
    "cargo-semver-checks",
    "cargo-show-asm",
    "cargo-sort",
    "cargo-spellcheck",
    "cargo-sweep",
    "cargo-tarpaulin",
    "cargo-udeps",
    "cargo-update",
    "cargo-vet",
    "cargo-wasi",
    "cargo-watch",
    "cargo-workspaces",
    "cargo-xwin",
    "cargo-zigbuild",
    "cbindgen",
    "choose",
    "create-tauri-app",
    "cross",
    "diesel_cli",
    "difftastic",
    "dioxus-cli",
    "dprint",
    "drill",
    "du-dust",
    "dua-cli",
    "elf2uf2-rs",
    "espflash",
    "espup",
    "evcxr_jupyter",
    "evcxr_repl",
    "exa",
    "eza",
    "fd-find",
    "flamegraph",
    "flip-link",
    "fnm",
    "git-cliff",
    "git-delta",
    "gitui",
    "gping",
    "grcov",
    "grex",
    "hexyl",
    "honggfuzz",
    "hyperfine",
    "inferno",
    "jaq",
    "jj-cli",
    "jless",
    "just",
    "kani-verifier",
    "ldproxy",
    "leptosfmt",
    "lsd",
    "lychee",
    "maturin",
    "mdbook",
    "mdbook-admonish",
    "mdbook-linkcheck",
    "mdbook-mermaid",
    "mdbook-toc",
    "miniserve",
    "mise",
    "navi",
    "nu",
    "oha",
    "ouch",
    "pastel",
    "probe-rs-tools",
    "procs",
    "protoc-gen-prost",
    "pueue",
    "qsv",
    "rage",
    "ripgrep",
    "ruff",
    "rust-script",
    "rustfilt",
    "rustic-rs",
    "samply",
    "sccache",
    "sd",
    "sea-orm-cli",
    "sequoia-sq",
    "sqlx-cli",
    "starship",
    "stylua",
    "svd2rust",
    "taplo-cli",
    "tauri-cli",
    "tealdeer",
    "tokei",
    "topgrade",
    "tree-sitter-cli",
    "trippy",
    "trunk",
    "typos-cli",
    "uv",
    "wac-cli",
    "wasm-bindgen-cli",
    "wasm-opt",
    "wasm-pack",
    "wasm-tools",
    "wasmtime-cli",
    "watchexec-cli",
    "websocat",
    "wit-bindgen-cli",
    "xh",
    "xsv",
    "zellij",
    "zola",
    "zoxide",
];

/// Files in which projects declare packages.
const NODE_FILES: &[&str] = &["package.json"];
const RUST_FILES: &[&str] = &["Cargo.toml"];
const PYTHON_FILES: &[&str] = &["pyproject.toml", "requirements.txt", "requirements-dev.txt"];

impl Walker<'_> {
    /// Notes a package that is run from a registry, and that neither the project declares nor
    /// everybody knows.
    pub(super) fn note_undeclared(&mut self, registry: Registry, field: &Field, setting: &Setting) {
        let name = name_of(&field.text, registry);
        let path = name.starts_with(['.', '/', '~', '-']) || name.contains(UNKNOWN);
        if name.is_empty() || path || is_known(&name, registry) {
            return;
        }
        // The files of another machine, which may declare it, cannot be looked up.
        if setting.place != Place::Here || !self.declares(&name, registry) {
            self.out.gap(&format!(
                "`{name}` is fetched from a registry and run at once, and the project does not declare it"
            ));
        }
    }

    /// Returns true for a package that the project has, or says that it needs.
    fn declares(&mut self, name: &str, registry: Registry) -> bool {
        let (folder, project) = (self.env.folder.clone(), self.project.to_owned());
        let (files, programs) = match registry {
            Registry::Python => (PYTHON_FILES, ".venv/bin"),
            Registry::Node | Registry::Starter => (NODE_FILES, "node_modules/.bin"),
            Registry::Rust => (RUST_FILES, "target/bin"),
        };
        let mut places = vec![folder];
        if places.first() != Some(&project) {
            places.push(project);
        }
        places.iter().any(|place| {
            let place = place.trim_end_matches('/');
            files.iter().any(|file| {
                let text = self.text_on_disk(&format!("{place}/{file}"));
                text.is_some_and(|text| names(&text, name))
            }) || !name.contains('/') && self.is_there(&format!("{place}/{programs}/{name}"))
        })
    }
}

/// Returns true for a text that names a package, not as a part of a longer name.
fn names(text: &str, name: &str) -> bool {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '@');
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (text.get(..at).unwrap_or(""), text.get(at + name.len()..));
        !before.ends_with(joins) && !after.unwrap_or("").starts_with(joins)
    })
}

/// Returns the name in `@scope/name@1.2`, `name[extra]==1.2`.
fn name_of(text: &str, registry: Registry) -> String {
    let text = text.strip_prefix("npm:").or_else(|| text.strip_prefix("jsr:")).unwrap_or(text);
    let text = text.to_ascii_lowercase();
    if registry == Registry::Python {
        return text
            .split(['=', '<', '>', '~', '!', '[', '@', ';', ' '])
            .next()
            .unwrap_or("")
            .to_owned();
    }
    // The first `@` belongs to the publisher's name.
    let start = usize::from(text.starts_with('@'));
    let end = text.get(start..).and_then(|rest| rest.find('@')).map_or(text.len(), |at| at + start);
    text.get(..end).unwrap_or("").to_owned()
}

fn is_known(name: &str, registry: Registry) -> bool {
    match registry {
        Registry::Python => PYTHON.contains(&name) || catalogue::is_program(name),
        Registry::Rust => RUST.contains(&name) || catalogue::is_program(name),
        Registry::Starter => {
            STARTERS.contains(&name) || SCOPES.iter().any(|scope| is_of(name, scope))
        }
        Registry::Node => {
            let starter = name.strip_prefix("create-").is_some_and(|name| STARTERS.contains(&name));
            starter
                || NODE.contains(&name)
                || SCOPES.iter().any(|scope| is_of(name, scope))
                || catalogue::is_program(name)
        }
    }
}

/// Returns true for a package of a publisher; a starter may be the publisher's only one.
fn is_of(name: &str, scope: &str) -> bool {
    name.starts_with(scope) || scope.strip_suffix('/') == Some(name)
}
