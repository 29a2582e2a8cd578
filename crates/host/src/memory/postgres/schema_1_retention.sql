-- Retention: rows of the caller become one, or are dropped; entries that an older tokenizer made are made again.

CREATE INDEX entries_by_tokenizer ON moai_ralph.entries (author, tokenizer);

CREATE FUNCTION moai_ralph.count_by(counter text, number bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO moai_ralph.counters AS c (author, name, value) VALUES (session_user, counter, number)
        ON CONFLICT (author, name) DO UPDATE SET value = c.value + excluded.value
$$;

CREATE FUNCTION moai_ralph.note_retention(at bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    INSERT INTO moai_ralph.counters AS c (author, name, value) VALUES (session_user, 'retention', at)
        ON CONFLICT (author, name) DO UPDATE SET value = excluded.value
$$;

-- Private rows of the caller become another one (a target, which takes over their ids and names) or a new observation
-- (a summary, if all of them are there and none was seen again after its time). Answers how many are gone.
CREATE FUNCTION moai_ralph.fold(numbers bigint[], target bigint, summary jsonb) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found bigint[];
    last_ms bigint;
    into_row bigint := target;
    folded bigint;
BEGIN
    IF summary IS NULL AND NOT EXISTS (SELECT FROM moai_ralph.observations AS o
        WHERE o.id = target AND o.author = session_user) THEN
        RETURN 0;
    END IF;
    SELECT array_agg(r.id), max(r.at_ms) INTO found, last_ms FROM (SELECT o.id, o.at_ms
        FROM moai_ralph.observations AS o WHERE o.id = ANY (numbers) AND o.author = session_user
        AND o.visibility = 'private' AND o.id IS DISTINCT FROM target ORDER BY o.id FOR UPDATE) AS r;
    IF found IS NULL THEN
        RETURN 0;
    END IF;
    IF summary IS NOT NULL THEN
        IF cardinality(found) < cardinality(numbers) OR last_ms > (summary ->> 'at_ms')::bigint THEN
            RETURN 0;
        END IF;
        SELECT a.number INTO into_row FROM moai_ralph.add_observations(jsonb_build_array(summary), true) AS a;
        found := array_remove(found, into_row);
    ELSE
        UPDATE moai_ralph.observations AS o SET repeats = o.repeats + r.repeats,
            at_ms = greatest(o.at_ms, r.at_ms), importance = greatest(o.importance, r.importance)
            FROM (SELECT sum(f.repeats + 1) AS repeats, max(f.at_ms) AS at_ms, max(f.importance) AS importance
                FROM moai_ralph.observations AS f WHERE f.id = ANY (found)) AS r
            WHERE o.id = target;
        INSERT INTO moai_ralph.external_ids (external_id, observation)
            SELECT e.external_id, target FROM moai_ralph.external_ids AS e WHERE e.observation = ANY (found)
            UNION SELECT 'obs-' || f, target FROM unnest(found) AS f ON CONFLICT DO NOTHING;
        INSERT INTO moai_ralph.names (sort, name, observation) SELECT DISTINCT n.sort, n.name, target
            FROM moai_ralph.names AS n WHERE n.observation = ANY (found) AND n.sort = 'shape'
            ON CONFLICT DO NOTHING;
    END IF;
    UPDATE moai_ralph.injections SET observation = into_row WHERE observation = ANY (found);
    folded := moai_ralph.forget(found);
    PERFORM moai_ralph.count_by('folded', folded);
    RETURN folded;
END $$;

CREATE FUNCTION moai_ralph.drop_rows(numbers bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    dropped bigint;
BEGIN
    dropped := moai_ralph.forget(ARRAY(SELECT o.id FROM moai_ralph.observations AS o
        WHERE o.id = ANY (numbers) AND o.author = session_user AND o.visibility = 'private'));
    PERFORM moai_ralph.count_by('dropped', dropped);
    RETURN dropped;
END $$;

CREATE FUNCTION moai_ralph.outdated_entries(version integer, rows_max bigint) RETURNS SETOF bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT e.id FROM moai_ralph.entries AS e WHERE e.author = session_user AND e.tokenizer < version LIMIT rows_max
$$;

CREATE FUNCTION moai_ralph.refresh_entries(batch jsonb, version integer) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    WITH refreshed AS (
        UPDATE moai_ralph.entries AS e SET tokenizer = version,
            tokens = (item ->> 'index')::tsvector || moai_ralph.scope(o.project, o.kind, e.is_team)
            FROM jsonb_array_elements(batch) AS item JOIN moai_ralph.observations AS o ON o.id = (item ->> 'row')::bigint
            WHERE e.id = o.id AND e.author = session_user RETURNING e.id
    )
    SELECT count(*) FROM refreshed
$$;
