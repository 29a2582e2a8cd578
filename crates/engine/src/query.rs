//! Questions to language servers: references, definitions, hover texts, symbols, renames.

pub(crate) mod definition;
pub(crate) mod hover;
pub(crate) mod queries;
pub(crate) mod references;
pub(crate) mod rename;
pub(crate) mod symbols;
