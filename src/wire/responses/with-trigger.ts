import type { ResponsesRequest } from '../../model/turn.ts'
import { jsonArray } from '../json/json-array.ts'
import { elementsOfBody, inputElements } from './input-elements.ts'

const TRIGGER = Buffer.from('{"type":"compaction_trigger"}')

/** As a stream that asks a provider to make the conversation short: by the last of its items. */
export function withTrigger(turn: ResponsesRequest): ResponsesRequest {
  const rewritten = turn.rewritten.get('input')
  const items = rewritten ? inputElements(rewritten) : elementsOfBody(turn.body)
  return {
    ...turn,
    delivery: 'stream',
    rewritten: new Map([...turn.rewritten, ['input', jsonArray([...items, TRIGGER])]]),
  }
}
