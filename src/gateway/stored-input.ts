import type { StoredResponses } from '../db/content/stored-responses.ts'
import { type Fields, isObject } from '../lib/types.ts'
import type { ReadScope } from '../model/caller.ts'
import type { AccountId } from '../model/ids.ts'
import { type Problem, problem, type Refused, refused } from '../model/problem.ts'
import type { RequestBody } from '../model/turn.ts'
import { checkNames, wrongType } from '../protocols/fields/check-value.ts'
import { jsonArray, spliceMembers } from '../protocols/json/bytes.ts'
import { parseInPieces } from '../protocols/json/in-pieces.ts'
import { type JsonBounds, PIECE_BYTES, passTurnstile, scanInPieces } from '../protocols/json/scan-json.ts'
import type { ExpandedBody } from '../protocols/responses/compaction.ts'
import { elementsOfBody } from '../protocols/responses/input-items.ts'
import type { ParsedBody } from '../protocols/shared/codec-types.ts'

export interface ExpandServices {
  readonly responses: Pick<StoredResponses, 'context' | 'items' | 'keeps'>
  /** How long a stored response is kept. */
  readonly stateMs: number
  /** Bounds of the expanded body, the same as of a body that was sent whole. */
  readonly bounds: InputBounds
}

export type InputBounds = JsonBounds & { readonly bytesMax: number }

export type ExpandedInput = ({ readonly kind: 'expanded' } & ExpandedRequest) | Refused

/** The body is the given one where nothing had to be inserted. */
export interface ExpandedRequest extends ExpandedBody {
  /** The items of this request alone, references resolved, each as JSON. Computed only for a response that is stored. */
  readonly ownInput: () => readonly Buffer[]
  /** The response that this request continues. */
  readonly previous: string | undefined
}

const EXPANDED_NAMES = new Set(['previous_response_id', 'input'])

/**
 * Inserts what a request refers to by id, so that its input is whole. `refuse` is asked before anything is fetched, for instance
 * whether the model exists.
 */
export async function expandInput(
  services: ExpandServices,
  scope: ReadScope,
  body: ParsedBody,
  { refuse }: { readonly refuse?: () => Problem | undefined } = {},
): Promise<ExpandedInput> {
  const { input, previous_response_id: given } = body.value
  const previous = given === '' ? undefined : (given ?? undefined)
  if (previous !== undefined && typeof previous !== 'string') {
    return refused(wrongType('previous_response_id', previous, 'a string'))
  }
  const references: InputReference[] = []
  for (const [index, element] of Array.isArray(input) ? input.entries() : []) {
    if (!isObject(element)) continue
    const { id } = element
    if (isUnsealed(element)) references.push({ index, id: id as string, isOptional: true })
    if (!isReference(element)) continue
    if (typeof id !== 'string') return refused(wrongType(`input[${index}].id`, id, 'a string'))
    references.push({ index, id, isOptional: false })
  }
  if (previous === undefined && references.length === 0) {
    return { kind: 'expanded', body, ownInput: ownInputLater(body), previous, previousItems: 0 }
  }
  const isInput = typeof input === 'string' || Array.isArray(input) || input === undefined || input === null
  const wrong = isInput ? undefined : wrongType('input', input, 'a string or an array')
  const found = checkNames(body.members, EXPANDED_NAMES) ?? wrong ?? refuse?.()
  if (found) return refused(found)
  return oneAtATime(scope.account, () => expand(services, scope, body, { previous, references }))
}

/** A function of its own, so that the turn keeps the bytes and not the parsed value. */
const ownInputLater =
  ({ bytes, members }: RequestBody) =>
  () =>
    elementsOfBody({ bytes, members })

interface InputReference {
  /** Its place in the input. */
  readonly index: number
  readonly id: string
  /** The item itself is there too. */
  readonly isOptional: boolean
}

/** Reasoning as an answer shows it without its seal. What is stored of it has the seal, which its provider wants back. */
const isUnsealed = ({ type, id, encrypted_content: seal }: Fields): boolean =>
  type === 'reasoning' && typeof id === 'string' && id !== '' && (seal === undefined || seal === null)

/** The type may be left out; a message, whose type may be left out too, has a role. */
function isReference(element: Fields): boolean {
  if (element.type === 'item_reference') return true
  const isTyped = element.type !== undefined && element.type !== null
  return (
    !isTyped && Object.hasOwn(element, 'id') && !Object.hasOwn(element, 'role') && !Object.hasOwn(element, 'content')
  )
}

interface References {
  readonly previous: string | undefined
  readonly references: readonly InputReference[]
}

async function expand(
  services: ExpandServices,
  scope: ReadScope,
  body: ParsedBody,
  { previous, references }: References,
): Promise<ExpandedInput> {
  const context = previous === undefined ? [] : await contextOf(services, scope, previous)
  if (!Array.isArray(context)) return refused(context)
  const own = await resolve(services, scope, body, references)
  if (!Array.isArray(own)) return refused(own)
  const expanded = await replaceInput(services.bounds, body, [...context, ...own])
  if (expanded.kind === 'refused') return expanded
  return { kind: 'expanded', body: expanded.body, ownInput: () => own, previous, previousItems: context.length }
}

const expanding = new Map<AccountId, Promise<unknown>>()

/** A hundred bytes may stand for megabytes, and no limit applies yet: each account expands one request at a time. */
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

async function contextOf(services: ExpandServices, scope: ReadScope, id: string): Promise<Buffer[] | Problem> {
  const { responses, bounds } = services
  const context = await responses.context(scope, id, bounds.bytesMax)
  switch (context.kind) {
    case 'found':
      return [...context.items]
    case 'not-found':
      return previousProblem(
        `There is no stored response '${shown(id)}' of this account. ${retentionOf(services)} Send the full input instead, without previous_response_id.`,
      )
    case 'not-finished':
      return previousProblem(
        context.status === 'in_progress'
          ? `The response '${shown(id)}' has not finished: wait until it has before you continue it.`
          : `The response '${shown(id)}' ended with status ${context.status}, so there is no answer to continue. Send the full input instead.`,
      )
    case 'damaged':
      return previousProblem(
        `The response '${shown(id)}' is stored but can no longer be read. Send the full input instead, without previous_response_id.`,
      )
    case 'too-large':
      return expandedTooLarge(bounds.bytesMax)
  }
}

async function resolve(
  services: ExpandServices,
  scope: ReadScope,
  body: ParsedBody,
  references: readonly InputReference[],
): Promise<Buffer[] | Problem> {
  const { responses, bounds } = services
  const elements = elementsOfBody(body)
  if (references.length === 0) return elements
  const ids = references.map(({ id }) => id)
  const found = await responses.items(scope, ids, bounds.bytesMax)
  if (found.kind === 'too-large') return expandedTooLarge(bounds.bytesMax)
  for (const { id, index, isOptional } of references) {
    const item = found.items.get(id)
    if (item === undefined) {
      if (isOptional) continue
      const message = `There is no stored item '${shown(id)}' of this account. ${retentionOf(services)} Send the item itself instead of a reference.`
      return problem('item_not_found', message, { param: `input[${index}]` })
    }
    elements[index] = item
  }
  return elements
}

const ID_SHOWN_MAX = 80
const shown = (id: string): string => (id.length > ID_SHOWN_MAX ? `${id.slice(0, ID_SHOWN_MAX)}…` : id)

const HOUR_MS = 3_600_000

function retentionOf({ responses, stateMs }: ExpandServices): string {
  if (!responses.keeps) return 'This server stores no responses.'
  const [count, unit] = stateMs % HOUR_MS === 0 ? [stateMs / HOUR_MS, 'hour'] : [Math.floor(stateMs / 60_000), 'minute']
  return `Responses are kept for ${count} ${unit}${count === 1 ? '' : 's'}, or less if storage is full. Responses with store: false are not kept.`
}

const previousProblem = (message: string): Problem =>
  problem('previous_response_not_found', message, { param: 'previous_response_id' })

const WITH_REFERENCES = 'With everything that it refers to, the request'

const expandedTooLarge = (bytesMax: number): Problem =>
  problem(
    'request_too_large',
    `${WITH_REFERENCES} is larger than ${bytesMax} bytes. Start a new conversation, or send a shorter input.`,
  )

type ReplacedInput = { readonly kind: 'replaced'; readonly body: ParsedBody } | Refused

/** The same request with another input, parsed again. */
export async function replaceInput(
  bounds: InputBounds,
  body: ParsedBody,
  items: readonly Buffer[],
): Promise<ReplacedInput> {
  // Added up before anything is joined: a short reference may stand for something long, and occur often.
  if (items.reduce((sum, { length }) => sum + length, 0) > bounds.bytesMax)
    return refused(expandedTooLarge(bounds.bytesMax))
  const changes = new Map([
    ['previous_response_id', null],
    ['input', jsonArray(items)],
  ])
  const bytes = spliceMembers(body, changes)
  if (bytes.length > bounds.bytesMax) return refused(expandedTooLarge(bounds.bytesMax))
  const scan = await scanInPieces(bytes, bounds, { pieceBytes: PIECE_BYTES, pause: passTurnstile })
  switch (scan.kind) {
    case 'scanned': {
      const value = (await parseInPieces(bytes, scan.large)) as ParsedBody['value']
      return { kind: 'replaced', body: { bytes, members: scan.members, value } }
    }
    case 'too-deep': {
      const message = `${WITH_REFERENCES} is nested deeper than ${bounds.depthMax} levels.`
      return refused(problem('request_too_large', message))
    }
    case 'too-many-values': {
      const message = `${WITH_REFERENCES} holds too many JSON values or fields; ${bounds.valuesMax} values are allowed.`
      return refused(problem('request_too_large', message))
    }
    case 'not-an-object':
    case 'broken':
      throw new Error('A valid request became invalid when its references were resolved')
  }
}
