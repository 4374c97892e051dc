import type { StoredResponses } from '../db/content/stored-responses.ts'
import { type Fields, isObject } from '../lib/types.ts'
import type { AccountId } from '../model/ids.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import type { RequestBody } from '../model/turn.ts'
import { checkNames, wrongType } from '../protocols/fields/check-value.ts'
import { jsonArray, spliceMembers } from '../protocols/json/bytes.ts'
import { parseInPieces } from '../protocols/json/in-pieces.ts'
import {
  type JsonBounds,
  type JsonScan,
  PIECE_BYTES,
  passTurnstile,
  scanInPieces,
} from '../protocols/json/scan-json.ts'
import type { ExpandedBody } from '../protocols/responses/compaction.ts'
import { elementsOfBody } from '../protocols/responses/input-items.ts'
import type { ParsedBody } from '../protocols/shared/codec-types.ts'

export interface ExpandServices {
  readonly responses: Pick<StoredResponses, 'context' | 'items' | 'keeps'>
  readonly stateMs: number
  /** Of the expanded body, as of one that came whole. */
  readonly bounds: InputBounds
}

/** What the reader of a request knows of it before its input is whole. */
interface ExpandOptions {
  /** Asked before anything is fetched: whether that would be for nothing, as for a model that is not there. */
  readonly refuse?: () => Problem | undefined
}

export type ExpandedInput = ({ readonly kind: 'expanded' } & ExpandedRequest) | Refused

/** Its body is the one that was handed in, where nothing had to be put in its place. */
export interface ExpandedRequest extends ExpandedBody {
  /** The items of this request alone, references resolved, each as JSON: for whoever stores it, and only then. */
  readonly ownInput: () => readonly Buffer[]
  /** The response that it goes on from. */
  readonly previous: string | undefined
}

const EXPANDED_NAMES = new Set(['previous_response_id', 'input'])

/** Puts in place what a request refers to by id, so that whoever reads it then sees one whole input. */
export async function expandInput(
  deps: ExpandServices,
  account: AccountId,
  body: ParsedBody,
  { refuse }: ExpandOptions = {},
): Promise<ExpandedInput> {
  const { input, previous_response_id: given } = body.value
  const previous = given === '' ? undefined : (given ?? undefined)
  if (previous !== undefined && typeof previous !== 'string') {
    return refused(wrongType('previous_response_id', previous, 'a string'))
  }
  const read = readReferences(Array.isArray(input) ? input : [])
  if (read.kind === 'refused') return read
  const { references } = read
  if (previous === undefined && references.length === 0) {
    // What is kept for the turn has the bytes, and not the value.
    const { bytes, members } = body
    const ownInput = inputLater({ bytes, members })
    return { kind: 'expanded', body, ownInput, previous, previousItems: 0 }
  }
  const found = checkNames(body.members, EXPANDED_NAMES) ?? checkInput(input) ?? refuse?.()
  if (found) return refused(found)
  return oneAtATime(account, () => expand(deps, account, body, { previous, references }))
}

const inputLater = (body: RequestBody) => () => elementsOfBody(body)

interface Referred {
  readonly previous: string | undefined
  readonly references: readonly InputReference[]
}

async function expand(
  deps: ExpandServices,
  account: AccountId,
  body: ParsedBody,
  { previous, references }: Referred,
): Promise<ExpandedInput> {
  const context = previous === undefined ? [] : await contextOf(deps, account, previous)
  if (!Array.isArray(context)) return refused(context)
  const own = await resolve(deps, account, body, references)
  if (!Array.isArray(own)) return refused(own)
  const expanded = await replaceInput(deps.bounds, body, [...context, ...own])
  if (expanded.kind === 'refused') return expanded
  return { kind: 'expanded', body: expanded.body, ownInput: () => own, previous, previousItems: context.length }
}

const expanding = new Map<AccountId, Promise<unknown>>()

/** A hundred bytes may stand for megabytes, and no limit has been asked yet: nobody gets more than one of these at a time. */
async function oneAtATime<Result>(account: AccountId, work: () => Promise<Result>): Promise<Result> {
  const before = expanding.get(account) ?? Promise.resolve()
  const done = before.then(work, work)
  expanding.set(account, done)
  try {
    return await done
  } finally {
    if (expanding.get(account) === done) expanding.delete(account)
  }
}

/** What it goes on from is enough: nothing has to be added to it. */
const checkInput = (input: unknown): Problem | undefined =>
  typeof input === 'string' || Array.isArray(input) || input === undefined || input === null
    ? undefined
    : wrongType('input', input, 'a string or an array')

async function contextOf({ responses, stateMs, bounds }: ExpandServices, account: AccountId, id: string) {
  const context = await responses.context(account, id, bounds.bytesMax)
  switch (context.kind) {
    case 'found':
      return [...context.items]
    case 'not-found':
      return previousNotFound({ keeps: responses.keeps, stateMs }, id)
    case 'not-finished':
      return previousNotFinished(id, context.status)
    case 'damaged':
      return previousDamaged(id)
    case 'too-large':
      return expandedTooLarge(bounds.bytesMax)
  }
}

async function resolve(
  { responses, stateMs, bounds }: ExpandServices,
  account: AccountId,
  body: ParsedBody,
  references: readonly InputReference[],
): Promise<Buffer[] | Problem> {
  const elements = elementsOfBody(body)
  if (references.length === 0) return elements
  const found = await responses.items(
    account,
    references.map(({ id }) => id),
    bounds.bytesMax,
  )
  if (found.kind === 'too-large') return expandedTooLarge(bounds.bytesMax)
  const retention: Retention = { keeps: responses.keeps, stateMs }
  for (const reference of references) {
    const item = found.items.get(reference.id)
    if (item === undefined) return itemNotFound(retention, reference)
    elements[reference.index] = item
  }
  return elements
}

interface InputReference {
  /** Its place in the input. */
  readonly index: number
  readonly id: string
}

type ReadReferences = { readonly kind: 'read'; readonly references: readonly InputReference[] } | Refused

/** Which elements of an input stand for stored items. What is no reference is not judged here. */
function readReferences(input: readonly unknown[]): ReadReferences {
  const references: InputReference[] = []
  for (const [index, element] of input.entries()) {
    if (!isObject(element) || !isReference(element)) continue
    const { id } = element
    if (typeof id !== 'string') return refused(wrongType(`input[${index}].id`, id, 'a string'))
    references.push({ index, id })
  }
  return { kind: 'read', references }
}

/** The type may be left out; a message, whose type may be left out too, has a role. */
function isReference(element: Fields): boolean {
  if (element.type === 'item_reference') return true
  const isTyped = element.type !== undefined && element.type !== null
  return (
    !isTyped && Object.hasOwn(element, 'id') && !Object.hasOwn(element, 'role') && !Object.hasOwn(element, 'content')
  )
}

const ID_SHOWN_MAX = 80
const shown = (id: string): string => (id.length > ID_SHOWN_MAX ? `${id.slice(0, ID_SHOWN_MAX)}…` : id)

/** How long what can be referred to is kept. */
interface Retention {
  /** False where the operator lets nothing be stored. */
  readonly keeps: boolean
  readonly stateMs: number
}

const HOUR_MS = 3_600_000

function keptFor({ keeps, stateMs }: Retention): string {
  if (!keeps) return 'This server stores no responses.'
  const time = stateMs >= HOUR_MS ? `${Math.floor(stateMs / HOUR_MS)} hours` : `${Math.floor(stateMs / 60_000)} minutes`
  return `Responses are kept for ${time} at most, less when room is short; those with store: false never are.`
}

const itemNotFound = (retention: Retention, { id, index }: InputReference): Problem =>
  problem(
    'item_not_found',
    `There is no stored item '${shown(id)}' of this account. ${keptFor(retention)} Send the item itself instead of a reference.`,
    { param: `input[${index}]` },
  )

const previousProblem = (message: string): Problem =>
  problem('previous_response_not_found', message, { param: 'previous_response_id' })

const previousNotFound = (retention: Retention, id: string): Problem =>
  previousProblem(
    `There is no stored response '${shown(id)}' of this account. ${keptFor(retention)} Send the full input instead, without previous_response_id.`,
  )

const previousNotFinished = (id: string, status: string): Problem =>
  previousProblem(
    status === 'in_progress'
      ? `The response '${shown(id)}' has not finished: wait for its end before you go on from it.`
      : `The response '${shown(id)}' has ended as ${status}, so there is no answer to go on from. Send the full input instead.`,
  )

const previousDamaged = (id: string): Problem =>
  previousProblem(
    `The response '${shown(id)}' is stored and cannot be read any more. Send the full input instead, without previous_response_id.`,
  )

const expandedTooLarge = (bytesMax: number): Problem =>
  problem(
    'request_too_large',
    `With everything that it refers to, the request is larger than ${bytesMax} bytes. Start a new conversation, or send a shorter input.`,
  )

/** Of a request with all that it refers to in it, as of one that came whole. */
export type InputBounds = JsonBounds & { readonly bytesMax: number }

type ReplacedInput = { readonly kind: 'replaced'; readonly body: ParsedBody } | Refused

/** The same request with this input in it, understood anew. */
export async function replaceInput(
  bounds: InputBounds,
  body: ParsedBody,
  items: readonly Buffer[],
): Promise<ReplacedInput> {
  // A short item may stand for something long, and may come often: what it would become is added up before it does.
  if (items.reduce((sum, { length }) => sum + length, 0) > bounds.bytesMax)
    return refused(expandedTooLarge(bounds.bytesMax))
  const changes = new Map([
    ['previous_response_id', null],
    ['input', jsonArray(items)],
  ])
  const bytes = spliceMembers(body, changes)
  if (bytes.length > bounds.bytesMax) return refused(expandedTooLarge(bounds.bytesMax))
  const scan = await scanInPieces(bytes, bounds, { pieceBytes: PIECE_BYTES, pause: passTurnstile })
  if (scan.kind !== 'scanned') return refused(expandedTooMuch(scan, bounds))
  const value = (await parseInPieces(bytes, scan.large)) as ParsedBody['value']
  return { kind: 'replaced', body: { bytes, members: scan.members, value } }
}

function expandedTooMuch(scan: Exclude<JsonScan, { kind: 'scanned' }>, bounds: JsonBounds): Problem {
  const all = 'With everything that it refers to, the request'
  switch (scan.kind) {
    case 'too-deep':
      return problem('request_too_large', `${all} is nested deeper than ${bounds.depthMax} levels.`)
    case 'too-many-values':
      return problem(
        'request_too_large',
        `${all} holds too many JSON values or fields; ${bounds.valuesMax} values are allowed.`,
      )
    case 'not-an-object':
    case 'broken':
      throw new Error('a request that was read is none any more with its references resolved')
  }
}
