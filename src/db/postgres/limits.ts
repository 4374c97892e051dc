/** The rules of lib/rate-limit.ts and ledger/state/turn-limits.ts, on states that a batch has locked. */
export const LIMIT_FUNCTIONS = `
CREATE TYPE limit_state AS (subject text, reached_at double precision, running integer);

CREATE FUNCTION read_limits(subjects text[]) RETURNS limit_state[] LANGUAGE plpgsql AS $$
BEGIN
  RETURN (SELECT coalesce(array_agg(ROW(subject, reached_at, running)::limit_state), '{}')
    FROM limits WHERE subject = ANY (subjects));
END $$;

CREATE FUNCTION write_limits(states limit_state[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE limits SET reached_at = each.reached_at, running = each.running FROM unnest(write_limits.states) AS each
    WHERE limits.subject = each.subject
      -- Else a kept plan may begin with all limits.
      AND limits.subject = ANY (ARRAY(SELECT one.subject FROM unnest(write_limits.states) AS one))
      AND (limits.reached_at, limits.running) IS DISTINCT FROM (each.reached_at, each.running);
END $$;

CREATE FUNCTION limit_place(states limit_state[], of_subject text) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  FOR place IN 1..cardinality(states) LOOP
    IF states[place].subject = of_subject THEN RETURN place; END IF;
  END LOOP;
  RAISE EXCEPTION 'The limit % was not locked before an operation on it', of_subject;
END $$;

-- Takes from every limit or from none. Refused: the number of the limit that says no, counted from 0.
-- Moments are microseconds since 1970, of which a double keeps quarters: what is less than one is rounding.
CREATE FUNCTION start_under_limits(INOUT states limit_state[], OUT refused integer, applied jsonb, now_micros bigint)
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  started limit_state[] := states;
  each jsonb;
  place integer;
  per_unit double precision;
  wait double precision;
  longest double precision := 0;
BEGIN
  FOR number IN 0..jsonb_array_length(applied) - 1 LOOP
    each := applied -> number;
    place := limit_place(states, each ->> 'subject');
    IF each ->> 'kind' = 'concurrent' THEN
      wait := CASE WHEN states[place].running >= (each ->> 'limit')::double precision THEN 1000000 ELSE 0 END;
      started[place].running := started[place].running + 1;
    ELSIF (each ->> 'cost')::double precision > (each ->> 'burst')::double precision THEN
      refused := number;
      RETURN;
    ELSE
      per_unit := 60000000 / (each ->> 'limit')::double precision;
      started[place].reached_at :=
        greatest(states[place].reached_at, now_micros) + (each ->> 'cost')::double precision * per_unit;
      wait := started[place].reached_at - now_micros - (each ->> 'burst')::double precision * per_unit;
      wait := CASE WHEN wait > 1 THEN ceil(wait - 0.01) ELSE 0 END;
    END IF;
    IF wait > longest THEN
      longest := wait;
      refused := number;
    END IF;
  END LOOP;
  IF refused IS NULL THEN states := started; END IF;
END $$;

CREATE FUNCTION states_of(states limit_state[], applied jsonb, now_micros bigint) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (SELECT CASE WHEN applied = '[]' THEN jsonb_build_object('ticks', now_micros, 'limits', applied) ELSE jsonb_build_object('ticks', now_micros, 'limits', coalesce((
    SELECT jsonb_agg(jsonb_build_object('reachedAt', state.reached_at, 'running', state.running) ORDER BY number)
      FROM jsonb_array_elements(applied) WITH ORDINALITY AS each (value, number)
      JOIN unnest(states) AS state ON state.subject = each.value ->> 'subject'), '[]')) END);
END $$;

-- Corrects the tokens that were reserved to those that were used. A debt counts from now; what was not used comes back, but
-- never to before now.
CREATE FUNCTION correct_rate(state limit_state, reserved jsonb, used bigint, now_micros bigint) RETURNS limit_state
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  state.reached_at := greatest(now_micros, greatest(state.reached_at, now_micros)
    + (used - (reserved ->> 'cost')::double precision) * (60000000 / (reserved ->> 'limit')::double precision));
  RETURN state;
END $$;

-- Gives the turn's places back, and what it reserved and did not use.
CREATE FUNCTION end_under_limits(states limit_state[], closed receipts, now_micros bigint) RETURNS limit_state[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  used bigint := coalesce(closed.uncached_input + closed.cached_input + closed.cache_write + closed.output, 0);
  each jsonb;
  place integer;
BEGIN
  FOR number IN 0..jsonb_array_length(closed.limits) - 1 LOOP
    each := closed.limits -> number;
    place := limit_place(states, each ->> 'subject');
    CASE each ->> 'kind'
      WHEN 'concurrent' THEN states[place].running := states[place].running - 1;
      WHEN 'tokens' THEN states[place] := correct_rate(states[place], each, used, now_micros);
      ELSE NULL;
    END CASE;
  END LOOP;
  RETURN states;
END $$;
`
