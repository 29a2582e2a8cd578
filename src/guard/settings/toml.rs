//! A TOML 1.0 parser for tool configurations: values other than strings, lists and tables become
//! numbers, booleans or plain words.

use serde_json::{Map, Value};

use crate::base::limits::SETTINGS_DEPTH_MAX;

/// Parses a whole text.
pub(super) fn parse_toml(text: &str) -> Result<Value, String> {
    let mut reader = TomlReader { text, at: 0 };
    let mut root = Map::new();
    let mut table: Vec<String> = Vec::new();
    loop {
        reader.skip_blank(true);
        if reader.rest().is_empty() {
            return Ok(Value::Object(root));
        }
        if reader.take("[[") {
            table = reader.keys()?;
            reader.expect("]]")?;
            let (last, above) = table.split_last().ok_or("a table without a name")?;
            let around = table_at(&mut root, above)?;
            let tables = around.entry(last.clone()).or_insert_with(|| Value::Array(Vec::new()));
            let Value::Array(tables) = tables else { return Err(format!("`{last}` is no list")) };
            tables.push(Value::Object(Map::new()));
        } else if reader.take("[") {
            table = reader.keys()?;
            reader.expect("]")?;
            table_at(&mut root, &table)?;
        } else {
            let target = table_at(&mut root, &table)?;
            reader.entry(target, 0)?;
        }
        reader.end_of_line()?;
    }
}

/// The table with this name, made where it is missing; of a list of tables, the last.
fn table_at<'v>(
    root: &'v mut Map<String, Value>,
    names: &[String],
) -> Result<&'v mut Map<String, Value>, String> {
    names.iter().try_fold(root, |table, name| {
        let inner = table.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
        let inner = match inner {
            Value::Array(list) => list.last_mut().ok_or_else(|| format!("`{name}` is empty"))?,
            other => other,
        };
        inner.as_object_mut().ok_or_else(|| format!("`{name}` is no table"))
    })
}

struct TomlReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> TomlReader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn take(&mut self, word: &str) -> bool {
        let is_there = self.rest().starts_with(word);
        self.at += if is_there { word.len() } else { 0 };
        is_there
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        self.skip_blank(false);
        self.take(word).then_some(()).ok_or_else(|| self.wrong(&format!("`{word}` is missing")))
    }

    fn wrong(&self, what: &str) -> String {
        format!("line {}: {what}", self.text[..self.at].matches('\n').count() + 1)
    }

    /// Skips white space, and with `lines` also comments and line breaks.
    fn skip_blank(&mut self, lines: bool) {
        loop {
            let rest = self.rest();
            let kept = rest.trim_start_matches([' ', '\t', '\r']);
            self.at += rest.len() - kept.len();
            match kept.chars().next() {
                Some('\n') if lines => self.at += 1,
                Some('#') if lines => self.at += kept.find('\n').unwrap_or(kept.len()),
                _ => return,
            }
        }
    }

    fn end_of_line(&mut self) -> Result<(), String> {
        self.skip_blank(false);
        match self.rest().chars().next() {
            None | Some('\n' | '#') => Ok(()),
            Some(_) => Err(self.wrong("something behind the value")),
        }
    }

    /// A dotted key.
    fn keys(&mut self) -> Result<Vec<String>, String> {
        let mut keys = Vec::new();
        loop {
            self.skip_blank(false);
            keys.push(match self.rest().chars().next() {
                Some('"') => self.basic("\"")?,
                Some('\'') => self.literal("'")?,
                _ => self.word(|it| it.is_alphanumeric() || it == '_' || it == '-')?,
            });
            self.skip_blank(false);
            if !self.take(".") {
                return Ok(keys);
            }
        }
    }

    fn word(&mut self, is_part: impl Fn(char) -> bool) -> Result<String, String> {
        let rest = self.rest();
        let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
        self.at += end;
        match end {
            0 => Err(self.wrong("a name or a value is missing")),
            _ => Ok(rest[..end].to_owned()),
        }
    }

    fn entry(&mut self, table: &mut Map<String, Value>, depth: usize) -> Result<(), String> {
        let keys = self.keys()?;
        self.expect("=")?;
        let value = self.value(depth)?;
        let (last, above) = keys.split_last().ok_or("a value without a name")?;
        table_at(table, above)?.insert(last.clone(), value);
        Ok(())
    }

    fn value(&mut self, depth: usize) -> Result<Value, String> {
        if depth > SETTINGS_DEPTH_MAX {
            return Err(self.wrong("nested too deep"));
        }
        self.skip_blank(false);
        let rest = self.rest();
        if rest.starts_with("\"\"\"") {
            return self.basic("\"\"\"").map(Value::String);
        }
        if rest.starts_with("'''") {
            return self.literal("'''").map(Value::String);
        }
        match rest.chars().next() {
            Some('"') => self.basic("\"").map(Value::String),
            Some('\'') => self.literal("'").map(Value::String),
            Some('[') => self.list(depth),
            Some('{') => self.inline(depth),
            _ => {
                let word = self.word(|it| !matches!(it, ',' | ']' | '}' | '#' | '\n' | '\r'))?;
                Ok(plain(word.trim()))
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip_blank(true);
            if self.take("]") {
                return Ok(Value::Array(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip_blank(true);
            if !self.take(",") && !self.rest().starts_with(']') {
                return Err(self.wrong("the list does not end"));
            }
        }
    }

    fn inline(&mut self, depth: usize) -> Result<Value, String> {
        self.at += 1;
        let mut table = Map::new();
        loop {
            self.skip_blank(true);
            if self.take("}") {
                return Ok(Value::Object(table));
            }
            self.entry(&mut table, depth + 1)?;
            self.skip_blank(true);
            if !self.take(",") && !self.rest().starts_with('}') {
                return Err(self.wrong("the table does not end"));
            }
        }
    }

    /// A quoted string with escapes.
    fn basic(&mut self, quote: &str) -> Result<String, String> {
        self.at += quote.len();
        let mut value = String::new();
        loop {
            if self.take(quote) {
                return Ok(value);
            }
            let mut rest = self.rest().chars();
            let Some(character) = rest.next() else { return Err(self.wrong("no closing quote")) };
            self.at += character.len_utf8();
            if character != '\\' {
                value.push(character);
                continue;
            }
            let Some(escaped) = rest.next() else { return Err(self.wrong("no closing quote")) };
            self.at += escaped.len_utf8();
            match escaped {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                // Code points and line ends stay as they are written: nothing here asks for them.
                other => value.push(other),
            }
        }
    }

    /// A quoted string without escapes.
    fn literal(&mut self, quote: &str) -> Result<String, String> {
        self.at += quote.len();
        let rest = self.rest();
        let end = rest.find(quote).ok_or_else(|| self.wrong("no closing quote"))?;
        self.at += end + quote.len();
        Ok(rest[..end].to_owned())
    }
}

fn plain(word: &str) -> Value {
    let number = || word.replace('_', "").parse::<f64>().ok().filter(|it| it.is_finite());
    match word {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ => number().map_or_else(|| Value::String(word.to_owned()), Value::from),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_lists_and_dotted_keys_are_read() {
        let text = "a.b = 1 # one\n[tool.\"x y\"]\nlist = [\n  'p\\d', # why\n  \"q\\n\",\n]\n\
                    t = { k = true, l.m = 90.5 }\n[[tool.o]]\nn = \"1\"\n[[tool.o]]\nn = 2\n\
                    [tool.o.deep]\nd = 2020-01-01\ns = '''\nx'''\n";
        let expected = json!({
            "a": {"b": 1.0},
            "tool": {
                "x y": {"list": ["p\\d", "q\n"], "t": {"k": true, "l": {"m": 90.5}}},
                "o": [{"n": "1"}, {"n": 2.0, "deep": {"d": "2020-01-01", "s": "\nx"}}],
            },
        });
        assert_eq!(parse_toml(text), Ok(expected));
    }

    #[test]
    fn what_is_no_toml_is_an_error_with_its_line() {
        for text in ["a", "a = ", "a = [1", "a = \"x", "[a", "a = 1 2 = 3\n]", "a = 1\na.b = 2"] {
            assert!(parse_toml(text).is_err(), "{text}");
        }
        assert!(parse_toml("a = 1\nb = [1\n= 2").expect_err("broken").starts_with("line 3"));
        let deep = format!("a = {}", "[".repeat(10_000));
        assert!(parse_toml(&deep).is_err());
    }
}
