//! Another user of the machine, who can write the directory of streams, or made it.
#![cfg(all(target_os = "linux", not(miri)))]
#![expect(unsafe_code, reason = "becoming another user")]

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, Signal, kill_process};
use tenure_stream::gstreamer::Listener;
use tenure_stream::{Error, Publisher, Subscriber, list_in};

#[path = "../../memory/tests/common/child.rs"]
mod child;
#[path = "../../memory/tests/common/fork.rs"]
mod fork;
#[path = "common/pipe.rs"]
mod pipe;
#[path = "common/raw.rs"]
mod raw;
#[path = "common/stage.rs"]
mod stage;

use stage::{SOON, Stage, until, until_there, words_spec};

const SOMEBODY: u32 = 65533;
const NOBODY: u32 = 65534;

/// Runs a test in a process of its own, as root.
fn alone(name: &str, body: impl FnOnce()) {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: only root can become another user");
        return;
    }
    child::alone(name, body);
}

/// Starts work of another user.
fn start_as(uid: u32, gid: u32, work: impl FnOnce() -> i32) -> i32 {
    fork::start(move || {
        // SAFETY: plain system calls of a process that has no other threads.
        let became = unsafe {
            libc::setgroups(0, std::ptr::null()) == 0
                && libc::setresgid(gid, gid, gid) == 0
                && libc::setresuid(uid, uid, uid) == 0
        };
        if became { work() } else { 77 }
    })
}

fn succeeds(child: i32) {
    let ended = fork::wait(child);
    assert!(ended.success(), "{ended}");
}

/// Another process, ended with this.
struct Attacker(i32);

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_raw(self.0).unwrap(), Signal::KILL);
        fork::wait(self.0);
    }
}

/// A directory for streams that others can get to.
fn directory(stage: &Stage, name: &str, owner: u32, mode: u32) -> PathBuf {
    fs::set_permissions(stage.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let path = stage.path().join(name);
    fs::create_dir(&path).unwrap();
    chown(&path, Some(owner), Some(owner)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn publisher(directory: &Path) -> Result<Publisher, Error> {
    Publisher::builder("s").directory(directory).spec(words_spec(8)).open()
}

/// Whatever appears in the directory is replaced by a link to the victim, again and again.
fn replace_everything(directory: &Path, victim: &Path) -> i32 {
    let aside = directory.join("aside");
    let names = ["s.sock.new", "gst"].map(|name| directory.join(name));
    let replace = |path: &Path| {
        if fs::rename(path, &aside).is_ok() {
            let _ = symlink(victim, path);
            // For as long as somebody may need to fall for it.
            std::thread::sleep(Duration::from_micros(200));
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(&aside).or_else(|_| fs::remove_dir(&aside));
        }
    };
    loop {
        (0..100).for_each(|_| names.iter().for_each(|path| replace(path)));
        // And what has a name that is not known before.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            replace(&entry.path());
        }
    }
}

#[test]
fn a_link_of_others_leads_to_no_other_file() {
    alone("a_link_of_others_leads_to_no_other_file", || {
        let stage = Stage::new();
        let victim = stage.path().join("victim");
        fs::write(&victim, "secret").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        let own = stage.words("cam", 8);
        // Everybody can write it; everybody, but only what is theirs; it is the attacker's.
        for (name, owner, mode) in
            [("open", 0, 0o777), ("sticky", 0, 0o1777), ("theirs", NOBODY, 0o755)]
        {
            let directory = directory(&stage, name, owner, mode);
            let (there, file) = (directory.clone(), victim.clone());
            let attack = move || replace_everything(&there, &file);
            let attacker = Attacker(start_as(NOBODY, NOBODY, attack));
            let (mut opened, mut refused) = (0, 0);
            for _ in 0..150 {
                match publisher(&directory) {
                    Ok(_) => opened += 1,
                    Err(_) => refused += 1,
                }
                let builder = Listener::builder("cam").directory(stage.path());
                drop(builder.open(directory.join("gst")));
                let found = fs::symlink_metadata(&victim).unwrap();
                assert_eq!((found.mode() & 0o7777, found.uid()), (0o600, 0), "in {name}");
            }
            drop(attacker);
            assert_eq!(fs::read(&victim).unwrap(), b"secret");
            assert_eq!(opened == 0, name == "open", "{name}: {opened} opened, {refused} not");
        }
        drop(own);
    });
}

#[test]
fn nothing_that_is_predictable_can_be_squatted() {
    alone("nothing_that_is_predictable_can_be_squatted", || {
        let stage = Stage::new();
        let directory = directory(&stage, "sticky", 0, 0o1777);
        let there = directory.clone();
        succeeds(start_as(NOBODY, NOBODY, move || {
            fs::write(there.join("s.sock.new"), "").unwrap();
            0
        }));
        let there = directory.clone();
        succeeds(start_as(SOMEBODY, SOMEBODY, move || {
            drop(publisher(&there).unwrap());
            0
        }));
        // Only the name itself, which is said.
        fs::remove_file(directory.join("s.lock")).unwrap();
        let there = directory.clone();
        succeeds(start_as(NOBODY, NOBODY, move || {
            let lock = fs::File::create(there.join("s.lock")).unwrap();
            lock.set_permissions(fs::Permissions::from_mode(0o666)).unwrap();
            0
        }));
        let refused = publisher(&directory).unwrap_err().to_string();
        let kept = refused.contains(&format!("belongs to user {NOBODY}"));
        // Or by the kernel, where fs.protected_regular is set.
        assert!(kept || refused.contains("ermission denied"), "{refused}");
    });
}

#[test]
fn producers_that_are_not_trusted_are_not_listened_to() {
    alone("producers_that_are_not_trusted_are_not_listened_to", || {
        let stage = Stage::new();
        let sticky = directory(&stage, "sticky", 0, 0o1777);
        let there = sticky.clone();
        let producer = Attacker(start_as(NOBODY, NOBODY, move || {
            let builder = Publisher::builder("s").directory(&there).allow(|_| true);
            let _publisher = builder.spec(words_spec(8)).open().unwrap();
            std::thread::sleep(SOON);
            0
        }));
        until_there(&sticky.join("s.sock"));
        let builder = Subscriber::builder("s").directory(&sticky);
        let refused = builder.clone().open().unwrap_err();
        assert!(
            matches!(&refused, Error::Producer(it) if matches!(**it, tenure_stream::detail::Producer { uid: NOBODY, .. })),
            "{refused}"
        );
        assert!(refused.to_string().contains("producer_uid(65534)"), "{refused}");
        assert_eq!(builder.producer_uid(NOBODY).open().unwrap().producer().unwrap().uid, NOBODY);
        drop(producer);

        // Nor is a directory that they made somewhere and somebody was led to.
        let there = sticky.clone();
        succeeds(start_as(NOBODY, NOBODY, move || {
            fs::create_dir(there.join("trap")).unwrap();
            0
        }));
        let trap = sticky.join("trap");
        for refused in [
            publisher(&trap).unwrap_err(),
            Subscriber::builder("s").directory(&trap).open().unwrap_err(),
            list_in(&trap).unwrap_err(),
            tenure_stream::stat_in(&trap, "s").unwrap_err(),
        ] {
            assert!(matches!(&refused, Error::Directory { .. }), "{refused}");
            assert!(refused.to_string().contains("belongs to user 65534"), "{refused}");
        }
    });
}

/// Connects without a word, again whenever the connection ends.
fn stand_at_the_door(directory: &Path) -> i32 {
    let silent = |socket: &OwnedFd| {
        recv(socket, &mut [0; 1], RecvFlags::DONTWAIT).is_err_and(|errno| errno == Errno::AGAIN)
    };
    let mut standing: Vec<OwnedFd> = vec![];
    loop {
        standing.retain(silent);
        while standing.len() < 32 {
            standing.push(raw::connected(directory, "s"));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn whoever_stands_at_the_door_keeps_nobody_of_another_user_out() {
    alone("whoever_stands_at_the_door_keeps_nobody_of_another_user_out", || {
        let stage = Stage::new();
        let directory = directory(&stage, "streams", 0, 0o755);
        let builder = Publisher::builder("s").directory(&directory).spec(words_spec(8));
        let _publisher = builder.allow(|_| true).open().unwrap();
        let attackers = [(); 4].map(|()| {
            let there = directory.clone();
            Attacker(start_as(NOBODY, NOBODY, move || stand_at_the_door(&there)))
        });
        std::thread::sleep(Duration::from_millis(300));
        for _ in 0..100 {
            Subscriber::builder("s").directory(&directory).open().unwrap();
        }
        drop(attackers);
    });
}

#[test]
fn one_user_leaves_pipelines_of_others_a_place() {
    alone("one_user_leaves_pipelines_of_others_a_place", || {
        let stage = Stage::new();
        let path = directory(&stage, "pipes", 0, 0o755).join("gst");
        // Before there are threads. Of the producer's group, and so let in.
        let there = path.clone();
        let attacker = Attacker(start_as(NOBODY, 0, move || {
            until_there(&there);
            let all = [(); 8].map(|()| std::os::unix::net::UnixStream::connect(&there).unwrap());
            std::thread::sleep(SOON);
            drop(all);
            0
        }));
        let _publisher = pipe::camera(&stage, pipe::grey());
        let builder = Listener::builder("cam").directory(stage.path()).clients(4);
        let mut listener = builder.open(&path).unwrap();
        until("the attacker came", || {
            listener.step(Duration::from_millis(10)).unwrap();
            let figures = listener.figures();
            figures.came + figures.refused == 8
        });
        assert_eq!((listener.figures().came, listener.figures().clients), (2, 2));
        let own = [(); 2].map(|()| std::os::unix::net::UnixStream::connect(&path).unwrap());
        until("both came", || {
            listener.step(Duration::from_millis(10)).unwrap();
            listener.figures().clients == 4
        });
        drop((own, attacker));
    });
}

/// Who publishes, who subscribes, in what directory; neither asks for anything.
fn works(producer: (u32, u32), consumer: (u32, u32), owner: u32, mode: u32, allow: bool) {
    let stage = Stage::new();
    let directory = directory(&stage, "streams", owner, mode);
    let there = directory.clone();
    let producing = Attacker(start_as(producer.0, producer.1, move || {
        let builder = Publisher::builder("s").directory(&there).spec(words_spec(8));
        let builder = if allow { builder.allow(|_| true) } else { builder };
        let mut publisher = builder.open().unwrap();
        until("somebody comes", || publisher.consumers() == 1);
        stage::publish(&mut publisher, 0).unwrap();
        std::thread::sleep(SOON);
        0
    }));
    let there = directory.clone();
    succeeds(start_as(consumer.0, consumer.1, move || {
        let builder = Subscriber::builder("s").directory(&there).wait(SOON);
        drop(stage::next(&mut builder.open().unwrap()));
        0
    }));
    drop(producing);
}

#[test]
fn users_share_streams() {
    alone("users_share_streams", || {
        let (root, nobody, somebody) = ((0, 0), (NOBODY, NOBODY), (SOMEBODY, SOMEBODY));
        // A directory of the machine in which root publishes.
        works(root, nobody, 0, 0o755, true);
        // One that root made for a service (`RuntimeDirectory=`).
        works(nobody, somebody, NOBODY, 0o755, true);
        // And for a group.
        works(nobody, (SOMEBODY, NOBODY), NOBODY, 0o750, false);
        // One in which everybody publishes, for their group.
        works(nobody, (SOMEBODY, NOBODY), 0, 0o1777, false);
        // Root looks at a service.
        works(nobody, root, NOBODY, 0o700, true);
    });
}

/// With whatever umask, as documented: 0660, or 0666 with a policy.
#[test]
fn sockets_have_their_mode_from_the_beginning() {
    child::alone("sockets_have_their_mode_from_the_beginning", || {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));
        let stage = Stage::new();
        let mode =
            |name: &str| fs::symlink_metadata(stage.path().join(name)).unwrap().mode() & 0o7777;
        let closed = stage.publisher("a").open().unwrap();
        let open = stage.publisher("b").allow(|_| true).open().unwrap();
        let listener = Listener::builder("a").directory(stage.path());
        let listener = listener.wait(Duration::ZERO).open(stage.path().join("gst")).unwrap();
        assert_eq!([mode("a.sock"), mode("b.sock"), mode("gst")], [0o660, 0o666, 0o660]);
        drop((closed, open, listener));
        // Nothing is left but the locks.
        let mut left: Vec<String> = fs::read_dir(stage.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["a.lock", "b.lock"]);
    });
}
