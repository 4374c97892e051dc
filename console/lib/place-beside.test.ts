import { describe, expect, it } from 'vitest'
import { type Place, placeBeside } from './place-beside.ts'

const view = { width: 400, height: 300 }
const size = { width: 100, height: 80 }

function place(left: number, top: number, at: Place, direction: 'ltr' | 'rtl' = 'ltr') {
  return placeBeside({ beside: { left, top, width: 40, height: 20 }, size, view, direction }, at)
}

describe('what opens beside something', () => {
  it('stands on the side that was asked for, along the edge that was asked for', () => {
    expect(place(200, 100, { side: 'bottom', align: 'start' })).toMatchObject({ left: 200, top: 126 })
    expect(place(200, 100, { side: 'bottom', align: 'end' })).toMatchObject({ left: 140, top: 126 })
    expect(place(200, 100, { side: 'top', align: 'center' })).toMatchObject({ left: 170, top: 14 })
  })

  it('mirrors its edges where people read from right to left', () => {
    expect(place(200, 100, { side: 'bottom', align: 'start' }, 'rtl').left).toBe(140)
    expect(place(200, 100, { side: 'bottom', align: 'end' }, 'rtl').left).toBe(200)
  })

  it('goes to the other side where that has more room, and stays where neither has', () => {
    expect(place(200, 250, { side: 'bottom', align: 'start' }).top).toBe(164)
    expect(place(200, 10, { side: 'top', align: 'start' }).top).toBe(36)
    const high = { beside: { left: 0, top: 140, width: 40, height: 20 }, size: { width: 100, height: 500 }, view }
    expect(placeBeside({ ...high, direction: 'ltr' }, { side: 'top', align: 'start' })).toEqual({
      ...{ left: 8, top: 8, heightMax: 126 },
    })
  })

  it('never leaves the window', () => {
    expect(place(380, 100, { side: 'bottom', align: 'start' }).left).toBe(292)
    expect(place(-20, 100, { side: 'bottom', align: 'end' }).left).toBe(8)
  })
})
