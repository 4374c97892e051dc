import { describe, expect, it } from 'vitest'
import { codecs } from '../wires.ts'
import { ANTHROPIC_DIALECTS, anthropicDialect } from './dialects.ts'

describe('a server that speaks Messages', () => {
  it('is a row, and one that has none speaks as others do', () => {
    for (const { name } of ANTHROPIC_DIALECTS) expect(anthropicDialect(name).name).toBe(name)
    for (const name of ['vllm', 'constructor', '']) expect(anthropicDialect(name).name).toBe('generic')
  })

  it('takes no sampling from a version of its interface on, for every model', () => {
    const sampling = (apiVersion: string | undefined) =>
      codecs.dialect('anthropic', 'anthropic', { traits: { sampling: true }, apiVersion }).traits.sampling
    expect([undefined, '2023-06-01', '2026-10-20'].map(sampling)).toEqual([true, true, true])
    expect(['2026-10-21', '2027-01-01'].map(sampling)).toEqual([false, false])
    const dialect = codecs.dialect('anthropic', 'generic', { apiVersion: '2026-10-21' })
    expect(dialect.withoutFields).toContain('temperature')
  })

  it('has no versions where no header names one', () => {
    const { traits } = codecs.dialect('chat', 'openai', { traits: { sampling: true }, apiVersion: '2030-01-01' })
    expect(traits.sampling).toBe(true)
  })
})
