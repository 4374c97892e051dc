import type { StoredResponses } from '../../content/stored-responses.ts'
import type { AccountId } from '../../model/ids.ts'
import { type Problem, type Refused, refused } from '../../model/problem.ts'
import type { RequestBody } from '../../model/turn.ts'
import { checkNames } from '../../wire/fields/check-names.ts'
import { wrongType } from '../../wire/fields/check-value.ts'
import type { ParsedBody } from '../../wire/request-reader.ts'
import type { ExpandedBody } from '../../wire/responses/after-compaction.ts'
import { elementsOfBody } from '../../wire/responses/input-elements.ts'
import {
  expandedTooLarge,
  type InputReference,
  itemNotFound,
  previousDamaged,
  previousNotFinished,
  previousNotFound,
  type Retention,
  readReferences,
} from './input-references.ts'
import { type InputBounds, replaceInput } from './replace-input.ts'

export interface ExpandDeps {
  readonly responses: Pick<StoredResponses, 'context' | 'items' | 'keeps'>
  readonly stateMs: number
  /** Of the expanded body, as of one that came whole. */
  readonly bounds: InputBounds
}

/** What the reader of a request knows of it before its input is whole. */
export interface ExpandOptions {
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
  deps: ExpandDeps,
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
  deps: ExpandDeps,
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

async function contextOf({ responses, stateMs, bounds }: ExpandDeps, account: AccountId, id: string) {
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
  { responses, stateMs, bounds }: ExpandDeps,
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
