//! Just enough HTTP/1.1 to be an API on loopback: one request per connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Largest request body accepted; the host sends its whole conversation each time.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// One request as it came.
pub(crate) struct Request {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

/// Reads one request; `None` when the peer closed without asking anything.
pub(crate) fn read_request(stream: &TcpStream) -> io::Result<Option<Request>> {
    let mut input = BufReader::new(stream);
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let method = words.next().unwrap_or_default().to_owned();
    let target = words.next().unwrap_or_default();
    let path = target.split('?').next().unwrap_or_default().to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        if input.read_line(&mut header)? == 0 || header.trim_end().is_empty() {
            break;
        }
        let Some((name, value)) = header.split_once(':') else { continue };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(io::Error::other("a chunked request body is not understood"));
        }
        if name.eq_ignore_ascii_case("expect") {
            (&mut &*stream).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
    }
    if length > BODY_BYTES_MAX {
        return Err(io::Error::other("request body too long"));
    }
    let mut body = vec![0; length];
    input.read_exact(&mut body)?;
    Ok(Some(Request { method, path, body }))
}

/// Writes one whole answer and lets the connection end.
pub(crate) fn write_response(
    mut stream: &TcpStream,
    content_type: &str,
    body: &[u8],
) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\
         cache-control: no-cache\r\nconnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body)?;
    stream.flush()
}
