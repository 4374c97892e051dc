import { geminiWords } from './gemini-frames.ts'
import { anthropicWords } from './anthropic-frames.ts'
import { chatWords, type ProviderWords, responsesWords, type Wire } from './provider-frames.ts'

const WORDS_OF: Readonly<Record<Wire, (model: string) => ProviderWords>> = {
  chat: chatWords,
  responses: responsesWords,
  anthropic: anthropicWords,
  gemini: geminiWords,
}

export const wordsOf = (wire: Wire, model: string): ProviderWords => WORDS_OF[wire](model)
