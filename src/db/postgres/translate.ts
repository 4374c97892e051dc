import type { SqlValue } from '../sql-store.ts'

/** The tables that queries name. Their schema is added, because a pooler forgets a search path between two queries. */
export interface Names {
  readonly tables: ReadonlySet<string>
  readonly tablesSchema: string
  /** Of the functions below. */
  readonly functionsSchema: string
  /** Queries that PostgreSQL spells altogether otherwise, with the same parameters. */
  readonly spelled: ReadonlyMap<string, string>
}

/** SQLite's functions that PostgreSQL does not have, or has for another type. `COMPATIBILITY_FUNCTIONS` creates them. */
const FUNCTIONS = 'instr|json_array_length|json_each|json_extract|json_patch'
/** Functions beside the tables (bodies.ts). */
const TABLE_FUNCTIONS = 'body_day|read_bodies|make_body_days|drop_body_day|carry_items|shed_responses'

const LITERALS = /'(?:[^']|'')*'|--[^\n]*/g

type Rule = readonly [pattern: RegExp, replacement: string | ((...found: string[]) => string)]

/**
 * Queries are written once, in the part of SQL that both databases have, with these exceptions of SQLite: hints for its planner,
 * `json_each`, and `->>` on the text that it returns.
 */
const rulesOf = ({ tables, tablesSchema, functionsSchema }: Names): readonly Rule[] => [
  [/\s+(?:NOT INDEXED|INDEXED BY \w+)/g, ''],
  // Without the OFFSET it would be a join again, in any order.
  [
    /\bCROSS JOIN (\w+)(?: AS (\w+))?\s+ON \/\*each\*\/([\s\S]*?)\/\*end\*\//g,
    (_, table: string, alias = table, condition: string) =>
      `CROSS JOIN LATERAL (SELECT * FROM ${table} AS ${alias} WHERE ${condition} OFFSET 0) AS ${alias}`,
  ],
  // In SQLite it also fixes the order of a join.
  [/\bCROSS JOIN (\w+(?: (?:AS )?\w+)?)\s+ON\b/gi, 'JOIN $1 ON'],
  [/\b(\w+\.)?value ->> (\d|\uE000)/g, '($1value)::jsonb ->> $2'],
  [new RegExp(`\\b(${FUNCTIONS})\\(`, 'g'), `${functionsSchema}.$1(`],
  [new RegExp(`\\b(${TABLE_FUNCTIONS})\\(`, 'g'), `${tablesSchema}.$1(`],
  [
    new RegExp(`\\b(FROM|JOIN|INTO|UPDATE) ("?)(${[...tables].join('|')})\\2(?![\\w.("])`, 'gi'),
    `$1 ${tablesSchema}.$2$3$2`,
  ],
]

/**
 * Translates a query of SQLite into one of PostgreSQL. Numbers and bytes name their type, which PostgreSQL otherwise guesses
 * from the first use of a parameter.
 */
export function createTranslator(names: Names): (sql: string, parameters: readonly SqlValue[]) => string {
  const rules = rulesOf(names)
  /** By query, then by the types of its parameters. */
  const translated = new Map<string, Map<string, string>>()
  return (sql, parameters) => {
    let byTypes = translated.get(sql)
    if (byTypes === undefined) {
      byTypes = new Map()
      // The queries of the program are a few hundred; a list of parameters of any length is not kept.
      if (sql.length <= KEPT_LENGTH_MAX) translated.set(sql, byTypes)
    }
    const types = parameters.map(typeOf).join()
    let found = byTypes.get(types)
    if (found === undefined) {
      found = translate(names.spelled.get(sql) ?? sql, parameters, rules)
      byTypes.set(types, found)
    }
    return found
  }
}

const KEPT_LENGTH_MAX = 5000

function translate(sql: string, parameters: readonly SqlValue[], rules: readonly Rule[]): string {
  // Literals are put aside, so that nothing inside them is changed.
  const literals: string[] = []
  let text = sql.replace(LITERALS, (literal) => `\uE000${literals.push(literal) - 1}\uE000`)
  for (const [pattern, replacement] of rules) text = text.replace(pattern, replacement as string)
  let count = 0
  text = text.replace(/\?(\d*)/g, (_, position: string) => {
    const place = position === '' ? ++count : Number(position)
    return `$${place}${typeOf(parameters[place - 1] ?? null)}`
  })
  return text.replace(/\uE000(\d+)\uE000/g, (_, place: string) => literals[Number(place)]!)
}

function typeOf(value: SqlValue): string {
  if (typeof value === 'bigint') return '::bigint'
  if (typeof value === 'number') return Number.isInteger(value) ? '::bigint' : '::double precision'
  return value instanceof Uint8Array ? '::bytea' : ''
}

/** They return what SQLite's functions do, as far as queries use them. */
export const COMPATIBILITY_FUNCTIONS = `
CREATE FUNCTION instr(haystack text, needle text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$ SELECT strpos(haystack, needle) $$;

CREATE FUNCTION json_array_length(list text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_array_length(list::jsonb)
$$;

-- Texts without their quotes, and everything else as JSON.
CREATE FUNCTION json_each(list text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE ROWS 20 AS $$
  SELECT place - 1, each #>> '{}' FROM jsonb_array_elements(list::jsonb) WITH ORDINALITY AS elements (each, place)
$$;
CREATE FUNCTION json_each(list bigint[]) RETURNS TABLE (key bigint, value bigint) LANGUAGE sql IMMUTABLE ROWS 2 AS $$
  SELECT place - 1, each FROM unnest(list) WITH ORDINALITY AS elements (each, place)
$$;

-- Paths of the form $[0]. Null where there is no such element.
CREATE FUNCTION json_extract(list text, VARIADIC paths text[]) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN list IS NOT NULL THEN (SELECT jsonb_agg(list::jsonb -> trim(path, '$[]')::integer ORDER BY place)::text
    FROM unnest(paths) WITH ORDINALITY AS named (path, place)) END
$$;

-- Of objects without objects in them: a null removes a member.
CREATE FUNCTION json_patch(target text, patch text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(json_object_agg(key, value), '{}')::text
    FROM jsonb_each(target::jsonb || patch::jsonb) WHERE value <> 'null'
$$;
`
