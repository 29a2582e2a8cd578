//! HTTP endpoints with OpenAI's chat completions or Anthropic's messages API. The only module that
//! uses the HTTP client. The key is sent to the configured address only: redirects are not
//! followed, and no message contains it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use ureq::{Agent, Proxy};

use super::{ApiStyle, CallerEnv, ModelRequest, ModelResponse};
use moai_base::foreign_text::one_line;
use moai_base::limits::{JUDGE_ANSWER_BYTES_MAX, JUDGE_ANSWER_TOKENS_MAX, JUDGE_FAULT_CHARS_MAX};
use moai_base::verdict::{Cause, Gap};

/// The endpoint of a request.
pub(super) struct HttpEndpoint {
    pub(super) style: ApiStyle,
    pub(super) url: String,
    pub(super) model: String,
    pub(super) key: Option<String>,
}

struct HttpResponse {
    status: u16,
    body: String,
}

pub(super) async fn ask_http(
    endpoint: HttpEndpoint,
    question: ModelRequest,
    env: &CallerEnv,
) -> Result<ModelResponse, Gap> {
    let proxy = proxy(&endpoint.url, env);
    // The client blocks; its own deadline ends it if the caller has disconnected.
    let answered =
        tokio::task::spawn_blocking(move || ask_blocking(&endpoint, &question, proxy)).await;
    answered.unwrap_or_else(|_| Err(Gap::new(Cause::Crashed, "internal error in the HTTP client")))
}

fn ask_blocking(
    endpoint: &HttpEndpoint,
    question: &ModelRequest,
    proxy: Option<Proxy>,
) -> Result<ModelResponse, Gap> {
    let agent: Agent = Agent::config_builder()
        .max_redirects(0)
        .http_status_as_error(false)
        .proxy(proxy)
        .user_agent(concat!("moai-ralph/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let deadline = Instant::now() + question.timeout;
    let post = |is_plain| endpoint.post(&agent, question, is_plain, deadline);
    let mut response = post(false)?;
    // Some models refuse a temperature or a response format.
    if response.status == 400 {
        response = post(true)?;
    }
    match response.status {
        200 => endpoint.read(&response.body),
        status => Err(status_gap(endpoint, status, &response.body)),
    }
}

impl HttpEndpoint {
    /// The URL; the API's path is appended to a base URL.
    fn address(&self) -> String {
        let url = self.url.trim_end_matches('/');
        let (end, added) = match self.style {
            ApiStyle::Openai => ("/chat/completions", "/chat/completions"),
            ApiStyle::Anthropic if url.ends_with("/v1") => ("/messages", "/messages"),
            ApiStyle::Anthropic => ("/messages", "/v1/messages"),
        };
        if url.ends_with(end) { url.to_owned() } else { format!("{url}{added}") }
    }

    fn body(&self, question: &ModelRequest, is_plain: bool) -> Value {
        let user = json!({"role": "user", "content": question.user});
        let mut body = match self.style {
            ApiStyle::Openai => {
                let system = json!({"role": "system", "content": question.system});
                json!({"model": self.model, "messages": [system, user]})
            }
            ApiStyle::Anthropic => json!({
                "model": self.model, "system": question.system, "messages": [user],
                "max_tokens": JUDGE_ANSWER_TOKENS_MAX,
            }),
        };
        if !is_plain {
            body["temperature"] = json!(0);
            if self.style == ApiStyle::Openai {
                body["response_format"] = json!({"type": "json_object"});
            }
        }
        body
    }

    /// Sends one request; all requests of one question share a deadline.
    fn post(
        &self,
        agent: &Agent,
        question: &ModelRequest,
        is_plain: bool,
        deadline: Instant,
    ) -> Result<HttpResponse, Gap> {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(timeout_gap(question.timeout));
        }
        let mut request = agent.post(self.address()).header("content-type", "application/json");
        request = match (self.style, &self.key) {
            (ApiStyle::Openai, Some(key)) => {
                request.header("authorization", format!("Bearer {key}"))
            }
            (ApiStyle::Anthropic, Some(key)) => request.header("x-api-key", key),
            (_, None) => request,
        };
        if self.style == ApiStyle::Anthropic {
            request = request.header("anthropic-version", "2023-06-01");
        }
        let failed = |error: ureq::Error| request_gap(&error, question.timeout);
        let request = request.config().timeout_global(Some(left)).build();
        let mut response =
            request.send(self.body(question, is_plain).to_string()).map_err(failed)?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(JUDGE_ANSWER_BYTES_MAX as u64);
        Ok(HttpResponse { status, body: body.read_to_string().map_err(failed)? })
    }

    fn read(&self, body: &str) -> Result<ModelResponse, Gap> {
        let broken = |what: &str| Gap::new(Cause::Crashed, format!("the endpoint's answer {what}"));
        let document: Value = serde_json::from_str(body).map_err(|_| broken("is not JSON"))?;
        let (text, stop) = match self.style {
            ApiStyle::Openai => {
                let choice = &document["choices"][0];
                (choice["message"]["content"].as_str().map(str::to_owned), &choice["finish_reason"])
            }
            ApiStyle::Anthropic => {
                let blocks = document["content"].as_array();
                let texts =
                    blocks.map(|all| all.iter().filter_map(|it| it["text"].as_str()).collect());
                (texts, &document["stop_reason"])
            }
        };
        if matches!(stop.as_str(), Some("length" | "max_tokens")) {
            return Err(broken("was cut off"));
        }
        let text = text.ok_or_else(|| broken("holds no text"))?;
        let model = document["model"].as_str().map(|model| one_line(model, 100));
        Ok(ModelResponse { text, model, cost_usd: None })
    }
}

fn timeout_gap(timeout: Duration) -> Gap {
    let detail = format!("the endpoint gave no answer within {} s", timeout.as_secs_f32());
    Gap::new(Cause::TimedOut, detail)
}

/// Gap of a request without a response. The client's messages never contain headers.
fn request_gap(error: &ureq::Error, timeout: Duration) -> Gap {
    match error {
        ureq::Error::Timeout(_) => timeout_gap(timeout),
        other => {
            let what = one_line(&other.to_string(), JUDGE_FAULT_CHARS_MAX);
            Gap::new(Cause::Crashed, format!("the endpoint cannot be reached: {what}"))
        }
    }
}

/// Gap of an error status; transient or not.
fn status_gap(endpoint: &HttpEndpoint, status: u16, body: &str) -> Gap {
    let cause = match status {
        408 | 409 | 425 | 429 | 500..=599 => Cause::Crashed,
        _ => Cause::Refused,
    };
    let document: Value = serde_json::from_str(body).unwrap_or_default();
    let error = &document["error"];
    let said = error["message"].as_str().or_else(|| error.as_str()).unwrap_or_default();
    // Servers may repeat a rejected key.
    let said = match &endpoint.key {
        Some(key) => said.replace(key.as_str(), "…"),
        None => said.to_owned(),
    };
    let said = one_line(&said, JUDGE_FAULT_CHARS_MAX);
    let colon = if said.is_empty() { "" } else { ": " };
    Gap::new(cause, format!("the endpoint answered with status {status}{colon}{said}"))
}

/// The caller's proxy for a URL, from the environment as in curl; none for this machine.
fn proxy(url: &str, env: &CallerEnv) -> Option<Proxy> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next()?.rsplit('@').next()?;
    let host = host.strip_prefix('[').map_or_else(
        || host.split(':').next().unwrap_or_default(),
        |six| six.split(']').next().unwrap_or_default(),
    );
    let find = |name: &str| {
        let names = [name.to_owned(), name.to_uppercase()];
        let found = env.iter().find(|(key, value)| names.contains(key) && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    };
    let is_local = host == "localhost" || host == "::1" || host.starts_with("127.");
    let is_exempt = |name: &str| {
        let name = name.trim().trim_start_matches('.');
        name == "*" || !name.is_empty() && (host == name || host.ends_with(&format!(".{name}")))
    };
    if is_local || find("no_proxy").is_some_and(|names| names.split(',').any(is_exempt)) {
        return None;
    }
    let value = find(&format!("{scheme}_proxy")).or_else(|| find("all_proxy"))?;
    Proxy::new(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(style: ApiStyle, url: &str) -> HttpEndpoint {
        HttpEndpoint {
            style,
            url: url.to_owned(),
            model: "m".to_owned(),
            key: Some("k-secret".into()),
        }
    }

    #[test]
    fn a_second_request_gets_no_time_of_its_own() {
        let question = ModelRequest {
            system: String::new(),
            user: String::new(),
            timeout: Duration::from_secs(100),
        };
        let agent = Agent::config_builder().build().into();
        // No server listens there: a request would fail differently.
        let endpoint = endpoint(ApiStyle::Openai, "http://127.0.0.1:1");
        let late = endpoint.post(&agent, &question, true, Instant::now());
        assert_eq!(late.map(|it| it.status).map_err(|gap| gap.cause), Err(Cause::TimedOut));
        let deadline = Instant::now() + question.timeout;
        let early = endpoint.post(&agent, &question, true, deadline);
        assert_eq!(early.map(|it| it.status).map_err(|gap| gap.cause), Err(Cause::Crashed));
    }

    #[test]
    fn the_known_path_is_added_where_it_is_missing() {
        let check = |style, url: &str, expected: &str| {
            assert_eq!(endpoint(style, url).address(), expected);
        };
        check(ApiStyle::Openai, "http://h:1/v1/", "http://h:1/v1/chat/completions");
        check(ApiStyle::Openai, "http://h/x/chat/completions", "http://h/x/chat/completions");
        check(ApiStyle::Anthropic, "https://h", "https://h/v1/messages");
        check(ApiStyle::Anthropic, "https://h/v1", "https://h/v1/messages");
        check(ApiStyle::Anthropic, "https://h/v1/messages", "https://h/v1/messages");
    }

    #[test]
    fn answers_of_both_kinds_are_read_and_cut_or_empty_ones_are_none() {
        let openai = endpoint(ApiStyle::Openai, "http://h");
        let said = openai.read(
            r#"{"model":"m-2","choices":[{"message":{"content":"{}"},"finish_reason":"stop"}]}"#,
        );
        assert_eq!(said.map(|it| (it.text, it.model)), Ok(("{}".into(), Some("m-2".into()))));
        let anthropic = endpoint(ApiStyle::Anthropic, "http://h");
        let said = anthropic.read(r#"{"content":[{"type":"thinking"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"end_turn"}"#);
        assert_eq!(said.map(|it| it.text), Ok("ab".into()));
        for body in [
            "",
            "<html>",
            "{}",
            r#"{"choices":[]}"#,
            r#"{"choices":[{"message":{"content":"{}"},"finish_reason":"length"}]}"#,
        ] {
            assert_eq!(openai.read(body).map_err(|gap| gap.cause), Err(Cause::Crashed), "{body}");
        }
        assert!(
            anthropic.read(r#"{"content":[{"text":"a"}],"stop_reason":"max_tokens"}"#).is_err()
        );
    }

    #[test]
    fn a_refusal_tells_what_may_pass_and_never_the_key() {
        let body = r#"{"error":{"message":"invalid key k-secret\nfor you"}}"#;
        let gap = status_gap(&endpoint(ApiStyle::Openai, "http://h"), 401, body);
        assert_eq!(gap.cause, Cause::Refused);
        assert_eq!(gap.detail, "the endpoint answered with status 401: invalid key … for you");
        assert_eq!(
            status_gap(&endpoint(ApiStyle::Openai, "http://h"), 529, "busy").cause,
            Cause::Crashed
        );
    }

    #[test]
    fn the_callers_proxy_is_taken_and_never_for_this_machine() {
        let env = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let set = env(&[("HTTPS_PROXY", "http://proxy:3128"), ("no_proxy", "x.org, .corp")]);
        assert!(proxy("https://api.example.com/v1", &set).is_some());
        for url in [
            "http://api.example.com",
            "https://localhost:1",
            "https://[::1]:8/x",
            "https://127.0.0.1",
            "https://x.org/",
            "https://a.corp",
        ] {
            assert!(proxy(url, &set).is_none(), "{url}");
        }
    }
}
