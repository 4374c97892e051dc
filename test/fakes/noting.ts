import type { ProviderAnswer } from './answers.ts'

/** Notes what it refuses, which a gateway might cure on another lane without a word. */
export function noting(providerAnswer: ProviderAnswer, refused: string[]): ProviderAnswer {
  let isRefused = false
  return {
    ...providerAnswer,
    head(status, headers) {
      isRefused = (status ?? 200) >= 400
      return providerAnswer.head(status, headers)
    },
    bytes(body) {
      if (isRefused) refused.push(`${body} ${JSON.stringify(providerAnswer.receivedRequest).slice(-2000)}`)
      return providerAnswer.bytes(body)
    },
  }
}
