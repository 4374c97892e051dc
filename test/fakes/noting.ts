import type { Talk } from './answers.ts'

/** Notes what it refuses, which a gateway might cure on another lane without a word. */
export function noting(talk: Talk, refused: string[]): Talk {
  let isRefused = false
  return {
    ...talk,
    head(status, headers) {
      isRefused = (status ?? 200) >= 400
      return talk.head(status, headers)
    },
    bytes(body) {
      if (isRefused) refused.push(`${body} ${JSON.stringify(talk.asked).slice(-2000)}`)
      return talk.bytes(body)
    },
  }
}
