-- No later observation gets an id that an import brought: it would hide the imported one.

CREATE FUNCTION moai_ralph.skip_imported_id() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WHILE EXISTS (SELECT FROM moai_ralph.external_ids AS e WHERE e.external_id = 'obs-' || NEW.id) LOOP
        NEW.id := nextval(pg_get_serial_sequence('moai_ralph.observations', 'id'));
    END LOOP;
    RETURN NEW;
END $$;
-- The id of an observation that an import brings is not made of its number.
CREATE TRIGGER skip_imported_id BEFORE INSERT ON moai_ralph.observations
    FOR EACH ROW WHEN (NEW.external_id IS NULL) EXECUTE FUNCTION moai_ralph.skip_imported_id();
