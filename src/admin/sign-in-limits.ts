import { isIP } from 'node:net'
import type { KeptLockout, LockoutKeeper } from '../db/content/lockouts.ts'
import type { Clock } from '../lib/clock.ts'
import { createLruMap } from '../lib/lru-map.ts'
import { networkOf } from '../lib/network.ts'
import { type RateRule, takeBackOne, takeFromRate } from '../lib/rates.ts'

/**
 * Wrong passwords are counted by e-mail and network together, so that a stranger locks out only their own network. Two
 * larger bounds hold back those who guess many e-mails from one network, and one e-mail from many networks. A network or a
 * device from which that e-mail has signed in before is exempt from both: strangers cannot use them up for it.
 */
const RULES = {
  pair: { perMinute: 5 / 15, burst: 5 },
  network: { perMinute: 20 / 15, burst: 20 },
  email: { perMinute: 100 / 60, burst: 100 },
  /** A device that has signed in before. */
  device: { perMinute: 5 / 15, burst: 5 },
  /** A session that is asked for its password again. */
  session: { perMinute: 5 / 15, burst: 5 },
} as const satisfies Record<string, RateRule>

type CountedBy = keyof typeof RULES

/** About two hundred bytes each. To push one out, more networks are needed than an attacker has at hand. */
const SIZE_MAX = 50_000
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const KNOWN_NETWORK_MS = 90 * DAY_MS
const KNOWN = 'known:'
/** Lockouts of one e-mail that are told: an attack from a thousand networks is not a thousand lines in the audit log. */
const TOLD_OF_EMAIL: RateRule = { perMinute: 4 / 60, burst: 4 }

export interface SignInTries {
  /** Taken before a password is looked at, so that a hundred at the same moment are not a hundred tries. */
  take(who: Trier): { readonly kind: 'taken'; readonly isKnown: boolean } | Lockout
  /** The password was right: the tries of this e-mail here are all back, and the network is known from now on. */
  forgive(who: Trier): void
  /** Nothing was looked at: it does not count. */
  giveBack(who: Trier): void
  /** The e-mail has a new password, set by a link: what was counted before does not matter any more. */
  startAnew(who: SignInTrier): void
  /** Takes up what the last process had to remember; done once, before anybody tries. */
  restore(kept: readonly KeptLockout[]): void
}

interface TriesDeps {
  readonly clock: Clock
  /** Under a key: what was typed as an e-mail may be a password, and is remembered by this alone. */
  readonly digest: (name: string) => string
  /** Where lockouts outlive the process. Tries that are not used up do not: nobody restarts a server to have them back. */
  readonly keeper: Pick<LockoutKeeper, 'keep' | 'drop'>
}

/** `email` may be one that nobody has. `device`: one that this e-mail has signed in from before. */
interface SignInTrier {
  readonly email: string
  readonly address: string | undefined
  readonly device: string | undefined
}

export type Trier = SignInTrier | { readonly session: string }

/** It does not say for how long: an attacker would time the next guess by it. */
export interface Lockout {
  readonly kind: 'locked'
  readonly of: CountedBy
  /** Worth writing down: the first refusal since there was anything left, and not one of very many. */
  readonly first: boolean
}

interface Standing {
  readonly reachedAt: number
  /** Whether this lockout has been told of; a new one begins when everything was earned back. */
  readonly told: boolean
  /** How far it had been used up when it was kept last. */
  readonly keptAt: number | undefined
}

type Counter = ReturnType<typeof createCounter>
type Count = readonly [counter: Counter, key: string]

export function createSignInTries(deps: TriesDeps): SignInTries {
  const { digest, clock, keeper } = deps
  const counters: Readonly<Record<CountedBy, Counter>> = {
    pair: createCounter('pair', deps),
    network: createCounter('network', deps),
    email: createCounter('email', deps),
    device: createCounter('device', deps),
    session: createCounter('session', deps),
  }
  /** By e-mail and network, until when. */
  const knownNetworks = createLruMap<string, number>(SIZE_MAX)
  const told = createLruMap<string, number>(SIZE_MAX)

  const pairOf = ({ email, address }: SignInTrier): string => digest(`${email} ${networkOfAny(address)}`)
  const isKnownNetwork = (who: SignInTrier): boolean => (knownNetworks.get(pairOf(who)) ?? 0) > clock.now()
  const countsOf = (who: Trier): readonly Count[] => {
    if ('session' in who) return [[counters.session, digest(who.session)]]
    if (who.device !== undefined) return [[counters.device, digest(`${who.email} ${who.device}`)]]
    const pair: Count = [counters.pair, pairOf(who)]
    if (isKnownNetwork(who)) return [pair]
    // The network first: one that floods must not fill the memory of e-mails.
    const network: Count = [counters.network, digest(networkOfAny(who.address))]
    return [network, pair, [counters.email, digest(who.email)]]
  }
  const isWorthTelling = (who: Trier): boolean => {
    if ('session' in who) return true
    const [key, now] = [digest(who.email), clock.nowMicros()]
    const decision = takeFromRate(TOLD_OF_EMAIL, told.get(key) ?? now, 1, now)
    if (decision.kind === 'taken') told.set(key, decision.reachedAt)
    return decision.kind === 'taken'
  }
  const rememberNetwork = (who: SignInTrier): void => {
    if (who.address === undefined) return
    const [pair, until] = [pairOf(who), clock.now() + KNOWN_NETWORK_MS]
    // Written once a day at most.
    if ((knownNetworks.get(pair) ?? 0) > until - DAY_MS) return
    knownNetworks.set(pair, until)
    keeper.keep({ name: KNOWN + pair, until })
  }
  return {
    take(who) {
      const counts = countsOf(who)
      for (const [index, [counter, key]] of counts.entries()) {
        const outcome = counter.take(key)
        if (outcome.kind === 'taken') continue
        for (const [earlier, its] of counts.slice(0, index)) earlier.giveBack(its)
        return outcome.first && !isWorthTelling(who) ? { ...outcome, first: false } : outcome
      }
      return { kind: 'taken', isKnown: counts.length === 1 }
    },
    forgive(who) {
      for (const [counter, key] of countsOf(who)) {
        // What strangers have used up stays used up: a sign-in brings them no new guesses.
        if (counter === counters.network || counter === counters.email) counter.giveBack(key)
        else counter.forget(key)
      }
      if (!('session' in who)) rememberNetwork(who)
    },
    giveBack(who) {
      for (const [counter, key] of countsOf(who)) counter.giveBack(key)
    },
    startAnew(who) {
      counters.email.forget(digest(who.email))
      counters.pair.forget(pairOf(who))
      rememberNetwork(who)
    },
    restore(kept) {
      for (const { name, until } of kept) {
        const [kind = '', key = ''] = name.split(':', 2)
        if (`${kind}:` === KNOWN) knownNetworks.set(key, until)
        else if (kind in counters) counters[kind as CountedBy].restore(key, until)
      }
    },
  }
}

const networkOfAny = (address = ''): string => (isIP(address) === 0 ? 'unknown' : networkOf(address))

function createCounter(of: CountedBy, { clock, keeper }: TriesDeps) {
  const rule: RateRule = RULES[of]
  const standings = createLruMap<string, Standing>(SIZE_MAX)
  const keptName = (key: string) => `${of}:${key}`
  const keep = (key: string, reachedAt: number) =>
    keeper.keep({ name: keptName(key), until: clock.now() + Math.ceil((reachedAt - clock.nowMicros()) / 1000) })
  return {
    take(key: string): { kind: 'taken' } | Lockout {
      const now = clock.nowMicros()
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
      return { kind: 'locked', of, first }
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
    restore(key: string, until: number) {
      const leftMs = Math.min(until - clock.now(), (rule.burst / rule.perMinute) * MINUTE_MS)
      if (leftMs <= 0) return
      const reachedAt = clock.nowMicros() + leftMs * 1000
      standings.set(key, { reachedAt, told: true, keptAt: reachedAt })
    },
  }
}
