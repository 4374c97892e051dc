import { type Fields, isObject } from '../../lib/is-object.ts'
import type { TokenLogprob } from '../../model/event.ts'

type Token = Omit<TokenLogprob, 'top'>

/** The tokens of a text as chat tells them; what is not one is not there. */
export function readLogprobs(logprobs: unknown): TokenLogprob[] {
  if (!isObject(logprobs) || !Array.isArray(logprobs.content)) return []
  return logprobs.content.flatMap((entry) => {
    const token = readToken(entry)
    if (!token) return []
    const top = (entry as Fields).top_logprobs
    return [{ ...token, top: Array.isArray(top) ? top.flatMap((other) => readToken(other) ?? []) : [] }]
  })
}

function readToken(entry: unknown): Token | undefined {
  if (!isObject(entry) || typeof entry.token !== 'string' || typeof entry.logprob !== 'number') return undefined
  const bytes = Array.isArray(entry.bytes) && entry.bytes.every((byte) => typeof byte === 'number')
  return { token: entry.token, logprob: entry.logprob, bytes: bytes ? (entry.bytes as number[]) : undefined }
}

/** Null, as chat says it, where there are none. */
export const writeLogprobs = (tokens: readonly TokenLogprob[]): Fields | null =>
  tokens.length === 0
    ? null
    : {
        content: tokens.map((entry) => ({ ...writeToken(entry), top_logprobs: entry.top.map(writeToken) })),
        refusal: null,
      }

const writeToken = ({ token, logprob, bytes }: Token): Fields => ({ token, logprob, bytes: bytes ?? null })
