import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../catalog/catalog.fixture.ts'
import type { Model } from '../catalog/catalog.ts'
import type { Usage } from '../model/usage.ts'
import { resolveEnding } from './ending.ts'

const model: Model = catalogOf(modelDefinition('small', { contextTokens: 1000 })).entries.get('small')!.model

const bounds = { model, inputBound: 172, cachedEstimate: 0, outputBound: 100, headGone: true } as const

const finishedWith = (uncachedInput: number, output = 5) => {
  const usage: Usage = { uncachedInput, cachedInput: 0, cacheWrite: 0, output, reasoning: 0 }
  const answer = { kind: 'stream', unsent: Buffer.alloc(0), head: undefined } as const
  const run = {
    fate: { kind: 'finished', answer, used: { usage, outputBytes: 20 } },
    lane: undefined,
    attempts: [],
    firstContentAt: 0,
  } as const
  const inputSize = { bodyBytes: 100, inputBytes: 80, messages: 1, tools: 0 }
  return resolveEnding(run, { ...bounds, inputSize })
}

describe('the end of a whole answer', () => {
  it('charges and tells what the provider counted', () => {
    const expected = { uncachedInput: 172, output: 5, estimated: false }
    expect(finishedWith(172)).toMatchObject({ kind: 'charge', usage: expected, told: expected })
  })

  it('tells a count that its bytes do not explain, and charges what they do', () => {
    expect(finishedWith(339)).toMatchObject({
      usage: { uncachedInput: 172, output: 5, estimated: true },
      told: { uncachedInput: 339, output: 5, estimated: true },
    })
  })

  it('neither charges nor tells a count that the context of the model cannot hold', () => {
    const bounded = { uncachedInput: 172, estimated: true }
    expect(finishedWith(1001)).toMatchObject({ usage: bounded, told: bounded })
    expect(finishedWith(10, 101)).toMatchObject({ usage: { output: 100 }, told: { output: 100, estimated: true } })
  })
})

describe('an answer that broke off without counts', () => {
  const brokenOff = (cachedEstimate: number) => {
    const problem = { code: 'upstream_error', message: '', param: null, source: 'upstream' } as const
    const run = {
      fate: { kind: 'broken-off', problem, used: { usage: undefined, outputBytes: 20 } },
      lane: undefined,
      attempts: [],
      firstContentAt: 0,
    } as const
    const inputSize = { bodyBytes: 100, inputBytes: 80, messages: 1, tools: 0 }
    return resolveEnding(run, { ...bounds, inputSize, cachedEstimate })
  }

  it('is charged by its bytes, the part that the provider had just seen as cached input', () => {
    expect(brokenOff(0)).toMatchObject({ usage: { uncachedInput: 20, cachedInput: 0, output: 5, estimated: true } })
    expect(brokenOff(15)).toMatchObject({ usage: { uncachedInput: 5, cachedInput: 15, output: 5, estimated: true } })
    expect(brokenOff(99), 'never more than there was').toMatchObject({ usage: { uncachedInput: 0, cachedInput: 20 } })
  })
})
