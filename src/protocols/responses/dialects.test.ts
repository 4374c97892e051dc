import { describe, expect, it } from 'vitest'
import { RESPONSES_DIALECTS, responsesDialect } from './dialects.ts'

describe('the dialects of Responses', () => {
  it('are found by name, and an unknown name gets the generic dialect', () => {
    for (const dialect of RESPONSES_DIALECTS) {
      for (const name of [dialect.name, ...dialect.aliases]) expect(responsesDialect(name)).toBe(dialect)
    }
    for (const name of ['nobody', '', '__proto__', 'constructor']) expect(responsesDialect(name).name).toBe('generic')
  })

  it('list the servers with native tools, hidden reasoning and sealed reasoning', () => {
    const namesOf = (has: (dialect: (typeof RESPONSES_DIALECTS)[number]) => boolean) =>
      RESPONSES_DIALECTS.filter(has).map(({ name }) => name)
    expect(namesOf(({ nativeTools }) => nativeTools.length > 0)).toEqual(['openai', 'azure'])
    const hosts = ['github-copilot', 'bedrock']
    expect(namesOf(({ hidesReasoning }) => hidesReasoning)).toEqual(['openai', 'azure', ...hosts, 'vercel-gateway'])
    expect(namesOf(({ sealsReasoning }) => sealsReasoning)).toEqual(['openai', 'azure', 'xai', ...hosts])
    expect(namesOf(({ outputTokensMin }) => outputTokensMin === 16)).toEqual(['openai', 'azure', ...hosts])
  })

  it('each name their source', () => {
    expect(RESPONSES_DIALECTS.filter(({ source }) => source === '')).toEqual([])
  })
})
