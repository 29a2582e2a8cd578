//! The shapes of secrets, one row each: a name and a regular expression. Where the expression has a
//! group, the group is the secret. `\b` is of ASCII; no row has an unbounded repetition of anything
//! but a class, so that a text is searched in linear time.

/// One shape: a name for people, and its expression.
pub(super) type SecretShape = (&'static str, &'static str);

/// A shape that is recognized by its context: a name, an expression, and lower-case words of which
/// a text must have at least one, because one automaton for all these expressions would be slow.
pub(super) type SurroundedShape = (&'static str, &'static str, &'static [&'static str]);

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
    ("private key", r"\bLS0tLS1CRUdJTi(?:BSU0Eg|BQUklW|BFQyBQ|BPUEVO|BFTkNS)[A-Za-z0-9+/=]{20,}"),
    ("PuTTY private key", r"\bPrivate-Lines:[ \t]*[0-9]{1,3}[\r\n]{1,2}([A-Za-z0-9+/=\r\n]{40,})"),
    ("WireGuard key", r"(?i-u:private|preshared)_?(?i-u:key)[ \t]*=[ \t]*([A-Za-z0-9+/]{43}=)"),
    (
        "Ethereum private key",
        r#"(?:(?i-u:priv(?:ate)?[ _-]?key|secret_?key|(?:deployer|wallet|signer|owner|account|eth)_?key|\bpk)["']?(?:[ \t]*[:=：][ \t]*|[ \t]+is[ \t]+)|개인 ?키(?:는|은|가)?[ \t]*[:=：]?[ \t]*)["'`]?(0x[a-fA-F0-9]{64})"#,
    ),
    ("extended private key", r"\b[xyz]prv[A-Za-z0-9]{100,}\b"),
    (
        "recovery phrase",
        r#"(?:(?i-u:mnemonic|(?:seed|recovery|secret|backup|wallet)[ _-]?(?:phrase|words))|니모닉|(?:복구|시드) ?(?:구문|문구))["']?(?:는|은)?(?:[ \t]*[:=：]|[ \t]+(?:is|are))?[ \t]*["'`]?((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"#,
    ),
    // Password hashes, which allow guessing the password.
    ("password hash", r"\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}"),
    ("password hash", r"\$(?:[1567y]|apr1)\$(?:[A-Za-z0-9=./]{1,40}\$){1,2}[./A-Za-z0-9]{22,103}"),
    (
        "password hash",
        r"\$argon2(?:id|i|d)\$v=[0-9]{1,3}\$[a-z0-9=,]{5,60}\$[A-Za-z0-9+/]{8,90}\$[A-Za-z0-9+/]{20,100}",
    ),
    (
        "password hash",
        r"\bpbkdf2[:_-]sha[0-9]{1,3}\$[0-9]{3,8}\$[A-Za-z0-9./+]{8,90}\$[A-Za-z0-9+/=]{20,100}",
    ),
    ("password hash", r"\{S?(?:SHA|SHA256|SHA512|MD5)\}[A-Za-z0-9+/=]{20,120}"),
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
    ("AWS secret access key", r"(?i-u:aws_secret_access_key)[ \t]+([A-Za-z0-9/+]{40})\b"),
    ("AWS signature", r"\bX-Amz-Signature=([a-f0-9]{64})"),
    ("Alibaba Cloud key id", r"\bLTAI[A-Za-z0-9]{12,24}\b"),
    ("Tencent Cloud key id", r"\bAKID[A-Za-z0-9]{32}\b"),
    ("Yandex Cloud key", r"\bAQVN[A-Za-z0-9_-]{35,38}"),
    ("Azure storage key", r"\bAccountKey=([A-Za-z0-9+/]{86}==)"),
    ("Azure shared access signature", r"[?&]sig=([A-Za-z0-9%+/=_-]{40,})"),
    ("Azure client secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    ("Google API key", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("Google OAuth client secret", r"\bGOCSPX-[A-Za-z0-9_-]{28}"),
    ("Google access token", r"\bya29\.[A-Za-z0-9_-]{30,}"),
    ("Google private key id", r#""private_key_id"[ \t]*:[ \t]*"([a-f0-9]{40})""#),
    ("Firebase server key", r"\bAAAA[A-Za-z0-9_-]{7}:[A-Za-z0-9_-]{140}"),
    ("Google refresh token", r"\b1//0[A-Za-z0-9_-]{40,}"),
    ("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("Cloudflare origin key", r"\bv1\.0-[a-f0-9]{24}-[a-f0-9]{146}\b"),
    ("Heroku key", r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    (
        "Heroku key",
        r#"(?i-u:heroku[a-z_-]{0,20}(?:key|token))["']?[ \t]*[:=][ \t]*["']?([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\b"#,
    ),
    ("Fly.io token", r"\bfm[12][ar]?_[A-Za-z0-9+/=_-]{60,}"),
    ("Fly.io token", r"\bfo1_[A-Za-z0-9_-]{40,}"),
    ("Azure DevOps token", r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b"),
    (
        "Azure DevOps token",
        r#"(?i-u:pat|token)["']?[ \t]*[:=][ \t]*["']?([a-z2-7]{52})(?:[^a-z0-9]|$)"#,
    ),
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
    ("NuGet key", r"\boy2[a-z0-9]{43}\b"),
    ("JFrog key", r"\bAKCp[A-Za-z0-9]{50,}\b"),
    ("Docker credentials", r#"["']auth["'][ \t]*:[ \t]*["']([A-Za-z0-9+/]{12,200}={0,2})["']"#),
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
    ("Telegram bot token", r"(?:\b|/bot)([0-9]{8,10}:A[A-Za-z0-9_-]{34})\b"),
    (
        "Teams webhook",
        r"webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,}(?:/[A-Za-z0-9/-]{20,})?)",
    ),
    ("Zapier webhook", r"hooks\.zapier\.com/hooks/catch/([0-9]{5,}/[A-Za-z0-9]{6,})"),
    ("Facebook token", r"\bEAA[A-Za-z0-9]{80,}\b"),
    ("Twitter bearer token", r"\bA{19,24}[A-Za-z0-9%]{20,60}%3D[A-Za-z0-9]{30,}"),
    ("Brevo key", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    ("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("Twilio key", r"\bSK[a-f0-9]{32}\b"),
    ("Mailgun key", r"\bkey-[a-f0-9]{32}\b"),
    ("Mailchimp key", r"\b[a-f0-9]{32}-us[0-9]{1,2}\b"),
    // Payment and shops.
    ("Stripe key", r"\b(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}\b"),
    ("Stripe webhook secret", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    ("Toss Payments key", r"\b(?:live|test)_g?sk_[A-Za-z0-9]{20,}\b"),
    ("Razorpay key", r"\brzp_(?:live|test)_[A-Za-z0-9]{14}\b"),
    (
        "Plaid token",
        r"\baccess-(?:sandbox|development|production)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    ),
    ("Shopify token", r"\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}\b"),
    ("Square token", r"\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,}"),
    // Tools.
    ("1Password token", r"\bops_eyJ[A-Za-z0-9_-]{40,}"),
    ("Adafruit key", r"\baio_[A-Za-z0-9]{28}\b"),
    ("Contentful token", r"\bCFPAT-[A-Za-z0-9_-]{43}"),
    ("Dropbox token", r"\bsl\.[A-Za-z0-9_-]{130,}"),
    ("LaunchDarkly key", r"\bsdk-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    ("Mapbox token", r"\bsk\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}"),
    ("Prefect key", r"\bpnu_[A-Za-z0-9]{36}\b"),
    ("ReadMe key", r"\brdme_[a-z0-9]{70}\b"),
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
    r#"\b[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^/ \t\r\n:@'"<>]{0,80}:([^/ \t\r\n'"<>]{3,200})@"#,
);

/// A token in place of the user of a URL. Redacted if it looks random.
pub(super) const URL_TOKEN: SecretShape =
    ("token in a URL", r#"\bhttps?://([^/ \t\r\n:@'"<>]{16,200})@"#);

/// Credentials in options of programs. Redacted unless they are placeholders.
pub(super) const COMMAND_PASSWORDS: &[SurroundedShape] = &[
    (
        "credentials of curl",
        r#"\b(?:curl|https?|xh)\b[\t -~&&[^|;&]]{0,200}?[ \t](?:-u|--user|-a|--auth)[ \t=]?["']?[!-~&&[^:"']]{1,80}:([!-~&&[^"'$]]{3,200})"#,
        &["curl ", "http ", "https ", "xh "],
    ),
    (
        "password of a command",
        r#"\b(?:docker|podman|nerdctl|oras|helm|az|oc|cf)\b[\t -~&&[^|;&]]{0,60}?[ \t]login\b[\t -~&&[^|;&]]{0,200}?[ \t](?:-p|--password)[ \t=]+["']?([!-~&&[^"'$|;&-]][!-~&&[^"'|;&]]{2,200})"#,
        &["login"],
    ),
    (
        "password of a command",
        r#"\b(?:echo|printf)[ \t]+(?:-n[ \t]+)?(?:'([ -~&&[^']]{4,80})'|"([ -~&&[^"$]]{4,80})"|([!-~&&[^"'$|;&]]{4,200}))[ \t]*\|[\t -~&&[^|]]{0,120}(?:--password-stdin|\bsudo[ \t](?:-[A-Za-z]+[ \t]+)*-[A-Za-z]*S)\b"#,
        &["--password-stdin", "sudo"],
    ),
    (
        "password of a command",
        r#"\b(?:(?:wget|aria2c)\b[\t -~&&[^|;&]]{0,200}?[ \t]--(?:http-|ftp-|proxy-)?passw(?:or)?d|gpg2?\b[\t -~&&[^|;&]]{0,200}?[ \t]--passphrase|(?:keytool|jarsigner)\b[\t -~&&[^|;&]]{0,200}?[ \t]-(?:(?:src|dest)?(?:store|key)pass|new))[ \t=]+["']?([!-~&&[^"'$|;&-]][!-~&&[^"'|;&]]{2,200})"#,
        &["wget", "aria2c", "gpg", "keytool", "jarsigner"],
    ),
    (
        "password of a command",
        r#"[ \t]--from-literal[ \t=]+["']?[A-Za-z0-9_.-]{1,80}=(?:'([ -~&&[^']]{3,80})'|"([ -~&&[^"$]]{3,80})"|([!-~&&[^"'$|;&]]{3,200}))"#,
        &["--from-literal"],
    ),
    (
        "password of a command",
        r#"(?i-u:convertto-securestring)[ \t]+(?:-(?i-u:string)[ \t]+)?(?:'([ -~&&[^']]{3,80})'|"([ -~&&[^"$]]{3,80})")"#,
        &["convertto-securestring"],
    ),
    (
        "password of a command",
        r#"\b(?:mysql(?:dump|admin)?|mariadb(?:-dump)?|7z[ar]?|sshpass)\b[\t -~&&[^|;&]]{0,200}?[ \t]-p(?:'([ -~&&[^']]{3,80})'|"([ -~&&[^"$]]{3,80})"|([!-~&&[^"'$|;&-]][!-~&&[^"'|;&]]{2,80}))"#,
        &["mysql", "mariadb", "7z", "sshpass"],
    ),
    (
        "password of a command",
        r#"\b(?:sshpass|mongosh?|mongodump|mongorestore)\b[\t -~&&[^|;&]]{0,200}?[ \t]-p[ \t]+(?:'([ -~&&[^']]{3,80})'|"([ -~&&[^"$]]{3,80})"|([!-~&&[^"'$|;&-]][!-~&&[^"'|;&]]{2,80}))"#,
        &["sshpass", "mongo"],
    ),
    (
        "password of a command",
        r#"\b(?:redis-cli\b[\t -~&&[^|;&]]{0,120}?[ \t](?:-a|--pass)|ldap[a-z]{3,8}\b[\t -~&&[^|;&]]{0,200}?[ \t]-w|(?:un)?zip\b[\t -~&&[^|;&]]{0,120}?[ \t]-P)[ \t]*["']?([!-~&&[^"'$|;&-]][!-~&&[^"'|;&]]{2,80})"#,
        &["redis-cli", "ldap", "zip "],
    ),
    (
        "password of a command",
        r#"[ \t]-pass(?:in|out)?[ \t]+["']?pass:([!-~&&[^"'$]]{4,80})"#,
        &["pass:"],
    ),
    (
        "password of a command",
        r#"\bhtpasswd[ \t]+-[a-zA-Z]{0,5}b[a-zA-Z]{0,5}[ \t]+[!-~]{1,120}[ \t]+[!-~]{1,60}[ \t]+["']?([!-~&&[^"'$]]{4,80})"#,
        &["htpasswd"],
    ),
    (
        "password of a command",
        r#"\bsmb[a-z]{3,6}\b[\t -~&&[^|;&]]{0,120}?[ \t]-U[ \t]*["']?[!-~&&[^%"']]{1,60}%([!-~&&[^"'$]]{3,80})"#,
        &["smb"],
    ),
    (
        "password of a command",
        r"\bnet[ \t]+use\b[\t -~]{0,120}?/user:[!-~]{1,60}[ \t]+([!-~&&[^/$]][!-~]{3,80})",
        &["/user:"],
    ),
    (
        "password of a command",
        r#"\bgh[ \t]+secret[ \t]+set\b[\t -~&&[^|;&]]{0,120}?[ \t](?:-b|--body)[ \t=]+["']?([!-~&&[^"'$]]{4,200})"#,
        &["secret"],
    ),
    (
        "password of netrc",
        r"\bmachine[ \t]+[!-~]{1,120}[ \t\r\n]+login[ \t]+[!-~]{1,80}[ \t\r\n]+password[ \t]+([!-~]{3,80})",
        &["machine"],
    ),
];

/// A value after a password name. The notation decides if it is a password.
pub(super) const ASSIGNED_PASSWORD: SurroundedShape = (
    "password",
    r#"(?i-u:passw(?:or)?d|passphrase|passcode|pwd|pass|pw)[A-Za-z0-9_]{0,12}\\{0,3}["'\]]{0,2}[ \t]*(?:=>|:=|=|:|：)[ \t]*(?:\\{0,3}"([!-~&&[^"\\]]{4,200})\\{0,3}"|'([!-~&&[^']]{4,200})|`([!-~&&[^`]]{4,200})|([!-~&&[^"'`<>&;,\\]]{4,200}))"#,
    &["pass", "pwd", "pw"],
);

/// Values that may be passwords. Redacted unless they are words.
pub(super) const SPOKEN_PASSWORDS: &[SurroundedShape] = &[
    (
        "password",
        r#"\bset[ \t]+-[A-Za-z-]{1,10}[ \t]+[A-Z0-9_]{0,40}(?:PASSWORD|PASSWD|PASSPHRASE|PASS|PWD)[A-Z0-9_]{0,20}[ \t]+["']?([!-~&&[^"'`<>&;,]]{6,200})"#,
        &["set -"],
    ),
    (
        "password",
        r"\|[^|\n]{0,40}(?:(?i-u:password|passwd|passphrase|pwd)|비밀번호|패스워드|비번)[^|\n]{0,20}\|[ \t]*`?([!-~&&[^|`]]{6,200})`?[ \t]*\|",
        &["|"],
    ),
    (
        "password",
        r#"(?i-u:password|passphrase|passcode)(?:[ \t]+(?i-u:for|of|to)[ \t]+[ -~&&[^:=]]{1,40}[:=]|[ \t]+is[ \t:])[ \t]*["'`]?([!-~&&[^"'`,;]]{6,80})"#,
        &["password", "passphrase", "passcode"],
    ),
    (
        "password",
        r#"(?:비밀번호|패스워드|암호|비번)(?:는|은|가|이)?[ \t]*[=:：]?[ \t]*["'`]?([!-~&&[^"'`<>&;,]]{6,200})"#,
        &["비밀번호", "패스워드", "암호", "비번"],
    ),
    (
        "password",
        r#"(?:name|key|id)=["'][A-Za-z0-9_.:-]{0,60}(?i-u:password|passwd|pwd)["'][\t -~&&[^<>]]{0,40}?(?:>|value=["'])([!-~&&[^<>"']]{4,200})"#,
        &["password", "passwd", "pwd"],
    ),
    (
        "password of PostgreSQL",
        r"(?m)^[A-Za-z0-9.*_-]{1,120}:(?:[0-9]{4,5}|\*):[A-Za-z*][A-Za-z0-9_*-]{0,60}:[A-Za-z*][A-Za-z0-9_.*-]{0,60}:([!-~&&[^:]]{6,80})$",
        &[":54", ":64", ":*:"],
    ),
];

/// The text of an XML element with a password name.
pub(super) const ELEMENT_PASSWORD: SurroundedShape = (
    "password",
    r"<[A-Za-z0-9_.:-]{0,40}(?i-u:password|passwd|pwd|passphrase)>([!-~&&[^<>]]{4,200})</",
    &["password>", "passwd>", "pwd>", "passphrase>"],
);

/// The second argument of a call whose first is a password name. Redacted unless it is a word.
pub(super) const PASSED_PASSWORD: SurroundedShape = (
    "password",
    r#"(?i-u:define|putenv|setenv|setproperty|setitem|\.set|\.put)[ \t]*\([ \t]*["'][A-Za-z0-9_.:-]{0,60}(?i-u:passw(?:or)?d|passphrase|pwd)[A-Za-z0-9_]{0,12}["'][ \t]*,[ \t]*["']([!-~&&[^"']]{4,200})["']"#,
    &["passwd", "password", "passphrase", "pwd"],
);

/// Values after names of secrets. Redacted if they look random.
pub(super) const NAMED_VALUES: &[SurroundedShape] = &[
    (
        "secret value",
        r#"(?i-u:define|putenv|setenv|setproperty|setitem|\.set|\.put)[ \t]*\([ \t]*["'][A-Za-z0-9_.:-]{0,60}(?i-u:key|token|secret|salt)[A-Za-z0-9_]{0,12}["'][ \t]*,[ \t]*["']([!-~&&[^"']]{12,200})["']"#,
        &["key", "token", "secret", "salt"],
    ),
    (
        "secret value",
        r"\|[^|\n]{0,40}(?:(?i-u:token|secret|(?:api|access)[ _-]?key)|토큰|시크릿|인증 ?키|비밀 ?키)[^|\n]{0,20}\|[ \t]*`?([!-~&&[^|`]]{12,200})`?[ \t]*\|",
        &["|"],
    ),
    (
        "secret value",
        r#"\bset[ \t]+-[A-Za-z-]{1,10}[ \t]+[A-Z0-9_]{0,40}(?:KEY|TOKEN|SECRET)[A-Z0-9_]{0,20}[ \t]+["']?([!-~&&[^"'`<>&;,]]{6,200})"#,
        &["set -"],
    ),
    (
        "secret value",
        r"(?i-u:[a-z0-9-]{1,40}-(?:secret|token))[ \t]*:[ \t]*([A-Za-z0-9+/=._~-]{8,200})",
        &["-secret", "-token"],
    ),
    (
        "secret value",
        r"<[A-Za-z0-9_.:-]{0,40}(?i-u:secret|token|api_?-?key|access_?-?key)>([!-~&&[^<>]]{12,200})</",
        &["secret>", "token>", "key>"],
    ),
    (
        "secret value",
        r#"(?:SECRET|TOKEN|(?:API|ACCESS|AUTH|ENCRYPTION|SIGNING|PRIVATE|SECRET|MASTER|REST|APP|SERVICE|ADMIN|CLIENT|SHARED|LICENSE)_?KEY)[ \t]?[=:][ \t]?["']?([!-~&&[^"'`<>&;,]]{8,200})"#,
        &["secret", "token", "key"],
    ),
    (
        "secret value",
        r"(?i-u:subscription-key|functions-key|x-[a-z-]{0,30}key)[ \t]*:[ \t]*([A-Za-z0-9+/=_-]{16,200})",
        &["-key"],
    ),
    (
        "authorization",
        r#"(?i-u:authorization)["']?[ \t]*:[ \t]*["']?(?:[A-Za-z0-9-]{2,20}[ \t]+)?([A-Za-z0-9+/=._~-]{16,400})"#,
        &["authorization"],
    ),
    (
        "session cookie",
        r"(?i-u:session_?id|sessid|\bsid|csrf_?token|xsrf-token|connect\.sid)=([A-Za-z0-9%._~+/-]{16,400})",
        &["sess", "sid=", "csrf", "xsrf", "connect.sid"],
    ),
];

/// A quoted value after the name of a secret. Redacted if it looks random.
pub(super) const QUOTED_VALUE: SecretShape = (
    "secret value",
    r#"(?i-u:passw(?:or)?d|passphrase|token|secret|api_?-?key|access_?-?key|auth_?-?key|credentials?)[A-Za-z0-9_.-]{0,30}["']?[ \t]*(?::=|=>|=|:)[ \t]*["']([^ \t\r\n"']{12,200})["']"#,
);

/// The same without quotes, as in environment files, options of programs and notes.
pub(super) const PLAIN_VALUE: SecretShape = (
    "secret value",
    r"(?i-u:passw(?:or)?d|passphrase|token|secret|api_?-?key|access_?-?key|auth_?-?key|_auth|credentials?|\bpwd|cookie)[A-Za-z0-9_.-]{0,30}(?:[ \t]*[=:][ \t]*|[ \t]+)([^ \t\r\n\x22'<>&;,]{12,200})",
);

/// The same in Korean.
pub(super) const KOREAN_VALUE: SecretShape = (
    "secret value",
    r"(?:비밀번호|패스워드|암호|비번|토큰|시크릿|인증키|비밀키)(?:는|은|가|이)?[ \t]*[=:：]?[ \t]*([^ \t\r\n\x22'<>&;,]{12,200})",
);

/// A Korean resident registration number without a hyphen. Redacted if its date and check digit are
/// right, and if it is labeled or cannot be a time or a bar code.
pub(super) const PLAIN_RESIDENT_NUMBER: SecretShape =
    ("resident registration number", r"\b[0-9]{6}[ \t]?[0-9]{7}\b");

/// The number of a payment card. Redacted if its check digit is right, and if it is not part of a
/// longer token.
pub(super) const PAYMENT_CARD: SecretShape = (
    "payment card number",
    r"\b[2-6][0-9]{3}(?:[ -]?[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}|[ -]?[0-9]{6}[ -]?[0-9]{5})\b",
);

/// A Korean resident registration number, with any dash, a dot, a slash or an underscore. Redacted
/// if its date and check digit are right, or if it is labeled.
pub(super) const RESIDENT_NUMBER: SecretShape = (
    "resident registration number",
    r"\b[0-9]{6}[ \t\u{a0}]?[-\u{2010}-\u{2015}\u{2212}\u{ff0d}./_][ \t\u{a0}]?[0-9]{7}\b",
);
