//! A reverse proxy made of Pingora: one thread, one route for each host, round robin over origins without health
//! checks, kept connections, X-Forwarded-* set, a line for each request where a log file is named.
//! `sluice-bench-pingora FILE` runs the configuration in FILE; `--version` names the version of Pingora.
mod configuration;

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use configuration::Configuration;
use pingora::http::RequestHeader;
use pingora::lb::{LoadBalancer, selection::RoundRobin};
use pingora::listeners::tls::TlsSettings;
use pingora::prelude::*;
use pingora::proxy::{ProxyHttp, Session, http_proxy_service};
use pingora::server::configuration::ServerConf;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Selection without a hash asks for one choice at a time.
const CHOICES_MAX: usize = 16;

struct ReverseProxy {
    hosts: Vec<String>,
    origins: Arc<LoadBalancer<RoundRobin>>,
    log: Option<File>,
}

#[async_trait]
impl ProxyHttp for ReverseProxy {
    type CTX = ();

    fn new_ctx(&self) {}

    async fn request_filter(&self, session: &mut Session, _: &mut ()) -> Result<bool> {
        let is_ours = self.hosts.iter().any(|host| host == name_of(session.req_header()));
        if !is_ours {
            session.respond_error(404).await?;
        }
        Ok(!is_ours)
    }

    async fn upstream_peer(&self, _: &mut Session, _: &mut ()) -> Result<Box<HttpPeer>> {
        let origin = self
            .origins
            .select(b"", CHOICES_MAX)
            .ok_or_else(|| Error::explain(ErrorType::ConnectNoRoute, "no origin"))?;
        let mut peer = HttpPeer::new(origin, false, String::new());
        peer.options.connection_timeout = Some(CONNECT_TIMEOUT);
        peer.options.read_timeout = Some(ANSWER_TIMEOUT);
        Ok(Box::new(peer))
    }

    async fn upstream_request_filter(
        &self,
        session: &mut Session,
        request: &mut RequestHeader,
        _: &mut (),
    ) -> Result<()> {
        if let Some(client) = session.client_addr().and_then(|address| address.as_inet()) {
            request.insert_header("X-Forwarded-For", client.ip().to_string())?;
        }
        let is_tls = session.digest().is_some_and(|digest| digest.ssl_digest.is_some());
        request.insert_header("X-Forwarded-Proto", if is_tls { "https" } else { "http" })?;
        if let Some(host) = session.req_header().headers.get("Host").cloned() {
            request.insert_header("X-Forwarded-Host", host)?;
        }
        Ok(())
    }

    async fn logging(&self, session: &mut Session, _: Option<&Error>, _: &mut ()) {
        let Some(mut file) = self.log.as_ref() else { return };
        let status = session.response_written().map_or(0, |answer| answer.status.as_u16());
        let client = session.client_addr().map(ToString::to_string).unwrap_or_default();
        let line = format!(
            "{client} \"{}\" {status} {}\n",
            session.request_summary(),
            session.body_bytes_sent()
        );
        if let Err(error) = file.write_all(line.as_bytes()) {
            eprintln!("access log: {error}");
        }
    }
}

/// The request's host without its port.
fn name_of(request: &RequestHeader) -> &str {
    let host = request.headers.get("Host").and_then(|value| value.to_str().ok()).unwrap_or("");
    host.rsplit_once(':').map_or(host, |(name, _)| name)
}

fn main() {
    let Some(argument) = std::env::args().nth(1) else {
        eprintln!("usage: sluice-bench-pingora FILE | --version");
        std::process::exit(2);
    };
    if argument == "--version" {
        println!("pingora {}", env!("CARGO_PKG_VERSION"));
        return;
    }
    if let Err(error) = serve(&argument) {
        eprintln!("{argument}: {error}");
        std::process::exit(1);
    }
}

fn serve(file: &str) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let configuration = Configuration::read(file)?;
    let settings = ServerConf {
        threads: 1,
        upstream_keepalive_pool_size: configuration.kept,
        grace_period_seconds: Some(0),
        graceful_shutdown_timeout_seconds: Some(1),
        ..ServerConf::default()
    };
    let mut server = Server::new_with_opt_and_conf(None, settings);
    server.bootstrap();
    let log = match &configuration.log {
        Some(path) => Some(OpenOptions::new().create(true).append(true).open(path)?),
        None => None,
    };
    let proxy = ReverseProxy {
        hosts: configuration.hosts,
        origins: Arc::new(LoadBalancer::try_from_iter(configuration.origins)?),
        log,
    };
    let mut service = http_proxy_service(&server.configuration, proxy);
    service.add_tcp(&configuration.http);
    let tls = TlsSettings::intermediate(&configuration.certificate, &configuration.key)?;
    service.add_tls_with_settings(&configuration.https, None, tls);
    server.add_service(service);
    server.run_forever();
}
