/** What the nodes hold of the limits that all accounts share. Without it each turn of each node would write the row of such a limit. */
export const SLICE_TABLE = `
-- What a node may still hold of a limit, by its last call: units that no turn has taken yet, and places of running turns.
CREATE TABLE limit_slices (
  subject text COLLATE "C" NOT NULL,
  node bigint NOT NULL REFERENCES nodes (row),
  units double precision NOT NULL CHECK (units >= 0),
  -- Names the call that wrote this, so that a node that sends it again after a lost answer gets the same.
  call bigint NOT NULL,
  PRIMARY KEY (subject, node)
) WITH (fillfactor = 50);
`

/**
 * Slices of a limit for one node, by the rules of `start_under_limits`. A unit is taken here before a turn can take it there. While it
 * is in a hand, it is not earned back: `reached_at` stays above what all hands hold. So the turns of all nodes together stay within
 * the burst and the rate in every interval, however late a unit is used.
 */
export const SLICE_FUNCTIONS = `
-- "held": what the node keeps. "back": what it gives back unused. "unused": of the tokens that its ended turns reserved; below zero
-- they used more. "wanted" is what it asks for, and less than "least" is of no use to it.
CREATE TYPE slice_request AS (subject text, kind text, "limit" double precision, burst double precision, held double precision,
  back double precision, unused double precision, wanted double precision, least double precision);

CREATE FUNCTION slice_of_rate(INOUT reached double precision, OUT granted double precision, asked slice_request,
  own double precision, others double precision, now_micros bigint) LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  per_unit CONSTANT double precision := 60000000 / asked."limit";
  free double precision;
BEGIN
  reached := greatest(reached, now_micros + (others + own) * per_unit);
  reached := greatest(reached - (asked.back + asked.unused) * per_unit, now_micros + (others + asked.held) * per_unit);
  free := asked.burst - (reached - now_micros) / per_unit;
  -- Less than a microsecond is rounding.
  granted := CASE WHEN asked.wanted > 0 AND (asked.least - free) * per_unit <= 1
    THEN greatest(asked.least, least(asked.wanted, floor(free + least(0.5, 1 / per_unit))), 0) ELSE 0 END;
  reached := reached + granted * per_unit;
END $$;

CREATE FUNCTION slice_of_places(asked slice_request, taken double precision) RETURNS double precision LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  free CONSTANT double precision := asked."limit" - taken - asked.held;
BEGIN
  RETURN CASE WHEN free >= asked.least THEN greatest(least(asked.wanted, free), 0) ELSE 0 END;
END $$;

-- The caller has locked the limit. A repeated call gets the result of the first.
CREATE FUNCTION take_slice(asked slice_request, of_node bigint, number bigint, now_micros bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  state limits;
  own limit_slices;
  others double precision;
  granted double precision;
BEGIN
  SELECT * INTO state FROM limits WHERE limits.subject = asked.subject;
  SELECT * INTO own FROM limit_slices WHERE limit_slices.subject = asked.subject AND limit_slices.node = of_node;
  -- A node whose lease has ended takes no turns any more.
  SELECT coalesce(sum(slice.units), 0) INTO others FROM limit_slices AS slice JOIN nodes ON nodes.row = slice.node
    WHERE slice.subject = asked.subject AND slice.node <> of_node AND nodes.lease_until > now_micros / 1000;
  -- A newer call has been answered: this is one that was sent again, and comes late.
  IF own.call > number THEN
    granted := 0;
  ELSIF own.call = number THEN
    granted := own.units - asked.held;
  ELSE
    IF asked.kind = 'concurrent' THEN
      granted := slice_of_places(asked, others + state.running);
    ELSE
      SELECT * INTO state.reached_at, granted
        FROM slice_of_rate(state.reached_at, asked, coalesce(own.units, 0), others, now_micros);
      UPDATE limits SET reached_at = state.reached_at WHERE limits.subject = asked.subject;
    END IF;
    INSERT INTO limit_slices (subject, node, units, call) VALUES (asked.subject, of_node, asked.held + granted, number)
      ON CONFLICT (subject, node) DO UPDATE SET units = excluded.units, call = excluded.call;
  END IF;
  RETURN jsonb_build_object('granted', granted, 'reachedAt', state.reached_at, 'elsewhere', others + state.running);
END $$;

-- Null for a node whose lease has ended.
CREATE FUNCTION take_slices(batch jsonb, of_node bigint, number bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  now_micros bigint;
  asked slice_request;
  slices jsonb := '[]';
BEGIN
  PERFORM lock_limits(ARRAY(SELECT value ->> 'subject' FROM jsonb_array_elements(batch)));
  now_micros := ledger_micros();
  IF NOT EXISTS (SELECT FROM nodes WHERE row = of_node AND lease_until > now_micros / 1000) THEN RETURN NULL; END IF;
  FOR asked IN SELECT * FROM jsonb_populate_recordset(NULL::slice_request, batch) LOOP
    slices := slices || take_slice(asked, of_node, number, now_micros);
  END LOOP;
  RETURN jsonb_build_object('ticks', now_micros, 'slices', slices);
END $$;
`
