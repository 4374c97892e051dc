import { isObject } from '../../lib/is-object.ts'
import type { TokenLogprob } from '../../model/event.ts'

type Token = Omit<TokenLogprob, 'top'>

/** The tokens that were chosen, each with those that could have been; what is not one is not there. */
export function readLogprobs(result: unknown): TokenLogprob[] {
  if (!isObject(result) || !Array.isArray(result.chosenCandidates)) return []
  const tops = Array.isArray(result.topCandidates) ? result.topCandidates : []
  return result.chosenCandidates.flatMap((chosen, at) => {
    const token = readToken(chosen)
    return token === undefined ? [] : [{ ...token, top: readTop(tops[at]) }]
  })
}

function readTop(top: unknown): Token[] {
  if (!isObject(top) || !Array.isArray(top.candidates)) return []
  return top.candidates.flatMap((candidate) => readToken(candidate) ?? [])
}

/** Its bytes are not told. */
function readToken(entry: unknown): Token | undefined {
  if (!isObject(entry) || typeof entry.token !== 'string' || typeof entry.logProbability !== 'number') return undefined
  return { token: entry.token, logprob: entry.logProbability, bytes: undefined }
}
