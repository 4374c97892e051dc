import type { Fields } from '../../lib/is-object.ts'
import type { TokenLogprob } from '../../model/event.ts'

/** Null, as chat says it, where there are none. */
export const writeLogprobs = (tokens: readonly TokenLogprob[]): Fields | null =>
  tokens.length === 0
    ? null
    : {
        content: tokens.map((entry) => ({ ...writeToken(entry), top_logprobs: entry.top.map(writeToken) })),
        refusal: null,
      }

const writeToken = ({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): Fields => ({
  token,
  logprob,
  bytes: bytes ?? null,
})
