import { isIP } from 'node:net'
import type { KeptLockout, LockoutKeeper } from '../../content/lockouts.ts'
import type { Clock } from '../../lib/clock.ts'
import { type RateRule, takeBackOne, takeFromRate } from '../../lib/gcra.ts'
import { createLruMap } from '../../lib/lru-map.ts'
import { networkOf } from '../../lib/network-of.ts'
import { wholeSeconds } from '../../lib/whole-seconds.ts'

/** Five tries in a quarter of an hour for one name, twenty for one network, then one by one as they are earned back. */
const FOR_NAME: RateRule = { perMinute: 5 / 15, burst: 5 }
const FOR_ADDRESS: RateRule = { perMinute: 20 / 15, burst: 20 }

/** About two hundred bytes each. To push one name out, more networks are needed than an attacker has at hand. */
const NAMES_MAX = 50_000
const NETWORKS_MAX = 50_000
const MINUTE_MS = 60_000

export interface SignInTries {
  /** Taken before a password is looked at, so that a hundred at the same moment are not a hundred tries. */
  take(who: Trier): { readonly kind: 'taken' } | Lockout
  /** The password was right: whoever knows it has all tries of that name again. */
  forgive(who: Trier): void
  /** Nothing was looked at: it does not count. */
  giveBack(who: Trier): void
  /** Takes up what the last process had to remember; done once, before anybody tries. */
  restore(lockouts: readonly KeptLockout[]): void
}

interface TriesDeps {
  readonly clock: Clock
  /** Under a key: what was typed as an e-mail may be a password, and is remembered by this alone. */
  readonly digest: (name: string) => string
  /** Where lockouts outlive the process. Tries that are not used up do not: nobody restarts a server to have them back. */
  readonly keeper: Pick<LockoutKeeper, 'keep' | 'drop'>
}

/** `name` is an e-mail, known or not, or a session whose password is asked again. */
export interface Trier {
  readonly name: string
  readonly address: string | undefined
}

export interface Lockout {
  readonly kind: 'locked'
  /** Whole seconds until the next try. */
  readonly retryAfterSeconds: number
  readonly of: 'name' | 'address'
  /** The first refusal since there was anything left: the one worth writing down. */
  readonly first: boolean
}

interface Standing {
  readonly reachedAt: number
  /** Whether this lockout has been told of; a new one begins when everything was earned back. */
  readonly told: boolean
  /** How far it had been used up when it was kept last. */
  readonly keptAt: number | undefined
}

export function createSignInTries(deps: TriesDeps): SignInTries {
  const { digest } = deps
  const names = createCounter({ ...FOR_NAME, of: 'name', sizeMax: NAMES_MAX }, deps)
  const addresses = createCounter({ ...FOR_ADDRESS, of: 'address', sizeMax: NETWORKS_MAX }, deps)
  return {
    take({ name, address }) {
      // The address first: one that floods must not fill the memory of names.
      const taken = address === undefined ? undefined : addresses.take(digest(networkOfAny(address)))
      return taken?.kind === 'locked' ? taken : names.take(digest(name))
    },
    forgive({ name, address }) {
      names.forget(digest(name))
      if (address !== undefined) addresses.giveBack(digest(networkOfAny(address)))
    },
    giveBack({ name, address }) {
      names.giveBack(digest(name))
      if (address !== undefined) addresses.giveBack(digest(networkOfAny(address)))
    },
    restore(lockouts) {
      for (const lockout of lockouts) (lockout.name.startsWith('address:') ? addresses : names).restore(lockout)
    },
  }
}

const networkOfAny = (address: string): string => (isIP(address) === 0 ? 'unknown' : networkOf(address))

interface Counted extends RateRule {
  readonly of: Lockout['of']
  readonly sizeMax: number
}

function createCounter({ of, sizeMax, ...rule }: Counted, { clock, keeper }: TriesDeps) {
  const standings = createLruMap<string, Standing>(sizeMax)
  const keptName = (key: string) => `${of}:${key}`
  const keep = (key: string, reachedAt: number) =>
    keeper.keep({ name: keptName(key), until: clock.now() + Math.ceil((reachedAt - clock.ticks()) / 1000) })
  return {
    take(key: string): { kind: 'taken' } | Lockout {
      const now = clock.ticks()
      const standing = standings.get(key)
      const fresh = standing === undefined || standing.reachedAt <= now
      const decision = takeFromRate(rule, standing?.reachedAt ?? now, 1, now)
      if (decision.kind === 'taken') {
        const { reachedAt } = decision
        standings.set(key, { reachedAt, told: !fresh && standing.told, keptAt: standing?.keptAt })
        return { kind: 'taken' }
      }
      const first = standing?.told !== true
      const reachedAt = standing?.reachedAt ?? now
      // Refusals cost an attacker nothing; only a try that was taken since is worth a write.
      if (standing?.keptAt !== reachedAt) keep(key, reachedAt)
      standings.set(key, { reachedAt, told: true, keptAt: reachedAt })
      // One try is never more than the burst.
      const waitMs = decision.kind === 'wait' ? decision.waitMs : 0
      return { kind: 'locked', retryAfterSeconds: wholeSeconds(waitMs), of, first }
    },
    forget(key: string) {
      if (standings.get(key)?.keptAt !== undefined) keeper.drop(keptName(key))
      standings.delete(key)
    },
    giveBack(key: string) {
      const standing = standings.get(key)
      if (standing === undefined) return
      standings.set(key, { ...standing, reachedAt: takeBackOne(rule, standing.reachedAt) })
    },
    /** Never longer than all tries take to be earned back, whatever a clock that was turned says. */
    restore({ name, until }: KeptLockout) {
      const leftMs = Math.min(until - clock.now(), (rule.burst / rule.perMinute) * MINUTE_MS)
      if (leftMs <= 0) return
      const reachedAt = clock.ticks() + leftMs * 1000
      standings.set(name.slice(keptName('').length), { reachedAt, told: true, keptAt: reachedAt })
    },
  }
}
