//! Routes of this machine through an interface, by one message of Linux's rtnetlink(7).
//!
//! ```text
//! nlmsghdr   len u32, type u16, flags u16, seq u32, port u32
//! rtmsg      family, dst_len, src_len, tos, table, protocol, scope, type: u8 each; flags u32
//! RTA_DST    len u16, type u16, address          (not for the default route)
//! RTA_OIF    len u16, type u16, interface u32
//! ```
//!
//! The kernel answers with NLMSG_ERROR, which holds 0 or a negative errno behind its header. A crate for all of
//! rtnetlink would be 4 % of the program, for this one message.

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};
use std::io;
use std::net::Ipv4Addr;

const RTM_NEWROUTE: u16 = 24;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RT_TABLE_MAIN: u8 = 254;
const RTPROT_BOOT: u8 = 3;
const RT_SCOPE_LINK: u8 = 253;
const RTN_UNICAST: u8 = 1;
const AF_INET: u8 = 2;
/// Length of nlmsghdr.
const HEADER: usize = 16;

/// Sends what is addressed to this network through the interface with this index.
///
/// # Errors
///
/// The kernel's: without CAP_NET_ADMIN, if there is such a route, or if the interface is down.
pub(super) fn add(address: Ipv4Addr, prefix: u8, interface: u32) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    // Without a protocol it is NETLINK_ROUTE.
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    send(&kernel, &message(address, prefix, interface), SendFlags::empty())?;
    let mut reply = [0; 512];
    let (len, _) = recv(&kernel, &mut reply, RecvFlags::empty())?;
    match errno(&reply[..len]) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error)),
        None => {
            Err(io::Error::new(io::ErrorKind::InvalidData, "expected an NLMSG_ERROR of the kernel"))
        }
    }
}

fn message(address: Ipv4Addr, prefix: u8, interface: u32) -> Vec<u8> {
    let mut message = vec![0; HEADER];
    let route = [AF_INET, prefix, 0, 0, RT_TABLE_MAIN, RTPROT_BOOT, RT_SCOPE_LINK, RTN_UNICAST];
    message.extend(route);
    message.extend([0; 4]);
    let mut attribute = |kind: u16, value: [u8; 4]| {
        message.extend(8_u16.to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend(value);
    };
    if prefix > 0 {
        attribute(RTA_DST, address.octets());
    }
    attribute(RTA_OIF, interface.to_ne_bytes());
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
    message[..4].copy_from_slice(&len.to_ne_bytes());
    message[4..6].copy_from_slice(&RTM_NEWROUTE.to_ne_bytes());
    message[6..8].copy_from_slice(&flags.to_ne_bytes());
    message
}

/// The errno of an NLMSG_ERROR, 0 for an acknowledgement.
fn errno(reply: &[u8]) -> Option<i32> {
    let kind = reply.get(4..6)?.try_into().ok()?;
    let error = reply.get(HEADER..HEADER + 4)?.try_into().ok()?;
    (u16::from_ne_bytes(kind) == NLMSG_ERROR).then(|| i32::from_ne_bytes(error).wrapping_neg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_of_the_main_table() {
        let message = message([192, 168, 7, 0].into(), 24, 5);
        assert_eq!(message.len(), 16 + 12 + 8 + 8);
        assert_eq!(message[16..24], [2, 24, 0, 0, 254, 3, 253, 1]);
        assert_eq!(message[32..36], [192, 168, 7, 0]);
        // The default route has no destination.
        assert_eq!(super::message(Ipv4Addr::UNSPECIFIED, 0, 5).len(), 16 + 12 + 8);
    }

    #[test]
    fn what_the_kernel_refuses_is_its_error() {
        // No interface has this index: ENODEV, or EPERM without the privilege.
        let refused = add([192, 0, 2, 0].into(), 24, 0x7fff_0000).unwrap_err();
        assert!(matches!(refused.raw_os_error(), Some(1 | 19)), "{refused}");
    }
}
