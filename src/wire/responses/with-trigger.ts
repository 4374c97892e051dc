import type { ResponsesRequest } from '../../model/turn.ts'
import { arrayElements } from '../json/array-elements.ts'
import { jsonArray } from '../json/json-array.ts'

const TRIGGER = Buffer.from('{"type":"compaction_trigger"}')
const OPENING_BRACKET = 0x5b

/** As a stream that asks a provider to make the conversation short: by the last of its items. */
export function withTrigger(turn: ResponsesRequest): ResponsesRequest {
  const { bytes, members } = turn.body
  const member = members.find(({ name }) => name === 'input')
  const input = turn.rewritten.get('input') ?? (member && bytes.subarray(member.valueStart, member.valueEnd))
  const items = jsonArray([...(input ? itemsOf(input) : []), TRIGGER])
  return { ...turn, delivery: 'stream', rewritten: new Map([...turn.rewritten, ['input', items]]) }
}

/** A plain text is one message of its user. */
const itemsOf = (input: Buffer): Buffer[] =>
  input[0] === OPENING_BRACKET
    ? arrayElements(input)
    : [Buffer.concat([Buffer.from('{"type":"message","role":"user","content":'), input, Buffer.from('}')])]
