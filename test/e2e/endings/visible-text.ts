import { anthropicFrames } from './anthropic-frames.ts'
import { geminiFrames } from './gemini-frames.ts'
import { chatFrames, type ProviderFrames, responsesFrames, type Wire } from './provider-frames.ts'

const WORDS_OF: Readonly<Record<Wire, (model: string) => ProviderFrames>> = {
  chat: chatFrames,
  responses: responsesFrames,
  anthropic: anthropicFrames,
  gemini: geminiFrames,
}

export const wordsOf = (wire: Wire, model: string): ProviderFrames => WORDS_OF[wire](model)
