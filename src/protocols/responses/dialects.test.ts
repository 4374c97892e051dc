import { describe, expect, it } from 'vitest'
import { RESPONSES_DIALECTS, responsesDialect } from './dialects.ts'

describe('the dialects of Responses', () => {
  it('are found by name, and a name that nobody knows speaks it plainly', () => {
    for (const dialect of RESPONSES_DIALECTS) {
      for (const name of [dialect.name, ...dialect.aliases]) expect(responsesDialect(name)).toBe(dialect)
    }
    for (const name of ['nobody', '', '__proto__', 'constructor']) expect(responsesDialect(name).name).toBe('generic')
  })

  it('know who takes more than functions, who hides its reasoning and who seals it', () => {
    const namesOf = (has: (dialect: (typeof RESPONSES_DIALECTS)[number]) => boolean) =>
      RESPONSES_DIALECTS.filter(has).map(({ name }) => name)
    expect(namesOf(({ nativeTools }) => nativeTools.length > 0)).toEqual(['openai', 'azure'])
    const hosts = ['github-copilot', 'bedrock']
    expect(namesOf(({ hidesReasoning }) => hidesReasoning)).toEqual(['openai', 'azure', ...hosts, 'vercel-gateway'])
    expect(namesOf(({ sealsReasoning }) => sealsReasoning)).toEqual(['openai', 'azure', 'xai', ...hosts])
    expect(namesOf(({ outputTokensMin }) => outputTokensMin === 16)).toEqual(['openai', 'azure', ...hosts])
  })

  it('say each what they rest on', () => {
    expect(RESPONSES_DIALECTS.filter(({ source }) => source === '')).toEqual([])
  })
})
