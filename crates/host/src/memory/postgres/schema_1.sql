-- The first schema of the memory of a team. Times are milliseconds since the epoch.
--
-- Who may see a row is decided by the role that logged in (session_user): SET ROLE does not change it, nor does a
-- function that runs with the rights of its owner. Policies say it for everyone but superusers; queries of the
-- program say it again for them.
--
-- Functions that a later schema replaces are written there alone: touch_session, repeat_observation and forget.

CREATE TABLE moai_ralph.projects (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author name NOT NULL,
    key text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    observations bigint NOT NULL DEFAULT 0,
    team_observations bigint NOT NULL DEFAULT 0,
    UNIQUE (author, key)
);
CREATE INDEX projects_by_key ON moai_ralph.projects (key);
CREATE INDEX projects_by_name ON moai_ralph.projects (name);

CREATE TABLE moai_ralph.sessions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author name NOT NULL,
    project bigint NOT NULL REFERENCES moai_ralph.projects (id),
    host_id text COLLATE "C" NOT NULL,
    started_ms bigint NOT NULL,
    last_ms bigint NOT NULL,
    has_ended boolean NOT NULL DEFAULT false,
    goal text NOT NULL DEFAULT '',
    branch text NOT NULL DEFAULT '',
    UNIQUE (host_id, project)
);
CREATE INDEX sessions_by_time ON moai_ralph.sessions (project, last_ms);

CREATE TABLE moai_ralph.observations (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author name NOT NULL,
    visibility text COLLATE "C" NOT NULL CHECK (visibility IN ('private', 'team')),
    project bigint NOT NULL REFERENCES moai_ralph.projects (id),
    session text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    at_ms bigint NOT NULL,
    importance double precision NOT NULL,
    tokens bigint NOT NULL,
    repeats bigint NOT NULL DEFAULT 0,
    provenance text COLLATE "C" NOT NULL,
    outcome text COLLATE "C",
    superseded_by bigint,
    simhash bigint,
    external_id text COLLATE "C",
    hash bytea NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    files text[] NOT NULL,
    codes text[] NOT NULL,
    shapes text[] NOT NULL
);
CREATE UNIQUE INDEX observations_by_text ON moai_ralph.observations (hash, project, kind);
CREATE INDEX observations_by_time ON moai_ralph.observations (project, at_ms);
CREATE INDEX observations_by_session ON moai_ralph.observations (session, at_ms) WHERE session <> '';
CREATE INDEX observations_by_later_one ON moai_ralph.observations (superseded_by)
    WHERE superseded_by IS NOT NULL;

CREATE TABLE moai_ralph.external_ids (
    external_id text COLLATE "C" NOT NULL,
    observation bigint NOT NULL REFERENCES moai_ralph.observations (id) ON DELETE CASCADE,
    PRIMARY KEY (external_id, observation)
);
CREATE INDEX external_ids_by_observation ON moai_ralph.external_ids (observation);

-- Files, codes (in lower case) and shapes, by which observations are found.
CREATE TABLE moai_ralph.names (
    sort text COLLATE "C" NOT NULL CHECK (sort IN ('file', 'code', 'shape')),
    name text COLLATE "C" NOT NULL,
    observation bigint NOT NULL REFERENCES moai_ralph.observations (id) ON DELETE CASCADE,
    PRIMARY KEY (sort, name, observation)
);
CREATE INDEX names_by_observation ON moai_ralph.names (observation);

-- The index of the tokens. A role has no access to it except through the functions below: under a policy, PostgreSQL
-- would not use the index, because the operator @@ is not marked leakproof.
CREATE TABLE moai_ralph.entries (
    id bigint PRIMARY KEY REFERENCES moai_ralph.observations (id) ON DELETE CASCADE,
    author name NOT NULL,
    is_team boolean NOT NULL,
    tokenizer integer NOT NULL,
    tokens tsvector NOT NULL
);
-- New entries are gathered and put into the index together, which takes a tenth of the time. The last batch of
-- add_observations does that, because until then every search reads all of them.
CREATE INDEX entries_by_token ON moai_ralph.entries USING gin (tokens) WITH (fastupdate = on);

CREATE TABLE moai_ralph.injections (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author name NOT NULL,
    session text COLLATE "C" NOT NULL,
    observation bigint NOT NULL REFERENCES moai_ralph.observations (id) ON DELETE CASCADE,
    at_ms bigint NOT NULL,
    event text COLLATE "C" NOT NULL,
    tokens bigint NOT NULL,
    is_used boolean NOT NULL DEFAULT false
);
CREATE INDEX injections_by_session ON moai_ralph.injections (session);
CREATE INDEX injections_by_observation ON moai_ralph.injections (observation);

CREATE TABLE moai_ralph.counters (
    author name NOT NULL,
    name text COLLATE "C" NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (author, name)
);

-- Who sees what. FORCE: the owner of the tables is a member of the team like the others.
ALTER TABLE moai_ralph.projects ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.sessions ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.observations ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.external_ids ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.names ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.injections ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.counters ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON moai_ralph.projects USING (author = session_user);
CREATE POLICY of_team ON moai_ralph.projects FOR SELECT USING (team_observations > 0);
CREATE POLICY own ON moai_ralph.sessions USING (author = session_user);
CREATE POLICY own ON moai_ralph.observations USING (author = session_user);
CREATE POLICY of_team ON moai_ralph.observations FOR SELECT USING (visibility = 'team');
CREATE POLICY of_observation ON moai_ralph.external_ids
    USING (EXISTS (SELECT FROM moai_ralph.observations AS o WHERE o.id = observation));
CREATE POLICY of_observation ON moai_ralph.names
    USING (EXISTS (SELECT FROM moai_ralph.observations AS o WHERE o.id = observation));
CREATE POLICY own ON moai_ralph.injections USING (author = session_user);
CREATE POLICY own ON moai_ralph.counters USING (author = session_user);

-- The team are those who may connect to the database. They read through the policies and write through the functions.
GRANT USAGE ON SCHEMA moai_ralph TO PUBLIC;
GRANT SELECT ON moai_ralph.schema_version, moai_ralph.sessions, moai_ralph.observations, moai_ralph.external_ids,
    moai_ralph.names, moai_ralph.injections, moai_ralph.counters TO PUBLIC;
GRANT SELECT (id, author, key, name, team_observations) ON moai_ralph.projects TO PUBLIC;

-- The number of a project of the caller, which is created if it is new and gets its latest name.
CREATE FUNCTION moai_ralph.project_number(project_key text, project_name text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    SELECT p.id INTO number FROM moai_ralph.projects AS p
        WHERE p.author = session_user AND p.key = project_key AND p.name = project_name;
    IF number IS NULL THEN
        INSERT INTO moai_ralph.projects AS p (author, key, name) VALUES (session_user, project_key, project_name)
            ON CONFLICT (author, key) DO UPDATE SET name = excluded.name RETURNING p.id INTO number;
    END IF;
    RETURN number;
END $$;

-- A sign of life of a session, which is created if it is new. An earlier time does not make it older.
CREATE FUNCTION moai_ralph.live_session(project_number bigint, session_id text, at bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO moai_ralph.sessions AS s (author, project, host_id, started_ms, last_ms)
        SELECT session_user, p.id, session_id, at, at FROM moai_ralph.projects AS p
        WHERE p.id = project_number AND p.author = session_user
        ON CONFLICT (host_id, project) DO UPDATE SET
            started_ms = least(s.started_ms, excluded.started_ms),
            last_ms = greatest(s.last_ms, excluded.last_ms)
        RETURNING s.id
$$;

CREATE FUNCTION moai_ralph.end_session(session_id text, at bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE moai_ralph.sessions SET has_ended = true, last_ms = greatest(last_ms, at)
        WHERE host_id = session_id AND author = session_user
$$;

-- The names by which an observation is found.
CREATE FUNCTION moai_ralph.insert_names(observation_id bigint, item jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO moai_ralph.names (sort, name, observation)
        SELECT 'file', jsonb_array_elements_text(item -> 'files'), observation_id
        UNION ALL SELECT 'code', lower(jsonb_array_elements_text(item -> 'codes')), observation_id
        UNION ALL SELECT 'shape', jsonb_array_elements_text(item -> 'shapes'), observation_id
        ON CONFLICT DO NOTHING;
END $$;

-- Lexemes that say whose and what an entry is, so that the index answers that too. They begin with a character
-- that no token has.
CREATE FUNCTION moai_ralph.scope(project_number bigint, kind text, is_team boolean) RETURNS tsvector
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN array_to_tsvector(
        ARRAY['@p' || project_number, '@k' || kind] || CASE WHEN is_team THEN ARRAY['@t'] ELSE '{}'::text[] END);
END $$;

-- The observation of the caller that a record of an import was exported from.
CREATE FUNCTION moai_ralph.known_record(in_project bigint, item jsonb) RETURNS bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT o.id FROM moai_ralph.observations AS o
        WHERE item ->> 'external_id' IS NOT NULL AND o.hash = decode(item ->> 'text_hash', 'hex')
        AND o.project = in_project AND o.kind = item ->> 'kind'
        AND (item ->> 'external_id' = 'obs-' || o.id OR EXISTS (SELECT FROM moai_ralph.external_ids AS e
            WHERE e.external_id = item ->> 'external_id' AND e.observation = o.id))
$$;

-- Adds observations. One with the same project, kind and normalized text as one of the caller is its repetition. The
-- hash of a record of an import depends on its id too, so that it repeats nothing but itself.
CREATE FUNCTION moai_ralph.add_observations(batch jsonb, is_last_batch boolean) RETURNS TABLE (number bigint, is_new boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    item jsonb;
    in_project bigint;
    is_for_team boolean;
    new_numbers bigint[] := '{}';
BEGIN
    FOR item IN SELECT value FROM jsonb_array_elements(batch) LOOP
        in_project := moai_ralph.project_number(item ->> 'project', item ->> 'project_name');
        is_for_team := item ->> 'visibility' = 'team';
        number := moai_ralph.known_record(in_project, item);
        is_new := false;
        IF number IS NULL THEN
            INSERT INTO moai_ralph.observations AS o (author, visibility, project, session, kind, at_ms, importance,
                tokens, provenance, outcome, simhash, external_id, repeats, hash, title, body, files, codes, shapes)
                SELECT session_user, item ->> 'visibility', in_project, item ->> 'session', item ->> 'kind',
                    (item ->> 'at_ms')::bigint, (item ->> 'importance')::double precision,
                    (item ->> 'tokens')::bigint, item ->> 'provenance', item ->> 'outcome',
                    (item ->> 'simhash')::bigint, item ->> 'external_id', (item ->> 'repeats')::bigint,
                    decode(item ->> 'hash', 'hex'), item ->> 'title', item ->> 'body',
                    ARRAY(SELECT jsonb_array_elements_text(item -> 'files')),
                    ARRAY(SELECT jsonb_array_elements_text(item -> 'codes')),
                    ARRAY(SELECT jsonb_array_elements_text(item -> 'shapes'))
                ON CONFLICT (hash, project, kind) DO NOTHING RETURNING o.id INTO number;
            is_new := number IS NOT NULL;
        END IF;
        IF is_new THEN
            new_numbers := new_numbers || number;
            INSERT INTO moai_ralph.entries (id, author, is_team, tokenizer, tokens)
                VALUES (number, session_user, is_for_team, (item ->> 'tokenizer')::integer,
                (item ->> 'index')::tsvector || moai_ralph.scope(in_project, item ->> 'kind', is_for_team));
            IF item ->> 'external_id' IS NOT NULL THEN
                INSERT INTO moai_ralph.external_ids VALUES (item ->> 'external_id', number);
            END IF;
            PERFORM moai_ralph.insert_names(number, item);
        ELSE
            IF number IS NULL THEN
                SELECT o.id INTO STRICT number FROM moai_ralph.observations AS o WHERE
                    o.hash = decode(item ->> 'hash', 'hex') AND o.project = in_project AND o.kind = item ->> 'kind';
            END IF;
            PERFORM moai_ralph.repeat_observation(number, item);
        END IF;
        RETURN NEXT;
    END LOOP;
    UPDATE moai_ralph.projects AS p SET observations = observations + counted.rows,
        team_observations = team_observations + counted.team_rows
        FROM (SELECT o.project, count(*) AS rows, count(*) FILTER (WHERE o.visibility = 'team') AS team_rows
            FROM moai_ralph.observations AS o WHERE o.id = ANY (new_numbers) GROUP BY o.project) AS counted
        WHERE p.id = counted.project;
    PERFORM moai_ralph.live_session(p.id, s.session, s.first), moai_ralph.live_session(p.id, s.session, s.last)
        FROM (SELECT i.value ->> 'project' AS key, i.value ->> 'session' AS session,
                min((i.value ->> 'at_ms')::bigint) AS first, max((i.value ->> 'at_ms')::bigint) AS last
            FROM jsonb_array_elements(batch) AS i WHERE i.value ->> 'session' <> ''
            GROUP BY 1, 2 ORDER BY 1, 2) AS s
        JOIN moai_ralph.projects AS p ON p.key = s.key AND p.author = session_user;
    IF is_last_batch THEN
        PERFORM gin_clean_pending_list('moai_ralph.entries_by_token');
    END IF;
END $$;

-- Shows observations of the caller to the team.
CREATE FUNCTION moai_ralph.share(numbers bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH shared AS (
        UPDATE moai_ralph.observations SET visibility = 'team'
            WHERE id = ANY (numbers) AND author = session_user AND visibility <> 'team' RETURNING id, project
    ), entered AS (
        UPDATE moai_ralph.entries AS e SET is_team = true, tokens = e.tokens || array_to_tsvector(ARRAY['@t'])
            FROM shared WHERE e.id = shared.id
    )
    UPDATE moai_ralph.projects AS p SET team_observations = team_observations + counted.rows
        FROM (SELECT project, count(*) AS rows FROM shared GROUP BY project) AS counted WHERE p.id = counted.project
$$;

CREATE FUNCTION moai_ralph.set_outcome(number bigint, new_outcome text) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE moai_ralph.observations SET outcome = new_outcome WHERE id = number AND author = session_user
$$;

CREATE FUNCTION moai_ralph.supersede(numbers bigint[], later bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE moai_ralph.observations SET superseded_by = later
        WHERE id = ANY (numbers) AND id <> later AND author = session_user
$$;

-- An observation may have been forgotten meanwhile.
CREATE FUNCTION moai_ralph.record_injections(batch jsonb) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO moai_ralph.injections (author, session, observation, at_ms, event, tokens)
        SELECT session_user, item ->> 'session', o.id, (item ->> 'at_ms')::bigint, item ->> 'event',
            (item ->> 'tokens')::bigint
        FROM jsonb_array_elements(batch) AS item
        JOIN moai_ralph.observations AS o ON o.id = (item ->> 'row')::bigint
        WHERE o.author = session_user OR o.visibility = 'team'
$$;

CREATE FUNCTION moai_ralph.mark_used(numbers bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    UPDATE moai_ralph.injections SET is_used = true WHERE id = ANY (numbers) AND author = session_user
$$;

CREATE FUNCTION moai_ralph.count_up(names text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO moai_ralph.counters AS c (author, name, value) SELECT session_user, unnest(names), 1
        ON CONFLICT (author, name) DO UPDATE SET value = c.value + 1
$$;

-- Observations of projects (of all, if NULL) that the caller sees.
CREATE FUNCTION moai_ralph.count_observations(project_keys text[]) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(sum(CASE WHEN author = session_user THEN observations ELSE team_observations END), 0)::bigint
        FROM moai_ralph.projects WHERE project_keys IS NULL OR key = ANY (project_keys)
$$;

-- Projects and kinds (NULL: any) as a question that the index answers together with another one; NULL if there is
-- no condition. Rows of others in these projects are asked for only if the team may see them.
CREATE FUNCTION moai_ralph.scoped(project_keys text[], kinds text[]) RETURNS tsquery
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    of_projects text;
    of_kinds text;
BEGIN
    IF project_keys IS NOT NULL THEN
        SELECT coalesce(string_agg(CASE WHEN author = session_user THEN format('''@p%s''', id)
            ELSE format('(''@p%s'' & ''@t'')', id) END, ' | '), '''@none''') INTO of_projects
            FROM moai_ralph.projects
            WHERE key = ANY (project_keys) AND (author = session_user OR team_observations > 0);
    END IF;
    SELECT string_agg(quote_literal('@k' || kind), ' | ') INTO of_kinds FROM unnest(kinds) AS kind;
    RETURN coalesce(of_projects::tsquery && of_kinds::tsquery, of_projects::tsquery, of_kinds::tsquery);
END $$;

-- Entries that fulfil one of several questions, the last that was stored first. The questions come from a subquery,
-- because the planner would otherwise estimate each of them, and no plan is allowed but the one that begins with the
-- index of tokens: comparing entries one by one takes far longer than it assumes.
CREATE FUNCTION moai_ralph.found(questions tsquery[], scope tsquery, rows_max bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_indexscan = off AS $$
BEGIN
    RETURN QUERY WITH unordered AS MATERIALIZED (
        SELECT e.id FROM moai_ralph.entries AS e
        WHERE e.tokens @@ ANY (ARRAY(SELECT coalesce(q && scope, q) FROM unnest(questions) AS q))
        AND (e.author = session_user OR e.is_team)
    ) SELECT id FROM unordered ORDER BY id DESC LIMIT rows_max;
END $$;

-- For each place, the rows that fulfil one of its questions and conditions (NULL: any), the last that was stored first.
CREATE FUNCTION moai_ralph.matching(places int[], questions tsquery[], project_keys text[], kinds text[],
    session_id text, since bigint, until bigint, path text, code text, rows_max bigint)
RETURNS TABLE (place int, number bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    scope tsquery := moai_ralph.scoped(project_keys, kinds);
    is_in_index boolean := coalesce(session_id, since::text, until::text, path, code) IS NULL;
    asked record;
BEGIN
    FOR asked IN SELECT a.place, array_agg(a.question) AS questions
        FROM unnest(places, questions) AS a (place, question) GROUP BY a.place
    LOOP
        IF is_in_index THEN
            RETURN QUERY SELECT asked.place, f FROM moai_ralph.found(asked.questions, scope, rows_max) AS f;
        ELSE
            RETURN QUERY SELECT asked.place, o.id
                FROM moai_ralph.found(asked.questions, scope, 9223372036854775807) AS f
                JOIN moai_ralph.observations AS o ON o.id = f
                WHERE (session_id IS NULL OR o.session = session_id)
                AND (since IS NULL OR o.at_ms >= since) AND (until IS NULL OR o.at_ms <= until)
                AND (path IS NULL OR EXISTS (SELECT FROM moai_ralph.names AS n WHERE n.observation = o.id
                    AND n.sort = 'file' AND (n.name = path OR n.name > path || '/' AND n.name < path || '0')))
                AND (code IS NULL OR EXISTS (SELECT FROM moai_ralph.names AS n WHERE n.observation = o.id
                    AND n.sort = 'code' AND n.name = lower(code)))
                ORDER BY o.id DESC LIMIT rows_max;
        END IF;
    END LOOP;
END $$;

