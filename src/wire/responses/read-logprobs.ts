import { type Fields, isObject } from '../../lib/is-object.ts'
import type { TokenLogprob } from '../../model/event.ts'

/** Log probabilities of a delta; undefined when there are none, or none that make sense. */
export function readLogprobs(logprobs: unknown): readonly TokenLogprob[] | undefined {
  if (!Array.isArray(logprobs) || logprobs.length === 0) return undefined
  const read = logprobs.filter(isObject).flatMap((entry) => {
    const token = readToken(entry)
    if (token === undefined) return []
    const top = Array.isArray(entry.top_logprobs) ? entry.top_logprobs.filter(isObject) : []
    return [{ ...token, top: top.flatMap((other) => readToken(other) ?? []) }]
  })
  return read.length === 0 ? undefined : read
}

function readToken({ token, logprob, bytes }: Fields): Omit<TokenLogprob, 'top'> | undefined {
  if (typeof token !== 'string' || typeof logprob !== 'number') return undefined
  const isBytes = Array.isArray(bytes) && bytes.every((byte) => typeof byte === 'number')
  return { token, logprob, bytes: isBytes ? bytes : undefined }
}
