import { type Fields, isObject } from '../../lib/is-object.ts'
import { createTurnstile } from '../../lib/take-turns.ts'
import type { Compacted } from '../../model/compaction.ts'
import type { Opaque } from '../../model/event.ts'
import { type Problem, problem, type Refused, refused } from '../../model/problem.ts'
import type { ResponsesRequest } from '../../model/turn.ts'
import { checkNames } from '../../wire/fields/check-names.ts'
import type { ParsedBody } from '../../wire/request-reader.ts'
import { type ExpandedBody, itemsAfterCompaction } from '../../wire/responses/after-compaction.ts'
import type { Envelopes } from '../envelopes.ts'
import { type InputBounds, replaceInput } from './replace-input.ts'

export type OpenedInput =
  | ({ readonly kind: 'opened'; readonly body: ParsedBody; readonly hasTrigger: boolean } & Pick<
      ResponsesRequest,
      'sealed' | 'boundTo'
    >)
  | Refused

const INPUT = new Set(['input'])
/** Opened without a pause: a few milliseconds of the smallest envelopes, or of the largest. */
const OPENED_IN_A_ROW = 64
const OPENED_CHARACTERS_IN_A_ROW = 1024 * 1024

const passTurnstile = createTurnstile()

/**
 * Opens what the client has carried for us: sealed reasoning, which its provider gets back, and the conversation made
 * short, of which the summary is put in its place. What is malformed is not judged here.
 */
export async function openInput(
  bounds: InputBounds,
  envelopes: Envelopes,
  expanded: ExpandedBody,
): Promise<OpenedInput> {
  const { body } = expanded
  const { input } = body.value
  if (!Array.isArray(input)) return { kind: 'opened', body, hasTrigger: false, ...NOTHING_SEALED }
  const opened = await openSealed(envelopes, input)
  if (opened.kind === 'refused') return opened
  const { sealed, compactions } = opened
  const hasTrigger = isObject(input.at(-1)) && input.at(-1).type === 'compaction_trigger'
  const boundTo = boundToBy(compactions)
  if (!hasTrigger && compactions.size === 0) return { kind: 'opened', body, hasTrigger, sealed, boundTo }
  const twice = checkNames(body.members, INPUT)
  if (twice) return refused(twice)
  const items = itemsAfterCompaction(expanded, compactions)
  const replaced = await replaceInput(bounds, body, hasTrigger ? items.slice(0, -1) : items)
  if (replaced.kind === 'refused') return replaced
  return { kind: 'opened', body: replaced.body, hasTrigger, sealed, boundTo }
}

const NOTHING_SEALED = { sealed: new Map<string, Opaque>(), boundTo: undefined }

interface OpenedItems {
  readonly kind: 'opened'
  readonly sealed: Map<string, Opaque>
  /** By their places in the input. */
  readonly compactions: Map<number, Compacted>
}

async function openSealed(envelopes: Envelopes, input: readonly unknown[]): Promise<OpenedItems | Refused> {
  const opened: OpenedItems = { kind: 'opened', sealed: new Map(), compactions: new Map() }
  let count = 0
  let characters = 0
  for (const [index, item] of input.entries()) {
    if (!isObject(item) || typeof item.encrypted_content !== 'string') continue
    // Clients send reasoning back that was never sealed; a conversation that is not in its item is lost.
    if (item.encrypted_content === '' && item.type !== 'compaction') continue
    if (!openItem(envelopes, opened, index, item)) return refused(notOurs(`input[${index}].encrypted_content`))
    count += 1
    characters += item.encrypted_content.length
    if (count < OPENED_IN_A_ROW && characters < OPENED_CHARACTERS_IN_A_ROW) continue
    await passTurnstile()
    count = 0
    characters = 0
  }
  return opened
}

/** False where it does not open. */
function openItem(envelopes: Envelopes, { sealed, compactions }: OpenedItems, index: number, item: Fields): boolean {
  const envelope = item.encrypted_content as string
  if (item.type === 'reasoning') {
    const opaque = sealed.get(envelope) ?? envelopes.openReasoning(envelope)
    if (opaque !== undefined) sealed.set(envelope, opaque)
    return opaque !== undefined
  }
  if (item.type !== 'compaction') return true
  const compacted = envelopes.openCompaction(envelope)
  if (compacted !== undefined) compactions.set(index, compacted)
  return compacted !== undefined
}

const notOurs = (param: string): Problem =>
  problem(
    'invalid_encrypted_content',
    `\`${param}\` cannot be opened: it was made by another service or for another account, or was changed on the way. Send back what this gateway gave you, unchanged, or leave the item out.`,
    { param },
  )

/** Only the last one goes to a model. */
function boundToBy(compactions: ReadonlyMap<number, Compacted>): string | undefined {
  const last = [...compactions.values()].at(-1)
  return last?.kind === 'native' ? last.opaque.origin : undefined
}
