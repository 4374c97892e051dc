import { describe, expect, it } from 'vitest'
import type { AccountRow } from '../model/ids.ts'
import type { SealBeforeCall } from '../protocols/seals/call-seals.ts'
import { createCallSealMemory } from './seals.ts'

const [ANNA, BERT] = [1 as AccountRow, 2 as AccountRow]
const MINUTE = 60_000_000

const sealed = (data: string): SealBeforeCall[] => [
  { opaque: { wire: 'responses', origin: 'lane', data }, textBetween: false },
]
/** So that only what is sealed counts beside what every entry weighs. */
const KIB = 'x'.repeat(1024)

function memory(bounds: { bytesMax?: number; accountBytesMax?: number } = {}) {
  const clock = { micros: 5 }
  const seals = createCallSealMemory({ nowMicros: () => clock.micros, ...bounds })
  const found = (account: AccountRow, ...callIds: string[]) =>
    callIds.filter((callId) => seals.of(account).find(callId).length > 0)
  return {
    clock,
    seals,
    found,
    keep: (account: AccountRow, callId: string) => seals.of(account).keep(callId, sealed(KIB)),
  }
}

describe('what was sealed in front of a call', () => {
  it('is found only by the account that received the call', () => {
    const { seals } = memory()
    seals.of(ANNA).keep('call_1', sealed('gAAA'))
    expect(seals.of(ANNA).find('call_1')).toEqual(sealed('gAAA'))
    expect(seals.of(BERT).find('call_1')).toEqual([])
    expect(seals.of(ANNA).find('call_2')).toEqual([])
  })

  it('is what was kept last', () => {
    const { seals } = memory()
    for (const data of ['one', 'two']) seals.of(ANNA).keep('call_1', sealed(data))
    expect(seals.of(ANNA).find('call_1')).toEqual(sealed('two'))
  })

  it('is forgotten an hour after it was last asked for', () => {
    const { clock, found, keep } = memory()
    for (const callId of ['used', 'unused']) keep(ANNA, callId)
    clock.micros += 59 * MINUTE
    expect(found(ANNA, 'used')).toEqual(['used'])
    clock.micros += 59 * MINUTE
    expect(found(ANNA, 'used', 'unused')).toEqual(['used'])
    clock.micros += 60 * MINUTE
    expect(found(ANNA, 'used')).toEqual([])
  })

  it('makes room for what comes later, the least recently used first and of its own account', () => {
    const { clock, found, keep } = memory({ accountBytesMax: 8 * 1024 })
    keep(BERT, 'old')
    for (const callId of ['a', 'b', 'c']) keep(ANNA, callId)
    clock.micros += MINUTE
    expect(found(ANNA, 'a')).toEqual(['a'])
    for (const callId of ['d', 'e']) keep(ANNA, callId)
    expect(found(ANNA, 'a', 'b', 'c', 'd', 'e')).toEqual(['a', 'd', 'e'])
    expect(found(BERT, 'old')).toEqual(['old'])
  })

  it('makes room for others where all together have too much', () => {
    const { found, keep } = memory({ bytesMax: 8 * 1024 })
    for (const callId of ['a', 'b']) keep(ANNA, callId)
    for (const callId of ['c', 'd', 'e']) keep(BERT, callId)
    expect(found(ANNA, 'a', 'b')).toEqual([])
    expect(found(BERT, 'c', 'd', 'e')).toEqual(['c', 'd', 'e'])
  })

  it('is not kept where it alone is too much, and pushes out nothing then', () => {
    const { seals, found, keep } = memory({ accountBytesMax: 8 * 1024 })
    keep(ANNA, 'a')
    seals.of(ANNA).keep('huge', sealed(KIB.repeat(8)))
    expect(found(ANNA, 'a', 'huge')).toEqual(['a'])
  })

  it('leaves nothing behind of ten thousand calls but what there is room for', () => {
    const { found, keep } = memory({ bytesMax: 40 * 1024, accountBytesMax: 20 * 1024 })
    for (let at = 0; at < 10_000; at++) keep((at % 7) as AccountRow, `call_${at}`)
    const left = Array.from({ length: 10_000 }, (_, at) => found((at % 7) as AccountRow, `call_${at}`)).flat()
    expect(left.length).toBeGreaterThan(10)
    expect(left.length).toBeLessThan(40)
    expect(left.at(-1)).toBe('call_9999')
  })
})
