-- The goal of a session is the text of one of its observations, and goes with it.

ALTER TABLE moai_ralph.sessions ADD COLUMN goal_observation bigint;
CREATE INDEX sessions_by_goal ON moai_ralph.sessions (goal_observation) WHERE goal_observation IS NOT NULL;
-- Policies hide the rows of others from the owner of the tables too.
ALTER TABLE moai_ralph.sessions NO FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.observations NO FORCE ROW LEVEL SECURITY;
UPDATE moai_ralph.sessions AS s SET goal_observation = (SELECT min(o.id) FROM moai_ralph.observations AS o
    WHERE o.session = s.host_id AND o.project = s.project AND o.kind IN ('prompt', 'decision')
    AND (o.title = s.goal OR strpos(o.body, s.goal) > 0)) WHERE s.goal <> '';
UPDATE moai_ralph.sessions SET goal = '' WHERE goal_observation IS NULL AND goal <> '';
ALTER TABLE moai_ralph.sessions FORCE ROW LEVEL SECURITY;
ALTER TABLE moai_ralph.observations FORCE ROW LEVEL SECURITY;

-- Databases of the first schema may have these functions in an earlier form.
DROP FUNCTION IF EXISTS moai_ralph.touch_session(text, text, text, bigint, text, text);
CREATE FUNCTION moai_ralph.touch_session(project_key text, project_name text, session_id text, at bigint,
    session_goal text, goal_number bigint, session_branch text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number bigint;
BEGIN
    number := moai_ralph.live_session(moai_ralph.project_number(project_key, project_name), session_id, at);
    UPDATE moai_ralph.sessions SET has_ended = false,
        branch = CASE WHEN branch = '' THEN session_branch ELSE branch END
        WHERE id = number;
    UPDATE moai_ralph.sessions SET goal = session_goal, goal_observation = goal_number
        WHERE id = number AND goal = '' AND EXISTS (SELECT FROM moai_ralph.observations AS o
            WHERE o.id = goal_number AND o.author = session_user);
END $$;

-- A fix that was undone and is made again may hold this time.
CREATE OR REPLACE FUNCTION moai_ralph.repeat_observation(number bigint, item jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF item ->> 'visibility' = 'team' THEN
        PERFORM moai_ralph.share(ARRAY[number]);
    END IF;
    -- A record that is read again.
    IF item ->> 'external_id' IS NOT NULL THEN
        RETURN;
    END IF;
    UPDATE moai_ralph.observations SET repeats = repeats + 1, at_ms = greatest(at_ms, (item ->> 'at_ms')::bigint),
        importance = greatest(importance, (item ->> 'importance')::double precision),
        outcome = coalesce(item ->> 'outcome', nullif(outcome, 'undone')), superseded_by = NULL WHERE id = number;
    PERFORM moai_ralph.insert_names(number, item);
END $$;

-- Rows of others that the caller sees are refused; those that the caller does not see do not exist.
CREATE OR REPLACE FUNCTION moai_ralph.forget(numbers bigint[]) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    others text;
    forgotten bigint;
BEGIN
    SELECT string_agg(format('obs-%s of %s', o.id, o.author), ', ' ORDER BY o.id) INTO others
        FROM moai_ralph.observations AS o WHERE o.id = ANY (numbers) AND o.author <> session_user
        AND o.visibility = 'team';
    IF others IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'MR001', MESSAGE = left(others, 500);
    END IF;
    UPDATE moai_ralph.observations SET superseded_by = NULL
        WHERE superseded_by = ANY (numbers) AND author = session_user;
    UPDATE moai_ralph.sessions SET goal = '', goal_observation = NULL
        WHERE goal_observation = ANY (numbers) AND author = session_user;
    WITH deleted AS (
        DELETE FROM moai_ralph.observations WHERE id = ANY (numbers) AND author = session_user
            RETURNING project, visibility
    ), counted AS (
        SELECT project, count(*) AS rows, count(*) FILTER (WHERE visibility = 'team') AS team_rows
            FROM deleted GROUP BY project
    ), updated AS (
        UPDATE moai_ralph.projects AS p SET observations = observations - counted.rows,
            team_observations = team_observations - counted.team_rows FROM counted WHERE p.id = counted.project
    )
    SELECT coalesce(sum(rows), 0) INTO forgotten FROM counted;
    IF forgotten > 0 THEN
        -- Their names and goals are texts too.
        DELETE FROM moai_ralph.sessions AS s WHERE s.author = session_user AND NOT EXISTS (SELECT FROM
            moai_ralph.observations AS o WHERE o.session = s.host_id AND o.project = s.project);
        DELETE FROM moai_ralph.projects AS p WHERE p.author = session_user AND p.observations <= 0
            AND NOT EXISTS (SELECT FROM moai_ralph.sessions AS s WHERE s.project = p.id);
    END IF;
    RETURN forgotten;
END $$;
