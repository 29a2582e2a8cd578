//! What an order means for its server before the actor has taken it.

use super::*;
use crate::base::hash::ContentHash;
use crate::base::path::RelPath;
use crate::lsp::registry::Catalogue;
use crate::servers::actor::requests::ServerAnswer;

/// An actor whose channel holds one question.
fn asked()
-> (ServerActor, mpsc::Sender<ActorRequest>, Arc<ActorGauge>, oneshot::Receiver<ServerAnswer>) {
    let root = std::path::PathBuf::from("/p");
    let catalogue = Arc::new(Catalogue::built_in().clone());
    let choice = ResolvedServer {
        id: "pyright".to_owned(),
        spec: catalogue.server("pyright").expect("described").clone(),
        program: "/p/none".into(),
        workspace: root.clone(),
        language_id: "python".to_owned(),
        settings: serde_json::Value::Null,
        restart_times: Vec::new(),
        version: None,
    };
    let around = ServerContext::new(root, Arc::default(), catalogue);
    let (orders, received) = mpsc::channel(1);
    let gauge = Arc::new(ActorGauge::default());
    let (notes, _) = mpsc::unbounded_channel();
    let actor = ServerActor::new(1, around, choice, (received, Arc::clone(&gauge)), notes);
    let (reply, answer) = oneshot::channel();
    let path = RelPath::parse("a.py").expect("relative");
    let subject = MeasureInput { path, text: "".into(), hash: ContentHash::of_bytes(b"") };
    let order = ActorRequest::Measure { subject, language_id: "python".to_owned(), reply };
    assert!(orders.try_send(order).is_ok());
    (actor, orders, gauge, answer)
}

#[test]
fn an_order_that_was_not_taken_yet_keeps_its_server() {
    let (mut actor, _orders, gauge, _answer) = asked();
    gauge.is_needed.store(true, Ordering::Relaxed);
    actor.settle();
    assert!(gauge.is_needed.load(Ordering::Relaxed));
}

#[tokio::test]
async fn nobody_is_left_without_an_answer_when_the_pool_lets_go() {
    let (actor, orders, _gauge, mut answer) = asked();
    let (controls, controlled) = mpsc::channel(1);
    drop((orders, controls));
    actor.run(controlled).await;
    let (_, verdict) = answer.try_recv().expect("an answer");
    assert_eq!(verdict.unwrap_err().cause, Cause::Crashed);
}
