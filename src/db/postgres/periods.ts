import { EVER_MS } from '../../model/allowance.ts'

/** The rules of ledger/state/allowances.ts and model/allowance.ts once more, on buckets that were read into an array under the lock. */
export const PERIOD_FUNCTIONS = `
-- A spend cap stands among the buckets without a row of theirs: granted is its bound, posted what is left of it.
CREATE TYPE live_bucket AS (
  row bigint, account bigint, kind text, subject text, period_start bigint, period_end bigint, closed_at bigint,
  granted bigint, posted bigint, held bigint);

-- How an allowance stands: on the bucket that runs, or on the one that its next use will open. Both are places in the array.
CREATE TYPE allowance_standing AS (
  running integer, newest integer, period_start bigint, period_end bigint, granted bigint, posted bigint, held bigint);

CREATE FUNCTION month_turn(first_of_month date, day integer) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT extract(epoch FROM first_of_month - 1 +
    least(day, extract(day FROM first_of_month + interval '1 month' - interval '1 day')::integer))::bigint * 1000
$$;

-- In UTC, and by the moment of the decision: a caller's own reckoning could be of yesterday once its batch has its turn.
CREATE FUNCTION period_at(cycle jsonb, at bigint, billing_day integer) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  day_ms CONSTANT bigint := 86400000;
  length bigint := CASE cycle ->> 'kind' WHEN 'day' THEN day_ms WHEN 'week' THEN 7 * day_ms END;
  -- 1969-12-29 was a Monday. Division rounds towards zero, so nothing may be counted from later than 1970 began.
  origin bigint := CASE cycle ->> 'kind' WHEN 'week' THEN -3 * day_ms ELSE 0 END;
  today date := date '1970-01-01' + (at / day_ms)::integer;
  month date := today - extract(day FROM today)::integer + 1;
  day integer;
  turn bigint;
BEGIN
  IF cycle ->> 'kind' = 'anchored' THEN RETURN ARRAY[at, at + (cycle ->> 'ms')::bigint]; END IF;
  IF cycle ->> 'kind' = 'ever' THEN RETURN ARRAY[0, ${EVER_MS}]; END IF;
  IF cycle ->> 'kind' = 'once' THEN RETURN ARRAY[0, (cycle ->> 'end')::bigint]; END IF;
  IF cycle ->> 'kind' = 'quarter' THEN
    month := date_trunc('quarter', today)::date;
    RETURN ARRAY[month_turn(month, 1), month_turn((month + interval '3 months')::date, 1)];
  END IF;
  IF length IS NOT NULL THEN
    turn := (at - origin) / length * length + origin;
    RETURN ARRAY[turn, turn + length];
  END IF;
  day := CASE WHEN cycle ->> 'day' = 'billing' THEN billing_day ELSE (cycle ->> 'day')::integer END;
  turn := month_turn(month, day);
  IF at >= turn THEN RETURN ARRAY[turn, month_turn((month + interval '1 month')::date, day)]; END IF;
  RETURN ARRAY[month_turn((month - interval '1 month')::date, day), turn];
END $$;

-- A period with no charge and no hold counts as unopened.
CREATE FUNCTION is_unused(bucket live_bucket) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT bucket.posted = bucket.granted AND bucket.held = 0
$$;

CREATE FUNCTION newest_of(books live_bucket[], of_account bigint, of_subject text) RETURNS integer
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  FOR place IN REVERSE coalesce(cardinality(books), 0)..1 LOOP
    IF books[place].account = of_account AND books[place].subject = of_subject AND books[place].closed_at IS NULL THEN
      RETURN place;
    END IF;
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION amount_at(allowance jsonb, at bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN at < (allowance -> 'raised' ->> 'until')::bigint
    THEN greatest((allowance ->> 'amount')::bigint, (allowance -> 'raised' ->> 'amount')::bigint)
    ELSE (allowance ->> 'amount')::bigint END
$$;

-- What a cap counts, by its name or by the mark of a receipt.
CREATE FUNCTION measure_of(name text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN name ~ '(^|:)requests(_day)?$' THEN 'requests' WHEN name ~ '(^|:)tokens(_day)?$' THEN 'tokens' ELSE 'usd' END
$$;

-- What a turn holds of a cap.
CREATE FUNCTION held_of(measure text, hold bigint, tokens bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE measure WHEN 'requests' THEN 1 WHEN 'tokens' THEN tokens ELSE hold END
$$;

-- What a receipt has spent of a cap: tokens up to those that it held.
CREATE FUNCTION spent_of(measure text, charge bigint, is_settled boolean, tokens_held bigint, tokens bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN measure = 'usd' THEN coalesce(charge, 0) WHEN NOT is_settled THEN 0
    WHEN measure = 'requests' THEN 1 ELSE least(tokens_held, tokens) END
$$;

-- The counter behind a mark on a receipt of this key.
CREATE FUNCTION cap_subject(key bigint, mark text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT 'cap:' || CASE WHEN mark LIKE '%:%' THEN mark ELSE key || ':' || mark END
$$;

-- How a receipt names a cap.
CREATE FUNCTION mark_of(allowance jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE allowance ->> 'holder' WHEN 'key' THEN allowance ->> 'name' ELSE substr(allowance ->> 'subject', 5) END
$$;

CREATE FUNCTION standing_of(books live_bucket[], of_account bigint, allowance jsonb, at bigint, billing_day integer)
RETURNS allowance_standing LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  standing allowance_standing;
  amount bigint := amount_at(allowance, at);
  newest live_bucket;
  next bigint[];
BEGIN
  standing.newest := newest_of(books, of_account, allowance ->> 'subject');
  IF standing.newest IS NOT NULL THEN
    newest := books[standing.newest];
    -- An unused window begins again with the next use, and by the plan as it is then.
    IF newest.period_end > at AND (newest.kind = 'cap' OR NOT is_unused(newest)) THEN
      standing.running := standing.newest;
      standing.period_start := newest.period_start;
      standing.period_end := newest.period_end;
      -- A changed plan counts for the windows that open from now on, a changed spend cap at once.
      standing.granted := CASE allowance ->> 'unit' WHEN 'cap' THEN amount ELSE newest.granted END;
      standing.posted := newest.posted + standing.granted - newest.granted;
      standing.held := newest.held;
      RETURN standing;
    END IF;
  END IF;
  next := period_at(allowance -> 'cycle', at, billing_day);
  -- A window opens only when the latest of its kind has ended: a day of billing that has changed makes none overlap.
  standing.period_start := CASE WHEN newest.kind = 'cap' THEN next[1]
    ELSE greatest(next[1], CASE WHEN is_unused(newest) THEN newest.period_start ELSE newest.period_end END) END;
  standing.period_end := next[2];
  standing.granted := amount;
  standing.posted := amount;
  standing.held := 0;
  RETURN standing;
END $$;

-- Two entries that sum to zero, between a window and the other side of its unit.
CREATE FUNCTION record_allowance(bucket live_bucket, transfer_kind text, amount bigint, at bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  transfer bigint := nextval('transfer_rows');
  counter bigint := -11;
  reason text := 'allowance of a period';
BEGIN
  IF amount = 0 THEN RETURN; END IF;
  IF transfer_kind = 'expiry' THEN
    counter := -13;
    reason := 'unused when its period ended';
  END IF;
  INSERT INTO transfers (row, kind, unit, account, ref, reason, amount_nano, at, movement)
    VALUES (transfer, transfer_kind, 'quota', bucket.account, bucket.row || '.' || transfer, reason, amount, at,
      next_movement(bucket.account));
  INSERT INTO entries (transfer, seq, bucket, delta_nano)
    VALUES (transfer, 0, bucket.row, amount), (transfer, 1, counter, -amount);
END $$;

CREATE FUNCTION grant_more(bucket live_bucket, amount bigint, at bigint) RETURNS live_bucket LANGUAGE plpgsql AS $$
BEGIN
  PERFORM record_allowance(bucket, 'grant', amount, at);
  bucket.granted := bucket.granted + amount;
  bucket.posted := bucket.posted + amount;
  RETURN bucket;
END $$;

CREATE FUNCTION close_period(bucket live_bucket, at bigint) RETURNS live_bucket LANGUAGE plpgsql AS $$
BEGIN
  PERFORM record_allowance(bucket, 'expiry', -bucket.posted, at);
  bucket.posted := 0;
  bucket.closed_at := at;
  RETURN bucket;
END $$;

-- A changed cap counts at once. A period that has ended is followed by the next one in the same place.
CREATE FUNCTION open_cap(
  INOUT books live_bucket[], INOUT place integer, of_account bigint, allowance jsonb, standing allowance_standing
) LANGUAGE plpgsql AS $$
DECLARE
  held bigint := CASE WHEN standing.running IS NULL THEN 0 ELSE standing.held END;
BEGIN
  place := coalesce(place, coalesce(cardinality(books), 0) + 1);
  books[place] := ROW(NULL, of_account, 'cap', allowance ->> 'subject', standing.period_start, standing.period_end, NULL,
    standing.granted, standing.posted, held)::live_bucket;
END $$;

-- Puts the bucket that a turn holds on into the array, with whatever had to change for it to be there.
CREATE FUNCTION open_period(
  INOUT books live_bucket[], INOUT place integer, of_account bigint, allowance jsonb, standing allowance_standing, at bigint
) LANGUAGE plpgsql AS $$
DECLARE
  opened live_bucket;
BEGIN
  place := coalesce(standing.running, standing.newest);
  IF allowance ->> 'unit' = 'cap' THEN
    SELECT * INTO books, place FROM open_cap(books, place, of_account, allowance, standing);
    RETURN;
  END IF;
  IF standing.running IS NOT NULL THEN
    books[place] := grant_more(books[place], standing.granted - books[place].granted, at);
    RETURN;
  END IF;
  IF place IS NOT NULL AND is_unused(books[place]) THEN
    books[place] := grant_more(books[place], standing.granted - books[place].granted, at);
    books[place].period_start := standing.period_start;
    books[place].period_end := standing.period_end;
    RETURN;
  END IF;
  -- What turns still hold on stays until the last of them has ended: they are settled where they were held.
  IF place IS NOT NULL AND books[place].held = 0 THEN books[place] := close_period(books[place], at); END IF;
  opened := ROW(nextval('period_rows'), of_account, 'window',
    allowance ->> 'subject', standing.period_start, standing.period_end, NULL, 0, 0, 0);
  INSERT INTO buckets (row, unit, kind, account, subject, period_start, period_end)
    VALUES (opened.row, 'quota', opened.kind, of_account, opened.subject, opened.period_start,
      opened.period_end);
  books := array_append(books, grant_more(opened, standing.granted, at));
  place := cardinality(books);
END $$;

-- Oldest first, so that the newest period of an allowance comes last.
CREATE FUNCTION read_books(concerned bigint[], caps text[]) RETURNS live_bucket[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(array_agg(each ORDER BY (each).row NULLS LAST), '{}') FROM (
    SELECT ROW(row, account, kind, subject, period_start, period_end, closed_at,
        granted_nano, posted_nano, held_nano)::live_bucket AS each
      FROM buckets WHERE account = ANY (concerned) AND closed_at IS NULL
    UNION ALL
    SELECT ROW(NULL, account, 'cap', subject, period_start, period_end, NULL,
        bound_nano, bound_nano - spent_nano, held_nano)::live_bucket
      FROM spend_counters WHERE account = ANY (concerned) AND subject = ANY (caps)) AS live);
END $$;

-- However often a bucket moved in a batch, its row is written once.
CREATE FUNCTION write_books(books live_bucket[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE buckets SET period_start = each.period_start, period_end = each.period_end, closed_at = each.closed_at,
      granted_nano = each.granted, posted_nano = each.posted, held_nano = each.held
    FROM unnest(write_books.books) AS each
    WHERE buckets.row = each.row
      AND (buckets.period_start, buckets.period_end, buckets.closed_at, granted_nano, posted_nano, held_nano)
        IS DISTINCT FROM (each.period_start, each.period_end, each.closed_at, each.granted, each.posted, each.held);
  INSERT INTO spend_counters AS counter (account, subject, period_start, period_end, bound_nano, spent_nano, held_nano)
    SELECT each.account, each.subject, each.period_start, each.period_end, each.granted, each.granted - each.posted, each.held
      FROM unnest(write_books.books) AS each LEFT JOIN LATERAL (
        SELECT * FROM spend_counters WHERE account = each.account AND subject = each.subject OFFSET 0) AS before ON true
      WHERE each.kind = 'cap'
        AND (before.period_start, before.period_end, before.bound_nano, before.spent_nano, before.held_nano)
          IS DISTINCT FROM (each.period_start, each.period_end, each.granted, each.granted - each.posted, each.held)
    ON CONFLICT (account, subject) DO UPDATE SET period_start = excluded.period_start, period_end = excluded.period_end,
      bound_nano = excluded.bound_nano, spent_nano = excluded.spent_nano, held_nano = excluded.held_nano;
END $$;
`
