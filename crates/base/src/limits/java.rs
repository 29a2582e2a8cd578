//! Bounds for jdtls and the source folders that it is given.

/// Time for jdtls to publish for a text after it has answered a barrier; then the text is sent
/// again.
pub const JAVA_PUBLISH_MS_MAX: u64 = 5_000;
/// Time for jdtls to begin publishing the results of a build; it waits 400 ms itself.
pub const JAVA_SETTLE_MS: u64 = 700;
/// Builds requested from jdtls for one measurement.
pub const JAVA_BUILDS_MAX: u32 = 5;
/// Pause before a cancelled build is retried.
pub const JAVA_RETRY_MS: u64 = 500;
/// Java files read for the source folders of a workspace without a build file.
pub const JAVA_SAMPLE_FILES_MAX: usize = 2_000;
/// Bytes read of each; a package is declared after the comment with the licence.
pub const JAVA_SAMPLE_BYTES_MAX: u64 = 8_192;
/// Source folders of such a workspace.
pub const JAVA_SOURCE_FOLDERS_MAX: usize = 32;
/// Java files of a folder that are searched for types which a measured one also declares.
pub const JAVA_TWIN_FILES_MAX: usize = 200;
