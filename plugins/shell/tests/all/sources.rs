//! Where packages come from: sources that nobody vouches for are code that nobody has read, in
//! every spelling; the registries of a community, and the project itself, are not.

use crate::{effects, reading};
use portcullis_shell_reader::types::Coverage;

/// Sources that nobody vouches for, and the calls that install from them.
const FOREIGN: &[(&[&str], &[&str])] = &[
    (
        &[
            "git+https://host.example/a.git",
            "git+ssh://git@host.example/a.git@v1",
            "https://host.example/a.tar.gz",
            "http://host.example/a.whl",
            "'a @ https://host.example/a.whl'",
            "'a@git+https://host.example/a'",
            "svn+https://host.example/a",
        ],
        &[
            "pip install {}",
            "pip3 install -U {}",
            "pip install --user -e {}",
            "pip install --editable={}",
            "pip install b {} c",
            "python3 -m pip install {}",
            "pipx install {}",
            "uv pip install {}",
            "uv add {}",
            "poetry add {}",
            "pdm add {}",
            "pipenv install {}",
            "uv tool install {}",
            "pip download {}",
        ],
    ),
    (
        &["http://host.example/simple", "https://host.example/simple", "http://pypi.org/simple"],
        &[
            "pip install --index-url {} a",
            "pip install --index-url={} a",
            "pip install -i {} a",
            "pip install -i{} a",
            "pip install --extra-index-url {} a",
            "pip install --find-links {} a",
            "PIP_INDEX_URL={} pip install a",
            "export PIP_EXTRA_INDEX_URL={}; pip install a",
            "env UV_INDEX_URL={} uv sync",
            "uv pip install --index-url {} a",
            "pip config set global.index-url {}",
            "pip config set install.find-links {}",
            "poetry source add x {}",
            "npm config set registry {}",
            "npm config set registry={}",
            "npm config set @a:registry {}",
            "npm set registry {}",
            "yarn config set npmRegistryServer {}",
            "pnpm config set registry {}",
            "npm i --registry {} a",
            "npm --registry={} ci",
            "NPM_CONFIG_REGISTRY={} npm ci",
            "npx --registry {} a",
            "GOPROXY={},direct go build ./...",
            "go env -w GOPROXY={}",
            "gem install --source {} a",
            "gem sources --add {}",
            "bundle config set mirror.https://rubygems.org {}",
            "helm repo add a {}",
            "flatpak remote-add a {}",
        ],
    ),
    (
        &[
            "user/repo",
            "github:user/repo",
            "gitlab:user/repo",
            "gist:123",
            "git+https://host.example/a.git",
            "git@github.com:a/b.git",
            "https://host.example/a.tgz",
            "http://host.example/a.tgz",
            "a@https://host.example/a.tgz",
            "a@github:user/repo",
            "@a/b@user/repo",
        ],
        &[
            "npm i {}",
            "npm install -D {}",
            "npm install --save-dev a {}",
            "npm add {}",
            "pnpm add {}",
            "yarn add {}",
            "yarn global add {}",
            "bun add {}",
        ],
    ),
    (
        &["https://host.example/a"],
        &[
            "cargo install --git {}",
            "cargo install --git={} a",
            "cargo add --git {} a",
            "cargo install --index {} a",
            "cargo +nightly install --git {}",
            "cargo +1.80.0 install --git={} a",
            "rustup run nightly cargo install --git {}",
            "rustup run --install stable cargo add --git {} a",
            "cargo binstall --git {} a",
            "nix run {}",
            "helm plugin install {}",
            "brew tap a/b {}",
            "brew install {}",
            "apk add -X {} a",
        ],
    ),
    (&["host.example/a@latest", "github.com/user/repo/cmd/x@v1"], &["go install {}"]),
    (
        &["evil", "https://host.example/c"],
        &[
            "conda install -c {} a",
            "conda create -n x --channel {} a",
            "mamba install -c {} a",
            "conda config --add channels {}",
            "CONDA_CHANNELS={} conda install a",
        ],
    ),
    (
        &["./a.deb", "/tmp/a.deb", "https://host.example/a.deb"],
        &["apt install {}", "sudo apt-get install -y {}", "dpkg -i {}"],
    ),
    (
        &["./a.rpm", "https://host.example/a.rpm"],
        &["dnf install {}", "rpm -i {}", "yum -y install {}"],
    ),
    (
        &["./a.vsix", "https://host.example/a.vsix"],
        &[
            "code --install-extension {}",
            "code --install-extension={}",
            "cursor --install-extension {}",
        ],
    ),
    (
        &["203.0.113.9/a", "203.0.113.9:5000/a:latest", "$REGISTRY/a"],
        &["docker run {}", "podman run --rm -it {} sh"],
    ),
    (
        // Whatever flag or key an address follows.
        &["https://host.example/a", "git+https://host.example/a.git", "http://203.0.113.9/a"],
        &[
            "ansible-galaxy install {}",
            "ansible-galaxy collection install -s {} a.b",
            "asdf plugin add a {}",
            "asdf plugin-add a {}",
            "corepack yarn add {}",
            "kubectl krew install --manifest-url={}",
            "bun add --registry {} a",
            "bundle add a --git {}",
            "bundle config set --global mirror.https://rubygems.org {}",
            "cabal install {}",
            "cargo binstall --git {} a",
            "cargo generate --git {}",
            "choco source add -n=a -s={}",
            "codium --install-extension {}",
            "composer config repositories.a vcs {}",
            "composer create-project a/b --repository={}",
            "conan remote add a {}",
            "conda config --set channel_alias {}",
            "conda env create -f {}",
            "cpanm --mirror {} --mirror-only A",
            "dart pub add a --git-url {}",
            "dart pub global activate --source git {}",
            "dotnet add package A --source {}",
            "dotnet nuget add source {} -n a",
            "dotnet tool install -g a --add-source {}",
            "easy_install {}",
            "flutter pub add a --hosted-url {}",
            "gradle wrapper --gradle-distribution-url {}",
            "guix pull --url={}",
            "helm install a {}",
            "jupyter labextension install {}",
            "kubectl krew index add a {}",
            "luarocks install --server={} a",
            "mise plugin install a {}",
            "mix archive.install {}",
            "mix hex.repo add a {}",
            "nimble install {}",
            "nix-channel --add {} a",
            "nix-env -if {}",
            "nuget install a -Source {}",
            "opam pin add a {}",
            "opam repository add a {}",
            "opkg install {}",
            "pdm config pypi.url {}",
            "pip install -r {}",
            "pod repo add a {}",
            "poetry config repositories.a {}",
            "raco pkg install {}",
            "scoop bucket add a {}",
            "tlmgr --repository {} install a",
            "uv sync --index-url {}",
            "vagrant box add {}",
            "winget source add a {}",
            "wp plugin install {} --activate",
            "xbps-install -R {} a",
            "yarn plugin import {}",
            "yarn set version {}",
            "zef install {}",
        ],
    ),
    (
        &["user/repo"],
        &["fisher install {}", "gh extension install {}", "mise use -g ubi:{}", "zinit light {}"],
    ),
    (
        &["ppa:a/b", "'deb http://host.example/ stable main'"],
        &["add-apt-repository {}", "sudo add-apt-repository -y {}"],
    ),
];

#[test]
fn foreign_sources_are_unread_code() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (sources, calls) in FOREIGN {
        for (source, call) in
            sources.iter().flat_map(|source| calls.iter().map(move |call| (source, call)))
        {
            let command = call.replace("{}", source);
            let read = reading(&command);
            count += 1;
            let says = |gap: &String| gap.starts_with("a package from a source that nobody");
            if read.coverage != Coverage::Partial || !read.gaps.iter().any(says) {
                wrong.push(format!("`{command}`: {:?} {:?}", effects(&read), read.gaps));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

/// Images that nobody vouches for, with the home or the project in their hands.
const MOUNTED: &[&str] = &[
    "docker run --rm -v ~:/h someone/tool",
    "docker run --rm -v $HOME:/h:ro someone/tool:latest",
    "podman run --mount type=bind,source=/home/dev,target=/h someone/tool",
    "docker run --rm -v $PWD:/w registry.unknown.example/helper",
    "docker run --rm -v \"$(pwd)\":/w registry.unknown.example:5000/team/helper:1",
    "docker run --rm -v ~:/h ghcr.io/someone/tool",
];

#[test]
fn images_with_the_home_in_their_hands_are_unread_code() {
    for command in MOUNTED {
        let read = reading(command);
        assert!(
            read.gaps.iter().any(|gap| gap.contains("for which nobody vouches")),
            "`{command}`: {:?}",
            read.gaps
        );
    }
}

/// Foreign packages that are run at once.
const RUN: &[&str] = &[
    "npx github:user/repo",
    "npx user/repo",
    "npx -y https://host.example/a.tgz",
    "npm exec user/repo",
    "pnpm dlx github:user/repo",
    "bunx github:user/repo",
    "uvx git+https://host.example/a",
    "pipx run git+https://host.example/a",
    "go run host.example/a@latest",
    "deno run https://host.example/a.ts",
    "deno test https://host.example/a.ts",
    "npm exec --package=git+https://host.example/a.git -- a",
    "npm exec -p user/repo -- a",
    "npm x -- user/repo",
    "npx -p git+https://host.example/a.git a",
    "npx --package=https://host.example/a.tgz -c 'a b'",
    "pnpm --package=github:user/repo dlx a",
    "pnpx github:user/repo",
    "yarn dlx github:user/repo",
    "yarn dlx -p github:user/repo a",
    "bun x github:user/repo",
    "corepack pnpm dlx github:user/repo",
    "corepack yarn@4 dlx https://host.example/a.tgz",
    "volta run npx github:user/repo",
    "fnm exec --using=20 npx github:user/repo",
    "nvm exec 20 npx github:user/repo",
    "mise exec -- npx github:user/repo",
    "uvx --from git+https://host.example/a.git a",
    "uvx --from=https://host.example/a.tar.gz a",
    "uvx --with git+https://host.example/b.git ruff",
    "uv tool run --from git+https://host.example/a.git a",
    "pipx run --spec https://host.example/a.tar.gz a",
    "pipx run --spec=git+https://host.example/a.git a",
    "go run github.com/user/repo/cmd/x@latest",
    "deno run -A https://host.example/a.ts",
    "deno run https://host.example/a.ts --flag",
    "nix run github:user/repo",
    "nix shell github:user/repo#a -c a",
    "npm create user/repo",
    "npm init user/repo",
    "bun create user/repo",
    "yarn create https://host.example/a",
    "amm https://host.example/a.sc",
    "jbang https://host.example/a.java",
    "kscript https://host.example/a.kts",
    "streamlit run https://host.example/a.py",
    "k6 run https://host.example/a.js",
    "claude mcp add a -- npx -y https://host.example/a.tgz",
    "ansible-pull -U https://host.example/a.git",
];

#[test]
fn foreign_packages_that_run_are_unseen_code() {
    for command in RUN {
        let found = effects(&reading(command));
        assert!(found.iter().any(|effect| effect.starts_with("unseen")), "`{command}`: {found:?}");
    }
}

/// Packages of registries, of the project, and looks at settings.
const VOUCHED: &[&str] = &[
    "pip install requests",
    "pip install 'requests[socks]>=2,<3' -r requirements.txt -c constraints.txt",
    "pip install -e .",
    "pip install -e '.[dev]'",
    "pip install --pre torch",
    "pip install ./dist/a-1.0-py3-none-any.whl",
    "pip install --index-url https://download.pytorch.org/whl/cpu torch",
    "pip install -i https://pypi.org/simple a",
    "pip install --index-url http://localhost:3141/simple a",
    "pip config list",
    "pip config get global.index-url",
    "uv add httpx",
    "uvx ruff check .",
    "uvx --from 'ruff>=0.5' ruff",
    "pipx install poetry",
    "poetry add 'httpx@^0.27'",
    "poetry source show",
    "npm ci",
    "npm i",
    "npm i left-pad@1.3.0 @types/node@^20 lodash@latest",
    "npm i -D ./packages/a ../b file:../c",
    "npm i alias@npm:left-pad@1",
    "npm i --registry https://registry.npmjs.org a",
    "npm config get registry",
    "npm config set save-exact true",
    "npm config set registry https://registry.npmjs.org/",
    "npm config set registry http://localhost:4873",
    "npx prettier --check .",
    "npx @angular/cli@17 new a",
    "npx -y create-vite@latest a",
    "pnpm dlx shadcn@latest add button",
    "yarn add react",
    "bun add @hono/node-server",
    "cargo install ripgrep",
    "cargo +nightly install ripgrep",
    "cargo +stable build --release",
    "rustup run nightly cargo test",
    "corepack enable",
    "corepack pnpm install",
    "fnm exec --using=20 npx prettier --check .",
    "cargo install --path .",
    "cargo add serde --features derive",
    "go install ./cmd/a",
    "go install golang.org/x/tools/gopls@latest",
    "go run ./cmd/a",
    "go run .",
    "GOPROXY=https://proxy.golang.org,direct go build ./...",
    "GOPROXY=off go build ./...",
    "go env GOPROXY",
    "gem install rails",
    "bundle config set path vendor",
    "brew install jq",
    "brew install --cask docker",
    "brew install hashicorp/tap/terraform",
    "apt install -y curl",
    "sudo apt-get install -y --no-install-recommends build-essential",
    "dnf install gcc",
    "apk add --no-cache git",
    "conda install -c conda-forge numpy",
    "conda create -n x python=3.12",
    "docker run --rm alpine sh",
    "docker run ghcr.io/a/b",
    "docker run --rm -v $PWD:/src hadolint/hadolint hadolint Dockerfile",
    "docker run --rm -v \"$PWD\":/work -w /work ghcr.io/a/b",
    "docker run --rm -v ~/.cache/x:/c someone/tool",
    "docker run --rm -v ~:/h:ro alpine ls /h",
    "docker run localhost:5000/a",
    "docker pull host.example/a",
    "docker run --rm registry.acme.example:5000/tools/build:latest make",
    "helm repo add bitnami https://charts.bitnami.com/bitnami",
    "helm repo update",
    "code --install-extension rust-lang.rust-analyzer",
    "code .",
    "deno run main.ts",
    "deno run https://deno.land/std/http/file_server.ts",
    "deno run jsr:@std/http/file-server",
    // addresses that are not sources
    "pip install --proxy http://proxy.example:3128 a",
    "npm config set https-proxy http://proxy.example:3128",
    "npm publish --registry https://npm.example",
    "npm pkg set homepage=https://a.example",
    "npm run dev -- --api https://api.example",
    "npm init -y",
    "npm create vite@latest a -- --template vue",
    "dotnet run --urls http://0.0.0.0:5000",
    "dotnet test --logger trx",
    "dotnet add package Serilog",
    "dotnet restore --source https://api.nuget.org/v3/index.json",
    "cargo run -- https://a.example",
    "poetry run a https://a.example",
    "mix test",
    "mix archive.install hex phx_new",
    "mix phx.new a",
    "composer require monolog/monolog",
    "composer install --no-dev",
    "gradle build -Dsonar.host.url=https://sonar.example",
    "helm upgrade --install a b --set url=https://a.example",
    "helm install a oci://ghcr.io/a/b",
    "luarocks install busted",
    "opam install dune",
    "opam switch create 5.1.0",
    "nix-env -iA nixpkgs.jq",
    "mise use node@22",
    "asdf plugin add nodejs",
    "gh extension install github/gh-copilot",
    "claude mcp add a -- npx -y @modelcontextprotocol/server-filesystem .",
    "jupyter lab --no-browser",
    "streamlit run a.py",
    "deno test",
    "pod install",
    "dart pub get",
    "flutter pub add http",
];

#[test]
fn vouched_sources_are_quiet() {
    let mut wrong = Vec::new();
    for command in VOUCHED {
        let read = reading(command);
        let unseen = effects(&read).iter().any(|effect| effect.starts_with("unseen"));
        if unseen || !read.gaps.is_empty() {
            wrong.push(format!("`{command}`: {:?} {:?}", effects(&read), read.gaps));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
