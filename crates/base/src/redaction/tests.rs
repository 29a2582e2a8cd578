//! The corpus: for each shape examples, and texts that nearly have it. Examples are written as
//! templates, so that these files hold no secret: `{w20}` stands for 20 characters of a kind.

mod innocent;
mod secrets;

use super::*;

/// Characters of each kind: `a` letters and digits, `l` small letters, `u` capitals, `h`
/// hexadecimal, `d` digits, `w` as in URLs, `b` as in base64, `k` as in a base32 alphabet.
const KINDS: [(&str, &str); 8] = [
    ("a", "q7Zk3Xw9Rt2Lm8Vb5Nc1Yp6Hs4Jd0Gf"),
    ("l", "qzkxwrtlmvbncyphsjdgf"),
    ("u", "QZKXWRTLMVBNCYPHSJDGF"),
    ("h", "7f3a9c1e5b8d2046"),
    ("d", "7391502846"),
    ("w", "q7Z-k3X_w9R-t2Lm8Vb5Nc1Yp6Hs4Jd"),
    ("b", "q7Zk3Xw9+Rt2Lm8/Vb5Nc1Yp6Hs4Jd0Gf"),
    ("k", "Q7ZK3XW4RT2LM5VB6NC"),
];

/// The text of a template; other braces are kept.
fn expanded(template: &str) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let filler = after.split_once('}').and_then(|(what, after)| Some((filler(what)?, after)));
        if let Some((filler, behind)) = filler {
            text.push_str(&filler);
            rest = behind;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text + rest
}

fn filler(what: &str) -> Option<String> {
    let (kind, count) = what.split_at_checked(1)?;
    let (_, characters) = KINDS.iter().find(|row| row.0 == kind)?;
    Some(characters.chars().cycle().take(count.parse().ok()?).collect())
}

/// Name, an example, and a text that nearly has the shape.
const CORPUS: &[(&str, &str, &str)] = &[
    ("secret value", "password: {a16}\n", "password: {l16}\n"),
    (
        "secret value",
        "spring.datasource.password={a16}",
        "spring.datasource.password=${DB_PASSWORD}",
    ),
    ("secret value", "tool --password {a20} --x", "tool --password {l20} --x"),
    ("secret value", "https://h/?access_token={a20}&x=1", "https://h/?access_token=&x={a20}"),
    ("secret value", "//registry/:_authToken={a36}", "the tokens expired after2345seconds"),
    ("secret value", "X-Api-Key: {a24}", "apiKeyProviderV2: the class"),
    ("secret value", "비밀번호는 {a16}", "비밀번호는 길어야 한다"),
    ("credentials of curl", "curl -s -u ann:{a16} https://h", "curl -s -u ann https://h"),
    ("token in a URL", "https://{a36}@git.example.com/x", "https://ann@git.example.com/x"),
    (
        "private key",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{b64}\n{b64}\n{b20}==\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\n{b64}\n{b64}\n-----END PUBLIC KEY-----",
    ),
    (
        "private key",
        "\"-----BEGIN PRIVATE KEY-----\\n{b64}\\n{b64}\\n-----END PRIVATE KEY-----\\n\"",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") { return true; } // -----END PRIVATE KEY-----",
    ),
    (
        "private key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n  12 | +{b64}\n  13 | +{b64}",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n(cut)",
    ),
    ("age secret key", "AGE-SECRET-KEY-1{k58}", "AGE-SECRET-KEY-1{k20}"),
    ("AWS access key id", "AKIA{k16}", "AKIA{k15}"),
    ("AWS access key id", "id=ASIA{k16};", "XAKIA{k16}"),
    ("AWS secret access key", "aws_secret_access_key = {b40}\n", "aws_secret_access_key = {l39}\n"),
    ("AWS secret access key", "\"SecretAccessKey\": \"{b40}\"", "\"AccessKey\": \"{l40}\""),
    ("AWS session token", "aws_session_token={b200}", "aws_session_token={l40}"),
    ("Azure storage key", "AccountName=x;AccountKey={b86}==;", "AccountKey={b20}=="),
    (
        "Azure shared access signature",
        "https://x.blob/y?se=1&sig={a44}%3D",
        "https://x/y?sig={a12}",
    ),
    ("Azure client secret", "{a3}8Q~{a34}", "{a3}xQ~{a34}"),
    ("Google API key", "AIza{w35}", "AIza{w30} "),
    ("Google OAuth client secret", "GOCSPX-{w28}", "GOCSPX-{w20} "),
    ("Google access token", "ya29.{w60}", "ya29.{w10}"),
    ("Google refresh token", "1//0{w50}", "1//0{w12}"),
    ("DigitalOcean token", "dop_v1_{h64}", "dop_v1_{h60}"),
    ("Cloudflare origin key", "v1.0-{h24}-{h146}", "v1.0-{h24}-{h40}"),
    ("Heroku key", "HRKU-{w40}", "HRKU-{w10}"),
    ("Heroku key", "HEROKU_API_KEY={h8}-{h4}-{h4}-{h4}-{h12}", "id: {h8}-{h4}-{h4}-{h4}-{h12}"),
    ("Fly.io token", "FlyV1 fm2_{b80}", "fm2_{a20}"),
    ("Netlify token", "nfp_{a40}", "nfp_{a20}"),
    ("Terraform token", "{a14}.atlasv1.{w67}", "{a14}.atlasv2.{w67}"),
    ("Vault token", "hvs.{w90}", "hvs.{l10}"),
    ("Pulumi token", "pul-{h40}", "pul-{h32}"),
    ("Doppler token", "dp.st.prd.{a42}", "dp.st.{a20}"),
    ("Databricks token", "dapi{h32}", "dapi{h30}"),
    ("Supabase token", "sbp_{h40}", "sbp_{h30}"),
    ("Supabase secret key", "sb_secret_{w31}", "sb_secret_{l8}"),
    ("PlanetScale token", "pscale_tkn_{w43}", "pscale_tkn_{w12}"),
    ("Tailscale key", "tskey-auth-{a12}CNTRL-{a32}", "tskey-auth-{a12}-{a6}"),
    ("GitHub token", "ghp_{a36}", "ghp_{a30}"),
    ("GitHub token", "x gho_{a36}, ghs_{a36}", "xghp_{a36}"),
    ("GitHub fine-grained token", "github_pat_{a22}_{a59}", "github_pat_{a22}"),
    ("GitLab token", "glpat-{w20}", "glpat-{w12}"),
    ("Bitbucket app password", "ATBB{a32}", "ATBB{a20}"),
    ("Atlassian token", "ATATT3xFfGF0{w160}", "ATATT3{w20} "),
    ("npm token", "npm_{a36}", "npm_{a35}"),
    ("npm token", "//registry.npmjs.org/:_authToken=npm_{a36}", "npm_config_registry"),
    ("PyPI token", "pypi-AgEIcHlwaS5vcmc{w100}", "pypi-{w20} "),
    ("RubyGems key", "rubygems_{h48}", "rubygems_{h40}"),
    ("crates.io token", "cio{a32}", "cio{a31}"),
    ("Docker token", "dckr_pat_{w27}", "dckr_pat_{w9}"),
    ("Buildkite token", "bkua_{h40}", "bkua_{h39}"),
    ("CircleCI token", "CCIPAT_{a22}_{h40}", "CCIPAT_{a22}_{h20}"),
    ("SonarQube token", "squ_{h40}", "squ_{h39}"),
    ("Anthropic key", "sk-ant-api03-{w93}AA", "sk-ant-{w9}"),
    ("OpenRouter key", "sk-or-v1-{h64}", "sk-or-v1-{h60}"),
    ("OpenAI key", "sk-proj-{w120}", "sk-proj-{w12}"),
    ("OpenAI key", "sk-{a20}T3BlbkFJ{a20}", "task-{a40}"),
    ("Hugging Face token", "hf_{a34}", "hf_{a20}"),
    ("Replicate token", "r8_{a37}", "r8_{a36}"),
    ("Groq key", "gsk_{a52}", "gsk_{a40}"),
    ("xAI key", "xai-{a80}", "xai-{a40}"),
    ("Perplexity key", "pplx-{a48}", "pplx-{a20}"),
    ("Slack token", "xoxb-{d12}-{d12}-{a24}", "xoxz-{d12}-{d12}-{a24}"),
    ("Slack app token", "xapp-1-A{k10}-{d13}-{h64}", "xapp-1-{a6}"),
    (
        "Slack webhook",
        "https://hooks.slack.com/services/T{k8}/B{k8}/{a24}",
        "https://hooks.slack.com/services/",
    ),
    ("Discord token", "M{a23}.G{a5}.{w38}", "M{a23}.G{a5}.{w12}"),
    (
        "Discord webhook",
        "https://discord.com/api/webhooks/{d18}/{w68}",
        "https://discord.com/api/webhooks/{d18}",
    ),
    ("Telegram bot token", "https://api.telegram.org/bot {d10}:AA{w33}", "{d10}:AA{a20}"),
    ("SendGrid key", "SG.{w22}.{w43}", "SG.{w22}.{w12}"),
    ("Twilio key", "SK{h32}", "SK{h31}"),
    ("Mailgun key", "key-{h32}", "key-{h31}"),
    ("Mailchimp key", "{h32}-us12", "{h32}-eu12"),
    ("Stripe key", "sk_live_{a24}", "sk_live_{a8}"),
    ("Stripe key", "rk_live_{a24}", "pk_live_{a24}"),
    ("Stripe webhook secret", "whsec_{b32}", "whsec_{b12}"),
    ("Shopify token", "shpat_{h32}", "shpat_{h31}"),
    ("Square token", "sq0atp-{w22}", "sq0idp-{w22}"),
    ("Linear key", "lin_api_{a40}", "lin_api_{a20}"),
    ("Notion token", "ntn_{a46}", "ntn_{a20}"),
    ("Notion token", "secret_{a43}", "secret_{a20}"),
    ("Airtable token", "pat{a14}.{h64}", "pat{a14}.{h32}"),
    ("Figma token", "figd_{w40}", "figd_{w20}"),
    ("Postman key", "PMAK-{h24}-{h34}", "PMAK-{h24}-{h30}"),
    ("Grafana token", "glsa_{a32}_{h8}", "glsa_{a32}"),
    ("Grafana token", "glc_{b60}", "glc_{b20}"),
    ("New Relic key", "NRAK-{k27}", "NRAK-{k26}"),
    ("Sentry token", "sntrys_{b80}", "sntrys_{b20}"),
    ("Dynatrace token", "dt0c01.{k24}.{k64}", "dt0c01.{k24}"),
    ("JSON web token", "eyJ{w30}.eyJ{w60}.{w43}", "eyJ{w30}.{w60}"),
    ("authorization", "Authorization: Basic {b24}==", "Authorization: Basic <credentials>"),
    (
        "authorization",
        "\"authorization\": \"Bearer {w20}\"",
        "\"authorization\": format!(\"Bearer {h0}\")",
    ),
    ("bearer token", "-H 'x: Bearer {w40}'", "the bearer of this letter"),
    ("password in a URL", "postgres://app:{a14}@db.local/x", "postgres://app:password@db.local/x"),
    (
        "password in a URL",
        "https://me:{a20}@host",
        "http://user:$PASS@host and http://host:8080/a@b",
    ),
    ("secret value", "password = \"{a16}\"", "password = \"correct horse battery\""),
    ("secret value", "\"clientSecret\": '{w24}'", "token = \"parse-token-v2-of-handler\""),
    ("secret value", "api_key: \"{h32}\"", "api_key: \"${API_KEY_OF_2024}\""),
    ("secret value", "token := \"{a20}\"", "token_limit: \"12345678901234\""),
    ("secret value", "\nDB_PASSWORD={a20}\n", "DB_PASSWORD=parse_password(input2)"),
    ("secret value", "export NPM_TOKEN={w30}", "MAX_TOKENS=4096 TOKENS_SEEN=aaaaaaaaaaa1"),
    ("resident registration number", "주민번호900101-{d0}1234568입니다", "900101-{d0}1234567"),
    ("resident registration number", "880229 - {d0}5123455", "901301-{d0}1234568"),
    ("resident registration number", "210405-{d0}3000001", "1900101-{d0}1234568"),
    ("resident registration number", "010203-{d0}3234560", "200905-{d0}3000001"),
    ("resident registration number", "주민등록번호: 850909-{d0}2234564", "850909-{d0}2234564"),
    ("resident registration number", "외국인등록번호 850909.{d0}6234567", "850909.{d0}6234567"),
    ("resident registration number", "850909–{d0}2234561", "851309–{d0}2234561"),
    ("resident registration number", "850909 − {d0}2234561", "850909 + {d0}2234561"),
];

#[test]
fn every_shape_is_found_and_what_is_nearly_one_stays() {
    let mut wrong = Vec::new();
    for (name, example, near) in CORPUS {
        let text = format!("before {} after", expanded(example));
        let clean = redacted(&text);
        let is_found = clean.contains(&format!("[redacted: {name}]"));
        let is_kept = clean.starts_with("before ") && clean.ends_with(" after");
        if !is_found || !is_kept || redacted(&clean) != clean {
            wrong.push(format!("{name}: {text} became {clean}"));
        }
        let near = expanded(near);
        if redacted(&near) != near {
            wrong.push(format!("{name}: {near} became {}", redacted(&near)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_corpus_knows_every_shape() {
    let mut texts: Vec<String> = CORPUS.iter().map(|row| expanded(row.1)).collect();
    texts.extend(secrets::texts());
    for pattern in PATTERNS.in_set.iter().chain(&PATTERNS.surrounded) {
        let is_known = texts.iter().any(|text| pattern.expression().is_match(text));
        assert!(is_known, "{}: {}", pattern.name, pattern.source);
    }
    let mut names: Vec<&str> = PATTERNS.in_set.iter().map(|pattern| pattern.name).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() >= 90, "{}", names.len());
}

#[test]
fn what_surrounds_a_secret_stays() {
    let text = expanded("curl -H 'Authorization: Bearer {w30}' https://me:{a20}@host/x?a=1\nnext");
    assert_eq!(
        redacted(&text),
        "curl -H 'Authorization: Bearer [redacted: authorization]' \
         https://me:[redacted: password in a URL]@host/x?a=1\nnext"
    );
}

#[test]
fn a_text_without_secrets_is_not_copied() {
    let text = "fn token(secret: &str) -> bool { secret == PASSWORD } // 한글";
    assert!(matches!(redacted(text), Cow::Borrowed(_)));
}
