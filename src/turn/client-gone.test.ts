import { describe, expect, it } from 'vitest'
import { catalogOf, modelDefinition } from '../catalog/catalog.fixture.ts'
import type { OnClientGone } from '../catalog/catalog.ts'
import { effortOf } from '../model/effort.ts'
import { chatDialect } from '../wire/chat/dialects.ts'
import { whenClientGoes } from './client-gone.ts'

function meant(dialect: string, onClientGone?: OnClientGone, over: { efforts?: string[]; effort?: string } = {}) {
  const efforts = over.efforts?.map(effortOf)
  const model = catalogOf(modelDefinition('m', { efforts })).entries.get('m')!.model
  const lane = { ...model.lanes[0]!, upstream: { ...model.lanes[0]!.upstream, onClientGone } }
  const effort = over.effort === undefined ? undefined : effortOf(over.effort)
  return whenClientGoes(lane, chatDialect(dialect), { model, effort })
}

describe('when its client goes, a provider', () => {
  it.each(['generic', 'deepseek', 'vllm', 'demo'])('that sends its reasoning is cut (%s)', (dialect) => {
    expect(meant(dialect)).toBe('cut')
  })

  it.each(['openai', 'azure'])('that counts reasoning without sending it is read on (%s)', (dialect) => {
    expect(meant(dialect)).toBe('drain')
    expect(meant(dialect, undefined, { efforts: ['low'], effort: 'low' })).toBe('drain')
  })

  it('is cut when there is no reasoning to hide', () => {
    expect(meant('openai', undefined, { efforts: [] })).toBe('cut')
    expect(meant('openai', undefined, { effort: 'none' })).toBe('cut')
  })

  it.each(['generic', 'openai'])('does what the operator has written, whatever it hides (%s)', (dialect) => {
    expect(meant(dialect, 'drain', { efforts: [] })).toBe('drain')
    expect([meant(dialect, 'cancel_estimate'), meant(dialect, 'cancel_free')]).toEqual(['cut', 'cut'])
  })
})
