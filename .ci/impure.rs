// Each line here is forbidden in host/core by its clippy.toml: `.ci/run pure` fails when one is no
// longer found.
pub fn reads_a_file() -> bool { std::fs::read("x").is_ok() }
pub fn opens_a_file() -> bool { std::fs::File::open("x").is_ok() }
pub fn looks_at_the_disk(path: &std::path::Path) -> bool { path.exists() }
pub fn reads_the_environment() -> Option<String> { std::env::var("X").ok() }
pub fn asks_for_its_folder() -> bool { std::env::current_dir().is_ok() }
pub fn connects() -> bool { std::net::TcpStream::connect("x:1").is_ok() }
pub fn connects_here() -> bool { std::os::unix::net::UnixStream::connect("x").is_ok() }
pub fn runs_a_program() -> bool { std::process::Command::new("x").spawn().is_ok() }
pub fn ends_the_process() { std::process::exit(1) }
pub fn starts_a_thread() { drop(std::thread::spawn(|| ())) }
pub fn sleeps(time: std::time::Duration) { std::thread::sleep(time) }
pub fn looks_at_the_clock() { drop(std::time::Instant::now()) }
pub fn asks_for_the_date() -> bool { std::time::UNIX_EPOCH.elapsed().is_ok() }
pub fn has_a_date(date: std::time::SystemTime) { drop(date) }
pub fn prints() { drop(std::io::stdout()) }
pub fn listens() { drop(std::io::stdin()) }
pub static ONCE: std::sync::OnceLock<u8> = std::sync::OnceLock::new();
pub static LATER: std::sync::LazyLock<u8> = std::sync::LazyLock::new(|| 1);
pub static SHARED: std::sync::Mutex<u8> = std::sync::Mutex::new(1);
pub static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
thread_local! { static OWN: u8 = const { 1 } }
pub fn knows_the_build() -> &'static str { env!("PATH") }
