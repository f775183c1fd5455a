//! Streams, polls and clocks of this tier: `wasmtime-wasi`'s, none of which waits past the call's
//! deadline or sleeps.

use super::file_stream::READ_BYTES;
use super::ledger::SharedLedger;
use crate::state::GuestState;
use crate::wasi::ambient;
use bytes::Bytes;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::bindings::cli::{stderr, stdin, stdout};
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::pipe::ClosedInputStream;
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, OutputStream, Pollable, StreamError,
    StreamResult, subscribe,
};
use wasmtime_wasi_io::bindings::wasi::io as asynchronous;

/// The number of bytes that the log accepts at a time.
const WRITABLE: usize = 4 << 10;

/// Standard output, which is the plugin's log.
struct LogStream(SharedLedger);

#[async_trait]
impl Pollable for LogStream {
    async fn ready(&mut self) {}
}

#[async_trait]
impl OutputStream for LogStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        let mut ledger = self.0.lock();
        ledger.owe(bytes.len());
        ledger.output.extend_from_slice(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITABLE)
    }
}

/// A point in time that has always come: nobody sleeps here.
struct Now;

#[async_trait]
impl Pollable for Now {
    async fn ready(&mut self) {}
}

impl GuestState {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.granted().table
    }

    fn wait_for_stream<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut ResourceTable) -> StreamResult<T>,
    ) -> StreamResult<T> {
        self.wait(work).unwrap_or_else(|end| Err(StreamError::Trap(end)))
    }

    fn log_stream(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        let stream: DynOutputStream = Box::new(LogStream(self.granted().ledger.clone()));
        Ok(self.table().push(stream)?)
    }

    fn subscribe_to_now(&mut self) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.table().push(Now)?;
        subscribe(self.table(), now)
    }
}

impl stdin::Host for GuestState {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        let stream: DynInputStream = Box::new(ClosedInputStream);
        Ok(self.table().push(stream)?)
    }
}

impl stdout::Host for GuestState {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.log_stream()
    }
}

impl stderr::Host for GuestState {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.log_stream()
    }
}

impl monotonic_clock::Host for GuestState {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(ambient::monotonic(self))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(ambient::monotonic(self))
    }

    fn subscribe_instant(&mut self, _: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribe_to_now()
    }

    fn subscribe_duration(&mut self, _: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.subscribe_to_now()
    }
}

impl poll::Host for GuestState {
    fn poll(&mut self, all: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        self.wait(async |table| asynchronous::poll::Host::poll(table, all).await)?
    }
}

impl poll::HostPollable for GuestState {
    fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        self.wait(async |table| asynchronous::poll::HostPollable::ready(table, pollable).await)?
    }

    fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.wait(async |table| asynchronous::poll::HostPollable::block(table, pollable).await)?
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::drop(self.table(), pollable)
    }
}

impl streams::Host for GuestState {
    fn convert_stream_error(
        &mut self,
        error: StreamError,
    ) -> wasmtime::Result<streams::StreamError> {
        streams::Host::convert_stream_error(self.table(), error)
    }
}

impl streams::HostInputStream for GuestState {
    fn read(&mut self, stream: Resource<DynInputStream>, size: u64) -> StreamResult<Vec<u8>> {
        streams::HostInputStream::read(self.table(), stream, size.min(READ_BYTES))
    }

    fn blocking_read(
        &mut self,
        stream: Resource<DynInputStream>,
        size: u64,
    ) -> StreamResult<Vec<u8>> {
        let size = size.min(READ_BYTES);
        self.wait_for_stream(async |table| {
            asynchronous::streams::HostInputStream::blocking_read(table, stream, size).await
        })
    }

    fn skip(&mut self, stream: Resource<DynInputStream>, size: u64) -> StreamResult<u64> {
        streams::HostInputStream::skip(self.table(), stream, size.min(READ_BYTES))
    }

    fn blocking_skip(&mut self, stream: Resource<DynInputStream>, size: u64) -> StreamResult<u64> {
        let size = size.min(READ_BYTES);
        self.wait_for_stream(async |table| {
            asynchronous::streams::HostInputStream::blocking_skip(table, stream, size).await
        })
    }

    fn subscribe(
        &mut self,
        stream: Resource<DynInputStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.table(), stream)
    }

    fn drop(&mut self, stream: Resource<DynInputStream>) -> wasmtime::Result<()> {
        streams::HostInputStream::drop(self.table(), stream)
    }
}

impl streams::HostOutputStream for GuestState {
    fn check_write(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        streams::HostOutputStream::check_write(self.table(), stream)
    }

    fn write(&mut self, stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        streams::HostOutputStream::write(self.table(), stream, bytes)
    }

    fn write_zeroes(&mut self, stream: Resource<DynOutputStream>, count: u64) -> StreamResult<()> {
        streams::HostOutputStream::write_zeroes(self.table(), stream, count)
    }

    fn blocking_write_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        self.wait_for_stream(async |table| {
            asynchronous::streams::HostOutputStream::blocking_write_and_flush(table, stream, bytes)
                .await
        })
    }

    fn blocking_write_zeroes_and_flush(
        &mut self,
        stream: Resource<DynOutputStream>,
        count: u64,
    ) -> StreamResult<()> {
        self.wait_for_stream(async |table| {
            asynchronous::streams::HostOutputStream::blocking_write_zeroes_and_flush(
                table, stream, count,
            )
            .await
        })
    }

    fn flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        streams::HostOutputStream::flush(self.table(), stream)
    }

    fn blocking_flush(&mut self, stream: Resource<DynOutputStream>) -> StreamResult<()> {
        self.wait_for_stream(async |table| {
            asynchronous::streams::HostOutputStream::blocking_flush(table, stream).await
        })
    }

    fn splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        size: u64,
    ) -> StreamResult<u64> {
        streams::HostOutputStream::splice(self.table(), to, from, size.min(READ_BYTES))
    }

    fn blocking_splice(
        &mut self,
        to: Resource<DynOutputStream>,
        from: Resource<DynInputStream>,
        size: u64,
    ) -> StreamResult<u64> {
        let size = size.min(READ_BYTES);
        self.wait_for_stream(async |table| {
            asynchronous::streams::HostOutputStream::blocking_splice(table, to, from, size).await
        })
    }

    fn subscribe(
        &mut self,
        stream: Resource<DynOutputStream>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.table(), stream)
    }

    fn drop(&mut self, stream: Resource<DynOutputStream>) -> wasmtime::Result<()> {
        streams::HostOutputStream::drop(self.table(), stream)
    }
}
