import type { JsonMember } from '../../model/turn.ts'

/**
 * What happens to a field of a request. Each protocol has a table of them, and a page in `docs/protocols/` that a test keeps
 * equal to it.
 *
 * - `control`: Millrace decides on it and writes it anew for the provider, so that what we price and what the provider
 *   reads is the same thing.
 * - `passed`: goes to the provider as it came.
 * - `ignored`: accepted, left out of what goes to the provider, and named in `x-millrace-ignored-fields`.
 * - `standard-only`: would change price or destination; `auto`, `default`, `standard` and null count as absent, anything
 *   else is refused.
 * - `refused`: asks for something that is not provided.
 */
export type FieldPolicy = 'control' | 'passed' | 'ignored' | 'standard-only' | 'refused'

interface FieldRule {
  readonly policy: FieldPolicy
  readonly check?: ValueCheck
}

export type FieldTable = Readonly<Record<string, FieldRule>>

export type ValueCheck =
  | { readonly kind: 'number'; readonly min: number; readonly max: number }
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'string' }
  | { readonly kind: 'object' }
  | { readonly kind: 'array' }
  | { readonly kind: 'string-or-strings'; readonly most: number }
  | { readonly kind: 'string-or-object' }
  | { readonly kind: 'strings' }
  | { readonly kind: 'one-of'; readonly words: readonly string[] }
  | { readonly kind: 'text-only' }

export const number = (min: number, max: number): ValueCheck => ({ kind: 'number', min, max })
export const integer = (min: number, max: number): ValueCheck => ({ kind: 'integer', min, max })

export const STANDARD_VALUES: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'default', 'standard', false])

/** Lower-cased names of the control fields: `Model` beside or instead of `model` is refused, some servers would read it. */
export const controlFieldsOf = (table: FieldTable): ReadonlySet<string> =>
  new Set(Object.entries(table).flatMap(([name, rule]) => (rule.policy === 'control' ? [name] : [])))

/**
 * Whether a field may go to a provider as the client wrote it, if the operator says so. What a protocol decides on may not,
 * in whatever letter case, because some servers would read it in a request of another protocol too; unless that one knows
 * the field itself and lets it go.
 */
export function mayBePassedOn(tables: readonly FieldTable[], name: string): boolean {
  const lower = name.toLowerCase()
  const policies = tables.flatMap((table) => (Object.hasOwn(table, lower) ? [table[lower]?.policy] : []))
  return policies.length === 0 || policies.some((policy) => policy === 'passed' || policy === 'ignored')
}

/** Neither ours to decide on nor known to go everywhere: whether the provider gets it is the lane's business. */
const isOptional = (name: string, table: FieldTable): boolean =>
  !Object.hasOwn(table, name) || table[name]?.policy === 'ignored'

/** The fields of a body that go to a provider only where somebody says so. */
export function optionalNames(members: readonly JsonMember[], table: FieldTable): string[] {
  const names: string[] = []
  for (const { name } of members) if (isOptional(name, table)) names.push(name)
  return names
}
