import { isObject } from '../../lib/is-object.ts'
import { isError, readError } from '../refusals/provider-error.ts'
import { type CarriedReply, NOTHING_CARRIED } from '../voice.ts'
import { createStepReader } from './read-steps.ts'
import { createSaidItems } from './said-items.ts'
import type { ItemStep, StepSource } from './spoken-item.ts'
import { stateAtEnd, type Telling, type ToldAnswer } from './told-answer.ts'

/** Says an answer as JSON: its client is told nothing before the whole. */
export const tellReply = (source: StepSource, telling: Telling): ToldAnswer => tellItems(source, telling)

interface ToldItems extends ToldAnswer {
  follow(steps: readonly ItemStep[]): void
}

function tellItems(source: StepSource, telling: Telling): ToldItems {
  const said = createSaidItems(telling)
  const { heard } = source
  const follow = (steps: readonly ItemStep[]): void => {
    for (const step of steps) said.follow(step)
    const ending = source.ending()
    if (ending !== undefined) said.end(ending.kind)
    heard.heldBytes = heard.outputBytes
  }
  return {
    heard,
    follow,
    read(frame) {
      follow(source.read(frame))
      return NOTHING_CARRIED
    },
    readAlike(frames) {
      if (source.readAlike(frames) === undefined) return undefined
      heard.heldBytes = heard.outputBytes
      return NOTHING_CARRIED
    },
    end(settled) {
      const state = stateAtEnd(source, said.items(), settled, telling)
      return { bytes: Buffer.from(telling.framing.responseJson(state)), state }
    },
    openItems: said.items,
    storedItems: said.storedItems,
    emptyDelta: () => undefined,
  }
}

type ReadReply = { readonly kind: 'reply'; readonly answer: ToldAnswer } | Exclude<CarriedReply, { kind: 'reply' }>

/** The same of a lane's answer that is JSON itself: read as a stream's end is. */
export function tellWhole(value: unknown, origin: string, telling: Telling): ReadReply {
  if (!isObject(value)) return NO_RESPONSE
  if (isError(value.error)) return { kind: 'error', said: readError(value.error) }
  if (!Array.isArray(value.output) && value.status === undefined) return NO_RESPONSE
  const reader = createStepReader(origin)
  const answer = tellItems(reader, telling)
  // A server that does not say how it ended has ended: a JSON answer is whole.
  answer.follow(reader.readResponse(typeof value.status === 'string' ? value : { ...value, status: 'completed' }))
  if (reader.heard.error) return { kind: 'error', said: reader.heard.error }
  return reader.ending() === undefined ? NO_RESPONSE : { kind: 'reply', answer }
}

const NO_RESPONSE = { kind: 'invalid', what: 'JSON that is not a response' } as const
