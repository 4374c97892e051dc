import { describe, expect, it } from 'vitest'
import { joinBuffers } from './stream.ts'

describe('joinBuffers', () => {
  const whole = Buffer.from('one read of a socket')

  it('gives neighbours in memory back as the piece that they are', () => {
    const joined = joinBuffers([whole.subarray(4, 8), whole.subarray(8, 8), whole.subarray(8, 11)])
    expect(String(joined)).toBe('read of')
    expect([joined.buffer, joined.byteOffset]).toEqual([whole.buffer, whole.byteOffset + 4])
  })

  it('copies what lies apart, in another order or in another place', () => {
    expect(String(joinBuffers([whole.subarray(0, 3), whole.subarray(8, 11)]))).toBe('one of')
    expect(String(joinBuffers([whole.subarray(4, 8), whole.subarray(0, 4)]))).toBe('readone ')
    expect(String(joinBuffers([whole, Buffer.from('!')]))).toBe(`${whole}!`)
  })

  it('gives a lone piece back itself, and of none nothing', () => {
    expect(joinBuffers([whole])).toBe(whole)
    expect(joinBuffers([]).length).toBe(0)
  })
})
