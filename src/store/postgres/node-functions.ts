/** Who attends which hold, and who may end it when nobody does (the expiry of a lease is the database's word). */
export const NODE_FUNCTIONS = `
CREATE FUNCTION begin_node(lease_ms bigint) RETURNS bigint LANGUAGE sql AS $$
  INSERT INTO nodes (started_at, lease_until) VALUES (ledger_micros() / 1000, ledger_micros() / 1000 + lease_ms) RETURNING row
$$;

-- Goes on with the lease and records how far its streams have got. False: it has ended, and others may have its holds.
CREATE FUNCTION keep_node(of_node bigint, lease_ms bigint, progress bytea) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  at bigint := ledger_micros() / 1000;
BEGIN
  UPDATE nodes SET lease_until = at + lease_ms WHERE row = of_node AND lease_until > at;
  IF NOT FOUND THEN RETURN false; END IF;
  IF progress IS NOT NULL THEN
    INSERT INTO marks (node, at, packed) VALUES (of_node, at, progress)
      ON CONFLICT (node) DO UPDATE SET at = excluded.at, packed = excluded.packed;
  END IF;
  RETURN true;
END $$;

CREATE FUNCTION end_node(of_node bigint) RETURNS void LANGUAGE sql AS $$
  UPDATE nodes SET lease_until = least(lease_until, ledger_micros() / 1000) WHERE row = of_node
$$;

-- Holds of nodes whose lease has ended, and those of the asking node itself; but none that a turn of the asker attends.
CREATE FUNCTION abandoned_turns(asking bigint, attended text[]) RETURNS jsonb LANGUAGE sql AS $$
  SELECT jsonb_build_object(
    'turns', coalesce(jsonb_agg(jsonb_build_object('requestId', request_id, 'receipt', row, 'node', node, 'model', model,
      'priceVersion', price_version, 'inputEstimate', input_estimate, 'cachedEstimate', cached_estimate,
      'outputBound', output_bound)), '[]'),
    'marks', coalesce(jsonb_object_agg(node, progress) FILTER (WHERE progress IS NOT NULL), '{}'))
  FROM (SELECT receipts.*, encode(marks.packed, 'hex') AS progress
    FROM receipts JOIN nodes ON nodes.row = receipts.node LEFT JOIN marks ON marks.node = receipts.node
    WHERE receipts.state = 'open' AND receipts.request_id <> ALL (attended)
      AND (nodes.lease_until <= ledger_micros() / 1000 OR receipts.node = asking)
    ORDER BY receipts.row LIMIT 500) AS abandoned
$$;

-- What nobody asks about any more: a rate that has been earned back whole is the same as one that was never used, a key
-- whose time is over is free, and a dead node's progress is of use only while it has open holds.
CREATE FUNCTION tidy_ledger() RETURNS void LANGUAGE sql AS $$
  DELETE FROM limits WHERE subject IN (SELECT subject FROM limits WHERE running = 0 AND reached_at <= ledger_micros()
    ORDER BY subject LIMIT 1000 FOR UPDATE SKIP LOCKED);
  DELETE FROM claims WHERE receipt IN (SELECT receipt FROM claims WHERE state <> 'running'
    AND expires_at <= ledger_micros() / 1000 ORDER BY expires_at LIMIT 1000 FOR UPDATE SKIP LOCKED);
  DELETE FROM marks USING nodes WHERE nodes.row = marks.node AND nodes.lease_until <= ledger_micros() / 1000
    AND NOT EXISTS (SELECT FROM receipts WHERE receipts.node = marks.node AND receipts.state = 'open')
$$;
`
