//! Files that the project's own configuration excludes from a server's checks: the server answers
//! with an empty list, which proves nothing. Texts of configurations come in; their rules are those
//! of the server, observed with the versions named in each file.

mod pyright;
mod typescript;

pub use self::pyright::{PyrightConfig, PyrightLayer, pyright_gap};
pub use self::typescript::reported_project;
pub use self::typescript::{CoveringProject, typescript_gap};
pub(crate) use self::typescript::{
    is_project_marker, mark_configuration_fault, project_marker, reported_configuration_fault,
};

use moai_base::path::RelPath;

/// A measured file.
#[derive(Clone, Copy, Debug)]
pub struct CheckedFile<'a> {
    pub path: &'a RelPath,
    /// Its LSP language id.
    pub language_id: &'a str,
    pub text: &'a str,
}
