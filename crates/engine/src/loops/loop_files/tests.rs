//! The files of a loop on a real disk: kept and untouched text, and the notices for the user.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

use crate::loops::loop_files::*;
use crate::loops::session_usage::read_session_usage;
use moai_config::Config;
use moai_host::ipc::StateDirs;
use moai_protocol::control::CallerContext;

struct LoopFilesFixture {
    folder: tempfile::TempDir,
    engine: Arc<Engine>,
    project: Project,
}

impl LoopFilesFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().canonicalize().expect("there");
        let root = home.join("project");
        fs::create_dir(&root).expect("made");
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let env = BTreeMap::from([("HOME".to_owned(), text(&home))]);
        let dirs = StateDirs::from_env(&env).expect("a home");
        let engine = Engine::new(dirs, &Config::default(), None);
        let caller =
            CallerContext { cwd: root.clone(), root: Some(root), env, ..CallerContext::default() };
        let project = Project::load(&engine, &caller).expect("no options");
        Self { folder, engine, project }
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.project.root.join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project.root.join(path)).unwrap_or_default()
    }

    async fn decided(&self, iteration: u32, is_completed: bool) -> Vec<String> {
        let decided = IterationSummary {
            id: "loop-1a2b3c4d".to_owned(),
            iteration,
            is_completed,
            has_memory: true,
            at_ms: 0,
        };
        write_loop_notes(&self.engine, &self.project, &decided).await
    }
}

const PROGRESS_TEXT: &str = "ORIGINAL_GOAL: x\nDECISIONS:\n- chose: A\n\nREMAINING_GAP:\n- b\n";

#[tokio::test]
async fn a_stop_reads_the_agents_notes() {
    let world = LoopFilesFixture::new();
    let facts = read_loop_notes(&world.project).await;
    assert_eq!(facts.research, research_gate(None));
    assert_eq!((facts.remaining.len(), facts.notices.len()), (0, 0));
    world.write(PROGRESS_FILE, PROGRESS_TEXT);
    let facts = read_loop_notes(&world.project).await;
    assert_eq!(facts.research, research_gate(Some(PROGRESS_TEXT)));
    assert_eq!((facts.remaining, facts.too_many_lines), (vec!["b".to_owned()], None));
    world.write(PROGRESS_FILE, &"x\n".repeat(100));
    assert_eq!(read_loop_notes(&world.project).await.too_many_lines, Some(100));
    world.write(PROGRESS_FILE, "\0");
    let facts = read_loop_notes(&world.project).await;
    assert_eq!(facts.notices, ["[moai-ralph] progress.txt was not changed: binary"]);
    assert_ne!(facts.research, ResearchGate::Passed);
}

#[tokio::test]
async fn decisions_are_saved_once_and_a_completed_loop_is_handed_off() {
    let world = LoopFilesFixture::new();
    world.write(PROGRESS_FILE, PROGRESS_TEXT);
    assert_eq!(world.decided(1, false).await, [""; 0]);
    assert_eq!(world.decided(2, false).await, [""; 0]);
    assert_eq!(world.read(DECISIONS_FILE), "[iter 1] chose: A\n");
    assert_eq!(world.read(ALIGN_FILE), "");
    for _ in 0..2 {
        assert_eq!(world.decided(3, true).await, [""; 0]);
        let align = world.read(ALIGN_FILE);
        assert_eq!(align.matches("## Loop completed — ").count(), 1, "{align}");
        assert!(align.contains("| iteration 3 | loop-1a2b3c4d\n"), "{align}");
    }
}

#[tokio::test]
async fn a_loop_without_these_files_creates_none() {
    let world = LoopFilesFixture::new();
    assert_eq!(world.decided(1, true).await, [""; 0]);
    assert_eq!(fs::read_dir(&world.project.root).expect("there").count(), 0);
}

#[tokio::test]
async fn notes_are_created_once_and_archived_at_the_end() {
    let world = LoopFilesFixture::new();
    world.write(".claude/memory/map.md", "mine");
    assert_eq!(create_memory_folder(&world.engine, &world.project).await, [""; 0]);
    assert_eq!(world.read(".claude/memory/map.md"), "mine");
    assert!(world.read(".claude/memory/INDEX.md").contains("spec.md"));
    world.write(".claude/memory/loops/current.md", "# The running loop\n- found it\n");
    assert_eq!(create_memory_folder(&world.engine, &world.project).await, [""; 0]);
    assert_eq!(world.decided(4, true).await, [""; 0]);
    assert!(world.read(".claude/memory/loops/loop-001.md").ends_with("\n- found it\n"));
    assert!(world.read(".claude/memory/INDEX.md").contains("(loops/loop-001.md)"));
    assert_eq!(world.read(".claude/memory/loops/current.md"), "# The running loop\n");
    assert_eq!(world.decided(5, true).await, [""; 0]);
    assert!(!world.project.root.join(".claude/memory/loops/loop-002.md").exists());
}

#[tokio::test]
async fn a_link_out_of_the_root_is_not_written_while_other_files_are() {
    let world = LoopFilesFixture::new();
    let outside = world.folder.path().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("d.md"), "kept\n").expect("written");
    symlink(outside.join("d.md"), world.project.root.join(DECISIONS_FILE)).expect("linked");
    world.write(PROGRESS_FILE, PROGRESS_TEXT);
    let notices = world.decided(1, true).await;
    assert_eq!(notices, ["[moai-ralph] decisions.md was not changed: outside the root"]);
    assert_eq!(fs::read_to_string(outside.join("d.md")).expect("there"), "kept\n");
    assert!(world.read(ALIGN_FILE).contains("Loop completed"));
    // A folder of the way, too.
    fs::remove_dir_all(world.project.root.join(".claude")).expect("gone");
    symlink(&outside, world.project.root.join(".claude")).expect("linked");
    assert_eq!(world.decided(1, true).await.len(), 2);
    assert_eq!(create_memory_folder(&world.engine, &world.project).await.len(), 1);
    assert_eq!(fs::read_dir(&outside).expect("there").count(), 1);
}

#[tokio::test]
async fn a_link_inside_the_root_is_followed_and_stays() {
    let world = LoopFilesFixture::new();
    world.write("docs/decisions.md", "# Ours\n");
    symlink("docs/decisions.md", world.project.root.join(DECISIONS_FILE)).expect("linked");
    world.write(PROGRESS_FILE, PROGRESS_TEXT);
    assert_eq!(world.decided(1, false).await, [""; 0]);
    assert_eq!(world.read("docs/decisions.md"), "# Ours\n[iter 1] chose: A\n");
    assert!(world.project.root.join(DECISIONS_FILE).is_symlink());
}

#[tokio::test]
async fn a_file_that_is_too_large_or_missing_is_left_alone_with_a_notice() {
    let world = LoopFilesFixture::new();
    world.write(PROGRESS_FILE, PROGRESS_TEXT);
    let large = "x".repeat(LOOP_FILE_BYTES_MAX);
    world.write(DECISIONS_FILE, &large);
    let notices = world.decided(1, false).await;
    assert!(notices[0].ends_with("it would be larger than 512 KiB"), "{notices:?}");
    assert_eq!(world.read(DECISIONS_FILE), large);
    fs::create_dir(world.project.root.join("d")).expect("made");
    fs::remove_dir_all(&world.project.root).expect("gone");
    assert_eq!(world.decided(2, true).await, [""; 0]);
    assert!(!world.project.root.exists());
}

#[tokio::test]
async fn transcripts_are_read_once() {
    let world = LoopFilesFixture::new();
    let transcript = world.folder.path().join("s.jsonl");
    let line = |id: &str, model: &str| {
        format!(
            "{{\"type\":\"assistant\",\"requestId\":\"{id}\",\"message\":{{\"id\":\"{id}\",\
             \"model\":\"{model}\",\"usage\":{{\"input_tokens\":1000000,\"output_tokens\":0}}}}}}\n"
        )
    };
    fs::write(&transcript, line("a", "claude-opus-4-6")).expect("written");
    for _ in 0..2 {
        let spent = read_session_usage(&world.engine, "s", &transcript, 0).await;
        assert_eq!((spent.usage.total().input, spent.cost.cents()), (1_000_000, Some(500)));
        assert_eq!(spent.gap, None);
    }
    fs::write(&transcript, line("b", "somebody-else")).expect("written");
    let spent = read_session_usage(&world.engine, "s", &transcript, 0).await;
    assert_eq!(spent.usage.total().input, 2_000_000);
    assert_eq!((spent.cost.cents(), spent.cost.unknown_models.len()), (None, 1));
}

#[tokio::test]
async fn an_unreadable_alignment_may_have_open_questions() {
    let world = LoopFilesFixture::new();
    assert_eq!(open_questions(&world.project).await, None);
    let refused = async |why: &str| {
        let refusal = open_questions(&world.project).await.expect("a refusal");
        assert!(refusal.contains(&format!("cannot be read ({why}")), "{refusal}");
    };
    world.write(ALIGN_FILE, "\0");
    refused("binary").await;
    world.write(ALIGN_FILE, &"x\n".repeat(LOOP_FILE_BYTES_MAX + 1));
    refused("larger than").await;
    let align = world.project.root.join(ALIGN_FILE);
    fs::remove_file(&align).expect("there");
    symlink(world.folder.path().join("elsewhere"), &align).expect("ours");
    refused("").await;
    fs::remove_dir_all(world.project.root.join(".claude")).expect("there");
    fs::write(world.project.root.join(".claude"), "").expect("ours");
    assert_eq!(open_questions(&world.project).await, None, "there is none");
}
