import { geminiWords } from './contents-words.ts'
import { anthropicWords } from './messages-words.ts'
import { chatWords, type ProviderWords, responsesWords, type Wire } from './provider-words.ts'

const WORDS_OF: Readonly<Record<Wire, (model: string) => ProviderWords>> = {
  chat: chatWords,
  responses: responsesWords,
  anthropic: anthropicWords,
  gemini: geminiWords,
}

export const wordsOf = (wire: Wire, model: string): ProviderWords => WORDS_OF[wire](model)
