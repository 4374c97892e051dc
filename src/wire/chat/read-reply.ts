import type { JsonMember } from '../../model/turn.ts'
import type { Usage } from '../../model/usage.ts'
import { isObject } from './check-fields.ts'
import { readUsage } from './read-usage.ts'
import { readError, type UpstreamSaid } from './tap.ts'

/** A JSON answer of a provider that speaks Chat, as far as it must be understood to be passed on. */
export type ChatReply =
  | {
      readonly kind: 'reply'
      readonly body: ReplyBody
      readonly usage: Usage | undefined
      readonly outputBytes: number
    }
  | { readonly kind: 'error'; readonly said: UpstreamSaid }
  | { readonly kind: 'garbled' }

export interface ReplyBody {
  readonly bytes: Buffer
  readonly members: readonly JsonMember[]
}

export function readReply(body: ReplyBody, value: unknown): ChatReply {
  if (!isObject(value)) return { kind: 'garbled' }
  if (isObject(value.error) || typeof value.error === 'string') return { kind: 'error', said: readError(value.error) }
  const { choices } = value
  if (!Array.isArray(choices) || !choices.every(isFinishedChoice)) return { kind: 'garbled' }
  return {
    kind: 'reply',
    body,
    usage: readUsage(value.usage),
    outputBytes: choices.reduce((sum, choice) => sum + bytesOf(choice), 0),
  }
}

const isFinishedChoice = (choice: unknown): choice is Record<string, unknown> =>
  isObject(choice) && isObject(choice.message) && typeof choice.finish_reason === 'string'

/** Everything the provider wrote, for an estimate where it reports no usage. */
function bytesOf(choice: Record<string, unknown>): number {
  const message = choice.message as Record<string, unknown>
  const words = [message.content, message.reasoning_content, message.reasoning, message.refusal]
  const text = words.reduce<number>((sum, word) => sum + (typeof word === 'string' ? Buffer.byteLength(word) : 0), 0)
  return text + (message.tool_calls ? Buffer.byteLength(JSON.stringify(message.tool_calls)) : 0)
}
