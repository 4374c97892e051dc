/**
 * The one way in which holds end here: books/close-turn.ts once more, for a batch. Nothing of it decides on a balance, so all
 * buckets move in one statement at the end, or before a period is closed. Each close is a compare-and-set: who comes second
 * changes nothing.
 */
export const CLOSE_FUNCTIONS = `
-- The wallet as it is when the closes before this one in the batch, whose buckets have not moved yet, have moved it.
CREATE FUNCTION wallet_behind(of_account bigint, unmoved bigint[]) RETURNS bigint LANGUAGE sql AS $$
  SELECT posted_nano - coalesce((SELECT sum(charge_nano)::bigint FROM receipts
      WHERE receipts.row = ANY (unmoved) AND receipts.account = of_account AND receipts.kind = 'wallet'), 0)
    FROM buckets WHERE kind = 'wallet' AND account = of_account
$$;

-- Null: no such hold is open. The charge never exceeds the hold; what cannot be collected is written down as shortfall.
CREATE FUNCTION close_receipt(op jsonb, unmoved bigint[], at bigint) RETURNS receipts LANGUAGE plpgsql AS $$
DECLARE
  cost numeric := (op ->> 'cost')::numeric;
  usage jsonb := op -> 'usage';
  compaction jsonb := op -> 'compaction';
  closed receipts;
BEGIN
  UPDATE receipts SET state = CASE WHEN cost IS NULL THEN 'released' ELSE 'settled' END, closed_at = at,
      closing = op ->> 'closing', outcome = op ->> 'outcome', lane = op ->> 'lane',
      uncached_input = (usage ->> 'uncachedInput')::bigint, cached_input = (usage ->> 'cachedInput')::bigint,
      cache_write = (usage ->> 'cacheWrite')::bigint, output = (usage ->> 'output')::bigint,
      reasoning = (usage ->> 'reasoning')::bigint, estimated = (usage ->> 'estimated')::boolean,
      tier = (op ->> 'tier')::bigint, cost_nano = coalesce(cost, 0), charge_nano = least(coalesce(cost, 0), hold_nano),
      shortfall_nano = coalesce(cost, 0) - least(coalesce(cost, 0), hold_nano),
      first_byte_ms = (op ->> 'firstByteMs')::double precision, total_ms = (op ->> 'totalMs')::double precision,
      attempts = op ->> 'attempts', tokens_before = (compaction ->> 'tokensBefore')::bigint,
      tokens_after = (compaction ->> 'tokensAfter')::bigint, movement = next_movement(account),
      balance_nano = CASE kind WHEN 'wallet' THEN wallet_behind(account, unmoved) - least(coalesce(cost, 0), hold_nano) END
    WHERE request_id = op ->> 'requestId' AND state = 'open'
    RETURNING * INTO closed;
  RETURN closed;
END $$;

-- What was charged is never run again; what was not may be.
CREATE FUNCTION end_claim(closed receipts, is_kept boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF closed.state = 'released' THEN
    DELETE FROM claims WHERE receipt = closed.row AND state = 'running';
  ELSE
    UPDATE claims SET state = CASE WHEN is_kept THEN 'kept' ELSE 'not-kept' END
      WHERE receipt = closed.row AND state = 'running';
  END IF;
END $$;

CREATE FUNCTION move_closed(closed bigint[]) RETURNS void LANGUAGE sql AS $$
  UPDATE buckets SET posted_nano = posted_nano - moved.charge, held_nano = held_nano - moved.hold
    FROM (SELECT bucket, sum(charge_nano)::bigint AS charge, sum(hold_nano)::bigint AS hold
      FROM receipts, unnest(receipts.buckets) AS held_on (bucket) WHERE receipts.row = ANY (closed) GROUP BY bucket) AS moved
    WHERE buckets.row = moved.bucket
$$;

-- A turn that ends in a later period of its cap than it began in has nothing left to count: its own period is over.
CREATE FUNCTION count_closed(closed bigint[]) RETURNS void LANGUAGE sql AS $$
  UPDATE spend_counters AS counter SET spent_nano = spent_nano + moved.charge, held_nano = held_nano - moved.hold
    FROM (SELECT each.account, each.subject, sum(charge_nano)::bigint AS charge, sum(hold_nano)::bigint AS hold
      FROM receipts CROSS JOIN LATERAL unnest(string_to_array(receipts.caps, ' ')) AS name JOIN spend_counters AS each
        ON each.account = receipts.account AND each.subject = 'cap:' || receipts.key || ':' || name
      WHERE receipts.row = ANY (closed) AND receipts.opened_at >= each.period_start
      GROUP BY each.account, each.subject) AS moved
    WHERE counter.account = moved.account AND counter.subject = moved.subject
$$;

-- Whether another period has followed one of these.
CREATE FUNCTION is_outlived(bucket buckets) RETURNS boolean LANGUAGE sql AS $$
  SELECT bucket.kind = 'window' AND bucket.closed_at IS NULL
    AND EXISTS (SELECT FROM buckets AS later WHERE later.account = bucket.account AND later.subject = bucket.subject
      AND later.closed_at IS NULL AND later.row > bucket.row)
$$;

-- Periods that only this turn kept from being closed: another one has followed, and nothing holds on them any more.
CREATE FUNCTION close_outlived(closed receipts, at bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  outlived buckets;
  bucket live_bucket;
BEGIN
  FOR outlived IN SELECT * FROM buckets WHERE row = ANY (closed.buckets) AND held_nano = 0 AND is_outlived(buckets)
      ORDER BY row LOOP
    bucket := ROW(outlived.row, outlived.account, outlived.kind, outlived.subject, outlived.period_start,
      outlived.period_end, NULL, outlived.granted_nano, outlived.posted_nano, 0);
    PERFORM write_books(ARRAY[close_period(bucket, at)]);
  END LOOP;
END $$;

-- Closed by this very call when it was sent before: whoever asks again is told the same.
CREATE FUNCTION close_result(op jsonb) RETURNS jsonb LANGUAGE sql AS $$
  SELECT coalesce((SELECT jsonb_build_object('kind', state, 'charge', charge_nano::text, 'shortfall', shortfall_nano::text)
    FROM receipts WHERE request_id = op ->> 'requestId' AND closing = op ->> 'closing'), '{"kind": "not-open"}')
$$;

CREATE FUNCTION close_turns(batch jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  concerned bigint[];
  subjects text[];
  states limit_state[];
  now_micros bigint;
  op jsonb;
  receipt receipts;
  unmoved bigint[] := '{}';
  ended bigint[] := '{}';
  results jsonb := '[]';
BEGIN
  SELECT coalesce(array_agg(DISTINCT account), '{}'),
      coalesce(array_agg(DISTINCT subject #>> '{}') FILTER (WHERE subject IS NOT NULL), '{}')
    INTO concerned, subjects
    FROM receipts LEFT JOIN LATERAL jsonb_path_query(receipts.limits, '$[*].subject') AS subject ON true
    WHERE request_id IN (SELECT value ->> 'requestId' FROM jsonb_array_elements(batch));
  PERFORM lock_accounts(concerned);
  PERFORM lock_limits(subjects);
  states := read_limits(subjects);
  now_micros := ledger_micros();
  FOR number IN 0..jsonb_array_length(batch) - 1 LOOP
    op := batch -> number;
    receipt := close_receipt(op, unmoved, now_micros / 1000);
    IF receipt.row IS NOT NULL THEN
      unmoved := array_append(unmoved, receipt.row);
      ended := array_append(ended, receipt.row);
      states := end_under_limits(states, receipt, now_micros);
      PERFORM end_claim(receipt, (op ->> 'kept')::boolean);
      -- What a period has left expires behind the charge that ends it, and before the next one.
      IF EXISTS (SELECT FROM buckets WHERE row = ANY (receipt.buckets) AND is_outlived(buckets)) THEN
        PERFORM move_closed(unmoved);
        unmoved := '{}';
        PERFORM close_outlived(receipt, now_micros / 1000);
      END IF;
    END IF;
    results := results || jsonb_build_array(close_result(op));
  END LOOP;
  PERFORM move_closed(unmoved);
  PERFORM count_closed(ended);
  PERFORM write_limits(states);
  RETURN results;
END $$;
`
