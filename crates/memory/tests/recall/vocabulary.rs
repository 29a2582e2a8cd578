//! The vocabulary of the synthetic observations.

/// A thing, in four languages; empty where the corpus does not use it.
pub(crate) struct Noun {
    pub(crate) korean: &'static str,
    pub(crate) english: &'static str,
    pub(crate) japanese: &'static str,
    pub(crate) chinese: &'static str,
}

const fn noun(
    korean: &'static str,
    english: &'static str,
    japanese: &'static str,
    chinese: &'static str,
) -> Noun {
    Noun { korean, english, japanese, chinese }
}

/// Number of [`NOUNS`], from the first one, that are in the glossary.
pub(crate) const NOUNS_IN_GLOSSARY: usize = 51;

pub(crate) const NOUNS: &[Noun] = &[
    noun("인증", "authentication", "認証", "认证"),
    noun("토큰", "token", "トークン", "令牌"),
    noun("결제", "payment", "決済", "支付"),
    noun("세션", "session", "セッション", "会话"),
    noun("캐시", "cache", "キャッシュ", "缓存"),
    noun("배송", "shipping", "配送", "配送"),
    noun("쿠폰", "coupon", "クーポン", "优惠券"),
    noun("환불", "refund", "返金", "退款"),
    noun("권한", "permission", "権限", "权限"),
    noun("알림", "notification", "通知", "通知"),
    noun("대기열", "queue", "キュー", "队列"),
    noun("데이터베이스", "database", "データベース", "数据库"),
    noun("스케줄러", "scheduler", "スケジューラ", "调度器"),
    noun("웹훅", "webhook", "ウェブフック", "回调"),
    noun("파서", "parser", "パーサー", "解析器"),
    noun("인덱스", "index", "インデックス", "索引"),
    noun("트랜잭션", "transaction", "トランザクション", "事务"),
    noun("타임아웃", "timeout", "タイムアウト", "超时"),
    noun("메모리", "memory", "メモリ", "内存"),
    noun("스레드", "thread", "スレッド", "线程"),
    noun("락", "lock", "ロック", "锁"),
    noun("로그", "log", "ログ", "日志"),
    noun("설정", "configuration", "設定", "配置"),
    noun("이미지", "image", "画像", "图片"),
    noun("업로드", "upload", "アップロード", "上传"),
    noun("다운로드", "download", "ダウンロード", "下载"),
    noun("프록시", "proxy", "プロキシ", "代理"),
    noun("라우터", "router", "ルーター", "路由器"),
    noun("미들웨어", "middleware", "ミドルウェア", "中间件"),
    noun("페이지네이션", "pagination", "ページネーション", "分页"),
    noun("정렬", "sorting", "並び替え", "排序"),
    noun("필터", "filter", "フィルター", "过滤器"),
    noun("암호화", "encryption", "暗号化", "加密"),
    noun("인증서", "certificate", "証明書", "证书"),
    noun("서명", "signature", "署名", "签名"),
    noun("재고", "inventory", "在庫", "库存"),
    noun("장바구니", "cart", "カート", "购物车"),
    noun("구독", "subscription", "購読", "订阅"),
    noun("영수증", "receipt", "領収書", "收据"),
    noun("마이그레이션", "migration", "マイグレーション", "迁移"),
    noun("스키마", "schema", "スキーマ", "模式"),
    noun("컨테이너", "container", "コンテナ", "容器"),
    noun("백업", "backup", "バックアップ", "备份"),
    noun("파이프라인", "pipeline", "パイプライン", "流水线"),
    noun("의존성", "dependency", "依存関係", "依赖"),
    noun("플러그인", "plugin", "プラグイン", "插件"),
    noun("템플릿", "template", "テンプレート", "模板"),
    noun("번역", "translation", "翻訳", "翻译"),
    noun("소켓", "socket", "ソケット", "套接字"),
    noun("버퍼", "buffer", "バッファ", "缓冲区"),
    noun("회원", "member", "会員", "会员"),
    // Not in the glossary, or there with another meaning.
    noun("난수", "random seed", "乱数", "随机数"),
    noun("환율", "exchange rate", "為替", "汇率"),
    noun("택배", "parcel", "宅配", "快递"),
    noun("좌석", "seat", "座席", "座位"),
    noun("출석", "attendance", "出席", "出勤"),
    noun("지도", "map tile", "地図", "地图"),
    noun("자막", "subtitle", "字幕", "字幕"),
];

/// An action, as a Korean noun before 하다 and an English verb: base, third person, past, participle.
pub(crate) struct Action {
    pub(crate) korean: &'static str,
    pub(crate) english: [&'static str; 4],
}

const fn action(korean: &'static str, english: [&'static str; 4]) -> Action {
    Action { korean, english }
}

pub(crate) const ACTIONS: &[Action] = &[
    action("배포", ["deploy", "deploys", "deployed", "deploying"]),
    action("검증", ["validate", "validates", "validated", "validating"]),
    action("초기화", ["initialize", "initializes", "initialized", "initializing"]),
    action("삭제", ["delete", "deletes", "deleted", "deleting"]),
    action("변환", ["convert", "converts", "converted", "converting"]),
    action("병합", ["merge", "merges", "merged", "merging"]),
    action("압축", ["compress", "compresses", "compressed", "compressing"]),
    action("복구", ["restore", "restores", "restored", "restoring"]),
    action("차단", ["block", "blocks", "blocked", "blocking"]),
    action("갱신", ["refresh", "refreshes", "refreshed", "refreshing"]),
    action("등록", ["register", "registers", "registered", "registering"]),
    action("취소", ["cancel", "cancels", "cancelled", "cancelling"]),
    action("복사", ["copy", "copies", "copied", "copying"]),
    action("중단", ["stop", "stops", "stopped", "stopping"]),
    action("재시도", ["retry", "retries", "retried", "retrying"]),
    action("추적", ["trace", "traces", "traced", "tracing"]),
];

pub(crate) const NAME_VERBS: &[&str] = &[
    "validate",
    "refresh",
    "load",
    "parse",
    "build",
    "resolve",
    "merge",
    "encode",
    "flush",
    "acquire",
    "render",
    "dispatch",
    "collect",
    "register",
    "normalize",
    "migrate",
];

pub(crate) const NAME_NOUNS: &[&str] = &[
    "token", "session", "user", "cart", "order", "cache", "index", "payload", "webhook", "config",
    "queue", "schema", "cursor", "invoice", "locale", "socket", "batch", "ledger",
];

pub(crate) const NAME_TAILS: &[&str] =
    &["expiry", "store", "guard", "budget", "id", "timeout", "snapshot", "count"];

pub(crate) const FOLDERS: &[&str] = &[
    "src/auth",
    "src/billing",
    "src/api/v2",
    "packages/web/src/components",
    "crates/core/src",
    "internal/gateway",
    "app/services",
    "lib/utils",
    "cmd/worker",
    "apps/admin/pages",
];

pub(crate) const EXTENSIONS: &[&str] = &["ts", "rs", "py", "go", "tsx", "java", "kt"];

/// Korean file names, as macOS writes them.
pub(crate) const KOREAN_FILES: &[&str] = &[
    "결제흐름.md",
    "회의록_배포.md",
    "장애보고서.md",
    "설계문서.md",
    "인수인계.txt",
    "운영가이드.md",
    "온보딩_안내.md",
    "성능측정_결과.csv",
    "보안점검표.xlsx",
    "출시계획.md",
    "정산_규칙.md",
    "고객문의.txt",
];

/// `1` the first noun, `2` the second (both as `12`), `N` an identifier, `P` a path, `C` a code, `V`
/// an action; a particle follows in parentheses, in the form for a final consonant.
pub(crate) const KOREAN_SENTENCES: &[&str] = &[
    "1(을) 처리하다가 2(이) 두 번 호출되어 C 오류가 났다. P에서 N(을) 손봐서 V했다.",
    "2(은) 1(과) 함께 P에 두기로 했고 N(이) 늦게 V되는 문제는 남겨 두었다. C",
    "12에서 C가 계속 발생해서 N 호출 순서를 바꾸고 V하도록 했다. 파일: P",
    "N(은) 1(의) 상태를 보지 않는다. 2(으로) 넘기기 전에 V하지 않으면 C가 난다 (P).",
    "결정: 1에는 2(을) 쓰지 않는다. 운영 비용이 커서 N 쪽에서 V하는 방식으로 간다. P, C 참고",
    "12 테스트가 간헐적으로 깨졌다. 원인은 P의 N(이)었고 V하는 시점을 늦췄다. 로그에 C",
    "P:88 N에서 2도 1처럼 V해야 한다. 지금은 C를 삼키고 있다.",
    "1까지는 정상인데 2부터 응답이 느려진다. N(을) 비동기로 V하면서 C도 사라졌다. P",
];

pub(crate) const ENGLISH_SENTENCES: &[&str] = &[
    "The 1 kept failing with C while N was V3 twice; moved the 2 check into P.",
    "Decided that 1 and 2 live together in P. N is V3 lazily, C stays a warning.",
    "P: N ignores the 2 of a 1, so V4 it raises C under load.",
    "C came back after the upgrade. The 12 path in P V2 before N has finished.",
    "Flaky test: 1s race with the 2 in N. We V1 it explicitly now. See P and C.",
    "Reverted the change of P because V4 the 12 broke N for old clients (C).",
];

pub(crate) const JAPANESE_SENTENCES: &[&str] = &[
    "1の処理で2が二重に呼ばれたため、Pを修正した。N C",
    "2を1より先に更新しないとCになる。Nを見直した（P）。",
];

pub(crate) const CHINESE_SENTENCES: &[&str] =
    &["处理1的时候2被调用了两次，所以修改了P。N C", "如果2没有先更新，1就会报C。已经调整N（P）。"];

pub(crate) const LOG_LINES: &[&str] = &[
    "$ cargo test\nerror[C]: mismatched types\n  --> P:42:17\n   |\n42 |     N(input)?;\ntest result: FAILED",
    "npm run build\nP(12,5): error C: Argument of type 'string' is not assignable. at N\nexit code 2",
];

pub(crate) const NOISE: &[&str] = &[
    "리뷰에서 한 번 더 확인하기로 했다.",
    "CI는 통과했고 커버리지는 그대로다.",
    "다음 릴리스 전에 문서를 정리해야 한다.",
    "서버를 다시 띄우면 재현되지 않는다.",
    "Checked again after lunch; nothing else changed.",
    "The reviewer asked for a smaller diff.",
    "Rolled out to ten percent first.",
    "",
];
