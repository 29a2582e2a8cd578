//! Reserved words, which can never be names in a language. Words that are reserved only in some
//! positions are left to the language server.

use std::sync::LazyLock;

use crate::word_set::{WordSet, word_set};

/// True if a word is reserved everywhere in a language, by its LSP id. JavaScript allows reserved
/// words as member names; they are still refused, because the kind of the symbol is unknown here.
pub(super) fn is_reserved(word: &str, language_id: &str) -> bool {
    let words = match language_id {
        "python" => &PYTHON,
        "javascript" | "javascriptreact" | "typescript" | "typescriptreact" => &JAVASCRIPT,
        "go" => &GO,
        "rust" => &RUST,
        _ => return false,
    };
    words.contains(word)
}

/// The Python language reference, "Keywords".
static PYTHON: WordSet = LazyLock::new(|| {
    word_set(
        "False None True and as assert async await break class continue def del elif else except \
         finally for from global if import in is lambda nonlocal not or pass raise return try \
         while with yield",
    )
});

/// ECMA-262, `ReservedWord`, without `await` and `yield`, which scripts may use.
static JAVASCRIPT: WordSet = LazyLock::new(|| {
    word_set(
        "break case catch class const continue debugger default delete do else enum export \
         extends false finally for function if import in instanceof new null return super switch \
         this throw true try typeof var void while with",
    )
});

/// The Go specification, "Keywords".
static GO: WordSet = LazyLock::new(|| {
    word_set(
        "break case chan const continue default defer else fallthrough for func go goto if import \
         interface map package range return select struct switch type var",
    )
});

/// The Rust reference, "Strict keywords" and "Reserved keywords", edition 2021.
static RUST: WordSet = LazyLock::new(|| {
    word_set(
        "Self abstract as async await become box break const continue crate do dyn else enum \
         extern false final fn for if impl in let loop macro match mod move mut override priv pub \
         ref return self static struct super trait true try type typeof unsafe unsized use \
         virtual where while yield",
    )
});
