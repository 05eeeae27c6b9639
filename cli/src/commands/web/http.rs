//! One HTTP connection: a file of the page, or a WebSocket.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};
use wetstring_drive::Port;
use wetstring_drive::event::{Interest, wait};

use super::{Site, bridge};

/// The longest head of a request.
const MOST_HEAD: usize = 16 * 1024;
/// Time for a head to come, and for an answer to leave.
const PATIENCE: Duration = Duration::from_secs(10);
/// What RFC 6455 1.3 adds to a key.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The subprotocol; the token follows it.
const PROTOCOL: &str = "wetstring";
/// Scripts, styles and connections are the page's own. xterm.js makes style elements; compiling the module is no `eval`.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; \
     connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What matters of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    get: bool,
    path: String,
    host: String,
    origin: Option<String>,
    /// The key of a WebSocket's handshake.
    key: Option<String>,
    protocols: Vec<String>,
}

/// Reads a head; `None` if it is none. What follows it stays in `bytes`.
fn parse(bytes: &mut Vec<u8>) -> Result<Option<Request>, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(len) = head.parse(bytes)? else { return Ok(None) };
    let path = head.path.unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default().to_owned();
    let mut request = Request { get: head.method == Some("GET"), path, ..Request::default() };
    let (mut upgrades, mut version) = (false, false);
    for header in head.headers.iter() {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        match header.name.to_ascii_lowercase().as_str() {
            "host" => value.clone_into(&mut request.host),
            "origin" => request.origin = Some(value.to_owned()),
            "upgrade" => upgrades = value.eq_ignore_ascii_case("websocket"),
            "sec-websocket-version" => version = value == "13",
            "sec-websocket-key" => request.key = Some(value.to_owned()),
            "sec-websocket-protocol" => {
                request.protocols.extend(value.split(',').map(|one| one.trim().to_owned()));
            }
            _ => {}
        }
    }
    if !(upgrades && version) {
        request.key = None;
    }
    bytes.drain(..len);
    Ok(Some(request))
}

/// Serves it to its end.
pub(super) fn serve(site: &Site, port: &mut dyn Port) {
    let mut bytes = Vec::new();
    let Some(request) = head(site, port, &mut bytes) else { return };
    let Ok(request) = request else {
        return refuse(port, "400 Bad Request", "this is no request of HTTP/1.1");
    };
    if !site.is_ours(&request.host) {
        return refuse(
            port,
            "421 Misdirected Request",
            "this is no name of this host; see wst web --name",
        );
    }
    if !request.get {
        return refuse(port, "405 Method Not Allowed", "expected GET");
    }
    if request.path == "/line" {
        return match accepts(site, &request) {
            Ok(answer) => {
                if send(port, answer.as_bytes()) {
                    bridge::run(site, port, &bytes);
                }
            }
            Err((status, why)) => refuse(port, status, why),
        };
    }
    match site.pages.get(&request.path) {
        Some((body, kind)) => answer(port, "200 OK", kind, &body),
        None => refuse(port, "404 Not Found", "there is no such page"),
    }
}

/// The head of the request; `None` if the peer has closed the connection or is too slow.
fn head(
    site: &Site,
    port: &mut dyn Port,
    bytes: &mut Vec<u8>,
) -> Option<Result<Request, httparse::Error>> {
    let until = Instant::now() + PATIENCE;
    let mut buffer = [0; 2048];
    loop {
        match port.read(&mut buffer) {
            Ok(Some(len)) if len > 0 => bytes.extend_from_slice(&buffer[..len]),
            Ok(None) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() || site.signals.last().is_some() {
                    return None;
                }
                let mut interests =
                    [Interest::read(port.read_source()), Interest::read(site.signals.source())];
                let _ = wait(&mut interests, Some(left));
                continue;
            }
            _ => return None,
        }
        match parse(bytes) {
            Ok(None) if bytes.len() > MOST_HEAD => return None,
            Ok(None) => {}
            Ok(Some(request)) => return Some(Ok(request)),
            Err(error) => return Some(Err(error)),
        }
    }
}

/// The answer to a WebSocket's handshake, or why it is refused.
fn accepts(site: &Site, request: &Request) -> Result<String, (&'static str, &'static str)> {
    let Some(key) = &request.key else {
        return Err(("426 Upgrade Required", "expected a WebSocket"));
    };
    // Programs that are no browsers have no origin.
    let own = format!("http://{}", request.host);
    if request.origin.as_ref().is_some_and(|origin| *origin != own) {
        return Err(("403 Forbidden", "this is another page's"));
    }
    let token = request.protocols.iter().find(|one| *one != PROTOCOL).map(String::as_str);
    if !site.admits(token) {
        return Err(("403 Forbidden", "expected the token of the printed address"));
    }
    if site.spec.is_none() {
        return Err(("404 Not Found", "there is no line: wst web LINE"));
    }
    let digest = Sha1::new().chain_update(key.as_bytes()).chain_update(GUID).finalize();
    let accept = STANDARD.encode(digest);
    let chosen = request.protocols.iter().any(|one| one == PROTOCOL);
    let chosen =
        if chosen { format!("Sec-WebSocket-Protocol: {PROTOCOL}\r\n") } else { String::new() };
    Ok(format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n{chosen}\r\n"
    ))
}

fn refuse(port: &mut dyn Port, status: &str, why: &str) {
    answer(port, status, "text/plain; charset=utf-8", format!("{why}\n").as_bytes());
}

fn answer(port: &mut dyn Port, status: &str, kind: &str, body: &[u8]) {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Cache-Control: no-cache\r\nContent-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\r\n",
        body.len()
    );
    let _ = send(port, head.as_bytes()) && send(port, body);
}

/// Writes all of it; false if the peer has closed the connection or is too slow.
fn send(port: &mut dyn Port, mut bytes: &[u8]) -> bool {
    let until = Instant::now() + PATIENCE;
    while !bytes.is_empty() {
        match port.write(bytes) {
            Ok(Some(len)) => bytes = &bytes[len..],
            Ok(None) => {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return false;
                }
                let _ = wait(&mut [Interest::write(port.write_source())], Some(left));
            }
            Err(_) => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const HANDSHAKE: &str = "GET /line HTTP/1.1\r\nHost: 127.0.0.1:8417\r\nOrigin: http://127.0.0.1:8417\r\n\
         Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: wetstring, 0123\r\n\r\n";

    fn parsed(head: &str) -> Request {
        let mut bytes = head.as_bytes().to_vec();
        parse(&mut bytes).expect("a head").expect("all of it")
    }

    #[test]
    fn a_head_is_read_whole_and_what_follows_is_left() {
        let mut bytes = [HANDSHAKE.as_bytes(), b"\x81\x80"].concat();
        for len in 0..HANDSHAKE.len() {
            let mut part = bytes[..len].to_vec();
            assert_eq!(parse(&mut part), Ok(None), "{len}");
        }
        let request = parse(&mut bytes).expect("a head").expect("all of it");
        assert_eq!(bytes, b"\x81\x80");
        assert_eq!(request.path, "/line");
        assert_eq!(request.protocols, ["wetstring", "0123"]);
        assert!(parse(&mut b"\x01, S~/ @-#Y1~\r\n\r\n".to_vec()).is_err());
    }

    #[test]
    fn a_handshake_is_answered_as_in_rfc_6455() {
        let site = crate::commands::web::tests::site(Some("0123"));
        let site = Site { spec: Some("pty:".parse().expect("a line")), ..site };
        let answer = accepts(&site, &parsed(HANDSHAKE)).expect("it is right");
        assert!(
            answer.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
            "{answer}"
        );
        for (from, to) in [
            ("Origin: http://127.0.0.1:8417", "Origin: http://evil.example"),
            ("Origin: http://127.0.0.1:8417", "Origin: null"),
            ("wetstring, 0123", "wetstring, 0124"),
            ("wetstring, 0123", "wetstring"),
            ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8"),
        ] {
            assert!(accepts(&site, &parsed(&HANDSHAKE.replace(from, to))).is_err(), "{to}");
        }
    }
}
