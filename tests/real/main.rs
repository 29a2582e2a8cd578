//! Real language servers, installed by the program itself, and their findings in real files.

mod alternatives;
mod ast_grep;
mod auxiliary;
mod blast;
mod byte_order_mark;
mod configurations;
mod cpp;
#[path = "../../benches/edits/download.rs"]
mod download;
mod downloads;
mod edits;
mod faults;
mod go;
mod honest;
mod importers;
mod java;
mod linked;
#[path = "../it/mcp_client.rs"]
#[expect(dead_code, reason = "shared with the other test target, which uses the rest")]
mod mcp_client;
mod older;
#[path = "../../benches/edits/past/past.rs"]
mod past;
mod php;
#[path = "../../benches/edits/play.rs"]
#[expect(dead_code, reason = "shared with the bench, which uses the rest")]
mod play;
mod python;
#[path = "../../benches/hook_round_trip/raw_client.rs"]
mod raw_client;
mod rename;
mod rust;
#[path = "../../benches/scan/sameness.rs"]
mod sameness;
mod servers;
#[path = "../it/support.rs"]
#[expect(dead_code, reason = "shared with the other test targets, which use the rest")]
mod support;
mod switched_off;
#[path = "../../benches/edits/table.rs"]
#[expect(dead_code, reason = "shared with the bench, which uses the rest")]
mod table;
#[path = "../../benches/edits/timing.rs"]
#[expect(dead_code, reason = "shared with the bench, which uses the rest")]
mod timing;
mod trust;
mod typescript;
mod unmentioned;
mod unshown;
mod workspaces;
