//! Tests of requests that the actor has not received yet, and of its end.

use super::*;
use crate::servers::ProjectPrograms;
use crate::servers::ServerIdentity;
use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_lsp::registry::Catalogue;
use moai_lsp::session::MeasureLane;

/// An actor whose channel holds one request.
fn actor_with_request()
-> (ServerActor, mpsc::Sender<ActorRequest>, Arc<ActorGauge>, oneshot::Receiver<ServerAnswer>) {
    let root = PathBuf::from("/p");
    let catalogue = Arc::new(Catalogue::built_in().clone());
    let choice = ResolvedServer {
        id: "pyright".to_owned(),
        spec: catalogue.server("pyright").expect("described").clone(),
        program: "/p/none".into(),
        workspace: root.clone(),
        language_id: "python".to_owned(),
        settings: serde_json::Value::Null,
        identity: ServerIdentity::new(ContentHash::of_bytes(b""), ContentHash::of_bytes(b"")),
        withheld: None,
        version: None,
    };
    let context = ServerContext::new(root, Arc::default(), catalogue, ProjectPrograms::Allowed);
    let (requests, received) = mpsc::channel(1);
    let gauge = Arc::new(ActorGauge::default());
    let (notes, _) = mpsc::unbounded_channel();
    let (reach, _) = watch::channel(ServerReach::default());
    let outputs = ActorOutputs { gauge: Arc::clone(&gauge), reach, notes };
    let actor = ServerActor::new(1, context, choice, received, outputs);
    let (reply, answer) = oneshot::channel();
    let path = RelPath::parse("a.py").expect("relative");
    let subject = MeasureInput {
        path,
        text: "".into(),
        hash: ContentHash::of_bytes(b""),
        lane: MeasureLane::Batch,
    };
    let request = ActorRequest::Measure { subject, language_id: "python".to_owned(), reply };
    assert!(requests.try_send(request).is_ok());
    (actor, requests, gauge, answer)
}

#[test]
fn an_order_that_was_not_taken_yet_keeps_its_server() {
    let (mut actor, _orders, gauge, _answer) = actor_with_request();
    gauge.is_needed.store(true, Ordering::Relaxed);
    actor.settle();
    assert!(gauge.is_needed.load(Ordering::Relaxed));
}

#[tokio::test]
async fn every_request_is_answered_when_the_pool_drops_the_actor() {
    let (actor, requests, _gauge, mut answer) = actor_with_request();
    let (controls, controlled) = mpsc::channel(1);
    drop((requests, controls));
    actor.run(controlled).await;
    let verdict = answer.try_recv().expect("an answer").outcome;
    assert_eq!(verdict.unwrap_err().cause, Cause::Crashed);
}
