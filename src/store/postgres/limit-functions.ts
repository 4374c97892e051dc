/**
 * What a turn takes from its limits, and what of it is given back: lib/gcra.ts and books/turn-limits.ts once more, on states
 * that a batch has locked.
 */
export const LIMIT_FUNCTIONS = `
CREATE TYPE limit_state AS (
  subject text, reached_at double precision, taken double precision, open_at double precision[],
  given_behind double precision[], began timestamptz, running integer
);

CREATE FUNCTION read_limits(subjects text[]) RETURNS limit_state[] LANGUAGE sql AS $$
  SELECT coalesce(array_agg(
      ROW(subject, reached_at, taken, open_at, given_behind, began, running)::limit_state), '{}')
    FROM limits WHERE subject = ANY (subjects)
$$;

CREATE FUNCTION write_limits(states limit_state[]) RETURNS void LANGUAGE sql AS $$
  UPDATE limits SET reached_at = each.reached_at, taken = each.taken, open_at = each.open_at,
      given_behind = each.given_behind, running = each.running FROM unnest(states) AS each
    WHERE limits.subject = each.subject
      AND (limits.reached_at, limits.taken, limits.open_at, limits.given_behind, limits.running)
        IS DISTINCT FROM (each.reached_at, each.taken, each.open_at, each.given_behind, each.running)
$$;

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
      started[place].taken := states[place].taken + (each ->> 'cost')::double precision * per_unit;
      IF each ->> 'kind' = 'tokens' THEN
        started[place].open_at := array_append(states[place].open_at, started[place].taken);
        started[place].given_behind := array_append(states[place].given_behind, 0);
      END IF;
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

-- What a turn has of its limits while it runs: of each, what had been taken by then, and since when.
CREATE FUNCTION under_limits(states limit_state[], applied jsonb) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(jsonb_agg(each.value || jsonb_build_object('takenUpTo', state.taken, 'began', state.began)), '[]')
    FROM jsonb_array_elements(applied) AS each JOIN unnest(states) AS state ON state.subject = each.value ->> 'subject'
$$;

CREATE FUNCTION states_of(states limit_state[], applied jsonb, now_micros bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('ticks', now_micros, 'limits', coalesce((
    SELECT jsonb_agg(jsonb_build_object('reachedAt', state.reached_at, 'running', state.running) ORDER BY number)
      FROM jsonb_array_elements(applied) WITH ORDINALITY AS each (value, number)
      JOIN unnest(states) AS state ON state.subject = each.value ->> 'subject'), '[]'))
$$;

-- Corrects the tokens that were reserved to those that were used. Debts count from now when everything was earned back
-- meanwhile: else they would be paid before they were made. What is given back leaves their room to those who came later.
CREATE FUNCTION correct_rate(state limit_state, reserved jsonb, used bigint, now_micros bigint) RETURNS limit_state
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  delta CONSTANT double precision := (used - (reserved ->> 'cost')::double precision)
    * (60000000 / (reserved ->> 'limit')::double precision);
  reached CONSTANT double precision := greatest(state.reached_at, now_micros);
  taken_up_to double precision := (reserved ->> 'takenUpTo')::double precision;
  place integer;
BEGIN
  -- Where the row is another one by now, everything was earned back long ago.
  IF (reserved ->> 'began')::timestamptz = state.began THEN
    place := array_position(state.open_at, taken_up_to);
    taken_up_to := taken_up_to + state.given_behind[place];
    state.open_at := state.open_at[:place - 1] || state.open_at[place + 1:];
    state.given_behind := state.given_behind[:place - 1] || state.given_behind[place + 1:];
    state.reached_at := greatest(reached + least(delta, 0), least(reached, now_micros + state.taken - taken_up_to));
    FOR earlier IN 1..place - 1 LOOP
      state.given_behind[earlier] := state.given_behind[earlier] + reached - state.reached_at;
    END LOOP;
  END IF;
  IF delta > 0 THEN
    state.reached_at := greatest(state.reached_at, now_micros) + delta;
    state.taken := state.taken + delta;
  END IF;
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
