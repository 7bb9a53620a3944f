//! From an address to a stream: name, TCP, perhaps a proxy, TLS. What is needed for TLS is read when the first server asks for it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::Uri;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::address::host_and_port;
use super::proxy::{self, Proxy};
use crate::child::settings::Lookup;

/// One address may take so long; the next may answer.
const PER_ADDRESS: Duration = Duration::from_secs(4);
/// Name, TCP and TLS together.
const ALTOGETHER: Duration = Duration::from_secs(15);

/// Why there is no stream, as the rest of a sentence about the server, with what to do.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(super) struct ConnectError(String);

/// Makes the streams of all HTTP servers of a process.
#[derive(Clone)]
pub(super) struct Connector {
    shared: Arc<Shared>,
}

struct Shared {
    lookup: Lookup,
    tls: OnceCell<Arc<ClientConfig>>,
}

/// A stream to a server.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A stream in the terms of hyper.
pub(super) struct Wire(TokioIo<Box<dyn Stream>>);

impl Connector {
    pub(super) fn new(lookup: Lookup) -> Connector {
        Connector { shared: Arc::new(Shared { lookup, tls: OnceCell::new() }) }
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = Wire;
    type Error = ConnectError;
    type Future = Pin<Box<dyn Future<Output = Result<Wire, ConnectError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), ConnectError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let shared = self.shared.clone();
        Box::pin(async move {
            let (host, _) = host_and_port(&url);
            timeout(ALTOGETHER, shared.connect(&url)).await.unwrap_or_else(|_| Err(slow(&host)))
        })
    }
}

impl Shared {
    async fn connect(&self, url: &Uri) -> Result<Wire, ConnectError> {
        let (host, port) = host_and_port(url);
        if url.scheme_str() != Some("https") {
            return Ok(Wire(TokioIo::new(Box::new(tcp(&host, port).await?))));
        }
        let proxy = proxy::of(&self.lookup, &host, port).map_err(|what| {
            ConnectError(format!("cannot be reached: {what}\nhint: correct it, or name {host} in `NO_PROXY`"))
        })?;
        let stream = match proxy {
            Some(proxy) => self.through(&proxy, &host, port).await?,
            None => Box::new(tcp(&host, port).await?),
        };
        Ok(Wire(TokioIo::new(self.secure(stream, &host, port).await?)))
    }

    /// A stream to `host` through `proxy`.
    async fn through(&self, proxy: &Proxy, host: &str, port: u16) -> Result<Box<dyn Stream>, ConnectError> {
        let Proxy { host: via, port: at, name, .. } = proxy;
        let failed = |what: &str| {
            ConnectError(format!(
                "could not be reached: the proxy {via}:{at} {what}\nhint: check `{name}`, or name {host} in `NO_PROXY`"
            ))
        };
        let told = |ConnectError(what): ConnectError| failed(what.lines().next().unwrap_or_default());
        let mut stream: Box<dyn Stream> = Box::new(tcp(via, *at).await.map_err(told)?);
        if proxy.is_tls {
            stream = self.secure(stream, via, *at).await.map_err(told)?;
        }
        proxy::tunnel(&mut stream, proxy, host, port).await.map_err(|what| failed(&what))?;
        Ok(stream)
    }

    /// TLS with `host` over `stream`.
    async fn secure(&self, stream: Box<dyn Stream>, host: &str, port: u16) -> Result<Box<dyn Stream>, ConnectError> {
        let config = self.tls.get_or_try_init(|| tls(self.lookup.clone())).await?;
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            ConnectError(format!("cannot be reached: `{host}` is no host name\nhint: correct its `url`"))
        })?;
        let stream = TlsConnector::from(config.clone()).connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| untrusted(host, port, &error))?))
    }
}

async fn tcp(host: &str, port: u16) -> Result<TcpStream, ConnectError> {
    let addresses: Vec<SocketAddr> = match tokio::net::lookup_host((host, port)).await {
        Ok(addresses) => addresses.collect(),
        Err(error) => {
            return Err(ConnectError(format!(
                "could not be reached: the name `{host}` leads nowhere ({error})\nhint: check its `url` and this \
                 machine's network"
            )));
        }
    };
    let mut last = None;
    for address in addresses {
        match timeout(PER_ADDRESS, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Requests are small and waited for.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => last = Some(error),
            Err(_) => {}
        }
    }
    let Some(error) = last else { return Err(slow(host)) };
    let what = match error.kind() {
        std::io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
        _ => error.to_string(),
    };
    Err(ConnectError(format!(
        "could not be reached at {host}:{port}: {what}\nhint: start it, or correct its `url`; the next call tries again"
    )))
}

/// Why TLS failed. The text of the library says nothing to who made a certificate with the defaults of OpenSSL.
fn untrusted(host: &str, port: u16, error: &std::io::Error) -> ConnectError {
    let error = error.to_string();
    if error.contains("CaUsedAsEndEntity") {
        return ConnectError(
            "cannot be reached safely: it presents the certificate of an authority, which may only sign others\nhint: give \
             it one made with `basicConstraints=CA:FALSE`, or one that the authority has signed"
                .to_owned(),
        );
    }
    ConnectError(format!(
        "could not be reached safely: TLS with {host}:{port} failed: {error}\nhint: check its `url`; a certificate of your \
         company's own authority is trusted when SSL_CERT_FILE names a file that holds it"
    ))
}

fn slow(host: &str) -> ConnectError {
    ConnectError(format!("could not be reached: {host} did not answer in time\nhint: check its `url` and the network"))
}

/// Reads the certificates that this machine trusts, on a thread of its own: there are hundreds of them.
async fn tls(lookup: Lookup) -> Result<Arc<ClientConfig>, ConnectError> {
    let read = tokio::task::spawn_blocking(move || {
        let path = |name: &str| lookup(name).filter(|path| !path.is_empty()).map(PathBuf::from);
        let (file, folder) = (path("SSL_CERT_FILE"), path("SSL_CERT_DIR"));
        let mut found = if file.is_some() || folder.is_some() {
            rustls_native_certs::load_certs_from_paths(file.as_deref(), folder.as_deref())
        } else {
            rustls_native_certs::load_native_certs()
        };
        if let Some(more) = path("NODE_EXTRA_CA_CERTS") {
            let extra = rustls_native_certs::load_certs_from_paths(Some(&more), None);
            found.certs.extend(extra.certs);
            found.errors.extend(extra.errors);
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(found.certs);
        if roots.is_empty() {
            let why = found.errors.first().map_or_else(String::new, |error| format!(" ({error})"));
            return Err(ConnectError(format!(
                "cannot be reached safely: this machine has no certificates of authorities{why}\nhint: install \
                 `ca-certificates`, or name a file of them in SSL_CERT_FILE"
            )));
        }
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| ConnectError(format!("cannot be reached: {error}")))?;
        Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    });
    read.await.unwrap_or_else(|_| Err(ConnectError("cannot be reached: the process is ending".to_owned())))
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl hyper::rt::Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl hyper::rt::Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
