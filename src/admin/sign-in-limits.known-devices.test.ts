import { beforeEach, expect, it } from 'vitest'
import { secureRandom } from '../lib/random-id.ts'
import { createKnownDevices, type KnownDevices } from './sign-in-limits.ts'

const DAY_MS = 86_400_000
let now: number
const open = (fill = 7): KnownDevices =>
  createKnownDevices({ clock: { now: () => now }, random: secureRandom, secret: Buffer.alloc(32, fill) })
let devices: KnownDevices
beforeEach(() => {
  now = Date.UTC(2026, 10, 22)
  devices = open()
})

const ANN = { id: 'person_ann', password_changed_at: 1 }
const BEN = { id: 'person_ben', password_changed_at: 1 }

it('a browser is known only for people who signed in from it', () => {
  const tokens = devices.remember(undefined, ANN)
  expect(devices.find(tokens, ANN)).toMatch(/^[\w-]{22}$/)
  expect([devices.find(tokens, BEN), devices.find(tokens, undefined), devices.find(undefined, ANN)]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
})

it('up to four people of a shared browser are known', () => {
  const people = Array.from({ length: 6 }, (_, index) => ({ id: `person_${index}`, password_changed_at: 1 }))
  let tokens: string | undefined
  for (const person of people) tokens = devices.remember(tokens, person)
  expect(people.map((person) => devices.find(tokens, person) !== undefined)).toEqual([
    ...[false, false, true, true, true, true],
  ])
  expect(tokens!.length).toBeLessThan(400)
})

it('a browser stays the same device, so a sign-in grants no new tries', () => {
  const first = devices.remember(undefined, ANN)
  now += DAY_MS
  const second = devices.remember(first, ANN)
  expect(second).not.toBe(first)
  expect(devices.find(second, ANN)).toBe(devices.find(first, ANN))
  expect(devices.find(devices.remember(undefined, ANN), ANN)).not.toBe(devices.find(first, ANN))
})

it('a new password makes every device unknown', () => {
  const tokens = devices.remember(undefined, ANN)
  expect(devices.find(tokens, { ...ANN, password_changed_at: 2 })).toBeUndefined()
})

it('a device is forgotten after 180 days without a sign-in', () => {
  const tokens = devices.remember(undefined, ANN)
  now += 180 * DAY_MS - 1
  expect(devices.find(tokens, ANN)).toBeDefined()
  now += 1
  expect(devices.find(tokens, ANN)).toBeUndefined()
})

it('tokens cannot be forged', () => {
  const tokens = devices.remember(undefined, ANN)
  const [device, issued, mac] = tokens.split('.') as [string, string, string]
  const other = (text: string) => (text.startsWith('A') ? 'B' : 'A') + text.slice(1)
  const forged = [
    [other(device), issued, mac],
    [device, other(issued).toLowerCase(), mac],
    [device, issued, other(mac)],
    [device, issued, ''],
    [device, issued],
  ].map((parts) => parts.join('.'))
  for (const text of [...forged, '', '~', '~~~~', 'x'.repeat(10_000), `${tokens}x`]) {
    expect(devices.find(text, ANN)).toBeUndefined()
  }
  expect(open(8).find(tokens, ANN)).toBeUndefined()
})

it('only four tokens of a cookie are checked', () => {
  const tokens = devices.remember(undefined, ANN)
  const junk = devices.remember(undefined, BEN)
  expect(devices.find([...Array(3).fill(junk), tokens].join('~'), ANN)).toBeDefined()
  expect(devices.find([...Array(4).fill(junk), tokens].join('~'), ANN)).toBeUndefined()
})
