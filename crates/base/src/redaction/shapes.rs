//! The shapes of secrets, one row each: what it is, and a regular expression. Where the expression
//! has a group, the group is the secret. `\b` is of ASCII; no row has an unbounded repetition of
//! anything but a class, so that a text is searched in linear time.

/// One shape: a name for people, and its expression.
pub(super) type SecretShape = (&'static str, &'static str);

/// All shapes; special ones come before general ones.
pub(super) const SHAPES: &[SecretShape] = &[
    // Blocks.
    (
        "private key",
        r#"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[A-Za-z0-9+/=\r\n\t \\|:,."'-]*?[A-Za-z0-9+/]{32}[A-Za-z0-9+/=\r\n\t \\|:,."'-]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"#,
    ),
    (
        "private key",
        r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[0-9 \t\r\n|+nr\\-]{1,20}[A-Za-z0-9+/=]{32,})+",
    ),
    ("age secret key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    // Clouds.
    ("AWS access key id", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    (
        "AWS secret access key",
        r#"(?i-u:aws_?secret_?(?:access_?)?key|secret_?access_?key)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#,
    ),
    (
        "AWS session token",
        r#"(?i-u:session_?token)["']?[ \t]*[:=][ \t]*["']?([A-Za-z0-9/+=]{100,})"#,
    ),
    ("Azure storage key", r"\bAccountKey=([A-Za-z0-9+/]{86}==)"),
    ("Azure shared access signature", r"[?&]sig=([A-Za-z0-9%+/=_-]{40,})"),
    ("Azure client secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth client secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    ("Google access token", r"\bya29\.[A-Za-z0-9_-]{30,}"),
    ("Google refresh token", r"\b1//0[A-Za-z0-9_-]{40,}"),
    ("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("Cloudflare origin key", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    ("Heroku key", r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    (
        "Heroku key",
        r#"(?i-u:heroku[a-z_-]{0,20}(?:key|token))["']?[ \t]*[:=][ \t]*["']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"#,
    ),
    ("Fly.io token", r"\bfm[12][ar]?_[A-Za-z0-9+/=_-]{60,}"),
    ("Netlify token", r"\bnfp_[A-Za-z0-9]{36,}\b"),
    ("Terraform token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    ("Vault token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    ("Pulumi token", r"\bpul-[a-f0-9]{40}\b"),
    (
        "Doppler token",
        r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b",
    ),
    ("Databricks token", r"\bdapi[a-f0-9]{32}(?:-[0-9])?\b"),
    ("Supabase token", r"\bsbp_[a-f0-9]{40}\b"),
    ("Supabase secret key", r"\bsb_secret_[A-Za-z0-9_-]{20,}"),
    ("PlanetScale token", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,}"),
    ("Tailscale key", r"\btskey-[a-z]{2,12}-[A-Za-z0-9]{8,}-[A-Za-z0-9]{16,}"),
    // Code hosts, registries and CI.
    ("GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    ("GitHub fine-grained token", r"\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b"),
    ("GitLab token", r"\bgl(?:pat|dt|ptt|ft|rt|cbt|soat|imt|agent|oas)-[A-Za-z0-9_-]{20,}"),
    ("Bitbucket app password", r"\bATBB[A-Za-z0-9]{32}\b"),
    ("Atlassian token", r"\bAT(?:ATT|CTT)3[A-Za-z0-9_=-]{50,}"),
    ("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("PyPI token", r"\bpypi-[A-Za-z0-9_-]{50,}"),
    ("RubyGems key", r"\brubygems_[a-f0-9]{48}\b"),
    ("crates.io token", r"\bcio[A-Za-z0-9]{32}\b"),
    ("Docker token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("Buildkite token", r"\bbk(?:ua|at)_[a-f0-9]{40}\b"),
    ("CircleCI token", r"\bCCI(?:PAT|PRJ)_[A-Za-z0-9]{20,}_[a-f0-9]{40}\b"),
    ("SonarQube token", r"\bsq[apu]_[a-f0-9]{40}\b"),
    // Models.
    ("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    ("OpenRouter key", r"\bsk-or-v1-[a-f0-9]{64}\b"),
    ("OpenAI key", r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{20,}"),
    ("OpenAI key", r"\bsk-[A-Za-z0-9]{32,}\b"),
    ("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,}\b"),
    ("Replicate token", r"\br8_[A-Za-z0-9]{37}\b"),
    ("Groq key", r"\bgsk_[A-Za-z0-9]{48,}\b"),
    ("xAI key", r"\bxai-[A-Za-z0-9]{60,}\b"),
    ("Perplexity key", r"\bpplx-[A-Za-z0-9]{40,}\b"),
    // Chat and mail.
    ("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("Slack app token", r"\bxapp-[0-9]-[A-Za-z0-9-]{20,}"),
    ("Slack webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})"),
    ("Discord token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    ("Discord webhook", r"discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[A-Za-z0-9_-]{60,})"),
    ("Telegram bot token", r"\b[0-9]{8,10}:A[A-Za-z0-9_-]{34}\b"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("Twilio key", r"\bSK[a-f0-9]{32}\b"),
    ("Mailgun key", r"\bkey-[a-f0-9]{32}\b"),
    ("Mailchimp key", r"\b[a-f0-9]{32}-us[0-9]{1,2}\b"),
    // Payment and shops.
    ("Stripe key", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}\b"),
    ("Stripe webhook secret", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("Square token", r"\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"),
    // Tools.
    ("Linear key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}\b"),
    ("Notion token", r"\bntn_[A-Za-z0-9]{40,}\b"),
    ("Notion token", r"\bsecret_[A-Za-z0-9]{43}\b"),
    ("Airtable token", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    ("Figma token", r"\bfigd_[A-Za-z0-9_-]{36,}"),
    ("Postman key", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    ("Grafana token", r"\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b"),
    ("Grafana token", r"\bglc_[A-Za-z0-9+/=]{32,}"),
    ("New Relic key", r"\bNRAK-[A-Z0-9]{27}\b"),
    ("Sentry token", r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("Dynatrace token", r"\bdt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    // In any text.
    ("JSON web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (
        "authorization",
        r#"(?i-u:authorization)["']?[ \t]*[:=][ \t]*["']?(?i-u:bearer|basic|token)[ \t]+([A-Za-z0-9+/=._~-]{12,})"#,
    ),
    ("bearer token", r"\b(?i-u:bearer)[ \t]+([A-Za-z0-9+/=._~-]{24,})"),
];

/// The password of a URL. Redacted unless it is a placeholder.
pub(super) const URL_PASSWORD: SecretShape = (
    "password in a URL",
    r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^/ \t\r\n:@'"<>]{0,80}:([^/ \t\r\n:@'"<>]{3,200})@"#,
);

/// A token in place of the user of a URL. Redacted if it looks random.
pub(super) const URL_TOKEN: SecretShape =
    ("token in a URL", r#"\bhttps?://([^/ \t\r\n:@'"<>]{16,200})@"#);

/// What `curl` is to log in with. Redacted if the password looks random.
pub(super) const CURL_PASSWORD: SecretShape = (
    "credentials of curl",
    r#"\bcurl\b[^\n|;&]{0,200}[ \t](?:-u|--user)[ \t=]?["']?[^ \t\r\n:"']{1,80}:([^ \t\r\n"']{8,200})"#,
);

/// A quoted value behind a name that says it is secret. Redacted if it looks random.
pub(super) const QUOTED_VALUE: SecretShape = (
    "secret value",
    r#"(?i-u:passw(?:or)?d|passphrase|token|secret|api_?-?key|access_?-?key|auth_?-?key|credentials?)[A-Za-z0-9_.-]{0,30}["']?[ \t]*(?::=|=>|=|:)[ \t]*["']([^ \t\r\n"']{12,200})["']"#,
);

/// The same without quotes, as environment files, options of programs and notes have it.
pub(super) const PLAIN_VALUE: SecretShape = (
    "secret value",
    r"(?i-u:passw(?:or)?d|passphrase|token|secret|api_?-?key|access_?-?key|auth_?-?key|_auth|credentials?|\bpwd|cookie)[A-Za-z0-9_.-]{0,30}(?:[ \t]*[=:][ \t]*|[ \t]+)([^ \t\r\n\x22'<>&;,]{12,200})",
);

/// The same in Korean.
pub(super) const KOREAN_VALUE: SecretShape = (
    "secret value",
    r"(?:비밀번호|패스워드|암호|비번|토큰|시크릿)(?:는|은|가|이)?[ \t]*[=:]?[ \t]*([^ \t\r\n\x22'<>&;,]{12,200})",
);

/// A Korean resident registration number. Redacted if its date and check digit are right.
pub(super) const RESIDENT_NUMBER: SecretShape =
    ("resident registration number", r"\b[0-9]{6}[ \t]?-[ \t]?[0-9]{7}\b");
