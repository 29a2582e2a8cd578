//! Encrypted connections by rustls. The certificate of the server and its name are always verified.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use moai_base::limits::POSTGRES_ROOTS_BYTES_MAX;

/// Encrypts connections to a server of any name.
#[derive(Clone)]
pub(super) struct ServerEncryption {
    config: Arc<ClientConfig>,
}

impl ServerEncryption {
    /// Trusts the certificates of a file, else those of Mozilla's root programme.
    pub(super) fn new(roots: Option<&Path>) -> Result<Self, String> {
        let roots = match roots {
            Some(path) => roots_of_file(path)?,
            None => RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() },
        };
        let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Self { config: Arc::new(config) })
    }
}

fn roots_of_file(path: &Path) -> Result<RootCertStore, String> {
    let failed = |reason: &str| format!("sslrootcert {}: {reason}", path.display());
    let length = std::fs::metadata(path).map_err(|error| failed(&error.to_string()))?.len();
    if length > POSTGRES_ROOTS_BYTES_MAX {
        return Err(failed("too large"));
    }
    let text = std::fs::read(path).map_err(|error| failed(&error.to_string()))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| failed(&error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(&error.to_string()))?;
    }
    if roots.is_empty() { Err(failed("no certificate in it")) } else { Ok(roots) }
}

impl<S> MakeTlsConnect<S> for ServerEncryption
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = EncryptedStream<S>;
    type TlsConnect = NamedServerEncryption;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<NamedServerEncryption, io::Error> {
        // Without TLS, as on a Unix socket, no name exists and none is needed.
        let name = ServerName::try_from(domain.to_owned()).ok();
        Ok(NamedServerEncryption { connector: TlsConnector::from(Arc::clone(&self.config)), name })
    }
}

/// Encrypts connections to the server of one name.
pub(super) struct NamedServerEncryption {
    connector: TlsConnector,
    name: Option<ServerName<'static>>,
}

impl<S> TlsConnect<S> for NamedServerEncryption
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = EncryptedStream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<EncryptedStream<S>, io::Error>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.name.ok_or_else(|| io::Error::other("the server has no name"))?;
            Ok(EncryptedStream(self.connector.connect(name, stream).await?))
        })
    }
}

pub(super) struct EncryptedStream<S>(RustlsStream<S>);

impl<S> TlsStream for EncryptedStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S> AsyncRead for EncryptedStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S> AsyncWrite for EncryptedStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
