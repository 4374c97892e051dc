import { hash } from 'node:crypto'
import type { RunCapName } from '../model/allowance.ts'
import { isRunId, JOB_RUN } from '../model/run.ts'

/** An issuer of tokens for CI jobs, and which jobs get a key. */
export interface JobIssuer {
  readonly name: string
  readonly issuer: string
  readonly audience: string
  /** The first rule that fits counts. */
  readonly rules: readonly JobRule[]
}

export interface JobRule {
  /** Unique among the rules of all issuers. */
  readonly name: string
  /** The id of the key that the requests of the job count for. */
  readonly key: string
  /** Claims and what they have to be: a text, or the beginning of one with `*` behind it. */
  readonly match: ReadonlyMap<string, readonly string[]>
  readonly tags: readonly TagRule[]
  /** How long a key works. */
  readonly lifetimeMs: number
  /** The claims that tell the jobs apart that do not share a budget. */
  readonly runClaims: readonly string[]
  readonly budget: Readonly<Partial<Record<RunCapName, bigint>>>
  /** How long after its first key the run ends. */
  readonly endsMs: number
}

/** A tag from a claim. Of those with one name, the first one that has a value counts. */
export interface TagRule {
  readonly name: string
  readonly claim: string
  /** With `*`: only if the claim has this form, and then what the `*` stands for. */
  readonly from: string | undefined
}

/** For GitHub Actions and GitLab. */
export const DEFAULT_TAGS: readonly TagRule[] = [
  { name: 'repository', claim: 'repository', from: undefined },
  { name: 'repository', claim: 'project_path', from: undefined },
  { name: 'branch', claim: 'head_ref', from: undefined },
  { name: 'branch', claim: 'ref', from: 'refs/heads/*' },
  { name: 'branch', claim: 'ref_path', from: 'refs/heads/*' },
  { name: 'pull_request', claim: 'ref', from: 'refs/pull/*/merge' },
  { name: 'pull_request', claim: 'ref_path', from: 'refs/merge-requests/*/head' },
  { name: 'pull_request', claim: 'ref_path', from: 'refs/merge-requests/*/merge' },
]

type Claims = Readonly<Record<string, unknown>>

const CLAIM_LENGTH_MAX = 1024

/** Undefined for what is no single line of text: it fits no rule and is no tag. */
export function textOfClaim(claims: Claims, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined
  const text = typeof value === 'boolean' || Number.isSafeInteger(value) ? String(value) : value
  if (typeof text !== 'string' || text === '' || text.length > CLAIM_LENGTH_MAX) return undefined
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) ? undefined : text
}

/** What a job is by the first rule that its claims fit. */
export interface AdmittedJob {
  readonly rule: JobRule
  readonly run: string
  /** As receipts store them. */
  readonly tags: string | null
}

export type FoundJob = AdmittedJob | { readonly rule: JobRule; readonly missing: string } | undefined

/** `missing`: the claim without which the run of the job has no id. */
export function findJob(rules: readonly JobRule[], claims: Claims): FoundJob {
  const rule = rules.find(({ match }) =>
    [...match].every(([name, allowed]) => fits(textOfClaim(claims, name), allowed)),
  )
  if (rule === undefined) return undefined
  const values = rule.runClaims.map((name) => textOfClaim(claims, name))
  const missing = rule.runClaims[values.indexOf(undefined)]
  if (missing !== undefined) return { rule, missing }
  return { rule, run: runOf(rule.name, values as string[]), tags: tagsOf(rule.tags, claims) }
}

const fits = (value: string | undefined, allowed: readonly string[]): boolean =>
  value !== undefined &&
  allowed.some((each) => (each.endsWith('*') ? value.startsWith(each.slice(0, -1)) : value === each))

/** Two lists of values never have one id: a value with a dot of its own is hashed with the others. */
function runOf(rule: string, values: readonly string[]): string {
  const id = `${JOB_RUN}${rule}:${values.join('.')}`
  const isPlain = values.every((value) => /^[\w-]+$/.test(value)) && isRunId(id)
  return isPlain ? id : `${JOB_RUN}${rule}:.${hash('sha256', JSON.stringify(values), 'hex').slice(0, 32)}`
}

function tagsOf(rules: readonly TagRule[], claims: Claims): string | null {
  const tags = new Map<string, string>()
  for (const { name, claim, from } of rules) {
    if (tags.has(name)) continue
    const value = tagValueOf(valueFrom(textOfClaim(claims, claim), from))
    if (value !== undefined) tags.set(name, value)
  }
  return tags.size === 0 ? null : JSON.stringify([...tags].map(([name, value]) => `${name}:${value}`).sort())
}

function valueFrom(value: string | undefined, from: string | undefined): string | undefined {
  if (value === undefined || from === undefined) return value
  const [head = '', tail = ''] = from.split('*')
  const isOfForm = value.length > head.length + tail.length && value.startsWith(head) && value.endsWith(tail)
  return isOfForm ? value.slice(head.length, value.length - tail.length) : undefined
}

const TAG_LENGTH_MAX = 64
const HASH_LENGTH = 8

/** What a tag cannot have becomes `_`. A long value is cut, and told apart from others by its hash. */
function tagValueOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined
  const plain = text.replace(/[^\x21\x23-\x2b\x2d-\x7e]/gu, '_')
  if (plain.length <= TAG_LENGTH_MAX) return plain
  return `${plain.slice(0, TAG_LENGTH_MAX - HASH_LENGTH - 1)}~${hash('sha256', text, 'hex').slice(0, HASH_LENGTH)}`
}
