import { type Fields, isObject } from '../../lib/types.ts'
import type { TokenLogprob } from '../../model/event.ts'

/** The tokens of a text in a list as both protocols of clients have it; what is not one is not there. */
export function readLogprobs(tokens: unknown): TokenLogprob[] {
  return listOf(tokens).flatMap((entry) => {
    const token = readToken(entry)
    return token === undefined
      ? []
      : [{ ...token, top: listOf(entry.top_logprobs).flatMap((top) => readToken(top) ?? []) }]
  })
}

const listOf = (list: unknown): Fields[] => (Array.isArray(list) ? list.filter(isObject) : [])

function readToken({ token, logprob, bytes }: Fields): Omit<TokenLogprob, 'top'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number')
  return { token, logprob, bytes: isBytes ? bytes : undefined }
}
