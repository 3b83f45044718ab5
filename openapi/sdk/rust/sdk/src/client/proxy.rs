//! Which proxy a request goes through, as the environment says.

use std::{env, net::IpAddr};

use ipnet::IpNet;
use reqwest::{Proxy, Url};

use super::variable;
use crate::error::Error;

/// The proxy of `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`, as they are now. Reqwest reads them in another way: there,
/// upper case wins, wrong URLs count for nothing, and nothing is said of ports and of this machine.
pub(super) fn of_environment() -> Result<Proxy, Error> {
    // In a CGI program, HTTP_PROXY is the header `Proxy` of the request.
    let is_header = |name: &str| name == "HTTP_PROXY" && env::var_os("REQUEST_METHOD").is_some();
    proxy_by(|name| variable(name).filter(|_| !is_header(name)))
}

/// The same, where variables have the values that `value` returns.
fn proxy_by(value: impl Fn(&'static str) -> Option<String>) -> Result<Proxy, Error> {
    let first_of = |names: [&'static str; 2]| names.into_iter().find_map(|name| Some((name, value(name)?)));
    let http = first_of(["http_proxy", "HTTP_PROXY"]).map(parse).transpose()?;
    let https = first_of(["https_proxy", "HTTPS_PROXY"]).map(parse).transpose()?;
    let exceptions = Exceptions::of(&first_of(["no_proxy", "NO_PROXY"]).map(|(_, list)| list).unwrap_or_default());
    Ok(Proxy::custom(move |url| {
        let proxy = if url.scheme() == "https" { &https } else { &http };
        proxy.clone().filter(|_| !exceptions.hold(url))
    }))
}

fn parse((name, text): (&str, String)) -> Result<Url, Error> {
    let whole = if text.contains("://") { text } else { format!("http://{text}") };
    let url = Url::parse(&whole).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // Says nothing of the URL, which may hold a password.
    url.ok_or_else(|| Error::Usage(format!("{name} must be the URL of a proxy, by http or https")))
}

/// Where no proxy is used, by `NO_PROXY`.
struct Exceptions(Vec<Exception>);

struct Exception {
    host: Hosts,
    port: Option<u16>,
}

enum Hosts {
    All,
    Network(IpNet),
    /// This one, and those below it.
    Domain(String),
}

impl Exceptions {
    fn of(list: &str) -> Self {
        Self(list.split(',').map(str::trim).filter(|entry| !entry.is_empty()).map(Exception::of).collect())
    }

    /// Whether no proxy is used for this URL.
    fn hold(&self, url: &Url) -> bool {
        let host = without_brackets(url.host_str().unwrap_or_default());
        let address = host.parse::<IpAddr>().ok();
        let is_local = host == "localhost" || address.is_some_and(|address| address.is_loopback());
        is_local || self.0.iter().any(|exception| exception.holds(host, address, url.port_or_known_default()))
    }
}

impl Exception {
    fn of(entry: &str) -> Self {
        let (host, port) = match (network(entry), entry.rsplit_once(':')) {
            (None, Some((host, port))) if port.parse::<u16>().is_ok() => (host, port.parse().ok()),
            _ => (entry, None),
        };
        let host = match (host, network(without_brackets(host))) {
            ("*", _) => Hosts::All,
            (_, Some(network)) => Hosts::Network(network),
            (domain, None) => Hosts::Domain(domain.trim_start_matches('.').to_ascii_lowercase()),
        };
        Self { host, port }
    }

    fn holds(&self, host: &str, address: Option<IpAddr>, port: Option<u16>) -> bool {
        let is_host = match &self.host {
            Hosts::All => true,
            Hosts::Network(network) => address.is_some_and(|address| network.contains(&address)),
            Hosts::Domain(domain) => {
                host.strip_suffix(domain.as_str()).is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }
        };
        is_host && (self.port.is_none() || self.port == port)
    }
}

/// An address, or a range of them such as `10.0.0.0/8`.
fn network(text: &str) -> Option<IpNet> {
    text.parse().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from))
}

/// `::1` of `[::1]`
fn without_brackets(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashMap,
        io::Read,
        net::{SocketAddr, TcpListener, TcpStream},
        thread::{self, JoinHandle},
    };

    use super::*;

    fn proxy_of(variables: &[(&'static str, &str)]) -> Result<Proxy, Error> {
        let variables = variables.iter().copied().collect::<HashMap<_, _>>();
        proxy_by(|name| variables.get(name).map(|value| (*value).to_owned()))
    }

    /// A server that takes one request, and closes the connection. Returns its address, and the head that came.
    fn recorder() -> (SocketAddr, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let head = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            let (mut head, mut byte) = (String::new(), [0]);
            while !head.ends_with("\r\n\r\n") && connection.read(&mut byte).unwrap() > 0 {
                head.push(char::from(byte[0]));
            }
            head.to_lowercase()
        });
        (address, head)
    }

    #[tokio::test]
    async fn a_proxy_is_asked_with_its_user_and_password() {
        let requests =
            [("http", "get http://gateway.invalid/a http/1.1"), ("https", "connect gateway.invalid:443 http/1.1")];
        for (scheme, line) in requests {
            let (address, head) = recorder();
            let url = format!("http://user:p%40ss@{address}");
            let proxy = proxy_of(&[("HTTP_PROXY", &url), ("HTTPS_PROXY", &url), ("NO_PROXY", "invalid:1")]).unwrap();
            let http = reqwest::Client::builder().proxy(proxy).build().unwrap();
            http.get(format!("{scheme}://gateway.invalid/a")).send().await.unwrap_err();
            // Ends a recorder that nothing came to.
            drop(TcpStream::connect(address));
            let head = head.join().unwrap();
            assert_eq!(head.lines().next(), Some(line));
            // user:p@ss
            assert!(head.contains("\r\nproxy-authorization: basic dxnlcjpwqhnz\r\n"), "{head}");
        }
    }

    #[test]
    fn lower_case_wins_and_a_wrong_url_is_not_shown() {
        let wrong = |variables| proxy_of(variables).unwrap_err().to_string();
        let told = wrong(&[("http_proxy", "socks5://me:secret@proxy:1080"), ("HTTP_PROXY", "http://proxy:3128")]);
        assert_eq!(told, "http_proxy must be the URL of a proxy, by http or https");
        let told = wrong(&[("HTTPS_PROXY", "http://me:secret@")]);
        assert_eq!(told, "HTTPS_PROXY must be the URL of a proxy, by http or https");
        assert!(proxy_of(&[("http_proxy", "proxy:3128"), ("HTTP_PROXY", "socks5://proxy")]).is_ok());
    }

    #[test]
    fn no_proxy_names_hosts_domains_addresses_and_ports() {
        let exceptions =
            Exceptions::of("one.example, .two.example,three.example:8080,10.0.0.0/8,192.0.2.1,[2001:db8::1]:81");
        let holds = |url: &str| exceptions.hold(&Url::parse(url).unwrap());
        let direct = [
            "http://one.example",
            "https://API.One.Example/",
            "http://two.example",
            "http://a.b.two.example",
            "http://three.example:8080",
            "http://10.1.2.3",
            "http://192.0.2.1:99",
            "http://[2001:db8::1]:81",
            "http://localhost",
            "http://127.8.9.1",
            "http://[::1]:3000",
        ];
        let proxied = [
            "http://notone.example",
            "http://example",
            "http://three.example",
            "http://11.1.2.3",
            "http://192.0.2.10",
            "http://[2001:db8::1]",
            "http://localhost.example",
        ];
        assert_eq!(direct.map(holds), direct.map(|_| true));
        assert_eq!(proxied.map(holds), proxied.map(|_| false));
        assert!(Exceptions::of("*").hold(&Url::parse("https://four.example").unwrap()));
    }
}
