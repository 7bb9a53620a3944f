//! Opening the standard streams without helper threads. Node hosts hand a server UNIX sockets, Python hosts pipes;
//! both can be polled. Anything else (a file, a terminal) goes through tokio's blocking streams.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

/// Where lines come from.
pub(super) type Input = Pin<Box<dyn AsyncRead + Send>>;
/// Where frames go.
pub(super) type Output = Pin<Box<dyn AsyncWrite + Send>>;

/// Opens stdin and stdout. Must be called inside the runtime.
pub(super) fn open() -> (Input, Output) {
    (
        input().unwrap_or_else(|_| Box::pin(tokio::io::stdin())),
        output().unwrap_or_else(|_| Box::pin(tokio::io::stdout())),
    )
}

#[cfg(unix)]
fn input() -> io::Result<Input> {
    // Not std's stdin: that would set up its buffer first.
    let fd = rustix::stdio::stdin().try_clone_to_owned()?;
    match kind(&fd)? {
        Kind::Socket => Ok(Box::pin(socket(fd)?)),
        Kind::Pipe => Ok(Box::pin(tokio::net::unix::pipe::Receiver::from_owned_fd(reopened(fd, false))?)),
        Kind::Other => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(unix)]
fn output() -> io::Result<Output> {
    let fd = rustix::stdio::stdout().try_clone_to_owned()?;
    match kind(&fd)? {
        Kind::Socket => Ok(Box::pin(socket(fd)?)),
        Kind::Pipe => Ok(Box::pin(tokio::net::unix::pipe::Sender::from_owned_fd(reopened(fd, true))?)),
        Kind::Other => Err(io::ErrorKind::Unsupported.into()),
    }
}

#[cfg(unix)]
enum Kind {
    Socket,
    Pipe,
    Other,
}

#[cfg(unix)]
fn kind(fd: &std::os::fd::OwnedFd) -> io::Result<Kind> {
    use std::os::unix::fs::FileTypeExt as _;
    let file_type = std::fs::File::from(fd.try_clone()?).metadata()?.file_type();
    Ok(match () {
        () if file_type.is_socket() => Kind::Socket,
        () if file_type.is_fifo() => Kind::Pipe,
        () => Kind::Other,
    })
}

#[cfg(unix)]
fn socket(fd: std::os::fd::OwnedFd) -> io::Result<tokio::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::from(fd);
    stream.set_nonblocking(true)?;
    tokio::net::UnixStream::from_std(stream)
}

/// The same pipe under a description of its own where the system allows it, so that making it non-blocking does not
/// change the end that a parent shell still holds.
#[cfg(unix)]
fn reopened(fd: std::os::fd::OwnedFd, write: bool) -> std::os::fd::OwnedFd {
    use std::os::fd::AsRawFd as _;
    let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
    match std::fs::OpenOptions::new().read(!write).write(write).open(path) {
        Ok(file) => file.into(),
        Err(_) => fd,
    }
}

#[cfg(not(unix))]
fn input() -> io::Result<Input> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(not(unix))]
fn output() -> io::Result<Output> {
    Err(io::ErrorKind::Unsupported.into())
}
