import type { Model } from '../catalog/catalog.ts'
import type { Conversation } from '../metering/seen-prefixes.ts'
import type { RequestBody } from '../model/turn.ts'
import type { TurnCall } from './turn-call.ts'

/** What comes before the messages in the prompt that a provider makes of a request. */
const PREAMBLE_FIELDS = ['instructions', 'tools', 'functions', 'response_format', 'text']
const NOTHING = Buffer.alloc(0)

/** The bytes by which a conversation is known again when its next turn comes. */
export function conversationOf(
  { caller, turn, requestId }: Pick<TurnCall, 'caller' | 'turn' | 'requestId'>,
  model: Model,
): Conversation {
  const { body } = turn
  const preamble = PREAMBLE_FIELDS.map((name) => valueBytes(body, name)).filter((value) => value.length > 0)
  return {
    // One that is made short goes without its tools, and nobody's next turn begins with its words.
    owner: `${caller.key} ${model.id}${turn.protocol === 'responses' && turn.compacts ? ` ${requestId}` : ''}`,
    preamble: preamble.length === 0 ? NOTHING : Buffer.concat(preamble),
    messages: withoutEnd(valueBytes(body, turn.protocol === 'chat' ? 'messages' : 'input')),
  }
}

function valueBytes({ bytes, members }: RequestBody, name: string): Buffer {
  const member = members.find((candidate) => candidate.name === name)
  return member === undefined ? NOTHING : bytes.subarray(member.valueStart, member.valueEnd)
}

const SPACE = 0x20

/** Without the bracket that closes the list, and the space before it: the next turn has a comma there. */
function withoutEnd(list: Buffer): Buffer {
  let end = Math.max(list.length - 1, 0)
  while (end > 0 && (list[end - 1] ?? SPACE + 1) <= SPACE) end--
  return list.subarray(0, end)
}
