//! MCP server on stdio: exposes the engine's handlers as tools of an agent. It translates a tool
//! call into a request and the reply into a tool result.

mod client_lines;
pub mod tools;

use std::sync::Arc;

use client_lines::{CheckedClient, UNFIT_PARAMETERS, checked_client};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt as _};
use serde_json::Value;

use moai_base::foreign_text::visible;
use moai_base::limits::CONTEXT_CHARS_MAX;
use moai_protocol::control::{CommandReply, DaemonRequest, ToolRefusal};

/// Sends a request to its handler, with the name of the tool that is called; blocks, and starts the
/// daemon if necessary.
pub type RequestHandler =
    Arc<dyn Fn(DaemonRequest, Option<&'static str>) -> CommandReply + Send + Sync>;

/// Serves one client until it closes the connection. Needs a tokio runtime with I/O. The error is
/// one line.
pub async fn serve(handler: RequestHandler) -> Result<(), String> {
    let (input, output) = rmcp::transport::io::stdio();
    let CheckedClient { input, output, writer } = checked_client(input, output);
    // The lines are checked already, and rmcp would drop a long one.
    let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(usize::MAX);
    let running = McpServer { handler }.serve(transport).await;
    let running =
        running.map_err(|error| format!("the client did not complete the handshake: {error}"))?;
    let served = running.waiting().await.map(drop).map_err(|error| error.to_string());
    // The server may not end before its last answers are written.
    let _ = writer.await;
    served
}

struct McpServer {
    handler: RequestHandler,
}

impl McpServer {
    /// Calls the handler on a thread that may block.
    async fn call_handler(
        &self,
        request: DaemonRequest,
        tool: Option<&'static str>,
    ) -> Result<CommandReply, ErrorData> {
        let handler = Arc::clone(&self.handler);
        let answer = tokio::task::spawn_blocking(move || handler(request, tool)).await;
        answer.map_err(|_| ErrorData::internal_error("internal error", None))
    }

    async fn enabled_tools(&self) -> Result<Vec<String>, ErrorData> {
        let reply = self.call_handler(DaemonRequest::McpTools, None).await?;
        match reply.document.as_ref().and_then(|names| names.as_array()) {
            Some(names) => {
                Ok(names.iter().filter_map(|name| name.as_str()).map(str::to_owned).collect())
            }
            None => Err(unusable_options(&reply)),
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
        let enabled = self.enabled_tools().await?;
        let tools = tools::all().iter().filter(|tool| enabled.iter().any(|name| name == tool.name));
        Ok(ListToolsResult::with_all_items(tools.map(tools::McpTool::to_rmcp).collect()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::all().iter().find(|tool| tool.name == call.name) else {
            return Err(no_such_tool(&call.name));
        };
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let request = match (tool.request)(arguments) {
            Ok(request) => request,
            // No request reaches the daemon that could refuse a tool that is switched off.
            Err(_) if !self.enabled_tools().await?.iter().any(|name| name == tool.name) => {
                return Err(no_such_tool(tool.name));
            }
            // A tool error and not a protocol error, because the model may not see the latter and
            // can correct its arguments.
            Err(message) => {
                return Ok(CallToolResult::error(vec![ContentBlock::text(message)]).into());
            }
        };
        tokio::select! {
            reply = self.call_handler(request, Some(tool.name)) => {
                let reply = reply?;
                match reply.tool_refusal {
                    None => Ok(tool_result(reply).into()),
                    Some(ToolRefusal::SwitchedOff) => Err(no_such_tool(tool.name)),
                    Some(ToolRefusal::UnusableOptions) => Err(unusable_options(&reply)),
                }
            }
            // Work in progress continues in the daemon; it is not awaited, and no response is sent.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("cancelled", None)),
        }
    }

    /// rmcp passes every request here that matches none of its types, also one of a known method with invalid
    /// parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        if method == UNFIT_PARAMETERS {
            return Err(ErrorData::invalid_params("the parameters are not an object", None));
        }
        if SERVED_METHODS.contains(&method.as_str()) {
            let message = format!("the parameters of {method} do not fit its schema");
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None))
    }
}

const SERVED_METHODS: [&str; 4] = ["initialize", "ping", "tools/list", "tools/call"];

fn no_such_tool(name: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is no tool {name}, or it is switched off"), None)
}

/// The options of the project cannot be read, so it is not known which tools they offer.
fn unusable_options(reply: &CommandReply) -> ErrorData {
    ErrorData::internal_error(reply.stderr.trim().to_owned(), None)
}

/// A refusal changed nothing, so it is an error that the model can correct; an unmeasured result is
/// an answer. A reply without a document is a failure described on stderr.
fn tool_result(reply: CommandReply) -> CallToolResult {
    let to_content = |text: String| vec![ContentBlock::text(truncate_lines(&visible(&text)))];
    match reply.document {
        Some(mut document) => {
            make_visible(&mut document);
            let content = to_content(reply.stderr + &reply.stdout);
            let mut result = match document["status"].as_str() {
                Some("refused") => CallToolResult::error(content),
                _ => CallToolResult::success(content),
            };
            result.structured_content = Some(*document);
            result
        }
        None => CallToolResult::error(to_content(reply.stdout + &reply.stderr)),
    }
}

/// Every text of a structured answer, as [`visible`] text.
fn make_visible(value: &mut Value) {
    match value {
        Value::String(text) => *text = visible(text),
        Value::Array(values) => values.iter_mut().for_each(make_visible),
        Value::Object(fields) => fields.values_mut().for_each(make_visible),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// As many whole lines as fit into [`CONTEXT_CHARS_MAX`].
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
