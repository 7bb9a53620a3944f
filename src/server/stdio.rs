//! Opening the standard streams without helper threads. Node hosts hand a server UNIX sockets, Python hosts pipes;
//! both can be polled. Anything else (a file, a terminal) goes through tokio's blocking streams.

use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

#[cfg(not(unix))]
use blocking as polled;
#[cfg(unix)]
use unix as polled;

/// Where lines come from.
pub(super) type Input = Pin<Box<dyn AsyncRead + Send>>;
/// Where frames go.
pub(super) type Output = Pin<Box<dyn AsyncWrite + Send>>;

/// The standard streams.
pub(super) struct Streams {
    pub(super) input: Input,
    pub(super) output: Output,
    /// What to undo, last things first: both streams may be one, whose mode was seen unchanged by the first alone.
    pub(super) modes: [Option<polled::Mode>; 2],
}

/// Opens stdin and stdout. Must be called inside the runtime.
pub(super) fn open() -> Streams {
    let (input, input_mode) = match polled::input() {
        Ok((input, mode)) => (input, Some(mode)),
        Err(_) => (Box::pin(tokio::io::stdin()) as Input, None),
    };
    let (output, output_mode) = match polled::output() {
        Ok((output, mode)) => (output, Some(mode)),
        Err(_) => (Box::pin(tokio::io::stdout()) as Output, None),
    };
    Streams { input, output, modes: [output_mode, input_mode] }
}

#[cfg(unix)]
mod unix {
    use std::io;
    use std::os::fd::BorrowedFd;

    use rustix::fs::{FileType, OFlags};
    use tokio::net::UnixStream;
    use tokio::net::unix::pipe;

    use super::{Input, Output};

    /// Room in the pipe to the client, in bytes, if the system grants it: a long list goes out in one piece and does
    /// not wait for the client to read the first half.
    #[cfg(target_os = "linux")]
    const ROOM: usize = 256 << 10;

    pub(super) fn input() -> io::Result<(Input, Mode)> {
        let fd = rustix::stdio::stdin();
        let kind = Kind::of(fd)?;
        let mode = Mode::set(fd)?;
        let own = fd.try_clone_to_owned()?;
        let input: Input = match kind {
            Kind::Socket => Box::pin(UnixStream::from_std(own.into())?),
            Kind::Pipe => Box::pin(pipe::Receiver::from_owned_fd_unchecked(own)?),
        };
        Ok((input, mode))
    }

    pub(super) fn output() -> io::Result<(Output, Mode)> {
        let fd = rustix::stdio::stdout();
        let kind = Kind::of(fd)?;
        let mode = Mode::set(fd)?;
        let own = fd.try_clone_to_owned()?;
        let output: Output = match kind {
            Kind::Socket => Box::pin(UnixStream::from_std(own.into())?),
            Kind::Pipe => {
                #[cfg(target_os = "linux")]
                let _ = rustix::pipe::fcntl_setpipe_size(&own, ROOM);
                Box::pin(pipe::Sender::from_owned_fd_unchecked(own)?)
            }
        };
        Ok((output, mode))
    }

    /// What can be polled.
    enum Kind {
        Socket,
        Pipe,
    }

    impl Kind {
        fn of(fd: BorrowedFd<'_>) -> io::Result<Kind> {
            match FileType::from_raw_mode(rustix::fs::fstat(fd)?.st_mode) {
                FileType::Socket => Ok(Kind::Socket),
                FileType::Fifo => Ok(Kind::Pipe),
                _ => Err(io::ErrorKind::Unsupported.into()),
            }
        }
    }

    /// A stream that does not block until this is dropped. The mode is one of the stream's end and not of our
    /// descriptor: a shell that started the server may hold the end too, and finds it as it was.
    pub(in crate::server) struct Mode {
        fd: BorrowedFd<'static>,
        before: OFlags,
    }

    impl Mode {
        fn set(fd: BorrowedFd<'static>) -> io::Result<Mode> {
            let before = rustix::fs::fcntl_getfl(fd)?;
            rustix::fs::fcntl_setfl(fd, before | OFlags::NONBLOCK)?;
            Ok(Mode { fd, before })
        }
    }

    impl Drop for Mode {
        fn drop(&mut self) {
            let _ = rustix::fs::fcntl_setfl(self.fd, self.before);
        }
    }
}

/// Systems without pollable standard streams.
#[cfg(not(unix))]
mod blocking {
    use std::io;

    use super::{Input, Output};

    pub(in crate::server) enum Mode {}

    pub(super) fn input() -> io::Result<(Input, Mode)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn output() -> io::Result<(Output, Mode)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
