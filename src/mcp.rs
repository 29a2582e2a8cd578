//! MCP server on stdio: the engine's handlers as tools of an agent. A front door like the command
//! line: it translates a tool call into a request and the reply into a result, and must not know
//! how anything is measured or changed.

pub mod tools;

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};

use crate::base::limits::CONTEXT_CHARS_MAX;
use crate::wire::control::{CommandReply, DaemonRequest};

/// How a request reaches its handler: blocking, and able to start the daemon.
pub type RequestHandler = Arc<dyn Fn(DaemonRequest) -> CommandReply + Send + Sync>;

/// Serves one client until it closes its end. Needs a tokio runtime with I/O. The error is one
/// line.
pub async fn serve(ask: RequestHandler) -> Result<(), String> {
    let running = McpServer { handler: ask }.serve(rmcp::transport::io::stdio()).await;
    let running = running.map_err(|error| format!("the client did not say hello: {error}"))?;
    running.waiting().await.map(drop).map_err(|error| error.to_string())
}

struct McpServer {
    handler: RequestHandler,
}

impl McpServer {
    /// Asks where blocking is allowed.
    async fn call_handler(&self, request: DaemonRequest) -> Result<CommandReply, ErrorData> {
        let ask = Arc::clone(&self.handler);
        let answer = tokio::task::spawn_blocking(move || ask(request)).await;
        answer.map_err(|_| ErrorData::internal_error("internal error", None))
    }

    /// The tools that the project's options leave on; asked each time, because options count at
    /// once.
    async fn enabled_tools(&self) -> Result<Vec<String>, ErrorData> {
        let reply = self.call_handler(DaemonRequest::McpTools).await?;
        match reply.document.as_ref().and_then(|names| names.as_array()) {
            Some(names) => {
                Ok(names.iter().filter_map(|name| name.as_str()).map(str::to_owned).collect())
            }
            None => Err(ErrorData::internal_error(reply.stderr.trim().to_owned(), None)),
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("moai-ralph", env!("CARGO_PKG_VERSION")))
            .with_instructions(tools::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let on = self.enabled_tools().await?;
        let tools = tools::all().iter().filter(|tool| on.iter().any(|name| name == tool.name));
        Ok(ListToolsResult::with_all_items(tools.map(tools::McpTool::to_rmcp).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let unknown = || {
            let message = format!("there is no tool {}, or it is switched off", call.name);
            ErrorData::invalid_params(message, None)
        };
        let tool = tools::all().iter().find(|tool| tool.name == call.name).ok_or_else(unknown)?;
        if !self.enabled_tools().await?.iter().any(|name| name == tool.name) {
            return Err(unknown());
        }
        let arguments = serde_json::Value::Object(call.arguments.unwrap_or_default());
        Ok(match (tool.request)(arguments) {
            Ok(request) => tokio::select! {
                reply = self.call_handler(request) => tool_result(reply?),
                // What has begun goes on in the daemon to its own end; nobody waits for it here,
                // and no response is sent.
                () = context.ct.cancelled() => {
                    return Err(ErrorData::internal_error("cancelled", None));
                }
            },
            // The model can mend its arguments, so it must see this; protocol errors it may not.
            Err(wrong) => CallToolResult::error(vec![ContentBlock::text(wrong)]),
        }
        .into())
    }
}

/// A refusal did nothing, so it is an error, which the model can mend; what was not measured is an
/// answer. A reply without a document is a failure, whose words are on stderr.
fn tool_result(reply: CommandReply) -> CallToolResult {
    let text = |text: String| vec![ContentBlock::text(truncate_lines(&text))];
    match reply.document {
        Some(document) => {
            let text = text(reply.stderr + &reply.stdout);
            let mut result = match document["status"].as_str() {
                Some("refused") => CallToolResult::error(text),
                _ => CallToolResult::success(text),
            };
            result.structured_content = Some(*document);
            result
        }
        None => CallToolResult::error(text(reply.stdout + &reply.stderr)),
    }
}

/// Whole lines, as many as an agent's context should hold.
fn truncate_lines(text: &str) -> String {
    let text = text.trim_end();
    match text.char_indices().nth(CONTEXT_CHARS_MAX) {
        None => text.to_owned(),
        Some((end, _)) => {
            let head = text[..end].rsplit_once('\n').map_or(&text[..end], |(head, _)| head);
            let omitted = text.lines().count() - head.lines().count();
            format!("{head}\n({omitted} more lines)")
        }
    }
}
