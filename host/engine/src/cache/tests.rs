use super::*;
use crate::compiler::{CompileEnd, CompileLimit, CompileLimits};

/// The cause of a failure may have been the machine, so it is believed for a while and then tried
/// again.
#[test]
fn a_failure_is_not_believed_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let cache = CodeCache::new(&folder.path().join("cache"), [7; 32]);
    let limits = CompileLimits {
        wall: Duration::from_secs(1),
        cpu_seconds: 1,
        memory_bytes: 1,
        output_bytes: 1,
    };
    let failed = CompileFailure { end: CompileEnd::Limit(CompileLimit::Cpu(1)), limits };
    cache.store_failure("digest", &failed);
    assert_eq!(cache.failed("digest", FAILURE_TTL), Some(failed));
    assert_eq!(cache.failed("digest", Duration::ZERO), None);
    assert_eq!(cache.failed("other", FAILURE_TTL), None);
}
