import type { Fields } from '../../lib/is-object.ts'
import type { SettledCharge } from '../../model/ending.ts'
import type { Carrier } from '../voice.ts'
import type { Framing } from './framing.ts'
import type { ResponseState } from './response-object.ts'
import type { HowSaid } from './said-items.ts'
import type { StepSource } from './spoken-item.ts'
import type { ItemStatus } from './write-item.ts'
import { writeUsage } from './write-usage.ts'

/** An answer on its way to a Responses client. */
export interface ToldAnswer extends AnswerSoFar, Pick<Carrier, 'read' | 'readAlike' | 'heard'> {
  /** The last bytes, and how the response stands with them. Only after `heard.finished`. */
  end(settled: SettledCharge): { readonly bytes: Buffer; readonly state: ResponseState }
}

/** What a voice must know of an answer to speak in its pauses and when it fails. */
export interface AnswerSoFar {
  /** The items that the client has been told of; one that is still open in this status. */
  openItems(openAs: ItemStatus): readonly Fields[]
  /** The same with all that is sealed in them, whether the client has asked for that or not: for who stores the response. */
  storedItems(): readonly Fields[]
  /** An empty piece of what is being said, which breaks a silence; undefined while nothing is. */
  emptyDelta(): Buffer | undefined
}

export interface Telling extends HowSaid {
  readonly framing: Framing
  /** The time of the end, in seconds. */
  readonly nowSeconds: () => number
  /** It could not be stored, whatever was asked for. */
  readonly isUnstored: () => boolean
}

/** How a response ends for the client. */
export function stateAtEnd(
  source: Pick<StepSource, 'ending'>,
  output: readonly Fields[],
  settled: SettledCharge,
  { nowSeconds, isUnstored }: Pick<Telling, 'nowSeconds' | 'isUnstored'>,
): ResponseState {
  const ending = source.ending()
  if (ending === undefined) throw new Error('an answer cannot be closed before its reader has told its end')
  const state = { output, usage: writeUsage(settled), ...(isUnstored() ? { unstored: true as const } : {}) }
  return ending.kind === 'incomplete'
    ? { ...state, status: 'incomplete', incompleteReason: ending.reason }
    : { ...state, status: 'completed', completedAt: nowSeconds() }
}
