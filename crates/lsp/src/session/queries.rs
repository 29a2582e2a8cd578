//! Forwarded requests: references, definition, hover, rename. The document is brought up to date
//! first, and no request is sent for a capability that the server has not announced, because some
//! servers never answer unknown requests.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::documents::ResendPolicy;
use super::queue::{is_outdated_by, superseded_gap};
use super::{DocumentRequest, LspSession, SessionEffect};
use crate::freshness::{CONTENT_MODIFIED, SERVER_CANCELLED};
use crate::jsonrpc::RpcError;
use moai_base::hash::ContentHash;
use moai_base::limits::{DIAGNOSTICS_MS_MAX, QUERY_RETRIES_MAX};
use moai_base::path::{RelPath, to_uri};
use moai_base::text::{LineIndex, Position, PositionEncoding};
use moai_base::verdict::{Cause, Gap};

/// A request about one document with its content on disk.
#[derive(Clone, Debug)]
pub struct ServerQuery {
    /// The document; its ticket is returned with the answer.
    pub document: DocumentRequest,
    /// The method: `textDocument/references`.
    pub method: String,
    /// The required server capability: `referencesProvider`, or a part of one:
    /// `renameProvider.prepareProvider`.
    pub capability: String,
    /// The position in UTF-16; sent as `position` in the server's encoding.
    pub position: Option<Position>,
    /// Send `textDocument`; false for requests about the workspace.
    pub names_document: bool,
    /// The answer covers files that are not open.
    pub needs_all_files: bool,
    /// The other parameters, an object.
    pub params: Value,
}

#[derive(Clone, Debug)]
pub struct QueryReply {
    /// The result as received; its columns use `encoding`.
    pub result: Value,
    /// The server's position encoding.
    pub encoding: PositionEncoding,
    /// The server's value for the required capability.
    pub capability: Value,
    /// The document's version during the request.
    pub version: i32,
}

#[derive(Debug)]
pub(super) struct PendingQuery {
    query: ServerQuery,
    deadline: Instant,
    /// The document's version; set when the request was sent.
    version: i32,
    /// The request that the server has not answered.
    request_id: Option<i64>,
    retry_count: u32,
    /// The server got a newer text of the document, so this query is not resent.
    is_superseded: bool,
}

impl LspSession {
    /// Sends a query, once the server is loaded. It supersedes requests about other bytes of its
    /// document, because the server holds only one text of a file.
    pub fn query(&mut self, query: ServerQuery, now: Instant) {
        self.supersede(&query.document, now);
        let id = self.next_job;
        self.next_job += 1;
        let deadline = now + Duration::from_millis(DIAGNOSTICS_MS_MAX);
        let pending = PendingQuery {
            query,
            deadline,
            version: 0,
            request_id: None,
            retry_count: 0,
            is_superseded: false,
        };
        self.queries.insert(id, pending);
        self.begin_queries();
    }

    pub(super) fn begin_queries(&mut self) {
        if !self.is_ready() {
            return;
        }
        let knows_files = self.loading.knows_files();
        let fresh = self.queries.iter().filter(|(_, pending)| {
            pending.request_id.is_none() && (knows_files || !pending.query.needs_all_files)
        });
        let fresh: Vec<u64> = fresh.map(|(id, _)| *id).collect();
        for id in fresh {
            self.begin_query(id);
        }
    }

    fn begin_query(&mut self, id: u64) {
        let Some(pending) = self.queries.get(&id) else { return };
        let query = pending.query.clone();
        let announced = self.announced(&query.capability);
        if matches!(announced, Value::Null | Value::Bool(false)) {
            let detail = format!("the server does not offer {}", query.method);
            self.reply(id, Err(Gap::new(Cause::NoTool, detail)));
            return;
        }
        let (version, _) = self.send_text(&query.document, ResendPolicy::Never);
        let mut params = query.params;
        if query.names_document {
            let uri = to_uri(&query.document.path.under(&self.root));
            params["textDocument"] = json!({"uri": uri});
        }
        if let Some(position) = query.position {
            let index = LineIndex::new(&query.document.text);
            let place = index.convert_encoding(
                position,
                PositionEncoding::Utf16,
                self.documents.encoding(),
            );
            params["position"] = json!({"line": place.line, "character": place.character});
        }
        let request = self.request(&query.method, params);
        if let Some(pending) = self.queries.get_mut(&id) {
            pending.version = version;
            pending.request_id = Some(request);
        }
    }

    /// The server's value for a capability, or for a dotted part of one.
    fn announced(&self, capability: &str) -> &Value {
        capability.split('.').fold(&self.capabilities, |announced, part| &announced[part])
    }

    pub(super) fn on_query_response(&mut self, request: i64, result: Result<Value, RpcError>) {
        let query = self.queries.iter().find(|(_, pending)| pending.request_id == Some(request));
        let Some((&id, pending)) = query else { return };
        let announced = self.announced(&pending.query.capability).clone();
        let Some(pending) = self.queries.get_mut(&id) else { return };
        pending.request_id = None;
        let outcome = match result {
            Ok(result) => Ok(QueryReply {
                result,
                encoding: self.documents.encoding(),
                capability: announced,
                version: pending.version,
            }),
            Err(error) if matches!(error.code, SERVER_CANCELLED | CONTENT_MODIFIED) => {
                pending.retry_count += 1;
                if pending.is_superseded {
                    self.reply(id, Err(superseded_gap()));
                    return;
                }
                if pending.retry_count <= QUERY_RETRIES_MAX {
                    self.begin_queries();
                    return;
                }
                Err(Gap::new(Cause::TimedOut, "the server keeps postponing the request"))
            }
            Err(error) => {
                let detail = format!("the server refused: {}", error.message);
                Err(Gap::new(Cause::Refused, detail))
            }
        };
        self.reply(id, outcome);
    }

    pub(super) fn end_late_queries(&mut self, now: Instant) {
        let late = self.queries.iter().filter(|(_, pending)| pending.deadline <= now);
        let late: Vec<u64> = late.map(|(id, _)| *id).collect();
        for id in late {
            self.reply(id, Err(self.deadline_gap()));
        }
    }

    pub(super) fn fail_queries(&mut self, gap: &Gap) {
        for pending in std::mem::take(&mut self.queries).into_values() {
            let ticket = pending.query.document.ticket;
            self.effects.push(SessionEffect::QueryAnswered(ticket, Err(gap.clone())));
        }
    }

    /// Ends unsent queries about other bytes of the file: they would reset the server to an older
    /// text.
    pub(super) fn supersede_queries(&mut self, newer: &DocumentRequest) {
        let mut unsent = Vec::new();
        for (id, pending) in &mut self.queries {
            if is_outdated_by(&pending.query.document, newer) {
                pending.is_superseded = true;
                unsent.extend(pending.request_id.is_none().then_some(*id));
            }
        }
        for id in unsent {
            self.reply(id, Err(superseded_gap()));
        }
    }

    /// Ends unsent queries about other than the present bytes of a file; all of them if those are
    /// unknown.
    pub(super) fn supersede_unsent_queries(&mut self, path: &RelPath, now: Option<ContentHash>) {
        let unsent = self.queries.iter().filter(|(_, pending)| {
            let document = &pending.query.document;
            pending.request_id.is_none() && document.path == *path && Some(document.hash) != now
        });
        let unsent: Vec<u64> = unsent.map(|(id, _)| *id).collect();
        for id in unsent {
            self.reply(id, Err(superseded_gap()));
        }
    }

    pub(super) fn next_query_deadline(&self) -> Option<Instant> {
        self.queries.values().map(|pending| pending.deadline).min()
    }

    fn reply(&mut self, id: u64, outcome: Result<QueryReply, Gap>) {
        let Some(pending) = self.queries.remove(&id) else { return };
        self.cancel(pending.request_id);
        self.effects.push(SessionEffect::QueryAnswered(pending.query.document.ticket, outcome));
    }
}
