import type { Fields } from '../../lib/is-object.ts'
import type { Phase, TokenLogprob, ToolKind } from '../../model/event.ts'

/** An item of an answer as it grows: a message, a reasoning, or a call. */
export interface OutputItem {
  readonly id: string
  readonly about:
    | { readonly kind: 'message'; readonly phase: Phase | undefined }
    | { readonly kind: 'reasoning' }
    | {
        readonly kind: 'call'
        readonly tool: ToolKind
        readonly callId: string
        readonly name: string
        readonly namespace: string | undefined
      }
  /** What it says, in order. A call has one part: its arguments, or its input. */
  readonly parts: OutputPart[]
  /** Reasoning that only its provider can read, in our envelope. */
  seal: string | undefined
  /** Nothing more comes. */
  ended: boolean
  /** Bytes of its words that the client has not been sent. */
  unsaidBytes: number
}

export interface OutputPart {
  readonly kind: PartKind
  text: string
  readonly logprobs: TokenLogprob[]
  /** What of the two has not been sent. */
  unsaid: string
  unsaidLogprobs: TokenLogprob[]
}

export type PartKind = 'output_text' | 'refusal' | 'reasoning_text' | 'summary_text' | 'arguments' | 'input'

export type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

/** There is something of it to be shown: a message without words is not worth an item, nor is a reasoning without any. */
export const isWorthShowing = (item: OutputItem): boolean =>
  item.about.kind === 'call' || item.seal !== undefined || item.parts.some(hasWords)

const hasWords = (part: OutputPart): boolean => part.text !== ''

/** Whether a client has asked for sealed reasoning: what it has not asked for is not sent to it. */
export type SealsShown = 'shown' | 'hidden'

export function itemFields(item: OutputItem, status: ItemStatus, seals: SealsShown): Fields {
  const { id, about } = item
  switch (about.kind) {
    case 'message': {
      const phase = about.phase === undefined ? {} : { phase: about.phase }
      const content = item.parts.filter(hasWords).map(partFields)
      return { id, type: 'message', role: 'assistant', status, content, ...phase }
    }
    case 'reasoning':
      return reasoningFields(item, status, seals)
    case 'call': {
      const { callId, name } = about
      const namespace = about.namespace === undefined ? {} : { namespace: about.namespace }
      const said = item.parts.map((part) => part.text).join('')
      return about.tool === 'custom'
        ? { id, type: 'custom_tool_call', call_id: callId, name, ...namespace, input: said, status }
        : { id, type: 'function_call', call_id: callId, name, ...namespace, arguments: said, status }
    }
  }
}

/**
 * A status only where the reasoning was cut: providers that get their own reasoning back refuse members that they did not
 * write, and a client may send its history anywhere.
 */
function reasoningFields({ id, parts, seal }: OutputItem, status: ItemStatus, seals: SealsShown): Fields {
  const partsOf = (kind: PartKind) => parts.filter((part) => part.kind === kind && hasWords(part)).map(partFields)
  const content = partsOf('reasoning_text')
  return {
    id,
    type: 'reasoning',
    summary: partsOf('summary_text'),
    ...(content.length === 0 ? {} : { content }),
    ...(seal === undefined || seals === 'hidden' || status === 'in_progress' ? {} : { encrypted_content: seal }),
    ...(status === 'incomplete' ? { status } : {}),
  }
}

/** A content or summary part with all its words. */
export function partFields({ kind, text, logprobs }: OutputPart): Fields {
  if (kind === 'refusal') return { type: kind, refusal: text }
  if (kind === 'output_text') return { type: kind, text, annotations: [], logprobs: logprobs.map(logprobFields) }
  return { type: kind, text }
}

/** Clients want the bytes as a list, even where a provider tells none. */
export const logprobFields = ({ token, logprob, bytes, top }: TokenLogprob): Fields => ({
  token,
  logprob,
  bytes: bytes ?? [],
  top_logprobs: top.map((other) => ({ token: other.token, logprob: other.logprob, bytes: other.bytes ?? [] })),
})
