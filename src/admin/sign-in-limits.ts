import { createHmac, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { KeptLockout, LockoutKeeper } from '../db/content/lockouts.ts'
import type { StoredPerson } from '../db/people.ts'
import { type Clock, wholeSeconds } from '../lib/clock.ts'
import { createLruMap } from '../lib/collections.ts'
import { networkOf } from '../lib/network.ts'
import type { RandomBytes } from '../lib/random-id.ts'
import { decideRateLimit, type RateLimit, takeBackOne } from '../lib/rate-limit.ts'
import type { AccountRow } from '../model/ids.ts'

/**
 * Wrong passwords are counted per email and network together, so that a stranger locks out only their own network. Two
 * larger limits stop guesses of many emails from one network, and of one email from many networks. A network or a device
 * from which the email has signed in before is exempt from both, so strangers cannot exhaust them for it.
 */
const RULES = {
  pair: { perMinute: 5 / 15, burst: 5 },
  network: { perMinute: 20 / 15, burst: 20 },
  email: { perMinute: 100 / 60, burst: 100 },
  /** A device that has signed in before. */
  device: { perMinute: 5 / 15, burst: 5 },
  /** A session that is asked for its password again. */
  session: { perMinute: 5 / 15, burst: 5 },
} as const satisfies Record<string, RateLimit>

type CountedBy = keyof typeof RULES

/** About 200 bytes each. To evict an entry, an attacker needs more networks than that. */
const SIZE_MAX = 50_000
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const KNOWN_NETWORK_MS = 90 * DAY_MS
const KNOWN = 'known:'
/** Lockouts of one email in the audit log: an attack from a thousand networks must not write a thousand entries. */
const REPORTS_OF_EMAIL: RateLimit = { perMinute: 4 / 60, burst: 4 }

export type SignInTries = ReturnType<typeof createSignInTries>

interface TriesOptions {
  readonly clock: Clock
  /** A keyed digest: the typed email may be a password, so only its digest is stored. */
  readonly digest: (name: string) => string
  /** Lockouts outlive the process. Counts below the limit do not, because strangers cannot restart the server. */
  readonly keeper: Pick<LockoutKeeper, 'keep' | 'drop'>
}

/** `email` may be unknown. `device`: one that this email has signed in from before. */
interface SignInTrier {
  readonly email: string
  readonly address: string | undefined
  readonly device: string | undefined
}

export type Trier = SignInTrier | { readonly session: string }

/** Without a duration: an attacker would time the next guess by it. */
export interface Lockout {
  readonly kind: 'locked'
  readonly of: CountedBy
  /** To be recorded: the first refusal of this lockout, and within the reports of its email. */
  readonly first: boolean
}

type Counter = ReturnType<typeof createCounter>
type Count = readonly [counter: Counter, key: string]

export function createSignInTries(options: TriesOptions) {
  const { digest, clock, keeper } = options
  const created = Object.keys(RULES).map((of) => [of, createCounter(of as CountedBy, options)])
  const counters: Readonly<Record<CountedBy, Counter>> = Object.fromEntries(created)
  /** By email and network, until when. */
  const knownNetworks = createLruMap<string, number>(SIZE_MAX)
  const reports = createLruMap<string, number>(SIZE_MAX)

  const pairOf = ({ email, address }: SignInTrier): string => digest(`${email} ${networkName(address)}`)
  const countsOf = (who: Trier): readonly Count[] => {
    if ('session' in who) return [[counters.session, digest(who.session)]]
    if (who.device !== undefined) return [[counters.device, digest(`${who.email} ${who.device}`)]]
    const pair: Count = [counters.pair, pairOf(who)]
    if ((knownNetworks.get(pair[1]) ?? 0) > clock.now()) return [pair]
    // The network comes first, so that one flooding network does not fill the memory of emails.
    const network: Count = [counters.network, digest(networkName(who.address))]
    return [network, pair, [counters.email, digest(who.email)]]
  }
  const mayReport = (who: Trier): boolean => {
    if ('session' in who) return true
    const [key, now] = [digest(who.email), clock.nowMicros()]
    const decision = decideRateLimit(REPORTS_OF_EMAIL, reports.get(key) ?? now, 1, now)
    if (decision.kind === 'taken') reports.set(key, decision.reachedAt)
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
    /** Counts a try before the password is checked, so that concurrent tries are all counted. */
    take(who: Trier): { readonly kind: 'taken'; readonly isKnown: boolean } | Lockout {
      const counts = countsOf(who)
      for (const [index, [counter, key]] of counts.entries()) {
        const outcome = counter.take(key)
        if (outcome.kind === 'taken') continue
        for (const [earlier, its] of counts.slice(0, index)) earlier.giveBack(its)
        return outcome.first && !mayReport(who) ? { ...outcome, first: false } : outcome
      }
      return { kind: 'taken', isKnown: counts.length === 1 }
    },
    /** The password was right: resets the tries of this email here, and remembers the network. */
    forgive(who: Trier): void {
      for (const [counter, key] of countsOf(who)) {
        // The tries of strangers stay counted: a sign-in gives them no new guesses.
        if (counter === counters.network || counter === counters.email) counter.giveBack(key)
        else counter.forget(key)
      }
      if (!('session' in who)) rememberNetwork(who)
    },
    /** The password was not checked: the try does not count. */
    giveBack(who: Trier): void {
      for (const [counter, key] of countsOf(who)) counter.giveBack(key)
    },
    /** The email has a new password through a link: earlier tries no longer count. */
    reset(who: SignInTrier): void {
      counters.email.forget(digest(who.email))
      counters.pair.forget(pairOf(who))
      rememberNetwork(who)
    },
    /** Restores the lockouts of the last process; called once, before the first try. */
    restore(kept: readonly KeptLockout[]): void {
      for (const { name, until } of kept) {
        const [kind = '', key = ''] = name.split(':', 2)
        if (`${kind}:` === KNOWN) knownNetworks.set(key, until)
        else if (kind in counters) counters[kind as CountedBy].restore(key, until)
      }
    },
  }
}

const networkName = (address = ''): string => (isIP(address) === 0 ? 'unknown' : networkOf(address))

interface Tries {
  readonly reachedAt: number
  /** Whether this lockout was reported; a new one begins when all tries are back. */
  readonly isReported: boolean
  /** `reachedAt` when the lockout was last stored. */
  readonly keptAt: number | undefined
}

function createCounter(of: CountedBy, { clock, keeper }: TriesOptions) {
  const rule: RateLimit = RULES[of]
  const tries = createLruMap<string, Tries>(SIZE_MAX)
  const keptName = (key: string) => `${of}:${key}`
  return {
    take(key: string): { kind: 'taken' } | Lockout {
      const now = clock.nowMicros()
      const known = tries.get(key)
      const isFresh = known === undefined || known.reachedAt <= now
      const decision = decideRateLimit(rule, known?.reachedAt ?? now, 1, now)
      if (decision.kind === 'taken') {
        const { reachedAt } = decision
        tries.set(key, { reachedAt, isReported: !isFresh && known.isReported, keptAt: known?.keptAt })
        return { kind: 'taken' }
      }
      const first = known?.isReported !== true
      const reachedAt = known?.reachedAt ?? now
      // Refusals cost an attacker nothing, so a lockout is stored again only after another counted try.
      if (known?.keptAt !== reachedAt) {
        const until = clock.now() + Math.ceil((reachedAt - clock.nowMicros()) / 1000)
        keeper.keep({ name: keptName(key), until })
      }
      tries.set(key, { reachedAt, isReported: true, keptAt: reachedAt })
      return { kind: 'locked', of, first }
    },
    forget(key: string) {
      if (tries.get(key)?.keptAt !== undefined) keeper.drop(keptName(key))
      tries.delete(key)
    },
    giveBack(key: string) {
      const known = tries.get(key)
      if (known !== undefined) tries.set(key, { ...known, reachedAt: takeBackOne(rule, known.reachedAt) })
    },
    /** Never longer than all tries take to return, even if the clock was changed. */
    restore(key: string, until: number) {
      const leftMs = Math.min(until - clock.now(), (rule.burst / rule.perMinute) * MINUTE_MS)
      if (leftMs <= 0) return
      const reachedAt = clock.nowMicros() + leftMs * 1000
      tries.set(key, { reachedAt, isReported: true, keptAt: reachedAt })
    },
  }
}

type DeviceOwner = Pick<StoredPerson, 'id' | 'password_changed_at'>

/**
 * Browsers that have signed in before, so that guesses of strangers do not lock them out. A browser keeps a token for each
 * of its people; the server stores nothing. A token grants no access: it only separates the browser's wrong passwords from
 * those of strangers. A new password voids it. See OWASP, "Slow Down Online Guessing Attacks with Device Cookies".
 */
export type KnownDevices = ReturnType<typeof createKnownDevices>

interface KnownDevicesOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly random: RandomBytes
  readonly secret: Uint8Array
}

export const DEVICE_MS = 180 * DAY_MS
/** People who share one browser. Beyond it, the token with the oldest sign-in is dropped. */
const TOKENS_MAX = 4
const UNKNOWN_OWNER: DeviceOwner = { id: '', password_changed_at: 0 }
const TOKEN = /^([\w-]{22})\.([0-9a-z]{1,11})\.([\w-]{43})$/

type DeviceToken = ReturnType<typeof readTokens>[number]

export function createKnownDevices({ clock, random, secret }: KnownDevicesOptions) {
  const macOf = ({ id, password_changed_at }: DeviceOwner, device: string, issued: string) =>
    createHmac('sha256', secret).update(`${id} ${password_changed_at} ${device} ${issued}`).digest('base64url')
  const isOf = (owner: DeviceOwner, { device, issued, mac }: DeviceToken): boolean => {
    const isRight = timingSafeEqual(Buffer.from(mac), Buffer.from(macOf(owner, device, issued)))
    return isRight && clock.now() - Number.parseInt(issued, 36) < DEVICE_MS
  }
  /** The device that the tokens prove for this person. */
  const find = (tokens: string | undefined, owner: DeviceOwner | undefined): string | undefined => {
    // An unknown email takes the same work.
    const found = readTokens(tokens).filter((token) => isOf(owner ?? UNKNOWN_OWNER, token))
    return owner === undefined ? undefined : found[0]?.device
  }
  return {
    find,
    /** The tokens that the browser keeps from now on. */
    remember(tokens: string | undefined, owner: DeviceOwner): string {
      // A known browser stays the same device; otherwise each sign-in would grant new tries.
      const device = find(tokens, owner) ?? Buffer.from(random(16)).toString('base64url')
      const issued = clock.now().toString(36)
      const others = readTokens(tokens).filter((token) => !isOf(owner, token))
      const kept = others.slice(0, TOKENS_MAX - 1).map(({ text }) => text)
      return [`${device}.${issued}.${macOf(owner, device, issued)}`, ...kept].join('~')
    },
  }
}

const readTokens = (tokens = '') =>
  tokens.split('~', TOKENS_MAX).flatMap((text) => {
    const [, device, issued, mac] = TOKEN.exec(text) ?? []
    return device === undefined || issued === undefined || mac === undefined ? [] : [{ text, device, issued, mac }]
  })

/** Limits how often an account may try codes that it cannot redeem. */
export type RedeemTries = ReturnType<typeof createRedeemTries>

/** Ten at once, and one more every six minutes. */
const REDEEM_RULE: RateLimit = { perMinute: 10 / 60, burst: 10 }
/** Accounts that tried lately; the least recent ones are dropped. */
const REDEEM_ACCOUNTS_MAX = 10_000

/** In memory: a restart resets it, which the holder of codes cannot cause. */
export function createRedeemTries(clock: Pick<Clock, 'nowMicros'>) {
  const reachedAt = createLruMap<AccountRow, number>(REDEEM_ACCOUNTS_MAX)
  return {
    /** Counts a try; if there are none left, returns the whole seconds until the next one. */
    take(account: AccountRow): number | undefined {
      const now = clock.nowMicros()
      const decision = decideRateLimit(REDEEM_RULE, reachedAt.get(account) ?? now, 1, now)
      if (decision.kind !== 'taken') return decision.kind === 'wait' ? wholeSeconds(decision.waitMs) : 1
      reachedAt.set(account, decision.reachedAt)
      return undefined
    },
    /** The code was the account's own: the try does not count. */
    giveBack(account: AccountRow): void {
      const reached = reachedAt.get(account)
      if (reached !== undefined) reachedAt.set(account, takeBackOne(REDEEM_RULE, reached))
    },
  }
}
