import { type Allowance, RUN_CAPS, type RunCapName } from './allowance.ts'
import { formatUsd, type NanoUsd, parseUsd } from './money.ts'

/**
 * What a client says in `x-millrace-run`: `nightly-fix-17; max=0.50; parent=nightly`. The requests of a run share its budget, whichever
 * keys of the account they use. A run takes its terms from its first request.
 */
export interface RunTerms {
  readonly id: string
  readonly parent: string | undefined
  /** Billionths of a dollar, requests, tokens. */
  readonly amounts: Readonly<Partial<Record<RunCapName, bigint>>>
  /** The moment itself, or how long after the first request. */
  readonly ends: { readonly at: number } | { readonly afterMs: number } | undefined
  /** Given by the key, not by the client: a run that has begun keeps its own. */
  readonly areOfKey?: true
}

/** What a key asks of its requests: that each names a run, or a budget that each conversation gets by itself. */
export type RunRule = 'required' | { readonly each_conversation: ConversationBudget }

/** The parameters of `x-millrace-run`, at least one of them. `ends` is a span. */
export interface ConversationBudget {
  readonly max?: string | undefined
  readonly max_requests?: number | undefined
  readonly max_tokens?: number | undefined
  readonly ends?: string | undefined
}

export type ReadRun =
  | { readonly kind: 'run'; readonly terms: RunTerms }
  | { readonly kind: 'invalid'; readonly message: string }

/** A stored run, with what bounds it. */
export interface Run {
  readonly row: number
  readonly id: string
  /** From itself up to the outermost run around it. */
  readonly ids: readonly string[]
  /** Its own caps and those of the runs around it. */
  readonly caps: readonly Allowance[]
  readonly endsAt: number
}

const ID = /^[A-Za-z0-9][\w.:-]{0,63}$/
const COUNT = /^[1-9]\d{0,14}$/
const SPAN = /^([1-9]\d{0,5})(s|m|h|d)$/
const SPAN_MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const PARAMETERS = { max: 'total', max_requests: 'requests', max_tokens: 'tokens' } as const satisfies Record<
  string,
  RunCapName
>

export function readRun(header: string): ReadRun {
  const [first = '', ...rest] = header.split(';').map((part) => part.trim())
  if (!isRunId(first)) return invalid(`${shown(first)} is not an id of 1 to 64 characters from ${ID_CHARACTERS}`)
  const given = new Map<string, string>()
  for (const part of rest) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const [name, value] = [part.slice(0, Math.max(equals, 0)).trim().toLowerCase(), part.slice(equals + 1).trim()]
    if (!NAMES.has(name)) return invalid(`${shown(part)} is not one of ${[...NAMES].join(', ')} with a value`)
    if (given.has(name)) return invalid(`\`${name}\` is given twice`)
    given.set(name, value)
  }
  const amounts: Partial<Record<RunCapName, bigint>> = {}
  for (const [name, cap] of Object.entries(PARAMETERS)) {
    const value = given.get(name)
    if (value === undefined) continue
    const amount = RUN_CAPS[cap] === 'usd' ? parseUsd(value) : COUNT.test(value) ? BigInt(value) : undefined
    if (amount === undefined || amount <= 0n)
      return invalid(
        `\`${name}\` is ${shown(value)}, not ${cap === 'total' ? 'an amount in USD such as 0.50' : 'a whole number above 0'}`,
      )
    amounts[cap] = amount
  }
  const parent = given.get('parent')
  if (parent !== undefined && (!isRunId(parent) || parent === first))
    return invalid(`\`parent\` is ${shown(parent)}, not the id of another run`)
  const ends = given.get('ends')
  const end = ends === undefined ? undefined : readEnd(ends)
  if (ends !== undefined && end === undefined)
    return invalid(`\`ends\` is ${shown(ends)}, not a time such as 2026-12-01T00:00:00Z or a span such as 45m, 2h, 7d`)
  return { kind: 'run', terms: { id: first, parent, amounts, ends: end } }
}

const NAMES: ReadonlySet<string> = new Set([...Object.keys(PARAMETERS), 'ends', 'parent'])
const ID_CHARACTERS = 'letters, digits, `_`, `.`, `:` and `-`, a letter or digit first'

export const isRunId = (text: string): boolean => ID.test(text)

function readEnd(text: string): RunTerms['ends'] {
  const span = SPAN.exec(text)
  if (span) return { afterMs: Number(span[1]) * SPAN_MS[span[2] as keyof typeof SPAN_MS] }
  // A date alone has no zone, so it would mean another moment on another machine.
  const at = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : { at }
}

/** Runs that conversations get begin with this. A client may name one in its header. */
const CONVERSATION = 'conversation-'

export const isConversationRun = (id: string): boolean => id.startsWith(CONVERSATION)

/** As long as a run lasts that says nothing else: what a run has used is in memory for as long as it may be used. */
const CONVERSATION_ENDS = '7d'

/** The terms of the run of a conversation; `name` tells it from the others of the account. */
export function termsOfConversation(name: string, budget: ConversationBudget): RunTerms {
  const { max, max_requests, max_tokens, ends = CONVERSATION_ENDS } = budget
  return {
    id: CONVERSATION + name,
    parent: undefined,
    amounts: {
      ...(max !== undefined && { total: parseUsd(max)! }),
      ...(max_requests !== undefined && { requests: BigInt(max_requests) }),
      ...(max_tokens !== undefined && { tokens: BigInt(max_tokens) }),
    },
    ends: readEnd(ends),
    areOfKey: true,
  }
}

export const isSpan = (text: string): boolean => SPAN.test(text)

/** As stored: equal rules are equal texts. */
export function writeRunRule(rule: RunRule | null): string | null {
  if (rule === null || rule === 'required') return rule && JSON.stringify(rule)
  const { max, max_requests, max_tokens, ends } = rule.each_conversation
  const usd = max === undefined ? undefined : formatUsd(parseUsd(max)!)
  return JSON.stringify({ each_conversation: { max: usd, max_requests, max_tokens, ends } })
}

export const parseRunRule = (stored: string | null): RunRule | null =>
  stored === null ? null : (JSON.parse(stored) as RunRule)

/** On a command line and in a table: `required`, or the parameters of each conversation as `max=0.50; ends=2h`. */
export function runRuleText(rule: RunRule): string {
  if (rule === 'required') return rule
  const given = Object.entries(rule.each_conversation).filter(([, value]) => value !== undefined)
  return given.map(([name, value]) => `${name}=${value}`).join('; ')
}

/** The reverse. What cannot be read becomes a field that the schema of keys refuses by its name. */
export function readRunRuleText(text: string): RunRule {
  if (text.trim() === 'required') return 'required'
  const parts = text.split(';').map((part) => part.trim())
  const given = parts.map((part): [string, unknown] => {
    const equals = part.indexOf('=')
    const [name, value] = [part.slice(0, Math.max(equals, 0)).trim(), part.slice(equals + 1).trim()]
    return [name, name !== 'max' && COUNT.test(value) ? Number(value) : value]
  })
  return { each_conversation: Object.fromEntries(given) as ConversationBudget }
}

const invalid = (what: string): ReadRun => ({
  kind: 'invalid',
  message: `The header x-millrace-run is invalid: ${what}. Send an id and a budget such as \`fix-17; max=0.50\`.`,
})

const shown = (text: string): string => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)

/** So begin the runs of CI jobs, which take their terms from the configuration: no request begins one. */
export const JOB_RUN = 'job:'

/** The run of a job, as a request names it that says nothing else. */
export const termsOfJob = (id: string): RunTerms => ({ id, parent: undefined, amounts: {}, ends: undefined })

/** The tag by which the receipts of a run are found. Clients cannot set it otherwise. */
export const RUN_TAG = 'run'

/** A run can be read for so long after its end; its receipts stay. */
export const RUN_KEPT_MS = 30 * 86_400_000

/** A request that came before the end of its run is admitted when its body has come. */
const COUNTED_AFTER_MS = 86_400_000

/** The caps of one run as allowances. `row` is that of the run. */
export const capsOfRun = (
  row: number,
  endsAt: number,
  amounts: Readonly<Partial<Record<RunCapName, bigint | null>>>,
): readonly Allowance[] =>
  (Object.keys(RUN_CAPS) as RunCapName[]).flatMap((name) => {
    const amount = amounts[name]
    if (amount == null) return []
    return [
      {
        ...{ subject: `cap:run:${row}:${name}`, unit: 'cap', holder: 'run', name },
        ...{ cycle: { kind: 'once', end: endsAt + COUNTED_AFTER_MS }, amount: amount as NanoUsd },
      } as const,
    ]
  })
