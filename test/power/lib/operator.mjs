import { KEYED_NAME } from '../../chaos/lib/prepare-scene.mjs'
import { ACCOUNTS } from '../../chaos/lib/scene.mjs'
import { callServer } from './call-server.mjs'
import { nowMs } from './clock.mjs'

/**
 * An operator who writes down what was confirmed, and when. Each fact says what must be in the books from then on; what
 * was asked for and not yet confirmed may be there or not, but never twice.
 */
export function createOperator({ data, random }) {
  const facts = []
  const made = []
  let credits = 0

  async function does(operation, args, factOf, intent = {}) {
    const beganAt = nowMs()
    const fact = { operation, ...intent, beganAt, confirmedAt: Number.POSITIVE_INFINITY }
    facts.push(fact)
    const value = await callServer(data, operation, args)
    Object.assign(fact, factOf(value), { confirmedAt: nowMs() })
    return value
  }

  const credit = (account, amount, ref) =>
    does('wallet.credit', { account, amount, reason: 'power', ref }, () => ({ credit: { ref, amount, account } }))
  const createKey = (args) => does('keys.create', args, ({ id, key }) => ({ key: { id, secret: key } }))

  async function prepareAccount({ email, credit: amount, kind, keys, share, cap, plan }) {
    await does('accounts.create', { email }, ({ id }) => ({ account: { email, id } }))
    await credit(email, amount, 'first')
    if (plan !== undefined) await callServer(data, 'plans.assign', { account: email, plan })
    const ofKind = { account: email, kind, ...(cap ? { caps: cap } : {}) }
    const own = []
    for (let index = 0; index < keys; index++) own.push(await createKey({ ...ofKind, name: `power ${index}` }))
    const keyed = await createKey({ ...ofKind, name: KEYED_NAME })
    return {
      ...{ email, credit: amount, kind, share, keys: own.map(({ key }) => key), keyedKey: keyed.key },
      keyIds: own.map(({ id }) => id),
    }
  }

  const actions = {
    credit: () => {
      credits += 1
      return credit('modest@localhost', '0.05', `top-${credits}`)
    },
    async key() {
      made.push(await createKey({ account: 'rich@localhost', kind: 'wallet', name: `made ${made.length}` }))
    },
    async revoke() {
      if (made.length === 0) return actions.key()
      const { id } = made.splice(random.below(made.length), 1)[0]
      await does('keys.revoke', { key: id }, () => ({}), { revokes: id })
    },
    plan: () =>
      callServer(data, 'plans.assign', {
        account: 'builder@localhost',
        plan: random.pick(['builder', 'builder-more']),
      }),
  }

  return {
    facts,
    async prepare() {
      const accounts = []
      for (const account of ACCOUNTS) accounts.push(await prepareAccount(account))
      return accounts
    },
    act: () => actions[random.pick(Object.keys(actions))](),
  }
}
