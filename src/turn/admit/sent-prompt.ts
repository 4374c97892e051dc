import type { Model } from '../../catalog/catalog.ts'
import type { SentPrompt } from '../../metering/seen-prefixes.ts'
import { dataBytesOf, partEstimate } from '../../metering/size-input.ts'
import type { Caller } from '../../model/caller.ts'
import { memberBytes, type TurnRequest } from '../../model/turn.ts'

/** What comes before the messages in the prompt that a provider makes of a request. */
const PREAMBLE_FIELDS = ['instructions', 'tools', 'functions', 'response_format', 'text']
const NOTHING = Buffer.alloc(0)

/**
 * The bytes by which a conversation is known again when its next turn comes. Undefined of one that is made short: it goes
 * without its tools, so no cache has its beginning, and nobody's next turn begins with its words.
 */
export function sentPromptOf(caller: Caller, request: TurnRequest, model: Model): SentPrompt | undefined {
  if (request.compacts) return undefined
  const { body } = request
  const messages = withoutEnd(memberBytes(body, request.inputField) ?? NOTHING)
  return {
    owner: `${caller.key} ${model.id}`,
    preamble: PREAMBLE_FIELDS.flatMap((name) => memberBytes(body, name) ?? []),
    messages,
    tokens: tokensOf(messages, request.otherInputs, model),
  }
}

/** Rounded down: what is not certainly from the cache is charged as input. */
function tokensOf(messages: Buffer, parts: TurnRequest['otherInputs'], model: Model): number {
  const words = Math.max(messages.length - dataBytesOf(parts), 0)
  return Math.floor(words / model.bytesPerToken) + parts.reduce((sum, part) => sum + partEstimate(part, model), 0)
}

const SPACE = 0x20

/** Without the bracket that closes the list, and the space before it: the next turn has a comma there. */
function withoutEnd(list: Buffer): Buffer {
  let end = Math.max(list.length - 1, 0)
  while (end > 0 && (list[end - 1] ?? SPACE + 1) <= SPACE) end--
  return list.subarray(0, end)
}
