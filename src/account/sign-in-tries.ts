import { hash } from 'node:crypto'
import { isIP } from 'node:net'
import type { Clock } from '../lib/clock.ts'
import { correctRate, type RateRule, takeFromRate } from '../lib/gcra.ts'
import { createLruMap } from '../lib/lru-map.ts'
import { networkOf } from '../lib/network-of.ts'

/** Five tries in a quarter of an hour for one name, twenty for one network, then one by one as they are earned back. */
const FOR_NAME: RateRule = { perMinute: 5 / 15, burst: 5 }
const FOR_ADDRESS: RateRule = { perMinute: 20 / 15, burst: 20 }

/** About two hundred bytes each. To push one name out, more networks are needed than an attacker has at hand. */
const NAMES_MAX = 50_000
const NETWORKS_MAX = 50_000

export interface SignInTries {
  /** Taken before a password is looked at, so that a hundred at the same moment are not a hundred tries. */
  take(who: Trier): { readonly kind: 'taken' } | Lockout
  /** The password was right: whoever knows it has all tries of that name again. */
  forgive(who: Trier): void
  /** Nothing was looked at: it does not count. */
  giveBack(who: Trier): void
}

/** `name` is an e-mail, known or not, or a session whose password is asked again. */
export interface Trier {
  readonly name: string
  readonly address: string | undefined
}

export interface Lockout {
  readonly kind: 'locked'
  /** Whole seconds until the next try. */
  readonly retryAfter: number
  readonly of: 'name' | 'address'
  /** The first refusal since there was anything left: the one worth writing down. */
  readonly first: boolean
}

interface Standing {
  readonly reachedAt: number
  /** Whether this lockout has been told of; a new one begins when everything was earned back. */
  readonly told: boolean
}

export function createSignInTries({ clock }: { readonly clock: Pick<Clock, 'ticks'> }): SignInTries {
  const names = createCounter(FOR_NAME, NAMES_MAX, 'name', clock)
  const addresses = createCounter(FOR_ADDRESS, NETWORKS_MAX, 'address', clock)
  return {
    take({ name, address }) {
      // The address first: one that floods must not fill the memory of names.
      const network = address === undefined ? undefined : networkOfAny(address)
      const taken = network === undefined ? undefined : addresses.take(network)
      return taken?.kind === 'locked' ? taken : names.take(nameOf(name))
    },
    forgive({ name, address }) {
      names.forget(nameOf(name))
      if (address !== undefined) addresses.giveBack(networkOfAny(address))
    },
    giveBack({ name, address }) {
      names.giveBack(nameOf(name))
      if (address !== undefined) addresses.giveBack(networkOfAny(address))
    },
  }
}

/** All are of one length, however long what was typed is. */
const nameOf = (name: string): string => hash('sha256', name, 'base64url')

const networkOfAny = (address: string): string => (isIP(address) === 0 ? 'unknown' : networkOf(address))

function createCounter(rule: RateRule, sizeMax: number, of: Lockout['of'], clock: Pick<Clock, 'ticks'>) {
  const standings = createLruMap<string, Standing>(sizeMax)
  return {
    take(key: string): { kind: 'taken' } | Lockout {
      const now = clock.ticks()
      const standing = standings.get(key)
      const fresh = standing === undefined || standing.reachedAt <= now
      const decision = takeFromRate(rule, standing?.reachedAt ?? now, 1, now)
      if (decision.kind === 'taken') {
        standings.set(key, { reachedAt: decision.reachedAt, told: !fresh && standing.told })
        return { kind: 'taken' }
      }
      const first = standing?.told !== true
      standings.set(key, { reachedAt: standing?.reachedAt ?? now, told: true })
      // One try is never more than the burst.
      const waitMs = decision.kind === 'wait' ? decision.waitMs : 0
      return { kind: 'locked', retryAfter: Math.max(1, Math.ceil(waitMs / 1000)), of, first }
    },
    forget: (key: string) => standings.delete(key),
    giveBack(key: string) {
      const standing = standings.get(key)
      if (standing === undefined) return
      standings.set(key, { ...standing, reachedAt: correctRate(rule, standing.reachedAt, -1, clock.ticks()) })
    },
  }
}
