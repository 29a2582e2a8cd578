//! The pure part of the memory of earlier sessions: a text becomes tokens of an index, a query
//! becomes queries of that index, and its rows become a ranked list.

pub mod budget;
pub mod clean;
pub mod database;
pub mod dedupe;
pub mod diversity;
mod english;
mod exactness;
pub mod expression;
pub mod glossary;
mod hangul;
pub mod names;
pub mod near_duplicates;
pub mod observation;
pub mod observe;
pub mod query;
pub mod ranking;
pub mod retention;
mod runs;
pub mod search;
pub mod shape;
mod stop_words;
pub mod timeline;
pub mod tokens;
pub mod unit_rows;

pub use runs::composed;
