import { signUp } from '../../chaos/lib/console-session.mjs'
import { createCaller } from '../../chaos/lib/organisation.mjs'
import { KEYED_NAME } from '../../chaos/lib/prepare-scene.mjs'
import { createBareAccount, millrace } from '../../program/program.mjs'

const PASSWORD = 'a password for a day'

/** `credit` is the first one. What builders have in their wallets is never touched. */
const ACCOUNTS = [
  { name: 'agents', credit: '400.00', kind: 'wallet', keys: ['agent 1', 'agent 2', 'agent 3'] },
  { name: 'talk', credit: '400.00', kind: 'wallet', keys: ['talk 1', 'talk 2'] },
  { name: 'batch', credit: '100.00', kind: 'wallet', keys: [KEYED_NAME] },
  { name: 'builder', credit: '7.00', kind: 'builder', keys: ['laptop', 'desk'], plan: 'large' },
  { name: 'small', credit: '7.00', kind: 'builder', keys: ['small'], plan: 'small' },
  { name: 'leaky', credit: '50.00', kind: 'wallet', keys: ['own'] },
  { name: 'team', credit: '100.00', kind: 'wallet', keys: [] },
]
const MEMBERS = ['stays', 'leaves']
/** Of the key that leaks. */
const LEAK_LIMITS = { requests_per_minute: 60 }

const emailOf = (name) => `${name}@localhost`

/**
 * Accounts with money, plans and keys: what there is long before the day. `leakCap` is that of the leaked key for a day. Returns them
 * by name, with how to call the management API.
 */
export async function openAccounts(site, { leakCap }) {
  const [node] = site.nodes
  await createBareAccount(node.place, emailOf(ACCOUNTS[0].name))
  const made = ['admin-keys', 'create', '--name', 'day', '--scopes', 'admin']
  const { secret: adminKey } = await millrace(node.place, ...made)
  await site.start(node)
  const call = createCaller(site.url, adminKey)
  const accounts = {}
  for (const { name, credit, kind, keys, plan } of ACCOUNTS) {
    const email = emailOf(name)
    if (name !== ACCOUNTS[0].name) await call('POST', 'accounts', { email })
    await call('POST', `accounts/${email}/wallet/credit`, { amount: credit, reason: 'test', ref: 'first' })
    if (plan !== undefined) await call('PUT', `accounts/${email}/plan`, { plan })
    const account = { name, email, credit, kind, credits: [{ ref: 'first', amount: credit }], keys: [] }
    for (const key of keys) account.keys.push(await createKey(call, account, { name: key }))
    accounts[name] = account
  }
  const { leaky } = accounts
  leaky.leaked = await createKey(call, leaky, { name: 'leaked', caps: { day: leakCap }, limits: LEAK_LIMITS })
  return { accounts, call, adminKey }
}

export async function createKey(call, { email, kind }, terms) {
  const { key, secret } = await call('POST', 'keys', { account: email, kind, ...terms })
  return { id: key.id, secret, name: terms.name, email, kind }
}

/** The owners of two accounts sign in to the console, and the team gets its members with a key each. */
export async function openPeople(site, { accounts, call }) {
  const { agents, team } = accounts
  const invite = async (account, role, email) => {
    const { link } = await call('POST', 'people/invitations', { role, account: account.email, email })
    return signUp(site.url, { link, password: PASSWORD })
  }
  agents.owner = await invite(agents, 'owner', agents.email)
  team.owner = await invite(team, 'owner', team.email)
  for (const member of MEMBERS) {
    const email = emailOf(member)
    await invite(team, 'member', email)
    team[member] = await createKey(call, team, { name: `of ${member}`, person: email })
    team.keys.push(team[member])
  }
}

/** Their owner removes a member on the page of members. */
export async function removeMember({ team }) {
  const { items } = await team.owner('GET', '/members')
  const { id } = items.find(({ email }) => email === emailOf('leaves'))
  await team.owner('POST', `/members/${id}/remove`, {})
}
