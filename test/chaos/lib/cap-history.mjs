import { setTimeout as sleep } from 'node:timers/promises'
import { nanoOf } from './price.mjs'

/** Of the clocks of two processes on one machine. */
const CLOCK_MS = 5

/**
 * What each cap was from when to when. A change counts from some moment between its call and its answer, and a node or a request on
 * its way may know the old one for a while after that.
 */
export function createCapHistory() {
  const holders = new Map()
  const nameOf = (holder, id) => `${holder} ${id}`
  const capOf = (holder, id, name) => {
    const caps = holders.get(nameOf(holder, id))
    if (!caps.has(name)) caps.set(name, { amounts: [{ sent: 0, acked: 0, amount: null }], raises: [] })
    return caps.get(name)
  }
  return {
    capOf,
    begin(holder, id, caps) {
      holders.set(nameOf(holder, id), new Map())
      for (const [name, term] of Object.entries(caps)) capOf(holder, id, name).amounts[0].amount = amountOf(name, term)
      return id
    },
    namesOf: (holder, id) => [...holders.get(nameOf(holder, id)).keys()],
    /** Every amount that it may have had from `from` to `to`; null: no cap. */
    amountsIn(holder, id, name, { from, to, slackMs }) {
      const cap = holders.get(nameOf(holder, id))?.get(name)
      if (cap === undefined) return [null]
      const known = (versions) =>
        versions.filter(
          ({ sent }, index) =>
            sent - CLOCK_MS <= to && (versions[index + 1]?.acked ?? Number.POSITIVE_INFINITY) + slackMs >= from,
        )
      const amounts = known(cap.amounts).map(({ amount }) => amount)
      const raises = known(cap.raises).filter(({ until }) => from < until)
      return [
        ...amounts,
        ...raises.flatMap((raise) =>
          amounts.filter((amount) => amount !== null && raise.amount > amount).map(() => raise.amount),
        ),
      ]
    },
    /** When an older amount than the newest known one was last in force: how long `atLeast` needs an old one. */
    staleMs(holder, id, name, { at, needed }) {
      const { amounts, raises } = capOf(holder, id, name)
      const index = amounts.findLastIndex(({ sent }) => sent - CLOCK_MS <= at)
      if (amounts[index].amount === null || amounts[index].amount >= needed) return 0
      if (raises.some(({ sent, until, amount }) => sent - CLOCK_MS <= at && at < until && amount >= needed)) return 0
      return Math.max(0, at - amounts[index].acked)
    },
  }
}

export const isCount = (name) => name.endsWith('requests_day') || name.endsWith('tokens_day')
const amountOf = (name, term) => (term === null ? null : isCount(name) ? BigInt(term) : nanoOf(term))
const termOf = (name, amount) => (amount === null ? null : isCount(name) ? Number(amount) : textOf(amount))
const textOf = (nano) => `${nano / 1_000_000_000n}.${String(nano % 1_000_000_000n).padStart(9, '0')}`

const REST_MS = 60
/** Calls at once, on different holders. */
const AT_ONCE = 8
const REMOVED_MS_MAX = 1000
const RAISED_MS = { from: 300, to: 4000 }
const CREDIT_EVERY = 8

const KINDS = ['lowered', 'raised', 'raised for a while', 'removed and set again']

const PATHS = { team: 'teams', person: 'people', key: 'keys' }
/** Where the changed caps stand in the body. */
const bodyOf = (holder, caps) => (holder === 'person' ? caps : { caps })

/**
 * Lowers, raises, removes and sets caps of the busiest holders, and raises them for a while. Every call is repeated through kills.
 */
export function startCapOperator({ account, call, random }) {
  const { history } = account
  const done = { ...Object.fromEntries(KINDS.map((kind) => [kind, 0])), credits: 0 }
  const credits = []
  const busy = new Set()
  let turn = 0
  let stopped = false

  async function change(holder, id, name, cap, amount) {
    const version = { sent: Date.now(), acked: Number.POSITIVE_INFINITY, amount }
    cap.amounts.push(version)
    await call(
      'PATCH',
      `${PATHS[holder]}/${id}${holder === 'person' ? '/caps' : ''}`,
      bodyOf(holder, { [name]: termOf(name, amount) }),
    )
    version.acked = Date.now()
  }

  async function raise(holder, id, name, cap, now) {
    const amount = (now * 5n) / 2n + 1n
    const until = Date.now() + Math.round(random.between(RAISED_MS.from, RAISED_MS.to))
    const version = { sent: Date.now(), acked: Number.POSITIVE_INFINITY, amount, until }
    cap.raises.push(version)
    const terms = {
      cap: name,
      to: isCount(name) ? String(amount) : textOf(amount),
      until: new Date(until).toISOString(),
    }
    try {
      await call('POST', `${PATHS[holder]}/${id}/raise`, terms)
    } catch (error) {
      // Its end has passed while no server ran.
      if (!/invalid_expiry/.test(error.message)) throw error
    }
    version.acked = Date.now()
  }

  function pickHolder() {
    const holder = random.pick(['team', 'team', 'person', 'person', 'key'])
    if (holder === 'team') return [holder, account.teams[Math.floor(account.teams.length * random.between(0, 1) ** 3)]]
    const place = Math.floor(200 * random.between(0, 1) ** 3)
    return [holder, holder === 'person' ? account.people[place] : account.keys[place + 200 * random.below(5)].id]
  }

  async function act() {
    const [holder, id] = pickHolder()
    const names = history.namesOf(holder, id)
    if (names.length === 0 || busy.has(id)) return
    busy.add(id)
    const name = random.pick(names)
    await actOn(holder, id, name, history.capOf(holder, id, name))
    busy.delete(id)
  }

  /** The kinds in turn: each of them comes in every run. */
  async function actOn(holder, id, name, cap) {
    const now = cap.amounts.at(-1).amount
    const kind = KINDS[turn++ % KINDS.length]
    if (kind === 'lowered') await change(holder, id, name, cap, now > 1n ? (now * 3n) / 5n + 1n : now)
    else if (kind === 'raised') await change(holder, id, name, cap, (now * 8n) / 5n + 1n)
    else if (kind === 'raised for a while') await raise(holder, id, name, cap, now)
    else {
      await change(holder, id, name, cap, null)
      await sleep(random.between(0, REMOVED_MS_MAX))
      await change(holder, id, name, cap, now)
    }
    done[kind] += 1
  }

  /** The reference makes it safe to repeat. */
  async function credit() {
    const next = { ref: `top-${credits.length + 1}`, amount: '0.02' }
    credits.push(next)
    await call('POST', `accounts/${account.email}/wallet/credit`, { ...next, reason: 'chaos' })
    done.credits += 1
  }

  let acts = 0
  async function loop() {
    while (!stopped) {
      acts += 1
      await (acts % CREDIT_EVERY === 0 ? credit() : act())
      await sleep(REST_MS)
    }
  }
  const running = Promise.all(Array.from({ length: AT_ONCE }, loop))
  return {
    done,
    credits,
    async stop() {
      stopped = true
      await running
    },
  }
}
