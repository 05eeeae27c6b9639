//! Bytes of records into the packet, by its alphabet.

use super::{Packet, Packing};
use crate::kermit::bundle::runs::Next;

impl Packing {
    /// Puts bytes of a data record into the packet; returns how many it has now.
    pub(super) fn put_data(&mut self, bytes: &[u8], data: &mut [u8]) -> usize {
        let Some(mut runs) = self.runs else { return self.put(bytes, data) };
        let mut done = 0;
        while done < bytes.len() {
            let space = self.packet.map_or(0, |packet| packet.space);
            if space == 0 {
                break;
            }
            match runs.next(&bytes[done..], space) {
                Next::Count(count) => {
                    self.put(&[count as u8], data);
                    done += count;
                }
                Next::Bytes(len) => done += self.put(&bytes[done..done + len], data),
            }
        }
        self.runs = Some(runs);
        done
    }

    /// Puts bytes into the chunk or the packet, as far as there is space; returns how many.
    pub(super) fn put(&mut self, bytes: &[u8], data: &mut [u8]) -> usize {
        if self.compression.collects() {
            return self.compression.collect(bytes, data);
        }
        self.put_coded(bytes, data)
    }

    /// Puts bytes into the packet as far as there is space; returns how many.
    pub(in crate::kermit::sending) fn put_coded(&mut self, bytes: &[u8], data: &mut [u8]) -> usize {
        let Some(packet) = &mut self.packet else { return 0 };
        let block = packet.alphabet.block_len();
        let mut done = 0;
        while done < bytes.len() && packet.space > 0 {
            let len = (bytes.len() - done).min(block - self.held).min(packet.space);
            self.block[self.held..self.held + len].copy_from_slice(&bytes[done..done + len]);
            self.held += len;
            done += len;
            packet.space -= len;
            if self.held == block {
                packet.write(&self.block[..block], data);
                self.held = 0;
            }
        }
        done
    }

    /// Headers are in the packet, and of those `resumed` of files that could be continued.
    pub(in crate::kermit::sending) fn headed(&mut self, heads: usize, resumed: usize) {
        if let Some(packet) = &mut self.packet {
            packet.heads += heads;
            packet.resumed += resumed;
        }
    }

    /// Bytes of a file are in the packet.
    pub(in crate::kermit::sending) fn used(&mut self, len: usize) {
        if let Some(packet) = &mut self.packet {
            packet.used += len;
        }
    }
}

impl Packet {
    pub(super) fn write(&mut self, block: &[u8], data: &mut [u8]) {
        let end = self.len + block.len() + 1;
        self.alphabet.encode(block, &mut data[self.len..end]);
        self.len = end;
    }
}
