//! Secrets as they occur in the texts of projects and sessions. Each row is the text before the
//! secret, the secret (a template, as in the corpus of shapes), and the text after it.

use super::super::redacted;
use super::expanded;

/// One secret in its surroundings.
type SecretInText = (&'static str, &'static str, &'static str);

/// Environment files, shells and container files.
const ENVIRONMENTS: &[SecretInText] = &[
    ("POSTGRES_PASSWORD=", "hunter2", "\n"),
    ("DB_PASS=", "s3cr3t!", "\n"),
    ("MYSQL_ROOT_PASSWORD=", "mysupervault", "\nPORT=3306"),
    ("export PGPASSWORD='", "Tr0ub4dor&3", "'"),
    ("REDIS_PASSWORD=\"", "p@ssw0rd", "\""),
    ("ENV ADMIN_PASSWORD=", "qwer1234", "\n"),
    ("docker run -e MYSQL_PASSWORD=", "zaq12wsx", " mysql:8"),
    ("SECRET_KEY_BASE=", "{h64}", "\n"),
    ("JWT_SECRET=", "{a16}", "\n"),
    ("SESSION_SECRET=", "k3yboardcat9", "\n"),
    ("ENCRYPTION_KEY=", "{h32}", "\n"),
    ("KAKAO_REST_API_KEY=", "{h32}", "\n"),
    ("NAVER_CLIENT_SECRET=", "{a10}", "\n"),
    ("DATADOG_API_KEY=", "{h32}", "\n"),
    ("CLOUDFLARE_API_TOKEN=", "{w40}", "\n"),
    ("  - SMTP_PASSWORD=", "M@ilPass99", "\n"),
    ("set DB_PASSWORD=", "W1nd0ws!", "\r\n"),
    ("$env:API_TOKEN = \"", "{a24}", "\""),
    ("GITHUB_CLIENT_SECRET=", "{h40}", "\n"),
    ("SNYK_TOKEN=", "{h8}-{h4}-{h4}-{h4}-{h12}", "\n"),
];

/// JSON, YAML, TOML, INI, properties and XML.
const CONFIGURATIONS: &[SecretInText] = &[
    ("{\"user\": \"ann\", \"password\": \"", "hunter2", "\"}"),
    ("{\"db\":{\"pwd\":\"", "Abc!2345", "\"}}"),
    ("\"client_secret\": \"", "{w24}", "\""),
    ("\"private_key_id\": \"", "{h40}", "\""),
    ("\"auth\": \"", "{b24}", "\""),
    ("\"refreshToken\": \"", "{w40}", "\""),
    ("password: ", "hunter2", "\n"),
    ("  password: ", "s3cr3t!", "   # local\n"),
    ("    db_password: '", "qwer1234!", "'\n"),
    ("  token: ", "{a20}", "\n"),
    ("  POSTGRES_PASSWORD: ", "zaq12wsx", "\n"),
    ("data:\n  password: ", "{b14}==", "\n"),
    ("  tls.key: ", "LS0tLS1CRUdJTiBSU0Eg{b80}", "\n"),
    ("[database]\npassword = \"", "tulip-4-Garden!", "\"\n"),
    ("api_key = \"", "{a32}", "\"\n"),
    ("[mysql]\npassword=", "r00tme!!", "\n"),
    ("spring.datasource.password=", "Bl4ckb1rd", "\n"),
    ("spring.mail.password = ", "Sp4rr0w!", "\n"),
    ("<password>", "hunter2", "</password>"),
    ("<Password>", "bluewhalepw", "</Password>"),
    ("<server><id>x</id><password>", "{a16}", "</password></server>"),
    ("<apiKey>", "{a24}", "</apiKey>"),
    ("<add key=\"SmtpPassword\" value=\"", "Sm7pPass", "\" />"),
    ("<property name=\"connection.password\">", "0racle9", "</property>"),
    ("<user name=\"tomcat\" password=\"", "t0mc4t", "\" roles=\"manager\"/>"),
    ("Server=db;Database=x;User Id=sa;Password=", "Str0ng!Pass", ";Encrypt=true"),
    ("Data Source=x;uid=sa;pwd=", "sa12345", ";"),
    ("jdbc:mysql://h/x?user=app&password=", "sunflower", "&useSSL=true"),
    ("host=h user=app password=", "b1rdhouse", " dbname=x"),
    ("DefaultEndpointsProtocol=https;AccountKey=", "{b86}==", ";"),
    ("Endpoint=sb://x;SharedAccessKey=", "{b43}=", ""),
    ("PrivateKey = ", "{b43}=", "\n"),
    ("PresharedKey = ", "{b43}=", "\n"),
    ("//npm.example.com/:_password=\"", "{b24}", "\""),
    ("machine api.example.com login ann password ", "hunter2", "\n"),
    ("machine h\n  login ann\n  password ", "t1ger-paw", "\n"),
    ("db.example.com:5432:app:ann:", "s3cr3tpw", "\n"),
    (
        "mnemonic: \"",
        "apple river stone cloud tiger mango piano lemon table robin chair ocean",
        "\"",
    ),
    ("\"privateKey\": \"", "0x{h64}", "\""),
    ("credentials: { username: 'ann', password: '", "b4nana!", "' }"),
];

/// Command lines.
const COMMANDS: &[SecretInText] = &[
    ("docker login -u ann -p ", "hunter22", " registry.example.com"),
    ("docker login --username ann --password ", "sunflower", ""),
    ("echo ", "hunter22", " | docker login -u ann --password-stdin"),
    ("mysql -u root -p", "r00tme", " shop"),
    ("mysqldump -h h -uann -p", "'p@ss w0rd'", " shop"),
    ("sshpass -p ", "'hunter2'", " ssh ann@h"),
    ("sshpass -p", "hunter2", " ssh ann@h"),
    ("PGPASSWORD=", "hunter2", " psql -h h"),
    ("redis-cli -h h -a ", "r3d1spw", " ping"),
    ("mongosh -u ann -p ", "m0ngo!", " h/x"),
    ("curl -u ann:", "hunter2", " https://h"),
    ("curl --user 'ann:", "s3cr3t!", "' https://h"),
    ("curl -H 'X-Api-Key: ", "{a24}", "' https://h"),
    ("curl 'https://h/?api_key=", "{a20}", "'"),
    ("curl -d '{\"password\":\"", "hunter2", "\"}' https://h"),
    ("curl -d 'user=ann&password=", "sunflower", "' https://h"),
    ("wget --user=ann --password=", "hunter2", " https://h"),
    ("http -a ann:", "hunter2", " https://h"),
    ("ldapsearch -x -D cn=admin -w ", "ld4ppw", " -b dc=x"),
    ("openssl enc -aes-256-cbc -pass pass:", "f1nchnest", " -in x"),
    ("zip -P ", "z1pz4p", " a.zip b"),
    ("7z x a.7z -p", "z1pz4p9", " -y"),
    ("htpasswd -b .htpasswd ann ", "hunter2", "\n"),
    ("smbclient //h/x -U ann%", "hunter2", ""),
    ("kubectl create secret generic x --from-literal=password=", "S3cret!", ""),
    ("git clone https://ann:", "hunter2", "@git.example.com/x.git"),
    ("postgres://ann:", "P@ssw0rd2024", "@db/x"),
    ("postgres://ann:", "topsecret99", "@db/x"),
    ("password=", "MySecretPassw0rd!", ""),
    ("DB_PASSWORD=", "test1234", ""),
    ("--password=", "latest7Kq2", ""),
    ("{\"password\": \"", "xK9yourQ2w8", "\"}"),
    ("git clone https://oauth2:", "{w20}", "@git.example.com/x.git"),
    ("aws configure set aws_secret_access_key ", "{b40}", ""),
    ("gh secret set X --body \"", "{a30}", "\""),
    ("vault login token=", "{a26}", ""),
    ("az login --service-principal -u x -p ", "q7Z8Q~{w34}", " --tenant y"),
    ("net use Z: \\\\h\\x /user:ann ", "W1nd0ws!", ""),
];

/// Requests and addresses.
const REQUESTS: &[SecretInText] = &[
    ("Authorization: Basic ", "YW5uOmh1bnRlcjI=", ""),
    ("Authorization: Bearer ", "{w40}", ""),
    ("authorization: token ", "{h40}", ""),
    ("Proxy-Authorization: Basic ", "{b20}", ""),
    ("Authorization: ", "{a40}", "\n"),
    ("X-Auth-Token: ", "{a24}", ""),
    ("X-Vault-Token: ", "s.{a24}", ""),
    ("PRIVATE-TOKEN: ", "{w20}", ""),
    ("Ocp-Apim-Subscription-Key: ", "{h32}", ""),
    ("Cookie: ", "sessionid={a32}", "; theme=dark"),
    ("Set-Cookie: theme=dark; connect.sid=", "{w40}", "; Path=/"),
    ("Set-Cookie: JSESSIONID=", "{u4}{h28}", "; HttpOnly"),
    ("https://h/cb?access_token=", "{w30}", "&state=1"),
    ("https://h/x?sig=", "{w44}", ""),
    ("https://b.s3.amazonaws.com/x?X-Amz-Signature=", "{h64}", "&x=1"),
    ("redis://:", "r3dispass", "@cache:6379/0"),
    ("amqp://guest:", "guestpw", "@mq/"),
    ("mongodb+srv://app:", "M0ng0Pw", "@c.example.net/x"),
    (
        "https://x.webhook.office.com/webhookb2/",
        "{h8}-{h4}-{h4}-{h4}-{h12}@{h8}-{h4}-{h4}-{h4}-{h12}/IncomingWebhook/{h32}/{h8}",
        "",
    ),
    ("https://hooks.zapier.com/hooks/catch/", "{d7}/{a12}", ""),
];

/// Notes and prompts, in English and Korean.
const NOTES: &[SecretInText] = &[
    ("the password is ", "hunter2", ", do not tell"),
    ("password for staging: ", "Str0ngOne!", "\n"),
    ("login: ann / pw: ", "qwer1234!", "\n"),
    ("PW: ", "zaq12wsx!", "\n"),
    ("비밀번호: ", "qwer1234!", "\n"),
    ("비밀번호는 ", "asdf1234", "입니다"),
    ("관리자 암호 : ", "Kim!2024", "\n"),
    ("비번 ", "abcd1234!", " 로 들어가세요"),
    ("패스워드=", "dlqmsl12", "\n"),
    ("토큰은 ", "{a24}", " 입니다"),
    ("인증키: ", "{a32}", "\n"),
    ("주민등록번호 ", "900101-{d0}1234568", "입니다"),
    ("주민번호: ", "900101{d0}1234568", "\n"),
    ("고객 ", "900101{d0}1234568", " 조회"),
    ("jumin=", "010203{d0}3234560", "\n"),
    ("주민번호(", "210405{d0}3000001", ")"),
    ("id ", "900101 {d0}1234568", "\n"),
];

/// Tokens that are known by their form, and hashes of passwords.
const TOKENS: &[SecretInText] = &[
    ("ann:", "$2b$12${a53}", "\n"),
    ("hash = '", "$2y$10${a53}", "'"),
    ("root:", "$6${a16}${a86}", ":19000:0:99999:7:::"),
    ("ann:", "$apr1${a8}${a22}", "\n"),
    ("", "$argon2id$v=19$m=65536,t=3,p=4${b22}${b43}", "\n"),
    ("", "pbkdf2_sha256$600000${a22}${b43}=", "\n"),
    ("userPassword: ", "{SSHA}{b40}", "\n"),
    ("PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 2\n", "{b64}\n{b40}", "\nPrivate-MAC: x"),
    ("", "LTAI{a20}", "\n"),
    ("", "AKID{a32}", "\n"),
    ("", "live_sk_{a32}", "\n"),
    ("", "rzp_live_{a14}", "\n"),
    ("", "xkeysib-{h64}-{a16}", "\n"),
    ("", "EAACEdEose0cBA{a80}", "\n"),
    ("", "AAAAAAAAAAAAAAAAAAAAA{a40}%3D{a50}", "\n"),
    ("", "AAAA{a7}:{w140}", "\n"),
    ("", "aio_{a28}", "\n"),
    ("", "CFPAT-{w43}", "\n"),
    ("", "sl.{w140}", "\n"),
    ("", "oy2{l5}{h38}", "\n"),
    ("", "AKCp{a60}", "\n"),
    ("", "pnu_{a36}", "\n"),
    ("", "ops_eyJ{w80}", "\n"),
    ("", "xprv9{a106}", "\n"),
    ("", "sk.eyJ{w40}.{w22}", "\n"),
    ("", "sdk-{h8}-{h4}-{h4}-{h4}-{h12}", "\n"),
    ("", "access-production-{h8}-{h4}-{h4}-{h4}-{h12}", "\n"),
    ("", "eyJ{w30}.eyJ{w60}.{w43}", "\n"),
    ("", "AQVN{w36}", "\n"),
    ("", "rdme_{h70}", "\n"),
];

/// Attempts to find gaps.
const GAPS: &[SecretInText] = &[
    ("https://api.telegram.org/bot", "{d10}:AA{w33}", "/sendMessage?chat_id=1"),
    ("", "fo1_{w43}", "\n"),
    ("AZURE_DEVOPS_EXT_PAT=", "q7zk3xwrt2lmvb5ncypghsfdjqkzmxwrtlmvbncyphs2345abcde", "\n"),
    ("", "{a76}AZDO{a4}", "\n"),
    ("private key: ", "0x{h64}", "\n"),
    ("DEPLOYER_KEY=", "0x{h64}", "\n"),
    ("\"pk\": \"", "0x{h64}", "\""),
    ("개인키는 ", "0x{h64}", "입니다"),
    ("니모닉: ", "apple river stone cloud tiger mango piano lemon table robin chair ocean", "\n"),
    (
        "my seed words are ",
        "apple, river, stone, cloud, tiger, mango, piano, lemon, table, robin, chair, ocean",
        "\n",
    ),
    ("card 4111 1111 ", "1111 1111", ""),
    ("카드번호 ", "4012{d0}888888881881", " 로 결제"),
    ("amex ", "3782-822{d0}463-10005", "\n"),
    ("KAKAO_REST_KEY=", "{h32}", "\n"),
    ("X-Naver-Client-Secret: ", "{a10}", "\n"),
    ("define('DB_PASSWORD', '", "hunter2", "');"),
    ("define( \"SECURE_AUTH_KEY\", \"", "{a40}", "\" );"),
    ("$env:X_TOKEN='", "{a24}", "'"),
    ("$env:DB_PASSWORD = '", "hunter2", "'"),
    ("ConvertTo-Secure{d0}String '", "hunter2", "' -AsPlainText -Force"),
    ("ConvertTo-Secure{d0}String -String \"", "p4nda-bear", "\" -AsPlainText"),
    ("set -x X_TOKEN ", "{a24}", "\n"),
    ("set -gx DB_PASSWORD ", "hunter2", "\n"),
    ("set -Ux API_KEY '", "{a20}", "'\n"),
    ("ansible_become_pass: ", "hunter2", "\n"),
    ("host1 ansible_ssh_pass=", "hunter2", " ansible_user=ann\n"),
    ("비밀번호：", "qwer1234!", "\n"),
    ("password：", "hunter2x", "\n"),
    ("| 비밀번호 | ", "qwer1234!", " |\n"),
    ("| DB password | ", "hunter2x", " | prod |\n"),
    ("| `DB_PASSWORD` | `", "hunter2x", "` |\n"),
    ("| API token | ", "{a24}", " |\n"),
    ("password: `", "hunter2", "`"),
    ("the password is `", "hunter2", "`"),
    ("비밀번호 `", "qwer1234", "`"),
    ("token `", "{a24}", "`"),
    ("비밀번호는 ", "qwer1234", "입니다"),
    ("비밀번호는 ", "qwer1234", "이고 아이디는 ann"),
    ("비밀번호는 '", "hunter2", "' 입니다"),
    ("암호: ", "qwer1234", "\n"),
    ("암호는 ", "Kim!2024", "이에요"),
    ("wget --user ann --http-password=", "hunter2", " https://h"),
    ("wget --http-password ", "hunter2", " https://h"),
    ("gpg --batch --passphrase ", "hunter2", " -d x.gpg"),
    ("keytool -list -storepass ", "hunter2", " -keystore x.jks"),
    ("keytool -genkey -keypass ", "sunflower", " -alias x"),
    ("kubectl create secret generic x --from-literal=k=", "S3cret!", ""),
    ("kubectl create secret generic x --from-{d0}literal k='", "hunter2", "'"),
    ("echo ", "hunter22", " | sudo -S apt update"),
    ("ec{d0}ho '", "hunter2 x", "' | sudo -S -k true"),
    ("mysql -u root -p", "hunter2", "\n"),
    ("sshpass -p ", "sunflower", " ssh ann@h"),
    ("PGPASSWORD=", "sunflower", " psql -h h"),
    ("docker login -p ", "sunflower", " -u ann"),
    ("curl -u user:", "sunflower", " https://h"),
    ("*:*:*:ann:", "hunter2", "\n"),
    ("localhost:5433:shop:ann:", "b1rdhouse", "\n"),
    (
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\ntype: Opaque\ndata:\n  user: ",
        "aHVudGVyMg==",
        "\n",
    ),
    ("kind: Secret\nstringData:\n  user: ann\n  key: ", "sunflower", "\n"),
    ("kind: Secret\nstringData:\n  key: \"", "sunflower", "\"\nmetadata:\n  name: x\n"),
    ("token: \u{1b}[32m", "ghp_{a10}\u{1b}[0m{a26}", "\u{1b}[0m"),
    ("password=\u{1b}[1m", "hunt\u{1b}[0mer22", "\n"),
];

fn all() -> Vec<SecretInText> {
    [ENVIRONMENTS, CONFIGURATIONS, COMMANDS, REQUESTS, NOTES, TOKENS, GAPS].concat()
}

/// The texts with their secrets.
pub(super) fn texts() -> impl Iterator<Item = String> {
    all().into_iter().map(|(before, secret, after)| {
        format!("{}{}{}", expanded(before), expanded(secret), expanded(after))
    })
}

#[test]
fn secrets_are_found_in_their_surroundings() {
    let all = all();
    let mut kept = Vec::new();
    for (before, secret, after) in &all {
        let (before, secret, after) = (expanded(before), expanded(secret), expanded(after));
        let text = format!("{before}{secret}{after}");
        let clean = redacted(&text);
        let is_kept = secret.lines().any(|line| line.len() >= 4 && clean.contains(line));
        if is_kept || redacted(&clean) != clean {
            kept.push(format!("{text} became {clean}"));
        }
    }
    assert!(all.len() >= 130, "{}", all.len());
    assert!(kept.is_empty(), "{} of {}: {kept:#?}", kept.len(), all.len());
}
