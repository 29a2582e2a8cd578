//! Encryption of the connection, and the check of the server's identity.

use std::process::Command;

use super::*;

/// Turns encryption on, with a certificate for `localhost` from its own authority.
fn encrypt(server: &PostgresServer) {
    let folder = server.folder();
    let script = "
        key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'
        openssl req -x509 $key -keyout authority.key -out authority.pem -subj /CN=authority -days 2
        openssl req $key -keyout server.key -out server.csr -subj /CN=localhost
        echo subjectAltName=DNS:localhost > names
        openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial \
            -out server.pem -days 2 -extfile names
        cp server.key server.pem data
        chown --reference=data data/server.key data/server.pem
        chmod 600 data/server.key";
    let made = Command::new("sh").args(["-ec", script]).current_dir(folder).output();
    let made = made.expect("a shell");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for setting in ["ssl_cert_file = 'server.pem'", "ssl_key_file = 'server.key'", "ssl = on"] {
        server.psql(ADMIN, &format!("ALTER SYSTEM SET {setting}"));
    }
    server.psql(ADMIN, "SELECT pg_reload_conf()");
}

#[tokio::test]
async fn nothing_is_sent_unencrypted_or_to_a_stranger_where_encryption_is_required() {
    let server = PostgresServer::start();
    server.psql(ADMIN, "ALTER ROLE admin PASSWORD 'secret'");
    let url = |host: &str, parameters: &str| {
        format!("postgres://{ADMIN}:secret@{host}:{}/postgres?{parameters}", server.port)
    };
    for mode in ["require", "verify-full"] {
        let reason = reason(count(&memory_at(&url("localhost", &format!("sslmode={mode}")))).await);
        assert!(reason.contains("server does not support TLS"), "{reason}");
    }
    encrypt(&server);
    let unknown = reason(count(&memory_at(&url("localhost", "sslmode=require"))).await);
    assert!(unknown.contains("sslrootcert"), "{unknown}");
    let roots = server.folder().join("authority.pem");
    let verified = format!("sslmode=verify-full&sslrootcert={}", roots.display());
    let other_name = reason(count(&memory_at(&url("127.0.0.1", &verified))).await);
    assert!(other_name.contains("certificate"), "{other_name}");
    let memory = memory_at(&url("localhost", &verified));
    assert_eq!(count(&memory).await, Ok(0));
    let encrypted = "SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                     WHERE application_name = 'moai-ralph' AND ssl";
    assert_eq!(server.psql(ADMIN, encrypted), "1");
    let missing = memory_at(&url("localhost", "sslmode=require&sslrootcert=/nowhere.pem"));
    assert!(reason(count(&missing).await).contains("sslrootcert /nowhere.pem"));
}
