import { expect, it } from 'vitest'
import { chatDialect } from '../chat/dialects.ts'
import { responsesDialect } from '../responses/dialects.ts'
import { opaqueForLane } from './call-seals.ts'

const sealed = { wire: 'responses', origin: 'here', data: 'gAAA' } as const
const thought = { wire: 'chat', origin: 'here', data: 'Hm' } as const
const [openai, generic] = [responsesDialect('openai'), responsesDialect('generic')]
const [deepseek, plain] = [chatDialect('deepseek'), chatDialect('generic')]

it('a seal goes to the lane that made it, and to no other', () => {
  expect(opaqueForLane(sealed, { origin: 'here', dialect: openai })).toBe('gAAA')
  // It has sealed it, whatever its dialect says.
  expect(opaqueForLane(sealed, { origin: 'here', dialect: generic })).toBe('gAAA')
  expect(opaqueForLane(sealed, { origin: 'elsewhere', dialect: openai })).toBeUndefined()
  expect(opaqueForLane({ ...sealed, wire: 'anthropic' }, { origin: 'here', dialect: openai })).toBeUndefined()
  expect(opaqueForLane(sealed, { origin: 'here', dialect: deepseek })).toBeUndefined()
})

it('the reasoning of a chat lane goes to every lane that wants reasoning back', () => {
  expect(opaqueForLane(thought, { origin: 'elsewhere', dialect: deepseek })).toBe('Hm')
  expect(opaqueForLane(thought, { origin: 'here', dialect: plain })).toBeUndefined()
  expect(opaqueForLane(thought, { origin: 'here', dialect: openai })).toBeUndefined()
})

it('nothing sealed is nothing to give', () => {
  expect(opaqueForLane(undefined, { origin: 'here', dialect: openai })).toBeUndefined()
})
