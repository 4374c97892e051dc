import { type Fields, isObject } from '../../lib/is-object.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import { wrongType } from '../../wire/fields/check-value.ts'

export interface InputReference {
  /** Its place in the input. */
  readonly index: number
  readonly id: string
}

export type ReadReferences = { readonly kind: 'read'; readonly references: readonly InputReference[] } | Refused

/** Which elements of an input stand for stored items. What is no reference is not judged here. */
export function readReferences(input: readonly unknown[]): ReadReferences {
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
export interface Retention {
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

export const itemNotFound = (retention: Retention, { id, index }: InputReference): Problem =>
  problem(
    'item_not_found',
    `There is no stored item '${shown(id)}' of this account. ${keptFor(retention)} Send the item itself instead of a reference.`,
    { param: `input[${index}]` },
  )

const previousProblem = (message: string): Problem =>
  problem('previous_response_not_found', message, { param: 'previous_response_id' })

export const previousNotFound = (retention: Retention, id: string): Problem =>
  previousProblem(
    `There is no stored response '${shown(id)}' of this account. ${keptFor(retention)} Send the full input instead, without previous_response_id.`,
  )

export const previousNotFinished = (id: string, status: string): Problem =>
  previousProblem(
    status === 'in_progress'
      ? `The response '${shown(id)}' has not finished: wait for its end before you go on from it.`
      : `The response '${shown(id)}' has ended as ${status}, so there is no answer to go on from. Send the full input instead.`,
  )

export const previousDamaged = (id: string): Problem =>
  previousProblem(
    `The response '${shown(id)}' is stored and cannot be read any more. Send the full input instead, without previous_response_id.`,
  )

export const expandedTooLarge = (bytesMax: number): Problem =>
  problem(
    'request_too_large',
    `With everything that it refers to, the request is larger than ${bytesMax} bytes. Start a new conversation, or send a shorter input.`,
  )
