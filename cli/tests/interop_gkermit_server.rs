//! G-Kermit as client of our server: it gets, it sends, in a PTY and on pipes.

use crate::peers;

use std::fs;

use peers::serving::stock;
use peers::{LIMIT, Scene, gkermit, same, wst};

#[test]
fn gkermit_gets_and_sends() {
    let Some(_) = gkermit() else { return };
    for kind in ["exec-pty", "exec"] {
        let scene = Scene::new();
        let bytes = stock(&scene);
        scene.file("client/up.dat", &bytes[..40_000]);
        // -i: bytes; -a: the local name of the received file.
        let text = format!(
            "cd {} || exit 9\n\
             gkermit -i -a got.dat -g bin.dat || exit 1\n\
             gkermit -i -a none.dat -g nothing-here && exit 2\n\
             gkermit -i -s up.dat || exit 3\n\
             gkermit -a text.dat -g txt.dat || exit 4\n\
             gkermit -f || exit 5\n",
            scene.path("client").display()
        );
        let script = scene.file("client.sh", text.as_bytes());
        let line = format!("{kind}:sh {} 2>{}", script.display(), scene.path("err").display());
        let root = scene.path("root").display().to_string();
        let args = ["serve", &line, "--root", &root, "--allow", "write", "--silence", "20"];
        let end = scene.start("wst", &mut wst(args)).unwrap().wait(LIMIT).unwrap();
        let said = fs::read_to_string(scene.path("err")).unwrap_or_default();
        assert_eq!(end.code, 0, "{kind}: {} {said}", end.said);
        same(&scene.path("root/bin.dat"), &scene.path("client/got.dat"))
            .unwrap_or_else(|e| panic!("{kind}: {e}"));
        // It sends names in capitals.
        same(&scene.path("client/up.dat"), &scene.path("root/UP.DAT"))
            .unwrap_or_else(|e| panic!("{kind}: {e}"));
        assert_eq!(fs::read(scene.path("client/text.dat")).unwrap(), b"one\ntwo\n");
    }
}
