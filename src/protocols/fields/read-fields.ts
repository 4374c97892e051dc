import { isObject } from '../../lib/types.ts'
import { BASE_VALUES, PRICED_FIELDS, PRICED_VALUE, type PricedField, type PricedValues } from '../../model/price.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import type { Demand, InputSize, JsonMember, RequestBody, TurnRequest } from '../../model/turn.ts'
import { memberBytes, tryParse } from '../json/bytes.ts'
import { INNER_BOUNDS, OUTER_MEMBERS_MAX, scanJson } from '../json/scan-json.ts'
import type { ParsedBody } from '../shared/codec-types.ts'
import type { DialectTraits, RelayTarget } from '../shared/lane-target.ts'
import { checkNames, checkValue, isAbsent, type ValueCheck, wrongType } from './check-value.ts'

/**
 * The policy for a field of a request. Each protocol has a table of them, and a page in `docs/protocols/` that a test keeps equal
 * to it.
 *
 * - `control`: Millrace decides on it and rewrites it for the provider, so that the price and the provider's request agree.
 * - `passed`: goes to the provider as it came.
 * - `ignored`: accepted, left out of what goes to the provider, and named in `x-millrace-ignored-fields`.
 * - `priced`: changes the price of the tokens. Standard values count as absent; another one passes where the model has a price for it,
 *   on lanes that know it, and is refused elsewhere.
 * - `standard-only`: would change price or destination; `auto`, `default`, `standard` and null count as absent, anything else
 *   is refused.
 * - `refused`: asks for something that is not provided.
 */
export type FieldPolicy = 'control' | 'passed' | 'ignored' | 'priced' | 'standard-only' | 'refused'

interface FieldRule {
  readonly policy: FieldPolicy
  readonly check?: ValueCheck
}

export type FieldTable = Readonly<Record<string, FieldRule>>

const STANDARD_VALUES: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'default', 'standard', false])

/** The control fields, in lower case: `Model` beside or instead of `model` is refused, because some servers read it. */
export const controlFieldsOf = (table: FieldTable): ReadonlySet<string> =>
  new Set(Object.entries(table).flatMap(([name, rule]) => (rule.policy === 'control' ? [name] : [])))

/**
 * Whether the operator may pass a field on as the client wrote it. Fields that a protocol decides on are excluded in any letter
 * case, because some servers read them in a request of another protocol too; unless that protocol itself passes the field on.
 */
export function mayBePassedOn(tables: readonly FieldTable[], name: string): boolean {
  const lower = name.toLowerCase()
  const policies = tables.flatMap((table) => (Object.hasOwn(table, lower) ? [table[lower]?.policy] : []))
  return policies.length === 0 || policies.some((policy) => policy === 'passed' || policy === 'ignored')
}

/** The unknown and ignored fields of a body: they go to a provider only where its dialect or the operator passes them on. */
export function optionalNames(members: readonly JsonMember[], table: FieldTable): string[] {
  const names: string[] = []
  for (const { name } of members) {
    if (!Object.hasOwn(table, name) || table[name]?.policy === 'ignored') names.push(name)
  }
  return names
}

/** The members of fields that are objects and are rewritten: members that are not listed are dropped. */
export type NestedTable = Readonly<Record<string, Readonly<Record<string, ValueCheck | 'standard-only'>>>>

export type ReadNested = { readonly kind: 'read'; readonly ignored: readonly string[] } | Refused

/** Checks nested control fields as strictly as the outer ones, and names the ignored ones. */
export function readNested(body: ParsedBody, table: NestedTable): ReadNested {
  const ignored: string[] = []
  for (const outer in table) {
    const inner = body.value[outer]
    if (inner === undefined || inner === null) continue
    const rules = table[outer]!
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
  const scanned = bytes && scanJson(bytes, { ...INNER_BOUNDS, membersMax: OUTER_MEMBERS_MAX })
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
  const message = `\`${param}\` would change the price of the request, and this gateway has no price for that. Leave it out.`
  return problem('unsupported_value', message, { param })
}

/** Checks the names of all fields, the model, and the values of known fields: their type and range, and their policy. Null means absent. */
export function checkFields(
  { members, value: body }: ParsedBody,
  table: FieldTable,
  controls: ReadonlySet<string>,
): Problem | undefined {
  const misnamed = checkNames(members, controls)
  if (misnamed) return misnamed
  const { model } = body
  if (isAbsent(model) || model === '') {
    const message = 'The field `model` is missing. GET /v1/models lists the ids this key may use.'
    return problem('missing_required_parameter', message, { param: 'model' })
  }
  if (typeof model !== 'string') return wrongType('model', model, 'a string')
  for (const name in body) {
    const value = body[name]
    const rule = Object.hasOwn(table, name) ? table[name] : undefined
    if (!rule || value === null) continue
    if (rule.policy === 'refused' && !STANDARD_VALUES.has(value)) {
      const message = `\`${name}\` is not supported by this gateway. Leave it out.`
      return problem('unsupported_parameter', message, { param: name })
    }
    if (rule.policy === 'standard-only' && !STANDARD_VALUES.has(value)) return withoutPrice(name)
    if (rule.policy === 'priced' && !BASE_VALUES.has(value) && !isPricedValue(value)) return withoutPrice(name)
    const found = rule.check && checkValue(name, value, rule.check)
    if (found) return found
  }
  return undefined
}

const withoutPrice = (name: string): Problem =>
  problem(
    'unsupported_value',
    `\`${name}\` would change the price of the request, and this gateway has no price for that. Leave it out, or send "auto" or "default".`,
    { param: name },
  )

const isPricedValue = (value: unknown): value is string => typeof value === 'string' && PRICED_VALUE.test(value)

/** What checked fields ask for beyond the standard. */
export function pricedValuesOf(body: ParsedBody['value']): PricedValues | undefined {
  const asked = PRICED_FIELDS.filter((field) => !BASE_VALUES.has(body[field]))
  if (asked.length === 0) return undefined
  return Object.fromEntries(asked.map((field) => [field, body[field] as string]))
}

/**
 * The capabilities that a request requires of a lane. Other settings only shape the text of an answer: they are left out and
 * named where a lane does not know them.
 */
export function demandsOf({ choices, stop, toolChoice, format }: Settings): readonly Demand[] {
  const demands: Demand[] = []
  if (choices > 1) demands.push('n')
  if (!isAbsent(stop) && !(Array.isArray(stop) && stop.length === 0)) demands.push('stop')
  if (!isAbsent(toolChoice) && forcesTool(toolChoice)) demands.push('tool_choice')
  if (isObject(format) && format.type === 'json_schema') demands.push('response_format')
  return demands
}

interface Settings {
  readonly choices: number
  readonly stop?: unknown
  readonly toolChoice: unknown
  readonly format: unknown
}

function forcesTool(choice: unknown): boolean {
  if (choice === 'auto' || choice === 'none') return false
  if (!isObject(choice)) return true
  // A choice among allowed tools may allow none of them.
  const { mode } = isObject(choice.allowed_tools) ? choice.allowed_tools : choice
  return mode !== 'auto'
}

interface SizedRequest {
  /** The fields that certainly are input. Fields that are left out or rewritten count as they are sent. */
  readonly fields: ReadonlySet<string>
  readonly rewritten: ReadonlyMap<string, Buffer | null>
  readonly messages: number
  /** How many tools it declares. */
  readonly declared: number
  readonly format: unknown
  /** It continues from calls of earlier turns. */
  readonly hasCalls: boolean
}

/**
 * What bounds the input tokens of a request. A schema for the answer is described to the model like a tool, and on some lanes it
 * is one; past calls have their tools declared again where the client does not declare them.
 */
export function inputSizeOf({ bytes, members }: RequestBody, request: SizedRequest): InputSize {
  const { fields, rewritten, messages, declared, format, hasCalls } = request
  let inputBytes = 0
  for (const { name, valueStart, valueEnd } of members) {
    if (!fields.has(name)) continue
    const written = rewritten.get(name)
    inputBytes += written === undefined ? valueEnd - valueStart : (written?.length ?? 0)
  }
  let tools = declared
  if (isObject(format) && format.type === 'json_schema') tools += 1
  if (declared === 0 && hasCalls) tools += 1
  return { bodyBytes: bytes.length, inputBytes, messages, tools }
}

/** Changes of members in a request that is relayed: a new value as JSON, or null for members that are left out. */
export type MemberChanges = Map<string, Buffer | string | null>

interface LaneChanges {
  readonly changes: MemberChanges
  /** The optional fields that neither the dialect of this lane nor the operator passes on. */
  readonly leftOut: readonly string[]
}

/**
 * What becomes of the members that the client wrote, on a lane of its own protocol: without control fields and absent values,
 * with the members that the parser rewrote, and with the optional fields that the lane gets.
 */
export function changesForLane(
  { body, rewritten, optionalFields, priced }: TurnRequest,
  { dialect, passFields }: RelayTarget<DialectTraits & { readonly extraFields: readonly string[] }>,
  table: FieldTable,
): LaneChanges {
  const changes: MemberChanges = new Map(rewritten)
  for (const member of body.members) {
    const policy = table[member.name]?.policy
    const isOurs =
      policy === 'control' ||
      policy === 'standard-only' ||
      policy === 'refused' ||
      (policy === 'priced' && priced?.[member.name as PricedField] === undefined)
    // In valid JSON only `null` begins with this letter.
    if (isOurs || body.bytes[member.valueStart] === SMALL_N) changes.set(member.name, null)
  }
  const leftOut: string[] = []
  for (const field of optionalFields) {
    if (passFields.includes(field) || dialect.extraFields.includes(field)) {
      const member = OUR_IDS.get(field)
      const rest = member === undefined ? undefined : withoutMember(memberBytes(body, field), member)
      if (rest === undefined) continue
      leftOut.push(`${field}.${member}`)
      changes.set(field, rest)
      continue
    }
    leftOut.push(field)
    changes.set(field, null)
  }
  return { changes, leftOut }
}

/**
 * Members of fields that name an earlier answer, by the id that this gateway gave it. A provider would not find it, and refuse the
 * request or report on nothing. By field: OpenAI's comparison of cached prompts, and Anthropic's diagnostics.
 */
const OUR_IDS: ReadonlyMap<string, string> = new Map([
  ['prompt_cache_options', 'comparison_response_id'],
  ['diagnostics', 'previous_message_id'],
])

/** Null if nothing is left; undefined if it does not have the member. */
function withoutMember(written: Buffer | undefined, member: string): string | null | undefined {
  const value = written === undefined ? undefined : tryParse(written.toString('utf8'))
  if (!isObject(value) || !Object.hasOwn(value, member)) return undefined
  const { [member]: _, ...rest } = value
  return Object.keys(rest).length === 0 ? null : JSON.stringify(rest)
}

const SMALL_N = 0x6e
