import { dayOf } from '../content/bodies.ts'
import { findRow, type SqlStore } from '../sql-store.ts'

/** The tables whose contents are in `bodies`, with the columns that number their rows. */
export const BODY_KINDS = {
  answers: 'rowid',
  response_objects: 'response',
  items: 'item',
  events: 'event',
} as const

/** Beyond the longest `retention.state`, with a few days for clocks and for items that are carried on. */
const DAYS_MAX = 3660

/** Names are resolved here only, also in functions that run with the rights of the owner. */
const HERE = 'SET search_path = millrace, pg_temp'
/** A plan for one day touches one partition; a plan for all days would lock them all. */
const ONE_DAY = `${HERE} SET plan_cache_mode = force_custom_plan`

/**
 * Contents in partitions by day. A row of `answers`, `items` and the others names the day of its content. Expiry deletes
 * those small rows; the contents go when their whole partition is dropped.
 */
export const BODY_TABLES = `
CREATE TABLE bodies (
  -- Since 1970, UTC: when it expires, or until when it was carried on.
  day integer NOT NULL,
  kind text COLLATE "C" NOT NULL,
  id bigint NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (day, kind, id)
) PARTITION BY RANGE (day);
-- Sealed bytes cannot be compressed.
ALTER TABLE bodies ALTER sealed SET STORAGE EXTERNAL;

-- Of contents that expire then. What expires before it is written counts as today's, whose partition is there.
CREATE FUNCTION body_day(expires_at bigint) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT (greatest(expires_at, (extract(epoch FROM now()) * 1000)::bigint) / 86400000)::integer
$$;
CREATE FUNCTION body_table(of_day integer) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'bodies_' || to_char(DATE '1970-01-01' + of_day, 'YYYYMMDD')
$$;

CREATE FUNCTION read_bodies(of_day integer, of_kind text, VARIADIC of_ids bigint[]) RETURNS TABLE (body bigint, sealed bytea)
  LANGUAGE plpgsql STABLE ROWS 5 ${ONE_DAY} AS $$
BEGIN
  RETURN QUERY SELECT bodies.id, bodies.sealed FROM bodies WHERE day = of_day AND kind = of_kind AND id = ANY (of_ids);
END $$;

CREATE FUNCTION body_went() RETURNS trigger LANGUAGE plpgsql ${ONE_DAY} AS $$
BEGIN
  IF OLD.day > coalesce(nullif(current_setting('millrace.bodies_left_until', true), '')::integer, -1) THEN
    DELETE FROM bodies WHERE day = OLD.day AND kind = TG_TABLE_NAME AND id = (to_jsonb(OLD) ->> TG_ARGV[0])::bigint;
  END IF;
  RETURN NULL;
END $$;
${Object.entries(BODY_KINDS)
  .map(
    ([table, id]) => `CREATE INDEX ${table}_by_day ON ${table} (day);
CREATE TRIGGER body_went AFTER DELETE ON ${table} FOR EACH ROW EXECUTE FUNCTION body_went('${id}');`,
  )
  .join('\n')}

-- With the rights of the owner, because a role that only serves creates and drops no table.
CREATE FUNCTION make_body_days(expiries text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER ${HERE} AS $$
DECLARE
  made integer;
  part text;
BEGIN
  -- From here to the commit no partition is dropped. Only the parent, because a lock of each partition takes shared memory.
  LOCK TABLE ONLY bodies IN ROW EXCLUSIVE MODE;
  FOR made IN SELECT DISTINCT body_day(each::bigint) FROM jsonb_array_elements_text(expiries::jsonb || '[0]') AS each
    ORDER BY 1 LOOP
    part := body_table(made);
    CONTINUE WHEN to_regclass(part) IS NOT NULL;
    IF made > body_day(0) + ${DAYS_MAX} THEN RAISE EXCEPTION 'no content is kept until day %', made; END IF;
    PERFORM pg_advisory_xact_lock(hashtext('millrace.bodies'));
    -- Another node may have made it meanwhile, which a look at the catalog sees and to_regclass may not.
    CONTINUE WHEN EXISTS (SELECT FROM pg_class WHERE relname = part AND relnamespace = 'millrace'::regnamespace);
    -- Attached, because that locks out neither readers nor writers.
    EXECUTE format('CREATE TABLE %I (LIKE bodies INCLUDING ALL)', part);
    EXECUTE format('ALTER TABLE bodies ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', part, made, made + 1);
  END LOOP;
END $$;

CREATE FUNCTION is_body_day_needed(asked integer) RETURNS boolean LANGUAGE sql VOLATILE ${HERE} AS $$
  SELECT ${Object.keys(BODY_KINDS)
    .map((table) => `EXISTS (SELECT FROM ${table} WHERE day = asked)`)
    .join(' OR ')}
$$;

-- Drops the first partition that no row names, and returns its name. Null: there is none, or another transaction uses the
-- table now. It waits briefly only, because readers wait behind it.
CREATE FUNCTION drop_body_day() RETURNS text LANGUAGE plpgsql SECURITY DEFINER ${HERE} SET lock_timeout = '100ms' AS $$
DECLARE
  part text;
  of_day integer;
BEGIN
  FOR part, of_day IN
    SELECT relname, to_date(right(relname, 8), 'YYYYMMDD') - DATE '1970-01-01' FROM pg_inherits
      JOIN pg_class ON pg_class.oid = inhrelid
      WHERE inhparent = 'bodies'::regclass AND relname ~ '^bodies_[0-9]{8}$' ORDER BY relname LOOP
    -- Today's is always there.
    CONTINUE WHEN of_day = body_day(0) OR is_body_day_needed(of_day);
    BEGIN
      LOCK TABLE ONLY bodies IN ACCESS EXCLUSIVE MODE;
      IF NOT is_body_day_needed(of_day) THEN
        EXECUTE format('DROP TABLE IF EXISTS %I', part);
        RETURN part;
      END IF;
    EXCEPTION WHEN lock_not_available THEN
      RETURN NULL;
    END;
  END LOOP;
  RETURN NULL;
END $$;

REVOKE ALL ON FUNCTION make_body_days(text), drop_body_day() FROM PUBLIC;

-- Items that are still referred to outlive their day: carries some of them on, and returns how many. Copies, because what
-- they leave goes with its partition. Items that another transaction changes now are skipped.
CREATE FUNCTION carry_items(until_day bigint, carried_to bigint, at_once bigint) RETURNS integer LANGUAGE plpgsql
  ${ONE_DAY} AS $$
DECLARE
  each record;
  to_day integer := body_day(carried_to);
  carried integer := 0;
BEGIN
  IF NOT EXISTS (SELECT FROM items WHERE day < until_day) THEN RETURN 0; END IF;
  PERFORM make_body_days(jsonb_build_array(carried_to)::text);
  FOR each IN SELECT item, day FROM items WHERE day < until_day ORDER BY day LIMIT at_once
    FOR NO KEY UPDATE SKIP LOCKED LOOP
    INSERT INTO bodies (day, kind, id, sealed)
      SELECT to_day, kind, id, sealed FROM bodies WHERE day = each.day AND kind = 'items' AND id = each.item;
    UPDATE items SET day = to_day WHERE item = each.item;
    carried := carried + 1;
  END LOOP;
  RETURN carried;
END $$;

-- A response that others continue outlives its expiry. Its object and its events are never read again.
CREATE FUNCTION shed_responses(until_day bigint, at_once bigint) RETURNS integer LANGUAGE plpgsql ${ONE_DAY} AS $$
DECLARE
  each record;
  shed integer := 0;
BEGIN
  PERFORM set_config('millrace.bodies_left_until', until_day::text, true);
  FOR each IN SELECT responses.response, objects.day FROM response_objects AS objects JOIN responses USING (response)
    WHERE objects.day < until_day LIMIT at_once FOR NO KEY UPDATE OF responses SKIP LOCKED LOOP
    DELETE FROM response_objects WHERE response = each.response;
    -- Another node may have done it since this one looked.
    CONTINUE WHEN NOT FOUND;
    UPDATE responses SET bytes = bytes - coalesce((SELECT octet_length(sealed) FROM bodies
      WHERE bodies.day = each.day AND kind = 'response_objects' AND id = each.response), 0) WHERE response = each.response;
    shed := shed + 1;
  END LOOP;
  FOR each IN SELECT event FROM events WHERE day < until_day LIMIT at_once FOR UPDATE SKIP LOCKED LOOP
    DELETE FROM events WHERE event = each.event;
    shed := shed + 1;
  END LOOP;
  RETURN shed;
END $$;
`

const DAY_MS = 86_400_000
/** Further on each time, items of a long conversation would be kept too long behind their end; less, copied more often. */
const CARRIED_MS = 3 * DAY_MS
/** A day has passed for all nodes then, whatever their clocks. */
const CLOCKS_APART_MS = 600_000
const MOVED_AT_ONCE = 50

const CARRY = 'SELECT carry_items(?1, ?2, ?3) AS moved'
const SHED = 'SELECT shed_responses(?1, ?2) AS moved'

/** Carries on what outlives its day, or drops partitions that nothing is in any more. */
export async function sweepBodies(content: SqlStore, now: number): Promise<void> {
  const today = dayOf(now - CLOCKS_APART_MS)
  const all = async (sql: string, ...parameters: number[]): Promise<number> => {
    for (let sum = 0; ; ) {
      const { moved } = (await findRow<{ moved: number }>(content, sql, ...parameters))!
      sum += moved
      if (moved === 0) return sum
    }
  }
  await all(SHED, today, MOVED_AT_ONCE)
  // A query that has read the former day of an item still looks for it there. The next run drops it.
  if ((await all(CARRY, today, now + CARRIED_MS, MOVED_AT_ONCE)) > 0) return
  for (;;) {
    const row = await findRow<{ dropped: string | null }>(content, 'SELECT drop_body_day() AS dropped')
    if (row!.dropped === null) return
  }
}
