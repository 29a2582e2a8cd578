//! PHP: files made up here, because the registries hold none. Each uses the two before it.

use std::time::Duration;

use serde_json::Value;

use super::package::{Filler, Package, TextSwitch};
use super::servers::Server;
use super::stage::Stage;
use super::truth::Truth;
use crate::raw_client::{RawClient, Start};

const FILES: usize = 12;
/// A fresh server that has indexed the project and is silent for this long has reported everything: it works
/// for one second after a change.
const QUIET: Duration = Duration::from_millis(2_500);

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &["src"],
    endings: &[".php"],
    edited: &["src/order2.php", "src/order4.php", "src/order5.php", "src/order8.php"],
    breaks: &[
        TextSwitch {
            file: "src/order3.php",
            from: "function total3(int $count): int",
            to: "function sum3(int $count): int",
        },
        TextSwitch { file: "src/order6.php", from: "class Order6\n", to: "class Purchase6\n" },
        TextSwitch {
            file: "src/order8.php",
            from: "function total8(int $count): int",
            to: "function total8(int $count, bool $strict): int",
        },
    ],
    configurations: &[],
    moves: &[("src/order0.php", "src/renamed0.php")],
    filler: Filler {
        file: "src/filler/filler#.php",
        text: "<?php\n\nnamespace Filler;\n\nconst FILLER_# = #;\n",
    },
    outsider: None,
    is_head: |line| line.starts_with("function ") && line.ends_with('{'),
    errors: &["    $bench_#_ = nowhere_#();", "    $bench_#_ = new Nowhere#();"],
};

fn lay(stage: &Stage<'_>) {
    for file in 0..FILES {
        let (one, other) = (file.saturating_sub(1), file.saturating_sub(2));
        let text = format!(
            "<?php\n\nnamespace Play;\n\nfunction total{file}(int $count): int {{\n    \
             $order = new Order{one}();\n    return $order->label('a') . $count;\n}}\n\n\
             function twice{file}(int $count): int {{\n    return total{other}($count) * 2;\n}}\n\n\
             class Order{file}\n{{\n    public function label(string $name): string\n    {{\n        \
             return $name;\n    }}\n}}\n"
        );
        let text = text.replace(
            "return $order->label('a') . $count;",
            "$order->label('a');\n    return $count;",
        );
        stage.write(&format!("src/order{file}.php"), &text);
    }
    stage.write("composer.json", "{\"name\": \"play/play\"}\n");
}

/// A new server of the same kind, because PHP has no batch tool.
pub(crate) fn truth(stage: &Stage<'_>, server: &Server) -> Truth {
    let files = stage.files_in("src");
    let mut client = RawClient::start(Start {
        command: server.command(stage).expect("a server that is not there is not played"),
        root: &stage.root,
        settings: Value::Null,
        options: server.initialization_options(),
        is_pulling: false,
        wants_progress: false,
        language_id: server.language_id,
        file: &stage.path(&files[0]),
        text: &stage.read(&files[0]),
    });
    client.wait_for(|method, _| method == "indexingEnded");
    for path in &files[1..] {
        client.open(&stage.path(path), server.language_id, &stage.read(path));
    }
    let mut truth = Truth::default();
    for (path, lines) in client.all_published(QUIET) {
        let path = path.to_str().and_then(|path| stage.relative(path));
        for line in path.iter().flat_map(|_| &lines) {
            let line = u32::try_from(*line).unwrap_or(u32::MAX);
            truth.add(path.as_deref().unwrap_or_default(), line, "");
        }
    }
    truth
}
