import type { TurnEvent } from '../../../src/model/event.ts'
import type { InputUsage, Usage } from '../../../src/model/price.ts'
import type { EventReader } from '../../../src/protocols/shared/codec-types.ts'
import type { StreamState } from '../../../src/protocols/shared/stream-state.ts'

/** Judges what a reader says, event by event and count by count; throws at the first thing that may not be. */
export interface EventChecker {
  /** After every frame: what it gave, what the reader has heard by now, and how long the frame was. */
  check(events: readonly TurnEvent[], reader: Pick<EventReader, 'state' | 'ending'>, frameBytes: number): void
  readonly seen: ReadonlySet<string>
}

class Violation extends Error {
  override readonly name = 'Violation'
}

function insist(holds: boolean, message: string): asserts holds {
  if (!holds) throw new Violation(message)
}

export const isTurnedDown = (error: unknown): boolean => error instanceof Violation

interface Checking {
  readonly calls: { ended: boolean }[]
  readonly ids: Set<string>
  hasTurnEnded: boolean
  events: number
  bytes: number
  textBytes: number
  output: number
  given: number
  readonly seen: Set<string>
}

/** Besides what every frame gives by its length: an end ends what is open. */
const EVENTS_FOR_NOTHING = 8

export function createEventChecker(): EventChecker {
  const checking: Checking = {
    ...{ calls: [], hasTurnEnded: false, events: 0, bytes: 0, textBytes: 0, output: 0, given: 0 },
    ids: new Set(),
    seen: new Set(),
  }
  return {
    seen: checking.seen,
    check(events, { state, ending }, frameBytes) {
      for (const event of events) checkEvent(checking, event)
      checking.events += events.length
      checking.bytes += frameBytes
      insist(checking.events <= checking.bytes + EVENTS_FOR_NOTHING, 'more events than bytes')
      checkCounts(checking, state)
      checkHeard(state)
      const isKnown = checking.hasTurnEnded || ending !== undefined
      insist(state.finished === isKnown, 'finished is said with the event that ends the turn, or while it waits')
    },
  }
}

function checkCounts(checking: Checking, { outputBytes, heldBytes }: StreamState): void {
  insist(Number.isSafeInteger(outputBytes) && Number.isSafeInteger(heldBytes), `counts ${outputBytes}, ${heldBytes}`)
  insist(outputBytes >= checking.output, 'what was produced has become less')
  insist(heldBytes >= 0 && heldBytes <= outputBytes, `${heldBytes} of ${outputBytes} bytes are held`)
  insist(outputBytes - heldBytes >= checking.given, 'what was handed on has become less')
  insist(checking.textBytes <= outputBytes - heldBytes, 'words that the adapter has not counted')
  checking.output = outputBytes
  checking.given = outputBytes - heldBytes
}

function checkHeard({ usage, inputCounted, error, done, invalid, finished }: StreamState): void {
  for (const flag of [done, finished]) insist(typeof flag === 'boolean', 'a flag that is none')
  insist(invalid === undefined || invalid !== '', 'an invalid stream without a reason')
  if (usage !== undefined) checkUsage(usage)
  if (inputCounted !== undefined) checkInput(inputCounted)
  if (error === undefined) return
  insist(typeof error.message === 'string', 'an error without a message')
  insist(error.code === undefined || typeof error.code === 'string', 'the code of an error')
  insist(error.type === undefined || typeof error.type === 'string', 'the type of an error')
}

const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0

function checkInput({ uncachedInput, cachedInput, cacheWrite }: InputUsage): void {
  for (const count of [uncachedInput, cachedInput, cacheWrite]) insist(isCount(count), `a count of input is ${count}`)
  insist(isCount(uncachedInput + cachedInput + cacheWrite), 'the input is no count')
}

function checkUsage(usage: Usage): void {
  checkInput(usage)
  insist(isCount(usage.output) && isCount(usage.reasoning), `counts of output: ${usage.output}, ${usage.reasoning}`)
  insist(usage.reasoning <= usage.output, 'more reasoning than output')
}

function checkEvent(checking: Checking, event: TurnEvent): void {
  insist(!checking.hasTurnEnded || event.type === 'usage', `${event.type} behind the end`)
  checking.seen.add(event.type)
  if ('text' in event) {
    insist(typeof event.text === 'string', `the text of ${event.type} is none`)
    checking.textBytes += Buffer.byteLength(event.text)
  }
  switch (event.type) {
    case 'message-start':
      insist([undefined, 'commentary', 'final_answer'].includes(event.phase), 'an unknown phase')
      return
    case 'text-delta':
      for (const token of event.logprobs ?? []) checkToken([token, ...token.top])
      return
    case 'reasoning-seal':
      checkSeal(event)
      return
    case 'usage':
      checkUsage(event.usage)
      return
    case 'turn-end':
      checkEnd(checking, event)
      return
    case 'tool-call-start':
      checkStart(checking, event)
      return
    case 'tool-call-delta':
    case 'tool-call-end':
      checkCall(checking, event)
      return
    default:
      insist(PLAIN.has(event.type), `unknown event ${event.type}`)
  }
}

const PLAIN = new Set(['refusal-delta', 'reasoning-start', 'reasoning-delta', 'summary-start', 'summary-delta'])

type Of<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>

function checkToken(tokens: NonNullable<Of<'text-delta'>['logprobs']>[number]['top']): void {
  for (const { token, logprob, bytes } of tokens) {
    insist(typeof token === 'string' && Number.isFinite(logprob), `the token ${token} has ${logprob}`)
    insist(bytes === undefined || bytes.every((byte) => typeof byte === 'number'), 'the bytes of a token')
  }
}

function checkSeal({ opaque: { wire, origin, data } }: Of<'reasoning-seal'>): void {
  insist(['chat', 'responses', 'anthropic', 'gemini'].includes(wire) && origin === 'lane', 'whose seal it is')
  insist(typeof data === 'string' && data !== '', 'a seal of nothing')
}

function checkEnd(checking: Checking, { reason }: Of<'turn-end'>): void {
  const { calls } = checking
  checking.hasTurnEnded = true
  insist(['stop', 'length', 'tool-calls', 'content-filter'].includes(reason), `ends for ${reason}`)
  insist(reason !== 'tool-calls' || calls.length > 0, 'it ends to call, and there is no call')
  insist(reason !== 'stop' || calls.length === 0, 'it stops, and there are calls')
  insist(
    calls.every(({ ended }) => ended),
    'it ends while a call is open',
  )
}

function checkStart({ calls, ids }: Checking, { call, callId, name, namespace, tool }: Of<'tool-call-start'>): void {
  insist(call === calls.length, `call ${call} begins after ${calls.length}`)
  insist(typeof callId === 'string' && callId !== '' && !ids.has(callId), 'a call without an id')
  insist(typeof name === 'string' && name !== '', 'a call without a name')
  insist(namespace === undefined || (typeof namespace === 'string' && namespace !== ''), 'a namespace that is none')
  insist(tool === 'function' || tool === 'custom', 'a tool that is none')
  ids.add(callId)
  calls.push({ ended: false })
}

function checkCall({ calls }: Checking, event: Of<'tool-call-delta' | 'tool-call-end'>): void {
  const call = calls[event.call]
  insist(call !== undefined, `${event.type} of a call that was not begun`)
  insist(!call.ended, `${event.type} of a call that is over`)
  if (event.type === 'tool-call-end') call.ended = true
}
