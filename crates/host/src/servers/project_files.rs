//! Lists the files of a project of the TypeScript 7 server, and the errors of its configuration: its language server
//! protocol has no request for them, but the API that it serves on a socket has. Observed with version 7.0.2.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::timeout;

use super::checking_config::tsconfig_chain;
use moai_base::limits::PROJECT_LIST_MS_MAX;
use moai_base::verdict::{Cause, Gap};
use moai_lsp::framing::{FrameDecoder, encode_frame};
use moai_lsp::jsonrpc::{RpcId, RpcMessage};
use moai_lsp::session::{ProjectListing, ReportedProject};

/// Bytes of one read.
const PIECE_BYTES: usize = 64 * 1024;

/// All files that the project of the document reads, in the server's present state. The gap is the reason why
/// the list is not available.
pub(super) async fn list_project_files(listing: ProjectListing) -> Result<ReportedProject, Gap> {
    match timeout(Duration::from_millis(PROJECT_LIST_MS_MAX), ask_for_files(listing)).await {
        Ok(Ok(project)) => Ok(project),
        Ok(Err(error)) => {
            let detail =
                format!("the server does not report the project's files and errors: {error}");
            Err(Gap::new(Cause::Crashed, detail))
        }
        Err(_) => {
            let secs = PROJECT_LIST_MS_MAX / 1000;
            let detail = format!("the files of the project were not listed within {secs} s");
            Err(Gap::new(Cause::TimedOut, detail))
        }
    }
}

/// The server releases the session and its snapshot when the connection ends.
async fn ask_for_files(listing: ProjectListing) -> io::Result<ReportedProject> {
    let socket = UnixStream::connect(&listing.socket).await?;
    let mut api = ApiConnection { socket, decoder: FrameDecoder::default(), requests: 0 };
    let snapshot = api.ask("updateSnapshot", json!({})).await?["snapshot"].clone();
    let document = json!({"snapshot": snapshot, "file": {"uri": listing.uri}});
    let project = api.ask("getDefaultProjectForFile", document).await?["id"].clone();
    let question = json!({"snapshot": snapshot, "project": project});
    let files = api.ask("getSourceFileNames", question.clone()).await?;
    let files = files.as_array().ok_or_else(|| io::Error::other("its answer is not a list"))?;
    let mut files: Vec<PathBuf> =
        files.iter().filter_map(Value::as_str).map(PathBuf::from).collect();
    let mut diagnostics = Vec::new();
    // A project without a configuration has options that the server guesses.
    if listing.config.file_name().is_some() {
        // The server lists sources only, and a base may be in a package or a hidden folder.
        files.extend(tsconfig_chain(&listing.config));
        for method in ["getConfigFileParsingDiagnostics", "getProgramDiagnostics"] {
            let answer = api.ask(method, question.clone()).await?;
            diagnostics.extend(answer.as_array().into_iter().flatten().cloned());
        }
    }
    Ok(ReportedProject { files, diagnostics })
}

struct ApiConnection {
    socket: UnixStream,
    decoder: FrameDecoder,
    requests: i64,
}

impl ApiConnection {
    /// Sends a request and waits for its answer; other messages are skipped.
    async fn ask(&mut self, method: &str, params: Value) -> io::Result<Value> {
        self.requests += 1;
        let id = RpcId::Number(self.requests);
        let request = RpcMessage::Request { id: id.clone(), method: method.to_owned(), params };
        self.socket.write_all(&encode_frame(&request.to_bytes())).await?;
        loop {
            let frame = self.next_frame().await?;
            if let Some(RpcMessage::Response { id: answered, result }) = RpcMessage::parse(&frame)
                && answered == id
            {
                return result.map_err(|error| io::Error::other(error.message));
            }
        }
    }

    async fn next_frame(&mut self) -> io::Result<Vec<u8>> {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            if let Some(frame) = self.decoder.next_frame().map_err(io::Error::other)? {
                return Ok(frame);
            }
            match self.socket.read(&mut piece).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => self.decoder.push(&piece[..count]),
            }
        }
    }
}
