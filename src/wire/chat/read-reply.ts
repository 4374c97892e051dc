import { type Fields, isObject } from '../../lib/is-object.ts'
import type { Usage } from '../../model/usage.ts'
import type { MintIds } from '../mint-ids.ts'
import { readError, type UpstreamSaid } from '../refusals/provider-error.ts'
import type { ChatDialect } from './dialects.ts'
import { failureInFinish } from './finish-reason.ts'
import { joinChoices } from './join-choices.ts'
import { type MendedChoices, mendChoices } from './mend-choices.ts'
import { createUsageListener } from './read-usage.ts'
import { bytesOfWords } from './said-words.ts'

/** A JSON answer of a provider that speaks Chat, as far as it must be understood to be passed on. */
type ChatReply =
  | {
      readonly kind: 'reply'
      /** Members that had to be mended; the rest goes out as the provider's own bytes. */
      readonly rewritten: ReadonlyMap<string, Buffer>
      readonly usage: Usage | undefined
      readonly outputBytes: number
    }
  | { readonly kind: 'error'; readonly said: UpstreamSaid }
  | { readonly kind: 'invalid'; readonly what: string }

export interface ReplyOptions {
  readonly dialect: ChatDialect
  readonly mint: Pick<MintIds, 'completionId' | 'callId'>
  /** How many choices the client requested. */
  readonly choices: number
  /** The client declared `functions`, and expects its call as `function_call`. */
  readonly functionForm: boolean
}

export function readReply(value: unknown, options: ReplyOptions): ChatReply {
  if (!isObject(value)) return NO_ANSWER
  if (isObject(value.error) || typeof value.error === 'string') return { kind: 'error', said: readError(value.error) }
  const isSplit = options.dialect.splitsChoices && options.choices === 1 && Array.isArray(value.choices)
  const choices = isSplit ? joinChoices(value.choices as unknown[], 'message') : value.choices
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(hasMessage)) return NO_ANSWER
  const failed = choices.flatMap((choice) => failureInFinish(choice) ?? [])[0]
  if (failed) return { kind: 'error', said: failed }
  const usage = createUsageListener({ dialect: options.dialect, choices: choices.length })
  usage.hear(value)
  const mended = mendChoices(choices, { ...options, mintCallId: options.mint.callId })
  if (mended.fault !== undefined) return { kind: 'invalid', what: mended.fault }
  return {
    kind: 'reply',
    rewritten: rewrittenMembers(
      value,
      { ...mended, changed: mended.changed || choices !== value.choices },
      options.mint,
    ),
    usage: usage.usage(),
    outputBytes: mended.choices.reduce((sum, choice) => sum + bytesOfWords(choice.message as Fields), 0),
  }
}

const NO_ANSWER = { kind: 'invalid', what: 'JSON that is not a chat completion' } as const

const hasMessage = (choice: unknown): choice is Fields => isObject(choice) && isObject(choice.message)

function rewrittenMembers(
  value: Fields,
  mended: MendedChoices,
  mint: Pick<MintIds, 'completionId'>,
): Map<string, Buffer> {
  const rewritten = new Map<string, Buffer>()
  if (mended.changed) rewritten.set('choices', Buffer.from(JSON.stringify(mended.choices)))
  if (typeof value.id !== 'string' || value.id === '')
    rewritten.set('id', Buffer.from(JSON.stringify(mint.completionId())))
  if (value.object !== 'chat.completion') rewritten.set('object', Buffer.from('"chat.completion"'))
  return rewritten
}
