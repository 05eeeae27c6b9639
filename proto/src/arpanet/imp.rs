//! What an IMP makes of a leader between the host that gives it a message and the one that gets it.

use super::leader::{Address, BadLeader, Form, Kind, Leader, Long};

/// Makes the message that the host `from` gave its IMP the one that the destination gets, whose address and the
/// leader as it was are returned. `None` is a message for the IMP itself.
pub fn forward(
    form: Form,
    from: Address,
    message: &mut [u8],
) -> Result<Option<(Address, Leader)>, BadLeader> {
    let sent = Leader::parse(form, message)?;
    if !matches!(sent.kind, Kind::Regular | Kind::Uncontrolled) {
        return Ok(None);
    }
    let bits = (message.len() - form.octets()) * 8;
    let length_bits = u16::try_from(bits).unwrap_or(u16::MAX);
    let long = if form == Form::New { Long { length_bits, ..sent.long } } else { sent.long };
    let got = Leader { address: from, long, ..sent };
    got.put(form, message).ok_or(BadLeader::Form(message[0]))?;
    Ok(Some((sent.address, sent)))
}

/// Writes an IMP's report about the message that a host had sent with this leader; returns its length.
pub fn answer(form: Form, sent: &Leader, kind: Kind, subtype: u8, into: &mut [u8]) -> usize {
    sent.answer(kind, subtype).put(form, into).unwrap_or(0)
}
