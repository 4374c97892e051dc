import { type Fields, isObject } from '../../lib/types.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import { type Demand, type JsonMember, memberBytes, type TurnRequest } from '../../model/turn.ts'
import { isNullMember } from '../json/bytes.ts'
import { INNER_BOUNDS, scanJson } from '../json/scan-json.ts'
import type { ParsedBody } from '../shared/codec-types.ts'
import type { DialectTraits } from '../shared/lane-target.ts'
import { checkNames, checkValue, isAbsent, wrongType } from './check-value.ts'

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

/** What is inside the fields that are objects and are written anew: what is not listed here goes nowhere. */
export type NestedTable = Readonly<Record<string, Readonly<Record<string, ValueCheck | 'standard-only'>>>>

export type ReadNested = { readonly kind: 'read'; readonly ignored: readonly string[] } | Refused

/** Checks nested control fields as strictly as the outer ones, and names what of them is ignored. */
export function readNested(body: ParsedBody, table: NestedTable): ReadNested {
  const ignored: string[] = []
  for (const [outer, rules] of Object.entries(table)) {
    const inner = body.value[outer]
    if (inner === undefined || inner === null) continue
    const found = isObject(inner) ? checkInner(body, outer, inner, rules) : wrongType(outer, inner, 'an object')
    if (found) return refused(found)
    for (const name of Object.keys(inner)) if (!Object.hasOwn(rules, name)) ignored.push(`${outer}.${name}`)
  }
  return { kind: 'read', ignored }
}

function checkInner(
  body: ParsedBody,
  outer: string,
  inner: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, ValueCheck | 'standard-only'>>,
): Problem | undefined {
  const bytes = memberBytes(body, outer)
  const scanned = bytes && scanJson(bytes, INNER_BOUNDS)
  if (scanned?.kind === 'too-many-values') {
    return problem('invalid_value', `\`${outer}\` has more members than any request needs.`, { param: outer })
  }
  if (scanned?.kind !== 'scanned') throw new Error(`${outer} was parsed and cannot be scanned`)
  const misnamed = checkNames(scanned.members, new Set(Object.keys(rules)))
  if (misnamed) return { ...misnamed, param: `${outer}.${misnamed.param}` }
  for (const [name, rule] of Object.entries(rules)) {
    const given = inner[name]
    if (given === undefined || given === null) continue
    const param = `${outer}.${name}`
    const found = rule === 'standard-only' ? checkStandard(param, given) : checkValue(param, given, rule)
    if (found) return found
  }
  return undefined
}

function checkStandard(param: string, given: unknown): Problem | undefined {
  if (STANDARD_VALUES.has(given)) return undefined
  const message = `\`${param}\` would change the price of the request, and this model's entry does not cover it. Leave it out.`
  return problem('unsupported_value', message, { param })
}

/** The one field without which there is nothing to ask. */
export function checkModel(model: unknown): Problem | undefined {
  if (typeof model === 'string' && model !== '') return undefined
  if (model !== undefined && model !== null && model !== '') return checkValue('model', model, { kind: 'string' })
  return problem(
    'missing_required_parameter',
    'The field `model` is missing. GET /v1/models lists the ids this key may use.',
    { param: 'model' },
  )
}

/** Then the values of the fields that we know: their type and range, and what is not provided. Null means absent. */
export function checkValues(body: Readonly<Fields>, table: FieldTable): Problem | undefined {
  for (const name in body) {
    const value = body[name]
    const rule = Object.hasOwn(table, name) ? table[name] : undefined
    if (!rule || value === null) continue
    if (rule.policy === 'refused' && !STANDARD_VALUES.has(value)) {
      return problem('unsupported_parameter', `\`${name}\` is not provided by this gateway. Leave it out.`, {
        param: name,
      })
    }
    if (rule.policy === 'standard-only' && !STANDARD_VALUES.has(value)) {
      return problem(
        'unsupported_value',
        `\`${name}\` would change the price of the request, and this model's entry does not cover it. Leave it out, or send "auto" or "default".`,
        { param: name },
      )
    }
    const found = rule.check && checkValue(name, value, rule.check)
    if (found) return found
  }
  return undefined
}

/** Of a checked request, whatever its protocol calls these. */
interface Asked {
  readonly choices: number
  readonly stop?: unknown
  readonly toolChoice: unknown
  readonly format: unknown
}

/**
 * What of a request a lane must be able to do. Everything else merely shapes the words of an answer: it is left out where a
 * lane does not know it, and named.
 */
export const demandsOf = ({ choices, stop, toolChoice, format }: Asked): readonly Demand[] => [
  ...(choices > 1 ? (['n'] as const) : []),
  ...(isAbsent(stop) || isEmpty(stop) ? [] : (['stop'] as const)),
  ...(forcesTool(toolChoice) ? (['tool_choice'] as const) : []),
  ...(isObject(format) && format.type === 'json_schema' ? (['response_format'] as const) : []),
]

const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0

function forcesTool(choice: unknown): boolean {
  if (isAbsent(choice) || choice === 'auto' || choice === 'none') return false
  if (!isObject(choice)) return true
  // A choice among some of them need not be one of them.
  const { mode } = isObject(choice.allowed_tools) ? choice.allowed_tools : choice
  return mode !== 'auto'
}

/** What becomes of members where a client's own request goes to a lane: a new value as JSON, or null for those that go. */
export type MemberChanges = Map<string, Buffer | string | null>

/**
 * What every lane of the client's own protocol gets otherwise than it came: what was written anew at the door, and without
 * what we decide on ourselves and what counts as absent.
 */
export function changesForLanes({ body, rewritten }: TurnRequest, table: FieldTable): MemberChanges {
  const changes: MemberChanges = new Map(rewritten)
  for (const member of body.members) {
    const policy = table[member.name]?.policy
    const isOurs = policy === 'control' || policy === 'standard-only' || policy === 'refused'
    if (isOurs || isNullMember(body, member)) changes.set(member.name, null)
  }
  return changes
}

interface PassingLane {
  readonly dialect: DialectTraits & { readonly extraFields: readonly string[] }
  readonly passFields: readonly string[]
}

/** The fields beyond the standard ones that neither the dialect of this lane nor the operator passes on. */
export const optionalFieldsLeftOut = (request: TurnRequest, { dialect, passFields }: PassingLane): string[] =>
  request.optionalFields.filter((field) => !passFields.includes(field) && !dialect.extraFields.includes(field))
