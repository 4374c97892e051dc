import { createHmac, timingSafeEqual } from 'node:crypto'
import type { StoredPerson } from '../db/people.ts'
import type { Clock } from '../lib/clock.ts'
import type { RandomBytes } from '../lib/random-id.ts'

type Owner = Pick<StoredPerson, 'id' | 'password_changed_at'>

/**
 * Browsers that have signed in before, so that guesses of strangers do not lock them out. A browser keeps a token for each
 * of its people; the server keeps nothing. A token lets nobody in: it only counts wrong passwords apart from those of
 * strangers. A new password voids it. The idea is OWASP's: "Slow Down Online Guessing Attacks with Device Cookies".
 */
export interface KnownDevices {
  /** The device that these tokens prove for this person; undefined for none. */
  find(tokens: string | undefined, owner: Owner | undefined): string | undefined
  /** The tokens that the browser shall keep from now on. */
  remember(tokens: string | undefined, owner: Owner): string
}

interface KnownDevicesDeps {
  readonly clock: Pick<Clock, 'now'>
  readonly random: RandomBytes
  readonly secret: Uint8Array
}

export const DEVICE_MS = 180 * 86_400_000
/** People who share one browser. Beyond it the one who has not signed in for longest is forgotten. */
const TOKENS_MAX = 4
const NOBODY: Owner = { id: '', password_changed_at: 0 }
const TOKEN = /^([\w-]{22})\.([0-9a-z]{1,11})\.([\w-]{43})$/

interface Token {
  readonly text: string
  readonly device: string
  readonly issued: string
  readonly mac: string
}

export function createKnownDevices({ clock, random, secret }: KnownDevicesDeps): KnownDevices {
  const macOf = ({ id, password_changed_at }: Owner, device: string, issued: string) =>
    createHmac('sha256', secret).update(`${id} ${password_changed_at} ${device} ${issued}`).digest('base64url')
  const isOf = (owner: Owner, { device, issued, mac }: Token): boolean => {
    const isRight = timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(owner, device, issued)))
    return isRight && clock.now() - Number.parseInt(issued, 36) < DEVICE_MS
  }
  const find = (tokens: string | undefined, owner: Owner | undefined) => {
    // The same work for an e-mail that nobody has.
    const found = readTokens(tokens).filter((token) => isOf(owner ?? NOBODY, token))
    return owner === undefined ? undefined : found[0]?.device
  }
  return {
    find,
    remember(tokens, owner) {
      // A browser that is known stays the same device: else each sign-in would bring new tries with it.
      const device = find(tokens, owner) ?? Buffer.from(random(16)).toString('base64url')
      const issued = clock.now().toString(36)
      const others = readTokens(tokens).filter((token) => !isOf(owner, token))
      const kept = others.slice(0, TOKENS_MAX - 1).map(({ text }) => text)
      return [`${device}.${issued}.${macOf(owner, device, issued)}`, ...kept].join('~')
    },
  }
}

const readTokens = (tokens = ''): Token[] =>
  tokens.split('~', TOKENS_MAX).flatMap((text) => {
    const [, device, issued, mac] = TOKEN.exec(text) ?? []
    return device === undefined || issued === undefined || mac === undefined ? [] : [{ text, device, issued, mac }]
  })
