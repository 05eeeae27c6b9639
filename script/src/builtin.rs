//! Built-in variables, `\v(name)`.

use crate::calendar::Stamp;
use crate::interp::Interp;
use crate::world::Moment;

/// The program's identity for other scripts; the number is that of the C-Kermit whose language this is.
const VERSION: &str = "1000402";

impl Interp<'_> {
    /// Local date and time.
    pub(crate) fn local(&mut self) -> Stamp {
        let Moment { unix_ns, offset_s } = self.world.now();
        Stamp::of_local(unix_ns.div_euclid(1_000_000_000) + i64::from(offset_s))
    }

    /// Milliseconds since 1970.
    pub(crate) fn now_ms(&mut self) -> i64 {
        self.world.now().unix_ns.div_euclid(1_000_000)
    }

    /// Appends the value of a built-in variable; `false` if there is none of this name.
    pub(crate) fn builtin(&mut self, name: &[u8], out: &mut Vec<u8>) -> bool {
        let Ok(name) = std::str::from_utf8(name) else { return false };
        // Variables that the world provides come last.
        if let Some(text) = self.builtin_bytes(name) {
            out.extend_from_slice(&text);
            return true;
        }
        let text = self.builtin_state(name);
        let text = text.or_else(|| self.builtin_time(name));
        let text = text.or_else(|| self.builtin_transfer(name));
        let text = text.or_else(|| self.builtin_setting(name));
        if let Some(text) = text {
            out.extend_from_slice(text.as_bytes());
            return true;
        }
        let Some(text) = self.world.fact(name) else { return false };
        out.extend_from_slice(&text);
        true
    }

    fn builtin_bytes(&mut self, name: &str) -> Option<Vec<u8>> {
        Some(match name {
            "return" => self.returned.clone(),
            "query" => self.answer.clone(),
            "lastkeywordvalue" => self.keyword.clone(),
            "lastcommand" => self.last_line.clone(),
            "newline" => vec![b'\n'],
            "escape" => b"28".to_vec(),
            "input" => self.received.buffer.clone(),
            "inchar" => self.received.last.into_iter().collect(),
            "inmatch" => self.received.matched.clone(),
            "directory" => {
                let mut name = self.world.files().directory();
                if !name.ends_with(b"/") {
                    name.push(b'/');
                }
                name
            }
            "filename" => self.report.as_ref().map(|r| r.name.clone()).unwrap_or_default(),
            "filespec" => self.kept.get("filespec").cloned().unwrap_or_default(),
            "macro" => {
                let named = self.levels.iter().rev().find_map(|level| level.name.clone());
                named.unwrap_or_default()
            }
            "cmdfile" => {
                let file = self.levels.iter().rev().find(|level| level.name.is_none());
                file.map(|level| level.file.as_bytes().to_vec()).unwrap_or_default()
            }
            "args" => self.argv.len().to_string().into_bytes(),
            _ => return None,
        })
    }

    fn builtin_state(&mut self, name: &str) -> Option<String> {
        let files = self.levels.iter().skip(1).filter(|level| level.name.is_none()).count();
        let macros = self.levels.len() - 1 - files;
        Some(match name {
            "status" => self.status.to_string(),
            "exitstatus" => self.exit_code.to_string(),
            "argc" => self.levels.last().map_or(1, |l| l.arguments.len().max(1)).to_string(),
            "maclevel" => macros.saturating_sub(1).to_string(),
            "cmdlevel" => (files + macros).to_string(),
            "cmdsource" => {
                let level = self.levels.last()?;
                let at_prompt = self.levels.len() == 1;
                if at_prompt {
                    "prompt"
                } else if level.name.is_some() {
                    "macro"
                } else {
                    "file"
                }
                .to_owned()
            }
            "count" => self.level().count.to_string(),
            "errno" => self.error.0.to_string(),
            "errstring" => self.error.1.clone(),
            "pexitstat" => self.shell_status.to_string(),
            "incount" => self.received.count.to_string(),
            "instatus" => self.received.status.to_string(),
            "inmessage" => self.received.message().to_owned(),
            "intime" => self.received.time_ms.to_string(),
            "inwait" => self.received.wait_s.to_string(),
            "minput" => self.received.which.to_string(),
            "f_count" => self.channels.count().to_string(),
            "f_error" => self.channels.error.to_string(),
            "f_max" => crate::channels::MOST.to_string(),
            "version" | "xversion" => VERSION.to_owned(),
            "program" | "xprogram" => "Wetstring".to_owned(),
            "name" => "wst".to_owned(),
            "math_pi" => "3.141592653589793".to_owned(),
            "math_e" => "2.718281828459045".to_owned(),
            "math_precision" => "16".to_owned(),
            "bits" => "64".to_owned(),
            "byteorder" => i32::from(cfg!(target_endian = "little")).to_string(),
            "cmdbufsize" => self.limits.value.to_string(),
            "vareval" => if self.settings.recursive { "recursive" } else { "simple" }.to_owned(),
            "local" => i32::from(self.world.is_connected()).to_string(),
            "connection" => if self.world.is_connected() { "local" } else { "remote" }.to_owned(),
            _ => return None,
        })
    }

    fn builtin_time(&mut self, name: &str) -> Option<String> {
        if name == "ftime" {
            let Moment { unix_ns, .. } = self.world.now();
            let second = self.local().second;
            let micros = unix_ns.rem_euclid(1_000_000_000) / 1000;
            return Some(format!("{second}.{micros:06}"));
        }
        let known = [
            "date",
            "ndate",
            "time",
            "ntime",
            "day",
            "nday",
            "timestamp",
            "hour",
            "month",
            "nmonth",
            "year",
        ];
        if !known.contains(&name) {
            return None;
        }
        let now = self.local();
        Some(match name {
            "date" => now.worded(),
            "ndate" => now.number(),
            "time" => now.time(),
            "ntime" => now.second.to_string(),
            "day" => crate::calendar::DAYS[now.weekday()][..3].to_owned(),
            "nday" => now.weekday().to_string(),
            "hour" => (now.second / 3600).to_string(),
            "month" => now.month_name().to_owned(),
            "nmonth" => now.month.to_string(),
            "year" => now.year.to_string(),
            _ => now.full(),
        })
    }

    fn builtin_transfer(&mut self, name: &str) -> Option<String> {
        let none = crate::world::Report::default();
        let report = self.report.as_ref();
        let r = report.unwrap_or(&none);
        Some(match name {
            "cps" => report.map_or(0, crate::world::Report::cps).to_string(),
            "fsize" => r.last_bytes.to_string(),
            "tfsize" => r.bytes.to_string(),
            "tftime" => r.elapsed.as_secs().to_string(),
            "filenumber" => r.files.to_string(),
            "xferstatus" => report.map_or(-1, |r| i32::from(!r.done)).to_string(),
            "xfermsg" => r.message.clone(),
            "xfer_badpackets" => r.damaged.to_string(),
            "xfer_timeouts" => r.timeouts.to_string(),
            "xfer_retransmits" => r.repeated.to_string(),
            _ => return None,
        })
    }

    fn builtin_setting(&mut self, name: &str) -> Option<String> {
        let row = match name {
            "window" => "kermit.window",
            "packetlen" => "kermit.receive-length",
            "blockcheck" => "kermit.check",
            "parity" => "kermit.parity",
            "ftype" => "kermit.receive-kind",
            "protocol" => return Some("Kermit".to_owned()),
            _ => return None,
        };
        self.world.shown(row)
    }
}
